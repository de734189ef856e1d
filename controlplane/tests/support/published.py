"""Measurements of the White Rabbit report, to which tests compare what P4Mesh prints."""

from __future__ import annotations

import json
from pathlib import Path

WHITE_RABBIT = json.loads((Path(__file__).parents[1] / "fixtures" / "published_white_rabbit.json").read_text())
SIZES = (64, 128, 256, 512, 1024, 1280, 1518)
