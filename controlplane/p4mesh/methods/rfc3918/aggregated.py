"""RFC 3918 4.3: aggregated multicast throughput, the highest load that reaches every member without loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from p4mesh.methods.base import Session, Unit
from p4mesh.methods.bed import Bed
from p4mesh.methods.options import shared
from p4mesh.methods.options.parameters import ParameterSet
from p4mesh.methods.results import fields
from p4mesh.methods.results.outcome import Figure, Series
from p4mesh.methods.results.searched import Searched
from p4mesh.methods.rfc3918.rows import MulticastTrial
from p4mesh.methods.rfc3918.searching import COPIES, CopiesThroughput, CopiesUnit, search_of_copies
from p4mesh.methods.rfc3918.setup import Setup, setup_parameters, trial_parameters, verify_parameter
from p4mesh.traffic.line_rate import max_rate_fps, rate_at_pct, tx_frames
from p4mesh.trial.spec import TrialSpec


@dataclass(frozen=True, kw_only=True)
class AggregatedUnit(CopiesUnit):
    """The throughput of one frame size."""

    groups: int
    members: int
    theoretical_fps: float


def search_aggregated(setup: Setup, size: int, session: Session, extra: int = 0) -> Searched[MulticastTrial]:
    """Search the highest load at which every member receives every frame; ``extra`` trials follow the search."""
    return search_of_copies(setup, size, session, partial(group_trial, setup, size, watch_queues=True), extra=extra)


def group_trial(
    setup: Setup,
    size: int,
    load: Fraction,
    duration_ns: int,
    groups: int | None = None,
    *,
    burdened: bool = False,
    watch_queues: bool = False,
    prints_latency: bool = False,
) -> TrialSpec:
    """A trial in which the source sends to the groups in turn, ``burdened`` beside the unicast of the setup."""
    rate = rate_at_pct(load, size, setup.line_rate_bps)
    ranges = setup.groups(groups)
    stream = setup.stream(size, rate, max(1, tx_frames(duration_ns, rate)), ranges)
    burden = setup.burden(size, duration_ns) if burdened else ()
    label = f"{ranges[0].count} groups {size} B {float(load):.4f} %{' burdened' if burden else ''}"
    memberships = setup.memberships(ranges, verify=setup.parameters.flag("joins_verify"))
    return setup.trial(
        label,
        (stream, *burden),
        duration_ns,
        memberships,
        per_flow=prints_latency,
        watch_queues=watch_queues,
        prints_latency=prints_latency,
    )


class Aggregated(CopiesThroughput[AggregatedUnit]):
    """Aggregated multicast throughput."""

    name = "rfc3918.aggregated"
    title = "Aggregated multicast throughput"
    section = clause = "RFC 3918 4.3"
    part = table = "aggregated"
    parameters = (
        *setup_parameters("RFC 3918 4.3"),
        verify_parameter(),
        *trial_parameters("RFC 3918 4.3"),
        *shared.search_parameters("RFC 3918 4.3"),
    )
    columns = (
        fields.FRAME_SIZE_BYTES,
        fields.GROUPS,
        fields.MEMBERS,
        fields.LOAD_PCT,
        fields.OFFERED_FPS,
        *COPIES,
    )
    note = "The aggregate counts the copies of all egress ports."

    def run_unit(self, unit: Unit, bed: Bed, parameters: ParameterSet, session: Session) -> AggregatedUnit:
        """Search the throughput of one frame size."""
        setup, size = Setup(bed, parameters), unit.frame_size_bytes
        return AggregatedUnit(
            frame_size_bytes=size,
            groups=parameters.integer("groups"),
            members=len(setup.receivers),
            theoretical_fps=float(max_rate_fps(size, setup.line_rate_bps)),
            search=search_aggregated(setup, size, session),
        )

    def about(self, bed: Bed, parameters: ParameterSet) -> str:
        groups, source = parameters.integer("groups"), parameters.integer("source_port")
        receivers = len(Setup(bed, parameters).receivers)
        return f"{groups} groups, port {source} to {receivers} ports with {parameters.text('protocol')}"

    def figures(self, units: Sequence[AggregatedUnit]) -> tuple[Figure, ...]:
        """The aggregate against the frame size, beside the most that the lines carry."""
        theory = tuple((float(unit.frame_size_bytes), unit.theoretical_fps * unit.members) for unit in units)
        found = tuple(
            (float(unit.frame_size_bytes), unit.search.shown.forwarding_fps)
            for unit in units
            if unit.search.throughput_pct is not None
        )
        series = (Series("theoretical maximum", theory, theoretical=True), Series("aggregated throughput", found))
        return (Figure("aggregated", self.title, "frame size (B)", "frames/s", series),)
