"""Whole tests and an OTG script on the sources of the program for Tofino, interpreted behind a fake bf_switchd.

Method: as in test_tofino_program_runs.py, with the command line or the session of ``p4mesh otg`` in front.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import snappi
from google.protobuf.json_format import Parse
from scapy.layers.l2 import Ether
from scapy.utils import rdpcap
from snappi import otg_pb2 as pb2
from support.fake_bfruntime import TOFINO_2
from support.interpreted_switchd import InterpretedSwitchd, mac_ns
from support.otg import add_flow, two_ports
from support.tofino_beds import (
    CHIPS,
    GROUPS,
    IGMPV3_ROUTERS,
    LATENCY_NS,
    PORTS_OF_TOFINO_2,
    bfrt_text,
    switch,
    switch_of_chip,
    tofino_2_text,
)
from support.tofino_chip import Device

from p4mesh.cli.main import main
from p4mesh.otg.locations import Topologies
from p4mesh.otg.pace import TimeMode
from p4mesh.otg.session import Session
from p4mesh.target.tofino import TofinoTarget
from p4mesh.tester.contract import P4SRC

# Seeds go round for as long as a trial lasts, and each round is interpreted: trials are short, and rates high.
_SHORT = ("duration_ms=0.1", "settle_ms=1", "restabilise_ms=0", "learning_wait_ms=1")
_LOADS = ("search_initial_pct=0.1", "search_min_pct=0.1", "search_max_pct=0.2", "search_resolution_pct=0.1")
_SWEEP = ("sweep_start_pct=0.1", "sweep_end_pct=0.2", "sweep_step_pct=0.1")


def bridge(port: int, mac: bytes, number: int) -> list[tuple[int, int]]:
    """Forward to the station's port; frames of the tester to all stations end here."""
    return [] if mac[0] & 1 else switch()(port, mac, number)


def chip_of(monkeypatch: pytest.MonkeyPatch, device: Device, **options: Any) -> InterpretedSwitchd:
    chip = switch_of_chip(monkeypatch, device, kind=InterpretedSwitchd, **options)
    assert isinstance(chip, InterpretedSwitchd)
    return chip


