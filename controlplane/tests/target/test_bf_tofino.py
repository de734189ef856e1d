"""Target ``tofino`` with BF Runtime, on a fake bf_switchd: the trials of the P4Runtime target, and ports and links.

Method: the model of a chip of test_tofino_target.py behind a BF Runtime server as strict as the real one
(fake_bfruntime.py), with the bfrt.json of our program. No chip and no model of one has run this.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import msgspec
import pytest
from support.bfruntime_tables import fixed_tables
from support.fake_bfruntime import TOFINO_2, FakeBfSwitchd
from support.tofino_beds import (
    BFRT_PROGRAM,
    DEVICE_PORTS,
    LATENCY_NS,
    MS,
    PORTS_OF_TOFINO_2,
    bfrt_topology,
    mesh,
    p4runtime_topology,
    switch,
    switch_of_chip,
    tofino_2_topology,
)
from support.tofino_chip import LOOP

from p4mesh.bfruntime import BfProgramError, BfRefusedError, BfRuntimeError, BfTimeoutError
from p4mesh.bfruntime.ports import PortSettings
from p4mesh.errors import ParameterError, TargetError, TopologyError, UnsupportedError
from p4mesh.target import tofino
from p4mesh.target.table import TARGETS
from p4mesh.target.tofino import BfTofinoTarget
from p4mesh.tester.contract import P4SRC
from p4mesh.tester.dataplane import PortTotals
from p4mesh.tester.histogram import HistogramPer
from p4mesh.tester.opening import open_tester
from p4mesh.topology.keys import FrontLoop
from p4mesh.topology.loader import parse_topology
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import Stream
from p4mesh.trial.engine import TrialEngine
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import Learning, TrialSpec
from p4mesh.verdict import Verdict


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeBfSwitchd]:
    with switch_of_chip(monkeypatch, switch()) as chip:
        yield chip


def measured(chip: FakeBfSwitchd, *specs: TrialSpec, more: str = "") -> list[TrialResult]:
    with open_measurer(bfrt_topology(chip.address, more), "tofino") as measurer:
        results = [measurer.measure(spec) for spec in specs]
    assert chip.faults == []
    return results


def test_a_mesh_over_two_pipes_has_the_counts_and_latencies_of_every_flow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Goal: registers of two pipes become one result; every fifth frame of a port is lost."""
    with switch_of_chip(monkeypatch, switch(lost=lambda n: n % 5 == 4, step_ns=8)) as chip:
        first, second = measured(chip, mesh(), replace(mesh(), histograms=HistogramPer.STREAM))

    for result in (first, second):
        assert (result.status, result.reason) == (Verdict.MEASURED, "")
        assert (result.tx_frames, result.rx_frames, result.lost_frames) == (240, 192, 48)
        assert {flow.tx_frames for flow in result.flows} == {20}, "60 frames of a port over three receivers"
        latency = result.latency
        assert latency is not None and latency.count == 192
        assert (latency.min_ns, latency.max_ns) == (1000, 1024)
        assert latency.sum_ns == 4 * sum(1000 + 8 * (n % 4) for n in range(60) if n % 5 != 4)
        assert latency.jitter_count > 0
        assert {port.port: port.rx_frames for port in result.ports} == dict.fromkeys(DEVICE_PORTS, 48)
    assert second.latency is not None and dict(second.latency.percentiles_ns)[50.0] == pytest.approx(1012, rel=1 / 128)


