"""The corpus is complete and fresh."""

from __future__ import annotations

from harness.corpus import RECIPES
from harness.expectations import load
from harness.programs import TESTER, compiled, source_names, stale_programs


def test_compiled_programs_are_those_of_the_sources() -> None:
    """Goal: no stale file. Method: hashes of sources and outputs against the manifest."""
    assert stale_programs() == [], "run engine/differential/compile.py where p4c is installed"


def test_every_program_has_a_recipe() -> None:
    """Goal: no program is forgotten."""
    assert sorted(set(RECIPES) - {TESTER}) == source_names()


def test_every_program_has_expectations() -> None:
    """Goal: the corpus runs where simple_switch_grpc is absent, on a few hundred frames per program."""
    for program in RECIPES:
        expectations = load(program)
        assert expectations.program_sha256 == compiled(program).sha256, f"{program}: run pytest --record"
        assert sum(scenario.frame_count for scenario, _ in expectations.recorded) >= 300, program
