"""Comments, docstrings and documents name their subject first: no text opens with "What" or "Who"."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
OPENERS = {
    ".py": re.compile(r'^\s*(?:r?"""|#\s+)(?:What|Who)\b'),
    ".rs": re.compile(r"^\s*//[/!]?\s+(?:What|Who)\b"),
    ".md": re.compile(r"^(?:#+\s+|[-*]\s+(?:\*\*)?|\d+\.\s+)?(?:What|Who)\b"),
}


CONTINUED = {
    ".py": re.compile(r"(?!)"),
    ".rs": re.compile(r"^\s*//"),
    ".md": re.compile(r"^[^#]"),
}
"""Lines whose text may go on in the next line."""


def openers(suffix: str, text: str) -> list[str]:
    """The lines that open a text with such a word."""
    lines = text.splitlines()
    before = ["", *lines]
    return [
        line.strip()
        for line, previous in zip(lines, before, strict=False)
        if OPENERS[suffix].match(line) and not CONTINUED[suffix].match(previous)
    ]


@pytest.mark.parametrize("suffix", OPENERS)
def test_no_text_opens_with_what_or_who(suffix: str) -> None:
    listed = subprocess.run(["git", "ls-files", f"*{suffix}"], cwd=ROOT, capture_output=True, text=True, check=True)
    found = {
        name: lines
        for name in listed.stdout.splitlines()
        if (ROOT / name).exists() and (lines := openers(suffix, (ROOT / name).read_text(encoding="utf-8")))
    }
    assert not found


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        (".py", '    """What a trial measured."""'),
        (".py", "# What is stored"),
        (".rs", "/// What a pass leads to."),
        (".rs", "//! Who sends."),
        (".md", "# What is here"),
        (".md", "What the command does."),
    ],
)
def test_such_an_opener_is_found(suffix: str, text: str) -> None:
    assert len(openers(suffix, text)) == 1


def test_a_sentence_that_goes_on_is_not_an_opener() -> None:
    assert openers(".rs", "/// Returns the frame.\n/// What follows is dropped.") == []
