"""RFC 5180 5.3: frames with hop-by-hop options, which every router on the way may have to read.

Not a throughput test: they are offered at low loads while the resources of the device are watched out of band.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from p4mesh.errors import ParameterError
from p4mesh.layers import HopByHop as HopByHopOptions
from p4mesh.methods.base import Session, Unit
from p4mesh.methods.bed import Bed
from p4mesh.methods.mesh import Mesh, measure_loads
from p4mesh.methods.options import shared
from p4mesh.methods.options.parameters import ParameterSet, choice, decimal, with_defaults
from p4mesh.methods.port_patterns import DURATION_CLAUSE, PARAMETERS, RFC_DURATION_S, mesh_notes, mesh_of
from p4mesh.methods.results import rate_tables as tables
from p4mesh.methods.results.forwarding import LossSweep, loss_sweep
from p4mesh.methods.results.loss_interval import INTERVAL_NOTE
from p4mesh.methods.results.loss_tables import loss_table
from p4mesh.methods.results.outcome import Outcome
from p4mesh.methods.shapes import MeshTest

SECTION = "RFC 5180 5.3"
HOP_BY_HOP = shared.HOP_BY_HOP
LOADS_PCT = (Fraction(1), Fraction(10), Fraction(50))
ALL = "all"


class HopByHop(MeshTest[LossSweep]):
    """Frames with hop-by-hop options at 1, 10 and 50 % of line rate, for a look at the device's resources."""

    name = "rfc5180.hop_by_hop"
    title = "Hop-by-hop options"
    section = SECTION
    part = HOP_BY_HOP
    duration_s, duration_clause = RFC_DURATION_S, DURATION_CLAUSE
    frame_sizes_bytes = (128, 256, 512, 1024, 1280, 1518)
    parameters = (
        decimal(
            "load_pct", ALL, "% of line rate", SECTION, "load; all = 1, 10 and 50 % in turn", ("0.0001", "100"), (ALL,)
        ),
        choice(
            "extension_headers",
            HOP_BY_HOP,
            SECTION,
            "of the frames, within the frame size; none = the same frames without options, to compare",
            (HOP_BY_HOP, "none"),
        ),
        *PARAMETERS,
        *with_defaults(shared.trial_parameters(SECTION, RFC_DURATION_S), frame_format="ipv6"),
    )

    def check(self, bed: Bed, parameters: ParameterSet) -> None:
        """Refuse frames without IPv6, bridges, which read no options, and beds without port pairs of one rate."""
        if parameters.text("frame_format") != "ipv6":
            raise ParameterError(
                f"{self.name}: frame_format={parameters.text('frame_format')} has no hop-by-hop options",
                hint="use frame_format=ipv6",
            )
        stack = parameters.text(shared.HEADERS)
        if stack and not any(isinstance(layer, HopByHopOptions) for layer in shared.frame_of(parameters).layers):
            raise ParameterError(
                f"{self.name}: headers={stack} has no hop-by-hop options",
                hint="put hop_by_hop behind ipv6, such as headers=ipv6/hop_by_hop/udp",
            )
        if parameters.values.get("routed") is False:
            raise ParameterError(
                f"{self.name} without routed=true: only routers read hop-by-hop options", hint="add --set routed=true"
            )
        super().check(bed, parameters)

    def mesh(self, bed: Bed, parameters: ParameterSet) -> Mesh:
        return replace(mesh_of(self.name, bed, parameters), may_be_filtered=True)

    def trials_expected(self, unit: Unit, parameters: ParameterSet) -> int:
        return len(_loads(parameters))

    def run_unit(self, unit: Unit, bed: Bed, parameters: ParameterSet, session: Session) -> LossSweep:
        """Offer every load of one frame size."""
        mesh, size = self.mesh(bed, parameters), unit.frame_size_bytes
        return loss_sweep(size, measure_loads(mesh, HOP_BY_HOP, size, _loads(parameters), parameters, session))

    def assemble(self, bed: Bed, parameters: ParameterSet, results: Mapping[Unit, LossSweep]) -> Outcome:
        """The offered and the forwarded frames."""
        units = list(results.values())
        note = (
            f"{tables.criterion_note(None)} {INTERVAL_NOTE} No test of throughput: the device may drop what it need "
            "not read. Its resources are watched out of band; the times of the trials are in timing.jsonl."
        )
        return self.outcome(
            map(tables.sweep_state, units),
            f"{len(bed.ports)} ports",
            [loss_table(HOP_BY_HOP, self.title, units, note)],
            findings=tables.findings({HOP_BY_HOP: units}),
            deviations=(self.short_trials(bed, parameters, results), *mesh_notes(self.name, bed, parameters)),
        )


def _loads(parameters: ParameterSet) -> tuple[Fraction, ...]:
    return LOADS_PCT if parameters.is_word("load_pct") else (parameters.number("load_pct"),)
