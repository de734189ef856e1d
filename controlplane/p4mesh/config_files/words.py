"""Names that files of P4Mesh take, made of any text."""

from __future__ import annotations

import re

_LONGEST = 30


def word_of(text: str, otherwise: str) -> str:
    """A name of lower-case letters, digits, - and _ that begins with a letter; ``otherwise`` where nothing is left."""
    return re.sub("[^a-z0-9_-]", "-", text.lower()).lstrip("0123456789_-")[:_LONGEST] or otherwise
