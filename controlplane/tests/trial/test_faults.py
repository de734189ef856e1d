"""Captured faults: frames as they came, no more than asked for, and lost frames named by flow and number."""

from __future__ import annotations

import csv
import json
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from shutil import copytree
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scapy.utils import PcapNgReader
from support.networks import GIGABIT, Link, changed, network, node, parsed, switch, wire
from support.runs import files

from p4mesh.cli.main import main
from p4mesh.layers import PLAIN, UDP_OVER_IPV4
from p4mesh.measurement.faults import Faults, FaultyFrame, LostFrames, faults_of
from p4mesh.run.options import RunOptions
from p4mesh.run.single import run
from p4mesh.store.fault_file import CAPTURES
from p4mesh.store.stored_run import TRIALS
from p4mesh.tester.fault_capture import CapturedPacket
from p4mesh.topology import Topology
from p4mesh.traffic.line_rate import max_rate_fps
from p4mesh.traffic.patterns import Broadcast, Pairs
from p4mesh.traffic.stream import Stream
from p4mesh.trial.onlooker import FaultRequest, Onlooker
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import Learning, TrialSpec
from p4mesh.verdict import Verdict

BARE = PLAIN
SIGNATURE_AT = 14
"""Of frames without IP headers."""
UNKNOWN = Learning(enabled=False)
PAIRS = ((1, 2), (3, 4))


def stream(frames: int, load: Fraction = Fraction(1, 5), size: int = 128, pairs: Any = PAIRS) -> Stream:
    rate = max_rate_fps(size, GIGABIT) * load
    senders, receivers = pairs
    return Stream("s", size, rate, frames, Pairs(), senders, receivers, BARE)


def capture(
    topology: Topology | str, sent: Stream, most: int, learning: Learning = UNKNOWN
) -> tuple[TrialResult, Faults]:
    """Measure a trial, and return what it has captured; the trial must be the one that nobody watches."""
    found: list[Faults] = []
    duration_ns = int(Fraction(sent.frame_count * 10**9) / sent.rate_fps)
    spec = TrialSpec("faults", (sent,), duration_ns, learning, per_flow=True)
    topology = parsed(topology) if isinstance(topology, str) else topology
    with open_measurer(topology) as measurer:
        result = measurer.measure(spec, Onlooker(lambda _: None, faults=FaultRequest(most, found.append)))
    with open_measurer(topology) as measurer:
        assert measurer.measure(spec) == result, "capturing changes no count"
    assert result.status is Verdict.MEASURED, result.reason
    faults = found[-1]
    return result, faults


