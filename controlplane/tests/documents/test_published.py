"""The page of published measurements: it is of the stored figures, and these are still what the models give."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

SCRIPTS = Path(__file__).parents[3] / "scripts"


@pytest.fixture(scope="module")
def script() -> Iterator[ModuleType]:
    sys.path.insert(0, str(SCRIPTS))
    yield importlib.import_module("compare_published")
    sys.path.remove(str(SCRIPTS))


def test_the_page_is_of_the_stored_figures(script: ModuleType) -> None:
    stored = json.loads(script.MODELLED.read_text())
    assert script.document(stored) == script.DOCUMENT.read_text(), "run scripts/compare_published.py --document"
    known = {comparison.name: set(comparison.cells) for comparison in script.COMPARISONS}
    assert all(set(cells) <= known[name] for name, cells in stored.items())


def test_cheap_cells_are_what_the_models_give(script: ModuleType) -> None:
    """Goal: no figure of the page is older than engine, methods and topologies."""
    stored = json.loads(script.MODELLED.read_text())
    cheap = [(comparison, cell) for comparison in script.COMPARISONS for cell in comparison.cheap]
    assert len({comparison.report for comparison, _ in cheap}) == len({item.report for item in script.COMPARISONS})
    for comparison, cell in cheap:
        assert script.measure(comparison, [cell])[cell] == stored[comparison.name][cell], (comparison.name, cell)
