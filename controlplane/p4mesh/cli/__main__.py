"""``python -m p4mesh.cli``."""

from __future__ import annotations

import sys

from p4mesh.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