@pytest.mark.parametrize(("test", "settings"), [("rfc2889.fully_meshed", _SWEEP), ("rfc2544.throughput", ())])
def test_whole_tests_find_the_highest_load(
    test: str,
    settings: Sequence[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Goal: all of 0.2 % of four lines of 100 Gbit/s, which is 675,676 frames/s; every trial with all its frames."""
    with chip_of(monkeypatch, bridge) as chip:
        (tmp_path / "wedge.yaml").write_text(bfrt_text(chip.address))
        words = ["run", test, "--topology", str(tmp_path / "wedge.yaml"), "--target", "tofino"]
        words += ["--sizes", "128", "--out", str(tmp_path / "run")]
        assert main(words + [part for setting in (*_SHORT, *_LOADS, *settings) for part in ("--set", setting)]) == 0
    assert chip.faults == []
    assert re.search(r"^ +128 +MEASURED .* 675,676 ", capsys.readouterr().out, re.M)
    trials = list(csv.DictReader((tmp_path / "run" / "trials.csv").open()))
    assert {trial["status"] for trial in trials} == {"MEASURED"}
    assert {float(trial["latency_ns_max"]) for trial in trials} == {LATENCY_NS}
    assert [trial["rx_frames"] for trial in trials] == [trial["intended_frames"] for trial in trials]


def test_messages_to_one_port_are_counted_by_the_profile_for_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Goal: the device loses two frames of one message of each input; by positions alone two might be damaged."""
    frames = 3

    def device(port: int, mac: bytes, number: int) -> list[tuple[int, int]]:
        forward = switch(devices=PORTS_OF_TOFINO_2, lost=lambda number: frames <= number <= frames + 1)
        return [] if mac[0] & 1 else forward(port, mac, number)

    program = (P4SRC / "compiled" / "p4mesh.tofino2_ipdv.bfrt.json").read_bytes()
    with chip_of(monkeypatch, device, program=program, chip=TOFINO_2, name="tofino2_ipdv") as chip:
        (tmp_path / "slow.yaml").write_text(tofino_2_text(chip.address, ", profile: ipdv", 10**10))
        words = ["run", "messages.n_to_one", "--topology", str(tmp_path / "slow.yaml"), "--target", "tofino"]
        words += ["--sizes", "128", "--out", str(tmp_path / "run")]
        settings = (*_SHORT[1:], f"message_frames={frames}", "messages=3", "inputs=2", "loads_pct=50", "repeats=1")
        assert main(words + [part for setting in settings for part in ("--set", setting)]) == 0
    assert chip.faults == []
    inputs = list(csv.DictReader((tmp_path / "run" / "inputs.csv").open()))
    names = ("port", "lost_frames", "messages", "complete_messages", "damaged_messages_min", "damaged_messages_max")
    assert [[row[name] for name in names] for row in inputs] == [[port, "2", "3", "2", "1", "1"] for port in "13"]


@pytest.mark.parametrize(("name", "sizes"), [("tofino1", (128, 256)), ("tofino2", (256,))])
def test_the_time_from_the_stamp_to_the_line_is_measured_without_wires(
    name: str, sizes: Sequence[int], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Goal: the formula of the MAC for each port and size."""
    kind, devices, topology = CHIPS[name]
    program = (P4SRC / "compiled" / f"p4mesh.{name}.bfrt.json").read_bytes()

    def device(port: int, mac: bytes, number: int) -> list[tuple[int, int]]:
        return [] if mac[0] & 1 else switch(devices=devices)(port, mac, number)

    with chip_of(monkeypatch, device, program=program, chip=kind, name=name) as chip:
        (tmp_path / "bed.yaml").write_text(topology(chip.address).text)
        words = ["calibrate", "--topology", str(tmp_path / "bed.yaml"), "--target", "tofino"]
        words += ["--sizes", ",".join(map(str, sizes))]
        assert main([*words, "--out", str(tmp_path / "macs.json")]) == 0
    assert chip.faults == []
    stored = json.loads((tmp_path / "macs.json").read_text())["wires"]
    found = {(wire["tx_port"], wire["frame_size_bytes"]): wire for wire in stored}
    assert found.keys() == {(port, size) for port in devices for size in sizes}
    for (_, size), wire in found.items():
        assert (wire["median_ns"], wire["median_error_ns"], wire["samples"]) == (mac_ns(size - 4), 0, 5)
        assert wire["rx_port"] is None


def test_group_join_delay_is_that_of_the_report_on_the_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Goal: a frame of the group leaves each microsecond, and the first one behind a report comes LATENCY_NS later."""
    members: set[int] = set()

    def device(port: int, mac: bytes, number: int) -> list[tuple[int, int]]:
        if mac == IGMPV3_ROUTERS:
            members.add(port)
        return [(member, LATENCY_NS) for member in sorted(members - {port})] if mac.startswith(GROUPS) else []

    with chip_of(monkeypatch, device, sends_at_once=False) as chip:
        monkeypatch.setattr(TofinoTarget, "now_ps", property(lambda _: chip.now_ns * 1000))
        monkeypatch.setattr(TofinoTarget, "wait", lambda _, duration_ns, __: chip.wait(int(duration_ns)))
        monkeypatch.setattr(
            TofinoTarget, "wait_for_packet_in", lambda _, duration_ps, __: chip.wait(max(1, duration_ps // 1000))
        )
        (tmp_path / "wedge.yaml").write_text(bfrt_text(chip.address))
        words = ["run", "rfc3918.join_delay", "--topology", str(tmp_path / "wedge.yaml"), "--target", "tofino"]
        words += ["--sizes", "128", "--ports", "1,2", "--out", str(tmp_path / "run")]
        settings = ("stream_fps=1000000", "traffic_first_ms=0.02", "delay_limit_ms=0.02", "settle_ms=1")
        assert main(words + [part for setting in settings for part in ("--set", setting)]) == 0
    assert chip.faults == []
    (row,) = csv.DictReader((tmp_path / "run" / "delay.csv").open())
    report = next(sent for sent in chip.sent if sent.frame.startswith(IGMPV3_ROUTERS))
    of_group = [sent for sent in chip.sent if sent.frame.startswith(GROUPS) and sent.port == 0]
    assert report.departure_kept and not any(sent.departure_kept for sent in of_group)
    behind = next(sent.at for sent in of_group if sent.at > report.at)
    told = report.at + mac_ns(len(report.frame)) + 8 * 64 / 100
    assert (row["port"], float(row["delay_us"]) * 1000) == ("2", pytest.approx(behind + LATENCY_NS - told))


@pytest.mark.parametrize("name", ["tofino1", "tofino2"])
def test_an_otg_script_captures_on_a_tofino(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Goal: all frames of a port with their FCS, in order; none of a port that has no capture."""
    api = snappi.api()
    config = two_ports(api)
    add_flow(config, "there", size=128, pps=1_000_000).duration.fixed_packets.packets = 5
    add_flow(config, "back", "p2", "p1", size=128, pps=1_000_000).duration.fixed_packets.packets = 5
    config.captures.add(name="c", port_names=["p2"])

    def capture(state: str) -> pb2.ControlState:
        control = api.control_state()
        control.port.capture.state = state
        return Parse(control.serialize(), pb2.ControlState())

    kind, devices, topology = CHIPS[name]

    def forward(port: int, mac: bytes, number: int) -> list[tuple[int, int]]:
        return [(devices[2] if port == devices[1] else devices[1], LATENCY_NS)]

    program = (P4SRC / "compiled" / f"p4mesh.{name}.bfrt.json").read_bytes()
    with chip_of(monkeypatch, forward, program=program, chip=kind, name=name) as chip:
        session = Session(TofinoTarget, Topologies(topology(chip.address), tmp_path), TimeMode.FAST)
        session.open()
        try:
            session.set_config(Parse(config.serialize(), pb2.Config()))
            session.set_control_state(capture("start"))
            start = api.control_state()
            start.traffic.flow_transmit.state = "start"
            session.set_control_state(Parse(start.serialize(), pb2.ControlState()))
            session.pace.idle()
            session.set_control_state(capture("stop"))
            request = pb2.CaptureRequest(port_name="p2")
            packets = rdpcap(io.BytesIO(session.get_capture(request)))
        finally:
            session.close()
    assert chip.faults == []
    assert [(packet[Ether].src, len(packet)) for packet in packets] == [("02:00:00:00:00:01", 128)] * 5
    times_ns = [int(packet.time * 10**9) for packet in packets]
    assert times_ns == sorted(times_ns) and times_ns[-1] - times_ns[0] == pytest.approx(4000, abs=760)
