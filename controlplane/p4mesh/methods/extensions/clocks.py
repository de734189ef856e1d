"""Adds a note to every report when line clocks of tester ports are known to be off: it tells what 100 % is."""

from __future__ import annotations

from dataclasses import replace

from p4mesh.methods.bed import Bed
from p4mesh.methods.composition import Assemble, Case, Extension, Results
from p4mesh.methods.results.outcome import Outcome
from p4mesh.quantities import signed_text


class ClockNote(Extension):
    """A sentence about the clocks of the tester's ports where they are off."""

    def assemble(self, assemble: Assemble, case: Case, results: Results) -> Outcome:
        """The outcome with the sentence among its deviations."""
        outcome, note = assemble(results), clock_note(case.bed)
        return replace(outcome, deviations=(*outcome.deviations, note)) if note else outcome


def clock_note(bed: Bed) -> str:
    """The note on the clocks of the tester's ports; empty when the topology states no offset."""
    offsets_ppm = sorted({port.clock_offset_ppm for port in bed.ports})
    if offsets_ppm == [0]:
        return ""
    span = " to ".join(signed_text(offset_ppm) for offset_ppm in dict.fromkeys((offsets_ppm[0], offsets_ppm[-1])))
    whose = "their own clock" if len(offsets_ppm) == 1 else "the slowest clock of the ports with one rate"
    return (
        f"The line clocks of the tester's ports are {span} ppm off, as the topology says: 100 % of line rate is "
        f"that of {whose}."
    )
