"""Average latencies of both directions against independent captures, with the kernel's stamps at the device."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from fractions import Fraction

import pytest
from support.captures import capture, captured
from support.linux_devices import needs_root, shipped_on, valid

from p4mesh.layers import UDP_OVER_IPV4
from p4mesh.methods.results.latency import summarise
from p4mesh.methods.results.latency_cells import Circumstances, LatencyCells, latency_cells
from p4mesh.target.live import LiveTarget
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import Stream
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec

pytestmark = [pytest.mark.live, pytest.mark.wall_clock, needs_root]
RUNS, RATE_FPS, DURATION_NS = 20, 8_000, 500_000_000
FRAMES = RATE_FPS * DURATION_NS // 10**9
SIGNATURE = slice(42, 60)
"""Behind Ethernet, IPv4 and UDP; magic, run, and what tells one frame from another."""
MAGIC, RUN_PLACE = b"PM", 2


def stamps_of(frames: list[tuple[bytes, int, bool]], *, sent: bool) -> dict[bytes, int]:
    """Time at which each test frame of the last trial was sent or received, in ns of the system clock."""
    found = {
        frame[SIGNATURE]: stamp_ns
        for frame, stamp_ns, leaves in frames
        if leaves == sent and frame[SIGNATURE].startswith(MAGIC)
    }
    ((run, _),) = Counter(signature[RUN_PLACE] for signature in found).most_common(1)
    return {signature: stamp_ns for signature, stamp_ns in found.items() if signature[RUN_PLACE] == run}


def average_us(entry: dict[bytes, int], leaving: dict[bytes, int]) -> float:
    """The average time between two captures, of the frames that are in both."""
    assert entry.keys() == leaving.keys() and len(entry) == FRAMES
    return sum(leaving[signature] - entry[signature] for signature in entry) / len(entry) / 1000


def printed(result: TrialResult, tx_port: int) -> LatencyCells:
    """The cells that a table has for a direction."""
    (latency,) = (flow.latency for flow in result.flows if flow.tx_port == tx_port and flow.latency)
    return latency_cells(summarise(latency), "LILO-like", Circumstances.of([result], Fraction(1)))


@pytest.mark.parametrize(("topology", "part"), [("bridge-4x10m", "bridge"), ("router-4x1g", "linux")])
def test_averages_of_both_directions_are_those_of_captures_within_their_errors(topology: str, part: str) -> None:
    stream = Stream(
        "both ways", 64, Fraction(RATE_FPS), FRAMES, Pairs(), (1, 2), (2, 1), UDP_OVER_IPV4, routed=part == "linux"
    )
    spec = TrialSpec("averages", (stream,), DURATION_NS, settle_ns=200_000_000, restabilise_ns=0, per_flow=True)
    captures: dict[int, list[tuple[bytes, int, bool]]] = {}
    rows: list[str] = []
    outside = 0

    def measured() -> TrialResult:
        with ExitStack() as stack:
            raws = {port: stack.enter_context(capture(node.namespace, f"p{port}")) for port in (1, 2)}
            result = measurer.measure(spec)
            captures.update((port, list(captured(raw))) for port, raw in raws.items())
        return result

    with open_measurer(shipped_on(topology, part), "live") as measurer:
        target = measurer.tester.target
        assert isinstance(target, LiveTarget)
        (node,) = target.network.nodes
        for run in range(RUNS):
            result = valid(measured)
            for tx_port, rx_port in ((1, 2), (2, 1)):
                captured_us = average_us(
                    stamps_of(captures[tx_port], sent=False), stamps_of(captures[rx_port], sent=True)
                )
                times = printed(result, tx_port).times
                assert times.avg_us is not None and times.avg_error_us is not None and times.min_us is not None
                assert times.min_us < times.avg_us
                outside += abs(times.avg_us - captured_us) > times.avg_error_us
                rows.append(
                    f"{part}, run {run + 1}, from port {tx_port}: {times.avg_us:.3f} +- {times.avg_error_us:.3f} us, "
                    f"captures {captured_us:.3f}; min {times.min_us:.3f}, max {times.max_us:.3f} us, "
                    f"at most {times.single_error_us:.3f} too high"
                )
    print("\n".join(rows))
    assert not outside, "\n".join(rows)
