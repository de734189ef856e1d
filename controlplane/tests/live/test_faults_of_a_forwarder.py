"""Faults of a forwarder with counters of its own: the tester counts as many, on every target with interfaces.

netem of the kernel, where it is there, loses frames by chance and counts them, too.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from fractions import Fraction

import pytest
from support.forwarder import LATER, ROUND, Fault, forwarding
from support.hand_made import machine
from support.linux_devices import needs_root, shipped_on, valid

from p4mesh.layers import UDP_OVER_IPV4
from p4mesh.run.chosen_interfaces import topology_of
from p4mesh.target.live import LiveTarget
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import Stream
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import Learning, TrialSpec

pytestmark = [pytest.mark.live, needs_root]
FRAMES = 100
"""Per direction."""
HIT = FRAMES // ROUND
"""Frames of a direction that a fault meets at one place of each round."""
PLACES = {Fault.LOSS: 1, Fault.LATE_COPY: 2, Fault.COPY: 3, Fault.SWAP: 5, Fault.SIGNATURE_BIT: 7, Fault.PAYLOAD_BIT: 9}
COUNTED_AS = {
    Fault.LOSS: {"lost_frames"},
    Fault.COPY: {"duplicate_frames"},
    Fault.LATE_COPY: {"duplicate_frames"},
    Fault.SWAP: {"reordered_frames"},
    Fault.SIGNATURE_BIT: {"lost_frames", "damaged_frames"},
    Fault.PAYLOAD_BIT: {"lost_frames", "corrupted_frames"},
}
WHERE_SUMMED = COUNTED_AS | {Fault.SIGNATURE_BIT: {"lost_frames", "corrupted_frames"}}
"""Where the check of a signature covers the payload, too, nothing tells one from the other."""
DELAY_NS = 4_000_000
RATES_FPS = {"live": 500, "bmv2": 40}
"""A simple_switch_grpc that was not optimised sends some hundred frames per second."""


TARGETS = [
    ("live", "af_xdp"),
    ("live", "af_packet"),
    pytest.param(
        "bmv2",
        None,
        marks=pytest.mark.skipif(
            shutil.which("simple_switch_grpc") is None, reason="simple_switch_grpc is not installed"
        ),
    ),
]


def spec_of(target: str) -> TrialSpec:
    rate_fps = RATES_FPS[target]
    return TrialSpec(
        "faults",
        (Stream("both ways", 256, Fraction(rate_fps), FRAMES, Pairs(), (1, 2), (2, 1), UDP_OVER_IPV4),),
        FRAMES * 10**9 // rate_fps,
        Learning(enabled=False),
        settle_ns=400_000_000,
        restabilise_ns=0,
    )


def counted(result: TrialResult) -> dict[str, int]:
    names = {name for counts in COUNTED_AS.values() for name in counts}
    return {name: getattr(result, name) for name in sorted(names)}


@pytest.mark.parametrize(
    "faults",
    [*([fault] for fault in Fault), [Fault.LOSS, Fault.LATE_COPY], list(Fault)],
    ids=lambda faults: ", ".join(map(str, faults)),
)
@pytest.mark.parametrize(("target", "access"), TARGETS)
def test_the_tester_counts_what_the_device_has_done(target: str, access: str | None, faults: list[Fault]) -> None:
    with machine(pairs=2) as here:
        for end in ("b1", "b2"):
            here.ip("link", "set", end, "up")
        places = {PLACES[fault]: fault for fault in faults}
        with (
            forwarding(here.name, ("b1", "b2"), places, DELAY_NS / 1e9) as device,
            open_measurer(topology_of(shipped_on("back-to-back"), access, "a1,a2"), target) as measurer,
        ):
            counted_as = WHERE_SUMMED if measurer.tester.target.capabilities.sums_payload else COUNTED_AS

            def once() -> TrialResult:
                device.counts.clear()
                return measurer.measure(spec_of(target))

            result = valid(once)
            found = dict(device.counts)
    hits = {fault: HIT - LATER // ROUND * (fault is Fault.LATE_COPY) for fault in faults}
    assert found == {(source, fault): hits[fault] for source in (0, 1) for fault in faults}
    expected = dict.fromkeys(counted(result), 0)
    for (_, fault), frames in found.items():
        for name in counted_as[fault]:
            expected[name] += frames
    assert counted(result) == expected
    copies = expected["duplicate_frames"]
    assert (result.tx_frames, result.rx_frames) == (2 * FRAMES, 2 * FRAMES - result.lost_frames + copies)
    assert result.latency is not None and result.latency.min_ns > DELAY_NS


def test_the_tester_counts_what_netem_loses() -> None:
    """A frame in ten is lost by chance behind each of two ports of a bridge."""
    spec = replace(spec_of("live"), learning=Learning(verify=False))
    with open_measurer(shipped_on("bridge-4x10m", "bridge"), "live") as measurer:
        target = measurer.tester.target
        assert isinstance(target, LiveTarget)
        node = target.network.node("bridge")
        for port in ("p1", "p2"):
            words = ["tc", "qdisc", "add", "dev", port, "root", "netem", "loss", "random", "10%"]
            added = subprocess.run(node.command(*words), capture_output=True, text=True, check=False)
            if added.returncode:
                pytest.skip(f"netem: {added.stderr.strip()}")

        def dropped() -> int:
            words = node.command("tc", "-s", "-j", "qdisc", "show")
            shown = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
            return sum(item["drops"] for item in shown if item["kind"] == "netem")

        drops: list[int] = []

        def once() -> TrialResult:
            drops.append(dropped())
            return measurer.measure(spec)

        result = valid(once)
        lost = dropped() - drops[-1]
    # Learning frames of one port go out of the other.
    assert 0 < result.lost_frames <= lost <= result.lost_frames + 2 * spec.learning.frames_per_address