def check_sum(signature: bytes) -> int:
    """The ones' complement sum over a signature: all ones for a good one."""
    total = sum(int.from_bytes(signature[at : at + 2], "big") for at in range(0, 18, 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def test_of_a_storm_of_flooded_frames_the_first_ones_come() -> None:
    """Goal: thousands of flooded frames, three pictures of them, of the ports that they were not for."""
    result, faults = capture(switch("learning: false"), stream(2000), 3)
    assert result.flooded_frames == 4 * 2000
    assert [frame.reason for frame in faults.frames] == ["flooded"] * 3
    for frame in faults.frames:
        assert frame.flow in ("s 1->3", "s 2->4")
        assert f"->{frame.port}" not in frame.flow
        assert frame.sequence == 0
        assert len(frame.frame) == 124
        assert check_sum(frame.frame[SIGNATURE_AT : SIGNATURE_AT + 18]) == 0xFFFF
    times = [frame.at_ns for frame in faults.frames]
    assert times == sorted(times)
    assert times[0] > 0


def test_frames_that_show_why_learning_failed_come_too() -> None:
    """Goal: a trial that is INVALID before its streams start has pictures of the frames that were flooded."""
    found: list[Faults] = []
    spec = TrialSpec("verified", (stream(50),), 1_000_000, Learning(wait_ns=1_000_000))
    with open_measurer(parsed(switch("learning: false"))) as measurer:
        result = measurer.measure(spec, Onlooker(lambda _: None, faults=FaultRequest(2, found.append)))
    assert result.status is Verdict.INVALID
    assert [frame.reason for frame in found[-1].frames] == ["flooded"] * 2


def test_damaged_frames_are_those_that_came_not_mended_ones() -> None:
    result, faults = capture(
        switch("impairments: {corrupt_ppb: 30000000}"), stream(3000), 500, Learning(wait_ns=1_000_000, verify=False)
    )
    reasons = [frame.reason for frame in faults.frames]
    assert reasons.count("damaged") == result.damaged_frames > 10
    assert reasons.count("foreign") == result.foreign_frames > 0
    for frame in faults.frames:
        good = check_sum(frame.frame[SIGNATURE_AT : SIGNATURE_AT + 18]) == 0xFFFF
        magic = frame.frame[SIGNATURE_AT : SIGNATURE_AT + 2] == b"PM"
        assert not good
        assert magic == (frame.reason == "damaged")
        assert (frame.sequence, frame.flow) == (None, "")


def test_frames_of_an_earlier_trial_and_foreign_ones_come_byte_for_byte() -> None:
    """Method: the controller sends frames with the signature of another run, and without one, over a wire."""
    sent = stream(10, pairs=((1,), (2,)))
    found: list[CapturedPacket] = []
    with open_measurer(parsed(wire())) as measurer:
        tester = measurer.tester
        tester.load([sent])
        tester.dataplane.faults.begin(2)
        head = bytes.fromhex("020000000002020000000001ffff")
        body = b"PM" + bytes([200, 0, 0, 0]) + (77).to_bytes(4, "big") + bytes(6)
        body += ((0xFFFF - check_sum(body + b"\0\0")) & 0xFFFF).to_bytes(2, "big")
        stale = head + body + bytes(range(64))
        foreign = head[:12] + b"\x08\x00" + bytes(range(50))
        for frame in (foreign, stale, stale, stale):
            tester.dataplane.send(1, frame)
        tester.wait(1_000_000)
        found = tester.dataplane.faults.take()
        tester.dataplane.faults.end()
        tester.dataplane.send(1, stale)
        tester.wait(1_000_000)
        assert tester.dataplane.faults.take() == []
        # A new trial counts anew.
        tester.dataplane.faults.begin(1)
        tester.dataplane.send(1, stale)
        tester.wait(1_000_000)
        assert [packet.kind for packet in tester.dataplane.faults.take()] == ["stale"]
    assert [(packet.kind, packet.port, packet.sequence) for packet in found] == [
        ("foreign", 2, 0),
        ("stale", 2, 77),
        ("stale", 2, 77),
    ]
    assert [packet.frame for packet in found] == [foreign, stale, stale]
    assert all(earlier.ticks < later.ticks for earlier, later in pairwise(found))


def test_misdirected_frames_have_the_address_of_their_port_and_the_payload_of_another() -> None:
    """Network 3 is behind next hop 4: the router gives its frames the address of station 4."""
    route = "198.18.3.0, prefix_bits: 24}}, action: to_next_hop, params: "
    sent = Stream("s", 128, Fraction(100_000), 50, Pairs(), (1, 2), (3, 4), UDP_OVER_IPV4, routed=True)
    result, faults = capture(changed("p4-l3-4ports", (f"{route}[3]", f"{route}[4]")), sent, 4)
    assert result.misdirected_frames == 50
    assert [(frame.reason, frame.port, frame.flow, frame.sequence) for frame in faults.frames] == [
        ("misdirected", 4, "s 1->3", number) for number in range(4)
    ]


def two_hubs(outage: str) -> str:
    """Ports 1 and 2 on one switch, 3 and 4 on another one; the cable between them fails. Both flood."""
    hubs = (node(name, "learning: false, latency_ns: 500", ports=3) for name in ("west", "east"))
    links: list[Link] = [("tester:1-2", "west:1-2"), ("tester:3-4", "east:1-2")]
    return network(*hubs, links=[*links, ("west:3", "east:3", f"outages: [{{{outage}}}]")])


def test_frames_lost_in_an_outage_are_named_exactly() -> None:
    """Goal: the numbers of the frames that were on their way while the cable was out, by their times."""
    outage_s, length_s, rate = Fraction("2.5"), Fraction("0.01"), Fraction(10_000)
    sent = Stream("s", 128, rate, 30_000, Pairs(), (1,), (3,), BARE)
    text = two_hubs(f"at_s: {float(outage_s)}, duration_s: {float(length_s)}")
    found: list[Faults] = []
    with open_measurer(parsed(text)) as measurer:
        spec = TrialSpec("outage", (sent,), 3 * 10**9, UNKNOWN)
        result = measurer.measure(spec, Onlooker(lambda _: None, faults=FaultRequest(5, found.append)))
    faults, first_s = found[-1], Fraction(result.first_tx_ns, 10**9)
    # Preamble and 128 bytes take 1.088 us on each line: the bits are between the switches from 1.588 to 2.676 us on.
    begin_s, end_s = Fraction(1588, 10**9), Fraction(2676, 10**9)
    on_cable = [(first_s + k / rate + begin_s, first_s + k / rate + end_s) for k in range(30_000)]
    expected = [k for k, (begin, end) in enumerate(on_cable) if end > outage_s and begin < outage_s + length_s]
    (lost,) = faults.lost
    assert (lost.stream, lost.tx_port, lost.rx_port, lost.late_frames) == ("s", 1, 3, 0)
    assert (lost.first_sequence, lost.last_sequence) == (expected[0], expected[-1])
    assert faults.lost_frames == faults.named_frames == result.lost_frames == len(expected)


def test_a_queue_that_overflows_leaves_gaps_and_ends_that_are_named() -> None:
    """Two ports send to one at 100 %: all losses are named, no number twice, each below the frames sent."""
    rate = max_rate_fps(128, GIGABIT)
    streams = [Stream(f"s{port}", 128, rate, 400, Pairs(), (port,), (3,), BARE) for port in (1, 2)]
    spec = TrialSpec("two to one", tuple(streams), 500_000, Learning(wait_ns=1_000_000), per_flow=True)
    found: list[Faults] = []
    with open_measurer(parsed(switch("latency_ns: 500", port="queue_frames: 16"))) as measurer:
        result = measurer.measure(spec, Onlooker(lambda _: None, faults=FaultRequest(1000, found.append)))
    faults = found[-1]
    assert result.lost_frames > 300
    assert faults.lost_frames == faults.named_frames == result.lost_frames
    numbers = [(lost.tx_port, lost.first_sequence + place) for lost in faults.lost for place in range(lost.frames)]
    assert len(set(numbers)) == len(numbers)
    assert max(number for _, number in numbers) < 400
    by_port = {flow.tx_port: flow.lost_frames for flow in result.flows}
    assert {port: sum(source == port for source, _ in numbers) for port in (1, 2)} == by_port


def records(**columns: list[int]) -> np.ndarray[Any, Any]:
    sent = ("departures", "first_departure", "last_departure")
    names = (*sent, "flow_sequence", "frames", "reordered", "next_sequence")
    found = np.zeros(64, dtype=[(name, np.uint64) for name in names])
    for name, values in columns.items():
        found[name][: len(values)] = values
    return found


def plan_of_pair() -> Any:
    with open_measurer(parsed(wire())) as measurer:
        return measurer.tester.plan([stream(100, pairs=((1,), (2,)))])


def packet(kind: str, sequence: int, expected: int, cell: int = 0) -> CapturedPacket:
    return CapturedPacket(kind, 2, 5000, cell, sequence, expected, b"")


def test_late_frames_leave_the_gaps_and_unknown_ones_leave_doubt() -> None:
    """20 sent: 3 to 6 and 9 missing at first; 4 comes late; 18 and 19 never."""
    plan = plan_of_pair()
    gaps = [packet("gap", 7, 3), packet("late", 4, 8), packet("gap", 10, 9)]

    def lost(frames: int, reordered: int, most: int = 5) -> list[tuple[int, int, int]]:
        held = records(
            flow_sequence=[20], frames=[frames], reordered=[reordered], next_sequence=[18], first_departure=[1]
        )
        return [
            (found.first_sequence, found.last_sequence, found.late_frames)
            for found in faults_of(plan, held, gaps, 1000, most).lost
        ]

    assert lost(14, 1) == [(3, 3, 0), (5, 6, 0), (9, 9, 0), (18, 19, 0)]
    assert lost(15, 2) == [(3, 3, 1), (5, 6, 1), (9, 9, 1), (18, 19, 0)]
    assert lost(20, 3) == []
    assert lost(14, 1, most=0) == [(3, 3, 0), (5, 6, 0), (9, 9, 0)], "no tail"


def test_each_late_frame_divides_the_gap_that_it_came_from() -> None:
    """10 sent: 2 to 8 are missing at first; 2, 4 and 8 come late, one of them behind the reading of the records."""
    held = records(flow_sequence=[10], frames=[6], reordered=[2], next_sequence=[10], first_departure=[1])
    packets = [packet("gap", 9, 2), packet("late", 4, 10), packet("late", 8, 10), packet("late", 2, 10)]
    found = faults_of(plan_of_pair(), held, packets, 1000, 5).lost
    assert [(lost.first_sequence, lost.last_sequence, lost.late_frames) for lost in found] == [(3, 3, 0), (5, 7, 0)]


def plan_of_flows(*flows: tuple[int, int, str]) -> Any:
    """The part that faults need of the plan of a stream from port 1: number of each flow, receive port, part."""
    made = [
        SimpleNamespace(cell=cell, sequence_cell=number, stream=0, tx_port=1, rx_port=port, part=part, expected=True)
        for cell, (number, port, part) in enumerate(flows)
    ]
    return SimpleNamespace(flows=made, names={0: "s"}, streams=[SimpleNamespace(transmitters=[SimpleNamespace(id=0)])])


@pytest.mark.parametrize("most", [0, 1, 2, 3])
def test_ends_of_flows_are_named_up_to_the_number_that_is_asked_for(most: int) -> None:
    """Each of two flows has lost its last frame; the one between has lost none, and has one more by a copy."""
    held = records(flow_sequence=[20, 20, 20], frames=[19, 21, 19], next_sequence=[19, 20, 19])
    found = faults_of(plan_of_flows((0, 2, ""), (1, 3, ""), (2, 4, "")), held, [], 1000, most)
    assert (found.lost_frames, found.named_frames) == (2, min(most, 2))
    assert [lost.rx_port for lost in found.lost] == [2, 4][:most]


@pytest.mark.parametrize("origin", [1000, (1 << 48) - 100])
def test_a_captured_frame_has_the_name_of_its_flow_if_its_signature_is_one_of_this_trial(origin: int) -> None:
    """Ticks of 4 ns; the clock may have begun anew since the first departure. Two receivers share flow 0."""
    plan = plan_of_flows((0, 2, ""), (0, 3, ""), (2, 4, "gold"))
    kinds = [("flooded", 0), ("misdirected", 2), ("stale", 2), ("damaged", 0), ("gap", 0), ("foreign", 0)]
    packets = [
        CapturedPacket(kind, 7, (origin + 250 * (number - 1)) % (1 << 48), cell, 5, 0, bytes([number]))
        for number, (kind, cell) in enumerate(kinds)
    ]
    held = records(departures=[1], first_departure=[origin])
    assert faults_of(plan, held, packets, 4000, 5).frames == (
        FaultyFrame("flooded", 7, -1000.0, 5, "s 1->many", b"\0"),
        FaultyFrame("misdirected", 7, 0.0, 5, "s 1->4 gold", b"\1"),
        FaultyFrame("stale", 7, 1000.0, 5, "", b"\2"),
        FaultyFrame("damaged", 7, 2000.0, None, "", b"\3"),
        FaultyFrame("foreign", 7, 4000.0, None, "", b"\5"),
    )


def test_numbers_go_on_behind_32_bits() -> None:
    plan = plan_of_pair()
    sent = (1 << 32) + 5
    held = records(flow_sequence=[sent], frames=[sent - 7], next_sequence=[2], first_departure=[1])
    gaps = [packet("gap", 1, (1 << 32) - 3)]
    assert [(lost.first_sequence, lost.last_sequence) for lost in faults_of(plan, held, gaps, 1000, 5).lost] == [
        ((1 << 32) - 3, 0),
        (2, 4),
    ]


def test_frames_to_many_are_lost_at_each_receiver() -> None:
    """The cable between the switches is out: port 2 has every frame, ports 3 and 4 have none."""
    many = Stream("b", 128, Fraction(10_000), 100, Broadcast(), (1,), (1, 2, 3, 4), BARE)
    result, faults = capture(two_hubs("at_s: 0"), many, 5)
    assert result.lost_frames == 200
    assert faults.lost == tuple(LostFrames("b", 1, port, "", 0, 100, 0) for port in (3, 4))


BAD = switch(
    "loss_ppb: 20000000, impairments: {duplicate_ppb: 20000000, corrupt_ppb: 30000000}", seed=5, port="queue_frames: 64"
)
SETTINGS = ("full_sweep=false", "step_pct=10", "scaled_frames=400")


def run_bad(out: Path, frames: int | None, jobs: int = 1) -> dict[str, bytes]:
    run(RunOptions("rfc2544.frame_loss", parsed(BAD), "64", SETTINGS, out, jobs=jobs, capture_frames=frames))
    return files(out)


@pytest.fixture(scope="module")
def plain_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run without captures; no test may change it."""
    out = tmp_path_factory.mktemp("runs") / "plain"
    run_bad(out, None)
    return out


@pytest.fixture(scope="module")
def captured_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same run with two frames of each reason; no test may change it."""
    out = tmp_path_factory.mktemp("runs") / "captured"
    run_bad(out, 2)
    return out


def test_a_run_writes_pcap_ng_with_comments_and_its_trials_do_not_change(
    tmp_path: Path, plain_run: Path, captured_run: Path
) -> None:
    plain, captured = files(plain_run), files(captured_run)
    parallel = run_bad(tmp_path / "parallel", 2, jobs=2)
    assert plain[TRIALS] == captured[TRIALS]
    assert captured == parallel
    new = {CAPTURES, "captures.pcapng", "captured_frames.csv", "lost_frames.csv"}
    assert captured.keys() - plain.keys() == new
    assert "capture_frames" not in json.loads(plain["run.json"])

    frames = [frame for trial in lines(captured) for frame in trial["faults"]["frames"]]
    with PcapNgReader(str(captured_run / "captures.pcapng")) as reader:
        packets = list(reader)
    assert [bytes(found).hex() for found in packets] == [frame["frame"] for frame in frames]
    for found, frame in zip(packets, frames, strict=True):
        assert found.comments is not None
        (comment,) = found.comments
        said = comment.decode()
        assert said.startswith(f"{frame['reason']}, port {frame['port']}, {frame['at_ns'] / 1000:.3f} us after ")
        assert found.sniffed_on == f"port {frame['port']}"
        assert float(found.time) == pytest.approx(1 + frame["at_ns"] / 1e9, abs=2e-9)
    for trial in lines(captured):
        reasons = [frame["reason"] for frame in trial["faults"]["frames"]]
        assert all(reasons.count(reason) <= 2 for reason in reasons)

    rows = list(csv.DictReader(captured["lost_frames.csv"].decode().splitlines()))
    assert sum(int(row["lost_frames"]) for row in rows if row["late_frames"] == "0") > 10
    outcome = json.loads(captured["results.json"])["outcome"]
    assert any(finding.startswith("captured: ") and "named by flow" in finding for finding in outcome["findings"])
    assert "Lost frames by flow and sequence number" in (captured_run / "report.html").read_text()


def lines(found: dict[str, bytes]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in found[CAPTURES].splitlines()]


def test_a_run_that_is_broken_off_keeps_what_it_has_captured(
    tmp_path: Path, captured_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Goal: pcap-ng of the trials so far; the run that goes on has the files of one that was never broken off."""
    whole = files(captured_run)
    from p4mesh.trial.engine import TrialEngine

    measure, left = TrialEngine.measure, [3]

    def breaking(engine: TrialEngine, *arguments: Any) -> TrialResult:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return measure(engine, *arguments)

    monkeypatch.setattr(TrialEngine, "measure", breaking)
    with pytest.raises(KeyboardInterrupt):
        run_bad(tmp_path / "broken", 2)
    with PcapNgReader(str(tmp_path / "broken" / "captures.pcapng")) as reader:
        assert len(list(reader)) == sum(len(trial["faults"]["frames"]) for trial in lines(whole)[:3])
    monkeypatch.undo()
    # A crash may cut a line, or leave that of a trial that is not on disk.
    with (tmp_path / "broken" / CAPTURES).open("a") as file:
        file.write(whole[CAPTURES].decode().splitlines()[5] + "\n" + '{"unit": "64B/fra')
    assert run_bad(tmp_path / "broken", 2) == whole


def test_another_number_of_frames_is_another_run(
    tmp_path: Path, plain_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    topology = tmp_path / "bad.yaml"
    topology.write_text(BAD)
    command = ["run", "rfc2544.frame_loss", "--topology", str(topology), "--sizes", "64,512", "--capture", "2"]
    assert main([*command, "--out", str(plain_run)]) == 2
    assert "capture_frames" in capsys.readouterr().err


def test_a_damaged_file_of_captures_is_refused(tmp_path: Path, captured_run: Path) -> None:
    whole = files(captured_run)
    copytree(captured_run, tmp_path / "out")
    (tmp_path / "out" / "results.json").unlink()
    (tmp_path / "out" / "sums.json").unlink()
    text = whole[CAPTURES].decode().replace('"at_ns"', '"at"', 1)
    (tmp_path / "out" / CAPTURES).write_text(text)
    from p4mesh.errors import RunDirectoryError

    with pytest.raises(RunDirectoryError, match=r"captures\.jsonl: line 1: damaged"):
        run_bad(tmp_path / "out", 2)
