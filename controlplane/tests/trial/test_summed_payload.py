"""Signatures whose check covers the payload: every flipped bit is found, and no frame that came as it was sent.

The program of target bmv2 runs on the simulated network here, whose ports do not compare payloads meanwhile.
"""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from support.networks import parsed, switch, wire
from support.summing import SummingSim

from p4mesh.layers import PLAIN, UDP_OVER_IPV4, UDP_OVER_IPV6, Frame
from p4mesh.layers.notation import frame_of_text
from p4mesh.tester.contract import SUMMING_TESTER, TESTER, load_contract
from p4mesh.tester.opening import open_tester
from p4mesh.topology import Topology
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import Stream
from p4mesh.trial.engine import TrialEngine
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import Learning, TrialSpec
from p4mesh.verdict import Verdict

FRAMES, RATE_FPS = 2000, Fraction(50_000)
HEADERS = {
    "ethernet": PLAIN,
    "ipv4": UDP_OVER_IPV4,
    "ipv6": UDP_OVER_IPV6,
    "tcp": frame_of_text("ipv4/tcp"),
    "icmpv6": frame_of_text("ipv6/icmpv6"),
    "vxlan": frame_of_text("ipv4(source=10.0.0.1,destination=10.0.0.2)/udp/vxlan/ethernet/ipv4/udp"),
}


def spec_of(frame: Frame, **changes: Any) -> TrialSpec:
    stream = Stream("s", 259, RATE_FPS, FRAMES, Pairs(), (1,), (2,), frame)
    return TrialSpec("sums", (replace(stream, **changes),), int(FRAMES * 10**9 / RATE_FPS), Learning(enabled=False))


def summed(topology: Topology, spec: TrialSpec) -> TrialResult:
    with open_tester(SummingSim, topology) as tester:
        result = TrialEngine(tester).measure(spec)
    assert result.status is Verdict.MEASURED, result.reason
    return result


def test_the_programs_differ_in_their_checksums_alone() -> None:
    plain, summing = (json.loads(load_contract(name).json_path.read_text()) for name in (TESTER, SUMMING_TESTER))
    assert {key for key in plain if plain[key] != summing[key]} == {"program", "calculations", "checksums"}


@pytest.mark.parametrize("frame", HEADERS.values(), ids=list(HEADERS))
@pytest.mark.parametrize("payload", [bytes(range(256)), b"\xff\x01\x80"], ids=["counting", "own"])
def test_frames_that_come_as_they_were_sent_are_not_corrupted(frame: Frame, payload: bytes) -> None:
    result = summed(parsed(wire()), spec_of(frame, payload=payload))
    assert (result.rx_frames, result.lost_frames, result.corrupted_frames) == (FRAMES, 0, 0)


@pytest.mark.parametrize("frame", [UDP_OVER_IPV4, UDP_OVER_IPV6])
def test_sizes_in_turn_have_the_sums_of_what_is_left_of_their_payload(frame: Frame) -> None:
    result = summed(parsed(wire()), spec_of(frame, sizes_in_turn_bytes=(90, 128, 101, 259)))
    assert (result.rx_frames, result.corrupted_frames) == (FRAMES, 0)


def test_a_flipped_bit_is_found_where_ports_that_compare_find_it_or_the_signature_is_damaged() -> None:
    """One bit of 10 % of the frames is changed; a sum of 16 bits has another value for any one bit."""
    topology = parsed(switch("impairments: {corrupt_ppb: 100000000}", ports=2, seed=4))
    spec = spec_of(PLAIN)
    with open_measurer(topology) as measurer:
        compared = measurer.measure(spec)
    found = summed(topology, spec)
    assert compared.corrupted_frames > 100 and compared.damaged_frames > 0
    assert found.corrupted_frames == compared.corrupted_frames + compared.damaged_frames
    assert found.damaged_frames == 0
    assert found.lost_frames == compared.lost_frames == found.corrupted_frames + found.foreign_frames
    assert sum(port.corrupted_frames for port in found.ports) == found.corrupted_frames
