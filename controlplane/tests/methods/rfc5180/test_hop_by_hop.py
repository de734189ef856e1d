"""RFC 5180 5.3: frames with hop-by-hop options at 1, 10 and 50 % of line rate."""

from __future__ import annotations

import pytest
from scapy.layers.inet import UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrHopByHop, PadN
from scapy.layers.l2 import Ether
from support.frames import headers_of
from support.networks import shipped
from support.runs import run_on_sim

from p4mesh.errors import ParameterError
from p4mesh.methods.composition import Composed
from p4mesh.methods.conditions.under_conditions import UnderConditions
from p4mesh.methods.options.parameters import resolve
from p4mesh.methods.options.shared import frame_of
from p4mesh.methods.results.outcome import Outcome
from p4mesh.methods.rfc2544.throughput import Throughput
from p4mesh.methods.rfc5180.hop_by_hop import HopByHop
from p4mesh.run.preparation import bed_of
from p4mesh.tester.frames import minimum_frame_bytes
from p4mesh.traffic.line_rate import max_rate_fps
from p4mesh.verdict import Verdict

QUICK = ("learning_wait_ms=1", "settle_ms=1", "restabilise_ms=1")


def run(*settings: str, topology: str = "router-4x1g", size: int = 128, frames: int = 2000) -> Outcome:
    test = Composed(HopByHop(), (UnderConditions(),))
    return run_on_sim(test, shipped(topology), (size,), *QUICK, "routed=true", f"scaled_frames={frames}", *settings)[1]


def test_the_options_are_the_first_header_and_within_the_frame() -> None:
    test = Composed(HopByHop(), (UnderConditions(),))
    headers = frame_of(resolve(test.name, test.parameters, ()))
    packet = Ether(headers_of(headers, 128))
    assert packet[IPv6].nh == 0
    options = packet[IPv6].payload
    assert isinstance(options, IPv6ExtHdrHopByHop) and (options.len, options.nh) == (0, 17)
    assert [type(option) for option in options.options] == [PadN], "nothing for a router to do"
    assert packet[IPv6].plen == 128 - 14 - 40 - 4 and UDP in packet
    assert minimum_frame_bytes(headers) == 84 + 8


@pytest.mark.parametrize("topology", ["router-4x1g", "p4-l3-4ports"])
def test_1_10_and_50_percent_are_offered_in_turn(topology: str) -> None:
    outcome = run(topology=topology)
    (table,) = outcome.tables
    assert outcome.state is Verdict.MEASURED
    assert [row["load_pct"] for row in table.rows] == [1, 10, 50]
    line_fps = 4 * float(max_rate_fps(128, 10**9))
    for row, share in zip(table.rows, (0.01, 0.1, 0.5), strict=True):
        assert row["offered_fps"] == pytest.approx(share * line_fps, rel=1e-3)
        assert row["tx_frames"] == 4 * int(2000 * share) == row["rx_frames"]
        assert (row["extension_headers"], row["ip_mix"], row["prefix_bits"]) == ("hop_by_hop", "0:100", 64)
    assert "out of band" in table.note


def test_one_load_of_the_users() -> None:
    assert [row["load_pct"] for row in run("load_pct=25").tables[0].rows] == [25]


def test_what_the_device_drops_is_shown_and_no_failure() -> None:
    """The model looks up 4 million frames per second: four ports send 3.6 and 4.5 million; above, it passes 60 %."""
    (row,) = run("load_pct=80", size=92, frames=20_000).tables[0].rows
    offered = 0.8 * 4 * float(max_rate_fps(92, 10**9))
    assert offered < 4e6 and row["lost_frames"] == 0
    (row,) = run("load_pct=100", size=92, frames=20_000).tables[0].rows
    assert 4 * float(max_rate_fps(92, 10**9)) > 4e6
    assert row["loss_pct"] == pytest.approx(40, abs=1)
    assert row["state"] == "MEASURED"


def test_the_same_frames_without_options_to_compare() -> None:
    rows = run("extension_headers=none").tables[0].rows
    assert {row["extension_headers"] for row in rows} == {"none"}
    assert [row["load_pct"] for row in rows] == [1, 10, 50]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ((), "rfc5180.hop_by_hop without routed=true: only routers read hop-by-hop options"),
        (("routed=true", "frame_format=ipv4"), "frame_format=ipv4"),
        (("routed=true", "frame_format=ethernet"), "frame_format=ethernet"),
    ],
)
def test_frames_and_devices_without_options_are_refused(settings: tuple[str, ...], message: str) -> None:
    test = Composed(HopByHop(), (UnderConditions(),))
    with pytest.raises(ParameterError, match=message):
        test.check(bed_of(shipped("router-4x1g")), resolve(test.name, test.parameters, settings))


def test_throughput_is_not_measured_with_hop_by_hop_options() -> None:
    test = Composed(Throughput(), (UnderConditions(),))
    with pytest.raises(ParameterError) as caught:
        resolve(test.name, test.parameters, ("frame_format=ipv6", "extension_headers=hop_by_hop"))
    assert "hop_by_hop" not in str(caught.value.hint)