def test_a_mesh_on_a_tofino_2_of_four_pipes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Goal: its ports, its CPU port, its 65,536 flows in two banks of registers; loops of 100 and of 400 Gbit/s."""
    program = (P4SRC / "compiled" / "p4mesh.tofino2.bfrt.json").read_bytes()
    device = switch(lost=lambda n: n % 5 == 4, devices=PORTS_OF_TOFINO_2)
    with switch_of_chip(monkeypatch, device, program=program, chip=TOFINO_2) as chip:
        with open_measurer(tofino_2_topology(chip.address), "tofino") as measurer:
            result = measurer.measure(mesh())
            declared = measurer.tester.target.capabilities
            loops = (declared.loop, *declared.other_loops)
            assert [loop.rate_bps for loop in loops] == [100 * 10**9, 400 * 10**9]
        assert (result.status, result.tx_frames, result.rx_frames, result.lost_frames) == (
            Verdict.MEASURED,
            240,
            192,
            48,
        )
        assert {values["$SPEED"] for values in chip.ports.values()} == {"BF_SPEED_400G"}
        assert {values["$N_LANES"] for values in chip.ports.values()} == {8}
        assert {values["$FEC"] for port, values in chip.ports.items() if port != 24} == {"BF_FEC_TYP_REED_SOLOMON"}
        assert [port for port, values in chip.ports.items() if values["$LOOPBACK_MODE"] != "BF_LPBK_NONE"] == [24]
        assert chip.faults == []


def test_streams_circulate_in_the_inner_ports_of_a_tofino_2(monkeypatch: pytest.MonkeyPatch) -> None:
    """Goal: four loops and no front port; bf_switchd has set them up, and the controller leaves them alone.

    Three streams of 60 % and one of 30 % of 100 Gbit/s: the last is in the loop of 50 Gbit/s.
    """
    program = (P4SRC / "compiled" / "p4mesh.tofino2.bfrt.json").read_bytes()
    loads = {1: (2, 60), 2: (1, 60), 3: (4, 60), 4: (3, 30)}
    streams = tuple(
        Stream(f"s{tx}", 1518, Fraction(gbps * 10**9, 8 * 1538), 40, Pairs(), (tx,), (rx,))
        for tx, (rx, gbps) in loads.items()
    )
    device = switch(devices=PORTS_OF_TOFINO_2)
    with switch_of_chip(monkeypatch, device, program=program, chip=TOFINO_2) as chip:
        topology = tofino_2_topology(chip.address, ", inner_loops: [4, 1, 2]")
        with open_measurer(topology, "tofino") as measurer:
            declared = measurer.tester.target.capabilities
            gbps = [loop.rate_bps // 10**9 for loop in (declared.loop, *declared.other_loops)]
            result = measurer.measure(replace(mesh(), streams=streams, duration_ns=20_000))
        used = [port for _, port in sorted(chip.loop_of.items())]
    assert gbps == [100, 100, 50, 100]
    assert (result.status, result.reason, result.rx_frames) == (Verdict.MEASURED, "", 160)
    assert sorted(chip.loop_ports) == [1, 2, 4]
    assert (sorted(used[:3]), used[3]) == ([2, 4, 6], 1)
    assert chip.ports.keys() == set(PORTS_OF_TOFINO_2.values())
    assert chip.faults == []


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (", inner_loops: [6]", "as9516.yaml: port 6 is no inner loop of tofino2"),
        (", inner_loops: [2, 2]", "as9516.yaml: a port is in tester.tofino.inner_loops twice"),
    ],
)
def test_inner_loops_that_do_not_exist_are_refused(more: str, message: str) -> None:
    with pytest.raises(TopologyError, match=f"^{message}$"):
        tofino.switch_of(tofino_2_topology("127.0.0.1:1", more))


def test_a_tofino_1_has_no_inner_loops() -> None:
    with pytest.raises(TopologyError, match=r"port 2 is no inner loop of tofino$") as caught:
        tofino.switch_of(bfrt_topology("127.0.0.1:1", ", inner_loops: [2]"))
    assert caught.value.hint == "valid for tester.tofino.inner_loops: none"


def test_loops_beyond_the_value_set_are_refused() -> None:
    more = ", inner_loops: [1, 2]"
    found = tofino_2_topology("127.0.0.1:1", more)
    assert found.tofino is not None
    loops = [FrontLoop(device_port=port, rate_bps=10**11) for port in range(32, 39)]
    crowded = replace(found, tofino=msgspec.structs.replace(found.tofino, front_loops=loops))
    with pytest.raises(TopologyError, match="9 ports in loopback, the program has room for 8"):
        tofino.switch_of(crowded)


@pytest.mark.parametrize("port", [0, 5, 7, 72, 130, 512])
def test_ports_of_a_tofino_2_that_no_connector_has_are_refused(port: int) -> None:
    found = tofino_2_topology("127.0.0.1:1")
    inner = replace(found, tester_ports=(*found.tester_ports[:3], replace(found.tester_ports[3], device_port=port)))
    with pytest.raises(ParameterError, match=rf"port {port} is "):
        tofino.switch_of(inner)


def test_ports_are_set_up_before_a_trial_and_left_alone_when_they_are_right(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Goal: speed, FEC, autonegotiation, break-out and loopback; a second controller touches nothing."""
    more = """, front_loops: [{device_port: 8, rate_bps: 100000000000}],
      port_settings: [{device_ports: "4,128", fec: reed_solomon, autonegotiation: "off"},
                      {device_ports: 132, lanes: 2}]"""
    with switch_of_chip(monkeypatch, switch()) as chip:
        chip.ports[0] = {"$SPEED": "BF_SPEED_25G", "$FEC": "BF_FEC_TYP_NONE", "$N_LANES": 1, "$PORT_UP": True}
        measured(chip, mesh(), more=more)
        seen = {port: (v["$SPEED"], v["$FEC"], v["$AUTO_NEGOTIATION"], v["$N_LANES"]) for port, v in chip.ports.items()}
        plain, with_fec = "BF_FEC_TYP_NONE", "BF_FEC_TYP_REED_SOLOMON"
        assert seen == {
            0: ("BF_SPEED_100G", plain, "PM_AN_DEFAULT", 4),
            4: ("BF_SPEED_100G", with_fec, "PM_AN_FORCE_DISABLE", 4),
            8: ("BF_SPEED_100G", plain, "PM_AN_DEFAULT", 4),
            128: ("BF_SPEED_100G", with_fec, "PM_AN_FORCE_DISABLE", 4),
            132: ("BF_SPEED_100G", plain, "PM_AN_DEFAULT", 2),
        }
        loops = {port: values["$LOOPBACK_MODE"] for port, values in chip.ports.items()}
        assert loops == dict.fromkeys(DEVICE_PORTS.values(), "BF_LPBK_NONE") | {8: "BF_LPBK_MAC_NEAR"}
        chip.writes.clear()
        measured(chip, mesh(), more=more)
        assert "$PORT" not in {table for _, table in chip.writes}


