"""Line clocks of the tester's ports that are known to be off: what 100 % of line rate is then, in every report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from p4mesh.methods.base import Method, Unit, UnitResult, Wrapping
from p4mesh.methods.bed import Bed
from p4mesh.methods.options.parameters import Parameter, ParameterSet
from p4mesh.methods.results.outcome import Outcome


def with_clock_note(test: Method) -> Method:
    """Return ``test`` with a sentence about the clocks of the tester's ports where they are off."""

    class Noted(Wrapping):
        inner: ClassVar[Method] = test
        parameters: ClassVar[tuple[Parameter, ...]] = test.parameters

        def assemble(self, bed: Bed, parameters: ParameterSet, results: Mapping[Unit, UnitResult]) -> Outcome:
            outcome = test.assemble(bed, parameters, results)
            note = clock_note(bed)
            return replace(outcome, deviations=(*outcome.deviations, note)) if note else outcome

    return Noted()


def clock_note(bed: Bed) -> str:
    """Return what the topology states about the clocks of the tester's ports; empty where it states nothing."""
    offsets_ppm = sorted({port.clock_offset_ppm for port in bed.ports})
    if offsets_ppm == [0]:
        return ""
    span = " to ".join(f"{offset_ppm:+g}" for offset_ppm in dict.fromkeys((offsets_ppm[0], offsets_ppm[-1])))
    whose = "their own clock" if len(offsets_ppm) == 1 else "the slowest clock of the ports with one rate"
    return (
        f"The line clocks of the tester's ports are {span} ppm off, as the topology says: 100 % of line rate is "
        f"that of {whose}."
    )
