"""RFC 3918 4.1: mixed class throughput, multicast and unicast from one port in a fixed ratio."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

from p4mesh.methods.base import Session, Unit
from p4mesh.methods.bed import Bed
from p4mesh.methods.options import shared
from p4mesh.methods.options.parameters import ParameterSet, decimal
from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import retitled
from p4mesh.methods.results.metrics import (
    early_frames,
    early_of_flows,
    late_frames,
    late_of_flows,
    steady_share,
    transmission_s,
)
from p4mesh.methods.rfc3918.rows import ClassCounts, MulticastTrial
from p4mesh.methods.rfc3918.searching import SEARCHED, CopiesThroughput, CopiesUnit, search_of_copies
from p4mesh.methods.rfc3918.setup import Setup, setup_parameters, trial_parameters, verify_parameter
from p4mesh.traffic.line_rate import NS_PER_S, rate_at_pct, tx_frames
from p4mesh.traffic.patterns import Rotate
from p4mesh.traffic.stream import Stream
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec

UNICAST = "unicast"


@dataclass(frozen=True, kw_only=True)
class MixedUnit(CopiesUnit):
    """The throughput of one frame size."""

    multicast_pct: float


class MixedClass(CopiesThroughput[MixedUnit]):
    """Mixed class throughput."""

    name = "rfc3918.mixed_class"
    title = "Mixed class throughput"
    section = clause = "RFC 3918 4.1"
    part, table = "mixed class", "mixed_class"
    parameters = (
        *setup_parameters("RFC 3918 4.1"),
        decimal("multicast_pct", "50", "% of frames", "RFC 3918 4.1", "multicast frames of the source", ("1", "99")),
        verify_parameter(),
        *trial_parameters("RFC 3918 4.1"),
        *shared.search_parameters("RFC 3918 4.1"),
    )
    columns = (
        fields.FRAME_SIZE_BYTES,
        retitled(fields.LOAD_PCT, "Intended load"),
        fields.MULTICAST_PCT,
        *ClassCounts.columns(),
        *SEARCHED,
    )
    note = "Each multicast frame is expected on every egress port, each unicast frame on one."

    def run_unit(self, unit: Unit, bed: Bed, parameters: ParameterSet, session: Session) -> MixedUnit:
        """Search the highest load without loss in both classes."""
        setup, size = Setup(bed, parameters), unit.frame_size_bytes
        return MixedUnit(
            frame_size_bytes=size,
            multicast_pct=float(parameters.number("multicast_pct")),
            search=search_of_copies(setup, size, session, partial(_spec, setup, size), _by_class),
        )

    def about(self, bed: Bed, parameters: ParameterSet) -> str:
        receivers = len(Setup(bed, parameters).receivers)
        return (
            f"{parameters.integer('groups')} groups and {receivers} unicast destination{'s' if receivers > 1 else ''}"
        )


def _spec(setup: Setup, size: int, load: Fraction, duration_ns: int) -> TrialSpec:
    """A trial whose unicast frames lie between the multicast frames: m1 u1 m2 u2 with equal shares."""
    share = setup.parameters.number("multicast_pct") / 100
    rate = rate_at_pct(load, size, setup.line_rate_bps)
    groups = setup.groups()
    multicast, unicast = share * rate, (1 - share) * rate
    sent = setup.stream(size, multicast, max(1, tx_frames(duration_ns, multicast)), groups)
    others = Stream(
        UNICAST,
        size,
        unicast,
        max(1, tx_frames(duration_ns, unicast)),
        Rotate(),
        (setup.source,),
        setup.receivers,
        setup.frame,
        start_offset_ns=(round(NS_PER_S / rate),),
    )
    label = f"mixed class {size} B {float(load):.4f} %"
    memberships = setup.memberships(groups, verify=setup.parameters.flag("joins_verify"))
    return setup.trial(label, (sent, others), duration_ns, memberships, per_flow=True, watch_queues=True)


def _by_class(row: MulticastTrial, spec: TrialSpec, result: TrialResult) -> MulticastTrial:
    # Frames that belong to no unicast flow are multicast.
    unicast = [flow for flow in result.flows if flow.stream == UNICAST]
    sent, lost = sum(flow.tx_frames for flow in unicast), sum(flow.lost_frames for flow in unicast)
    seconds = transmission_s(spec)
    egress_ports = len({flow.rx_port for flow in unicast})
    shares = zip(result.flows, late_of_flows(spec, result), early_of_flows(result), strict=True)
    beside = sum((late + early for flow, late, early in shares if flow.stream == UNICAST), Fraction(0))
    others = late_frames(result) + early_frames(result) - beside
    error_fps = max(float(egress_ports / seconds / steady_share(result)), row.forwarding_error_fps)
    counts = ClassCounts(
        multicast_tx_frames=row.tx_frames - sent,
        unicast_tx_frames=sent,
        multicast_fps=float((row.rx_frames - (sent - lost) - others) / seconds),
        multicast_error_fps=error_fps,
        unicast_error_fps=error_fps,
        unicast_fps=float((sent - lost - beside) / seconds),
        multicast_lost_frames=row.lost_frames - lost,
        unicast_lost_frames=lost,
    )
    return replace(row, classes=counts)