def test_a_port_obeys_pause_frames_where_the_topology_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Goal: RFC 2889 5.5 with sources that stop; the default of a Tofino is that they do not."""
    with switch_of_chip(monkeypatch, switch()) as chip:
        plain = bfrt_topology(chip.address)
        obeying = replace(plain.tester_ports[1], options={"honours_pause": True})
        ports = (plain.tester_ports[0], obeying, *plain.tester_ports[2:])
        for topology, obeys in ((plain, set()), (replace(plain, tester_ports=ports), {4}), (plain, set())):
            with open_measurer(topology, "tofino"):
                assert {port for port, values in chip.ports.items() if values["$RX_PAUSE_FRAME_EN"]} == obeys
                assert not any(values["$TX_PAUSE_FRAME_EN"] for values in chip.ports.values())


def test_a_switch_whose_ports_cannot_obey_pause_frames_says_so_where_one_has_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Goal: without the fields ports are set up once, and touched no more; only RFC 2889 5.5 needs them.

    The oldest of these SDEs have no departures of the MAC either.
    """
    without = json.loads(fixed_tables())
    table = next(table for table in without["tables"] if table["name"] == "$PORT")
    table["data"] = [field for field in table["data"] if not re.search("PAUSE|1588", field["singleton"]["name"])]
    monkeypatch.setattr("support.fake_bfruntime.fixed_tables", lambda *_: json.dumps(without).encode())
    with switch_of_chip(monkeypatch, switch()) as chip:
        measured(chip, mesh())
        chip.writes.clear()
        measured(chip, mesh())
        assert "$PORT" not in {table for _, table in chip.writes}
        plain = bfrt_topology(chip.address)
        ports = (*plain.tester_ports[:3], replace(plain.tester_ports[3], options={"honours_pause": True}))
        chip.ports.clear()
        message = r"^device port 132: PAUSE frames cannot stop it, .* no \$RX_PAUSE_FRAME_EN$"
        with (
            pytest.raises(BfRuntimeError, match=message),
            open_measurer(replace(plain, tester_ports=ports), "tofino"),
        ):
            pass
        assert chip.ports == {}, "it says so before it touches a port"


