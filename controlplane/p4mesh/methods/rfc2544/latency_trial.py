"""The trial of RFC 2544 26.2: a stream at a rate, of which a part, or one tagged frame, is the sample.

The tagged frame takes the place of a frame of the stream: three streams send one after the other, in
the slots of one. So the tag changes nothing of what the device sees, and it alone is measured.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from p4mesh.layers import IPv4, IPv6, ipv4, ipv6
from p4mesh.methods.bed import Bed
from p4mesh.methods.longer_trials import Asked
from p4mesh.methods.mesh import LATENCY, Leg, Mesh, trial_spec
from p4mesh.methods.options import shared
from p4mesh.methods.options.parameters import ParameterSet
from p4mesh.methods.port_patterns import mesh_of
from p4mesh.tester.histogram import HistogramPer
from p4mesh.traffic.derived import consecutive
from p4mesh.traffic.imix import FrameSize
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import FieldModifier, Stream, ValueList
from p4mesh.trial.spec import TrialSpec

ALL_FRAMES, RFC = "all_frames", "rfc"
SAME, NEW = "same", "new"
_NEW_NETWORKS = {
    IPv4.kind: FieldModifier(ipv4.DESTINATION, ValueList((1 << 16,))),
    IPv6.kind: FieldModifier(ipv6.DESTINATION, ValueList((1 << 8,))),
}
"""From 198.18.P.2 to 198.19.P.2 (RFC 2544 C.2.2), from 2001:2:0:P::2 to 2001:2:0:P::102, a network of 120 bits."""


@dataclass(frozen=True)
class LatencyTrial:
    """A trial of any length, and the names of the streams whose frames are samples."""

    asked: Asked
    samples: tuple[str, ...]


def latency_mesh(test: str, bed: Bed, parameters: ParameterSet) -> Mesh:
    """The traffic of the test; all port pairs of one rate are one stream."""
    mesh = mesh_of(test, bed, parameters)
    if any(leg.pattern != Pairs() for leg in mesh.legs):
        return mesh
    of_rate: dict[int | None, list[Leg]] = {}
    for leg in mesh.legs:
        of_rate.setdefault(leg.line_rate_bps, []).append(leg)
    joined = []
    for rate_bps, legs in of_rate.items():
        tx_ports = tuple(port for leg in legs for port in leg.tx_ports)
        rx_ports = tuple(port for leg in legs for port in leg.rx_ports)
        joined.append(Leg(Pairs(), tx_ports, rx_ports, rate_bps))
    return replace(mesh, legs=tuple(joined))


def latency_trial(
    mesh: Mesh, size: FrameSize, load: Fraction, parameters: ParameterSet, network: str, histograms: int
) -> LatencyTrial:
    """The trial at one load; ``network`` is where tagged frames go, ``histograms`` how many a trial can have."""
    duration_ns = parameters.integer("latency_factor") * shared.duration_ns_of(parameters, size, mesh.line_rate_bps)

    def whole(length_ns: int) -> TrialSpec:
        return trial_spec(mesh, LATENCY, size, load, parameters, length_ns)

    def spec_of(length_ns: int) -> TrialSpec:
        return _sampled(whole(length_ns), mesh, parameters, network, histograms)

    return LatencyTrial(Asked(load, spec_of, duration_ns), tuple(stream.name for stream in whole(duration_ns).streams))


def _sampled(spec: TrialSpec, mesh: Mesh, parameters: ParameterSet, network: str, histograms: int) -> TrialSpec:
    """A trial of which a part, or one tagged frame, is the sample."""
    tagged = parameters.text("mode") == RFC
    warm_up = parameters.number("warm_up_pct") / 100
    streams: list[Stream] = []
    for stream in spec.streams:
        before = int(warm_up * stream.frame_count)  # 99 % at most: some frames are left to measure
        sampled = 1 if tagged else stream.frame_count - before
        parts = {
            f"{stream.name}-before": before,
            stream.name: sampled,
            f"{stream.name}-after": stream.frame_count - before - sampled,
        }
        for part in consecutive(stream, parts):
            streams.append(_to_new_network(part) if network == NEW and part.name == stream.name else part)
    flows = tuple(
        (stream.name, *pair) for stream, leg in zip(spec.streams, mesh.legs, strict=True) for pair in leg.pairs
    )
    counted = not tagged and len(flows) <= histograms
    return replace(
        spec,
        streams=tuple(streams),
        per_flow=not counted,
        histograms=HistogramPer.FLOW if counted else None,
        histogram_flows=flows if counted else (),
        departure_error_ns=shared.departure_error_ns(parameters),
    )


def _to_new_network(stream: Stream) -> Stream:
    assert stream.frame.network is not None
    return replace(stream, modifiers=(_NEW_NETWORKS[stream.frame.network.kind],))
