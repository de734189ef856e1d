"""Names that files of P4Mesh take, made of any text."""

from __future__ import annotations

import re

import yaml

_LONGEST = 30


def word_of(text: str, otherwise: str) -> str:
    """A name of lower-case letters, digits, - and _ that begins with a letter.

    ``otherwise`` where nothing is left, and for words that are no text in YAML, such as ``off``.
    """
    word = re.sub("[^a-z0-9_-]", "-", text.lower()).lstrip("0123456789_-")[:_LONGEST]
    return word if word and yaml.safe_load(word) == word else otherwise