def test_p4runtime_cannot_let_a_port_obey_pause_frames(tmp_path: Path) -> None:
    found = p4runtime_topology(tmp_path / "p4mesh.bin", "127.0.0.1:1")
    ports = tuple(replace(port, options={"honours_pause": True}) for port in found.tester_ports)
    with pytest.raises(TopologyError, match="tester port 1 honours_pause, and P4Runtime does not set ports"):
        tofino.switch_of(replace(found, tester_ports=ports))


@pytest.mark.parametrize(
    ("asked", "answered"),
    [("firecode", "BF_FEC_TYP_FC"), ("firecode", "BF_FEC_TYP_FIRECODE"), ("reed_solomon", "BF_FEC_TYP_RS")],
)
def test_a_name_of_the_same_error_correction_is_no_difference(asked: str, answered: str) -> None:
    settings = PortSettings(4, 25 * 10**9, fec=asked)
    assert settings.differences(settings.values | {"$FEC": answered}) == []
    other = PortSettings(4, 25 * 10**9).differences(settings.values | {"$FEC": answered})
    assert other == [f"$FEC {answered}, not BF_FEC_TYP_NONE"]


def test_a_port_with_firecode_is_added_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Goal: the switch answers with another name of the value, and the second controller touches no port."""
    more = ', port_settings: [{device_ports: "4", fec: firecode}]'
    with switch_of_chip(monkeypatch, switch()) as chip:
        measured(chip, mesh(), more=more)
        assert chip.ports[4]["$FEC"] == "BF_FEC_TYP_FC"
        chip.writes.clear()
        measured(chip, mesh(), more=more)
        assert "$PORT" not in {table for _, table in chip.writes}


def test_settings_of_a_port_that_is_none_of_the_tester_are_refused() -> None:
    with pytest.raises(TopologyError, match="port_settings of device port 12, which is no port of the tester"):
        tofino.port_settings_of(bfrt_topology("127.0.0.1:1", ", port_settings: [{device_ports: 12, lanes: 1}]"))


def test_a_rate_that_the_switch_has_not_is_one_clear_message(fake: FakeBfSwitchd) -> None:
    topology = bfrt_topology(fake.address)
    slow = replace(topology, tester_ports=tuple(replace(p, rate_bps=5_000_000_000) for p in topology.tester_ports))
    with (
        pytest.raises(TargetError, match=r"data field '\$SPEED': no choice 'BF_SPEED_5G'") as caught,
        open_measurer(slow, "tofino"),
    ):
        pass
    assert "BF_SPEED_100G" in caught.value.hint


def test_a_port_that_the_switch_refuses_is_named(fake: FakeBfSwitchd) -> None:
    topology = bfrt_topology(fake.address, ", pipes: 3")
    beyond = replace(topology.tester_ports[3], device_port=260)
    with (
        pytest.raises(BfRuntimeError, match=r"^device port 260: cannot write \(insert\) \$PORT: Table Add failed"),
        open_measurer(replace(topology, tester_ports=(*topology.tester_ports[:3], beyond)), "tofino"),
    ):
        pass


def test_a_link_that_is_lost_for_a_moment_aborts_the_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    """Goal: the loss is over before anybody looks at the table of ports; the switch has told of it."""
    forward = switch()
    chips: list[FakeBfSwitchd] = []

    def flaps(port: int, mac: bytes, number: int) -> list[tuple[int, int]]:
        if (port, number) == (4, 7):
            chips[0].set_link(4, False)
            chips[0].set_link(4, True)
        return forward(port, mac, number)

    with switch_of_chip(monkeypatch, flaps) as chip:
        chips.append(chip)
        lost, fine = measured(chip, mesh(), replace(mesh(), stop_on_los=False))
    assert (lost.status, lost.reason) == (Verdict.ABORT, "loss of link on port 2")
    assert fine.status is Verdict.MEASURED


def test_a_port_without_link_aborts_the_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tofino, "_LINK_UP_S", 0.2)
    with switch_of_chip(monkeypatch, switch()) as chip:
        chip.dark.add(128)
        (result,) = measured(chip, mesh())
    assert (result.status, result.reason) == (Verdict.ABORT, "no link on port 3")


def test_links_can_be_switched_off_and_on(fake: FakeBfSwitchd) -> None:
    with open_measurer(bfrt_topology(fake.address), "tofino") as measurer:
        target = measurer.tester.target
        target.set_links(up=False)
        assert {link.up for link in target.links().values()} == {False}
        target.set_links(up=True)
        assert {(link.up, link.losses) for link in target.links().values()} == {(True, 1)}
        target.set_link(2, up=False)
        assert [port for port, link in target.links().items() if not link.up] == [2]


def test_what_the_mac_discards_is_in_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """Goal: bad FCS, PAUSE and runts, which P4Runtime cannot see; counts from before the trial are not its own."""
    chips: list[FakeBfSwitchd] = []

    def damages(port: int, mac: bytes, number: int) -> list[tuple[int, int]]:
        chips[0].statistics[128]["$FramesReceivedwithFCSError"] += 1
        chips[0].statistics[128]["$FramesReceivedoftypePAUSE"] += 2
        chips[0].statistics[128]["$FramesReceivedUndersized"] += 3
        chips[0].statistics[128]["$FragmentsReceived"] += 4
        return []

    with switch_of_chip(monkeypatch, damages) as chip:
        chips.append(chip)
        chip.statistics[128]["$FramesReceivedwithFCSError"] = 1_000
        stream = Stream("one", 128, Fraction(1_000_000), 10, Pairs(), (1,), (3,))
        with open_measurer(bfrt_topology(chip.address), "tofino") as measurer:
            result = measurer.measure(replace(mesh(), streams=(stream,)))
    counted = {port.port: (port.bad_fcs_frames, port.pause_frames, port.runt_frames) for port in result.ports}
    assert counted == {1: (0, 0, 0), 2: (0, 0, 0), 3: (10, 20, 70), 4: (0, 0, 0)}


def test_the_last_departure_that_a_mac_has_kept_is_told_once(fake: FakeBfSwitchd) -> None:
    """Goal: looks at links, which take a kept time away, lose none; times have 48 bits, as stamps of the program."""
    with open_measurer(bfrt_topology(fake.address), "tofino") as measurer:
        target = measurer.tester.target
        assert {counts.last_departure_ns for counts in target.mac_counts().values()} == {None}
        for time in (700, 800, (1 << 48) + 900):
            fake.keep_departure(128, time)
        fake.keep_departure(132, 1_000)
        target.links()
        before = target.mac_counts()
        assert [before[port].last_departure_ns for port in (1, 2, 3, 4)] == [None, None, 900, 1_000]
        fake.keep_departure(132, 1_100)
        now = target.mac_counts()
        assert [now[port].since(before[port]).last_departure_ns for port in (1, 2, 3, 4)] == [None, None, None, 1_100]


def test_streams_circulate_in_front_ports_that_the_parser_is_told(fake: FakeBfSwitchd) -> None:
    """Goal: two streams of 60 % of the recirculation port; groups are made of nodes, the value set has its member."""
    fast = Fraction(60_000_000_000, 8 * 1538)
    streams = tuple(Stream(f"s{n}", 1518, fast, 40, Pairs(), (n,), (n + 2,)) for n in (1, 2))
    spec = replace(mesh(), streams=streams, duration_ns=10_000)
    loops = ", front_loops: [{device_port: 8, rate_bps: 100000000000}]"
    first, second = measured(fake, spec, replace(spec, streams=streams[:1]), more=loops)
    assert fake.loop_ports == [8]
    assert [(result.status, result.tx_frames, result.lost_frames) for result in (first, second)] == [
        (Verdict.MEASURED, 80, 0),
        (Verdict.MEASURED, 40, 0),
    ]
    assert sorted(fake.groups) == [1, 2], "the group of the stream that is gone has been removed with its nodes"
    assert {8, LOOP} >= set(fake.loop_of.values())


def test_bytes_of_ports_have_the_fcs_once(fake: FakeBfSwitchd) -> None:
    """Goal: counters of the chip see the FCS, those of v1model do not: 10 frames of 128 bytes are 1,280 bytes."""
    stream = Stream("one", 128, Fraction(1_000_000), 10, Pairs(), (1,), (3,))
    with open_tester(TARGETS["tofino"], bfrt_topology(fake.address)) as tester:
        TrialEngine(tester).measure(replace(mesh(), streams=(stream,)))
        totals = tester.dataplane.port_totals([1, 3])
    assert totals == {1: PortTotals(10, 1280, 0, 0), 3: PortTotals(0, 0, 10, 1280)}


def test_bytes_of_a_flow_tell_how_a_device_changes_frames(fake: FakeBfSwitchd) -> None:
    """Goal: 10 frames of 128 bytes come back with a tag; a second trial begins at 0, and has none."""
    spec = replace(mesh(), streams=(Stream("one", 128, Fraction(1_000_000), 10, Pairs(), (1,), (3,)),))
    found = []
    with open_measurer(bfrt_topology(fake.address), "tofino") as measurer:
        for fake.growth_bytes in (4, 0):
            (flow,) = measurer.measure(spec).flows
            assert flow.latency is not None
            found.append((flow.rx_bytes, flow.latency.added_bytes))
    assert found == [(1320, 4), (None, 0)]


def test_frames_of_the_controller_leave_by_device_ports(fake: FakeBfSwitchd) -> None:
    measured(fake, mesh(learning=Learning(wait_ns=MS, verify=False, frames_per_address=1)))
    assert sorted(fake.sent_frames) == sorted(DEVICE_PORTS.values())


def test_what_another_controller_has_left_is_removed(fake: FakeBfSwitchd) -> None:
    """Goal: a trial that was broken off leaves entries, groups and counts; the next controller begins without them."""
    with open_measurer(bfrt_topology(fake.address), "tofino") as measurer:
        measurer.tester.load([mesh().streams[0]])
        assert fake.tables["stream"] and len(fake.groups) > 1
    fake.cells[1, "frames", 5] = 77
    fake.groups[9] = [(1, 1)]
    with open_measurer(bfrt_topology(fake.address), "tofino") as measurer:
        assert not fake.tables["stream"] and sorted(fake.groups) == [1]
        assert fake.cells[1, "frames", 5] == 0
        assert measurer.measure(mesh()).rx_frames == 240


def test_another_program_on_the_switch_is_refused_before_anything_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Goal: a program that lacks a table and a parameter; its name alone says nothing."""
    other = json.loads(BFRT_PROGRAM)
    other["tables"] = [table for table in other["tables"] if not table["name"].endswith(".punt")]
    receiver = next(table for table in other["tables"] if table["name"].endswith(".receiver"))
    receiver["action_specs"][0]["data"].pop()
    with switch_of_chip(monkeypatch, switch(), program=json.dumps(other).encode()) as chip:
        with pytest.raises(BfProgramError) as caught:
            measured(chip, mesh())
        assert str(caught.value) == (
            "program 'p4mesh' on the switch is another one: it lacks table pipe.TesterIngress.reception.punt and 1 more"
        )
        assert {table for _, table in chip.writes} <= {"$PORT"}


