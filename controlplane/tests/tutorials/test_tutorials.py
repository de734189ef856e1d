"""Executes the tutorials that need no devices of this machine."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.tutorial_pages import PAGES, ROOT, execute, first_difference


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_tutorial_does_what_it_says(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    execute(page, tmp_path, monkeypatch)


def test_every_page_of_the_site_is_reached_from_its_start() -> None:
    start = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    listed = re.findall(r"^[\w/*-]+$", start, re.MULTILINE)
    reached = {path for name in listed for path in (ROOT / "docs").glob(f"{name}.md")}
    pages = {path for path in (ROOT / "docs").rglob("*.md") if "_build" not in path.parts}
    assert pages - reached == {ROOT / "docs" / "index.md"}


@pytest.mark.parametrize(
    ("shown", "printed", "missing"),
    [
        (["a"], ["a"], None),
        (["..."], ["a", "b"], None),
        (["...", "b"], ["a", "b"], None),
        (["a"], ["a", "b"], "end, not b"),
        (["b", "..."], ["a", "b"], "b"),
        (["...", "c"], ["a", "b"], "c"),
        (["unit,..."], ["unit,trial"], None),
    ],
)
def test_a_page_that_shows_something_else_is_found(shown: list[str], printed: list[str], missing: str | None) -> None:
    assert first_difference(shown, printed) == missing
