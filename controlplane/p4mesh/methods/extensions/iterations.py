"""Whole tests repeated (RFC 8239 1.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from p4mesh.methods.base import Method, Unit
from p4mesh.methods.composition import Assemble, Case, Extension, Results
from p4mesh.methods.options.parameters import Parameter, ParameterSet, integer
from p4mesh.methods.results.iterations import combined
from p4mesh.methods.results.outcome import Outcome
from p4mesh.methods.results.record import Record

ITERATIONS = integer("iterations", 1, "iterations", "RFC 8239 1.2", "repetitions of the whole test", (1, 100))


class Iterations(Extension):
    """Every unit several times, and one report of all of them; with one iteration it is the same test."""

    def parameters_of(self, method: Method) -> tuple[Parameter, ...]:
        return (ITERATIONS,)

    def units(self, units: Sequence[Unit], parameters: ParameterSet) -> tuple[Unit, ...]:
        """All units of the first iteration, then those of the next one."""
        wanted = range(1, parameters.integer(ITERATIONS.name) + 1)
        return tuple(replace(unit, iteration=n) for n in wanted for unit in units)

    def assemble(self, assemble: Assemble, case: Case, results: Results) -> Outcome:
        """The outcome of the only iteration, or the combined outcome of all."""
        by_iteration: dict[int, dict[Unit, Record]] = {}
        for unit, result in results.items():
            by_iteration.setdefault(unit.iteration, {})[replace(unit, iteration=1)] = result
        outcomes = [assemble(part) for part in by_iteration.values()]
        return outcomes[0] if len(outcomes) == 1 else combined(case.method.title, outcomes)