def test_numbers_that_another_compiler_chose_are_taken_from_the_switch(monkeypatch: pytest.MonkeyPatch) -> None:
    other = json.loads(BFRT_PROGRAM)
    for place, table in enumerate(other["tables"]):
        table["id"] = 1000 + place
        for number, action in enumerate(table.get("action_specs", ())):
            action["id"] = 5000 + number
    with switch_of_chip(monkeypatch, switch(), program=json.dumps(other).encode()) as chip:
        (result,) = measured(chip, mesh())
    assert (result.status, result.rx_frames) == (Verdict.MEASURED, 240)


def test_a_program_of_another_name_is_refused_with_the_names_that_there_are(fake: FakeBfSwitchd) -> None:
    with pytest.raises(BfProgramError, match="the switch runs no program 'tester'") as caught:
        measured(fake, mesh(), more=", program: tester")
    assert caught.value.hint == "valid for tester.tofino.program: p4mesh"


def test_a_second_controller_is_told_of_the_first(fake: FakeBfSwitchd) -> None:
    with (
        open_measurer(bfrt_topology(fake.address), "tofino"),
        pytest.raises(BfRefusedError, match=r"cannot subscribe as client 1000: .*same client id") as caught,
        open_measurer(bfrt_topology(fake.address), "tofino"),
    ):
        pass
    assert caught.value.hint.startswith("end the controller that has this client id")


def test_requests_have_the_time_that_the_topology_gives_them(fake: FakeBfSwitchd) -> None:
    with BfTofinoTarget.connected(bfrt_topology(fake.address, ", request_timeout_s: 2")) as target:
        fake.operations.may_end.clear()
        with pytest.raises(BfTimeoutError, match="has not answered within 2 s"):
            target.client.sync(["cells.frames_cells"])
        fake.operations.may_end.set()
        assert target.client.timeout_s == 2, "records are waited for as long"


def test_no_server_is_one_clear_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("p4mesh.target.tofino._CONNECT_S", 0.2)
    with switch_of_chip(monkeypatch, switch()) as chip:
        address = chip.address
    with pytest.raises(TargetError, match=re.escape(f"no BF Runtime server answers at {address} within 0.2 s")):
        measured(chip, mesh())


def test_what_the_p4runtime_target_refuses_is_refused_too(fake: FakeBfSwitchd) -> None:
    short = tuple(replace(stream, frame_size_bytes=60) for stream in mesh().streams)
    with pytest.raises(UnsupportedError, match="'mesh' has frames of 60 bytes, whose seeds would be padded"):
        measured(fake, replace(mesh(), streams=short))


@pytest.mark.parametrize(
    ("tofino_keys", "message"),
    [
        ("api: bfrt", "wedge.yaml:4: tester.tofino: api bfrt needs cpu_interface"),
        ("api: p4runtime", "wedge.yaml:4: tester.tofino: api p4runtime needs device_config"),
        ("api: bfrt, cpu_interface: x, tls: {}", "wedge.yaml:4: tester.tofino.tls: tls has no use with api bfrt"),
        (
            "device_config: x, cpu_interface: x",
            "wedge.yaml:4: tester.tofino.cpu_interface: cpu_interface has no use with api p4runtime",
        ),
        (
            "device_config: x, request_timeout_s: 60",
            "wedge.yaml:4: tester.tofino.request_timeout_s: request_timeout_s has no use with api p4runtime",
        ),
        (
            "device_config: x, profile: ipdv",
            "wedge.yaml:4: tester.tofino.profile: profile has no use with api p4runtime",
        ),
        (
            "device_config: x, port_settings: [{device_ports: 4}]",
            "wedge.yaml:4: tester.tofino.port_settings: port_settings has no use with api p4runtime",
        ),
        (
            "api: bfrt, cpu_interface: x, port_settings: [{device_ports: 0-4}, {device_ports: 4}]",
            "wedge.yaml:4: tester.tofino.port_settings[1].device_ports: device port 4 is given twice",
        ),
    ],
)
def test_keys_that_do_not_fit_the_api_are_refused(tofino_keys: str, message: str) -> None:
    text = f"""
name: wedge
tester:
  tofino: {{chip: tofino1, address: "127.0.0.1:1", {tofino_keys}}}
  ports: [{{numbers: 1-2, device_ports: "0,4", rate_bps: 100000000000}}]
nodes: [{{name: dut, device: ethernet_switch, ports: [{{numbers: 1-2, rate_bps: 100000000000}}]}}]
links: [{{from: "tester:1-2", to: "dut:1-2"}}]
"""
    with pytest.raises(TopologyError) as caught:
        parse_topology("wedge.yaml", text)
    assert caught.value.message == message


def test_a_tofino_1_has_no_profile_with_ipdv() -> None:
    with pytest.raises(TopologyError, match=r"profile ipdv of tester\.tofino is for chip tofino2, not tofino1"):
        tofino.switch_of(bfrt_topology("127.0.0.1:1", ", profile: ipdv"))


def test_the_latency_of_a_trial_is_that_of_the_device(fake: FakeBfSwitchd) -> None:
    (result,) = measured(fake, mesh())
    assert result.latency is not None
    assert (result.latency.min_ns, result.latency.max_ns) == (LATENCY_NS, LATENCY_NS)
