"""``p4mesh doctor --target tofino`` with BF Runtime: server, program, CPU port, ports, links, loop, clock.

Method: the fake bf_switchd, well at first, then with one thing wrong.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.bfruntime_tables import fixed_tables
from support.fake_bfruntime import FakeBfSwitchd
from support.tofino_beds import BFRT_PROGRAM, DEVICE_PORTS, bfrt_text, p4runtime_text, switch, switch_of_chip

from p4mesh.bfruntime.ports import PortSettings
from p4mesh.cli.main import main
from p4mesh.doctor import tofino
from p4mesh.target.tofino import port_settings_of
from p4mesh.topology.loader import parse_topology
from p4mesh.trial.opening import open_measurer


class Chip(FakeBfSwitchd):
    """A switch whose clock runs with the one on the wall."""

    ticks_per_s = 1_000_000_000

    def to_controller(self, kind: int, port: int, at: int, payload: bytes) -> None:
        super().to_controller(kind, port, int(time.monotonic() * self.ticks_per_s) % (1 << 48), payload)


@pytest.fixture
def asked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str]]:
    monkeypatch.setattr(tofino, "_CLOCK_S", 0.1)
    monkeypatch.setattr(tofino, "_ANSWER_S", 0.3)
    monkeypatch.setattr(tofino, "_CLOCK_TOLERANCE", 0.5)
    monkeypatch.setattr(tofino, "_IPV6", tmp_path)

    def ask(prepare: Callable[[Chip], object] = lambda chip: None, **options: Any) -> tuple[int, str]:
        with switch_of_chip(monkeypatch, switch(), kind=Chip, **options) as chip:
            assert isinstance(chip, Chip)
            path = tmp_path / "wedge.yaml"
            path.write_text(bfrt_text(chip.address))
            for settings in port_settings_of(parse_topology("wedge.yaml", path.read_text())):
                chip.ports[settings.device_port] = settings.values | {"$PORT_UP": True}
            prepare(chip)
            code = main(["doctor", "--target", "tofino", "--topology", str(path)])
            assert {table for _, table in chip.writes} == set(), "looking changes nothing"
        return code, capsys.readouterr().out

    return ask


def test_a_switch_that_is_well_is_ready(asked: Callable[..., tuple[int, str]]) -> None:
    code, shown = asked()
    assert code == 0
    for line in (
        "takes connections",
        "p4mesh: bfrt.json as compiled here, SHA-256 ",
        "bf_pci0 is open",
        "4 of 4 are set up as the topology has them",
        "no bad FCS and no runts since the ports were enabled; 0 PAUSE frames",
        "has dropped nothing since its start",
        "all 4 ports have one",
        "a frame went through CPU port and loop (port 68) and back",
        ": nanoseconds",
    ):
        assert line in shown
    assert shown.endswith("target tofino: ready\n")


def test_what_a_compiler_adds_for_debugging_does_not_make_another_program(
    asked: Callable[..., tuple[int, str]],
) -> None:
    document = json.loads(BFRT_PROGRAM)
    snapshot = {"name": "pipe.snapshot.cfg", "id": 9, "table_type": "SnapshotCfg", "size": 12, "key": [], "data": []}
    document["tables"] = [snapshot | {"attributes": [], "supported_operations": []}, *document["tables"][::-1]]
    _, shown = asked(lambda chip: setattr(chip, "program", json.dumps(document).encode()))
    assert "p4mesh: bfrt.json as compiled here, SHA-256 " in shown


def _other_program() -> bytes:
    document = json.loads(BFRT_PROGRAM)
    document["tables"][0]["id"] = 7
    return json.dumps(document).encode()


@pytest.mark.parametrize(
    ("prepare", "line"),
    [
        (lambda chip: chip.ports.pop(128), "3 of 4 are set up as the topology has them; not set up: device port 128"),
        (
            lambda chip: chip.ports[4].update({"$SPEED": "BF_SPEED_25G"}),
            "different: device port 4 ($SPEED BF_SPEED_25G, not BF_SPEED_100G)",
        ),
        (lambda chip: chip.set_link(132, False), "no link on port 4"),
        (
            lambda chip: chip.statistics[0].update({"$FramesReceivedwithFCSError": 3, "$FragmentsReceived": 2}),
            "port 1: 3 bad FCS, 2 runts; 0 PAUSE frames",
        ),
        (
            lambda chip: chip.drops["pipe", 0].update({"mc_input_fifo_0_drop_packets": 8}),
            "has dropped 8 by tf1.tm.counter.pipe mc_input_fifo_0_drop_packets of pipe 0 since its start",
        ),
        (lambda chip: setattr(chip, "from_cpu", lambda frame: None), "has not come back from the loop (port 68)"),
        (lambda chip: setattr(chip, "ticks_per_s", 250_000_000), "not nanoseconds"),
        (lambda chip: setattr(chip, "name", "other"), "the switch runs no program 'p4mesh'"),
        (lambda chip: setattr(chip, "program", _other_program()), "not that of this release; all its tables and"),
        (lambda chip: setattr(chip, "program", b'{"tables": []}'), "program 'p4mesh' on the switch is another one"),
    ],
)
def test_what_is_wrong_is_told(
    asked: Callable[..., tuple[int, str]], prepare: Callable[[Chip], object], line: str
) -> None:
    _, shown = asked(prepare)
    assert line in shown
    assert "  - tofino, " in shown, "there is something to do about it"


def test_ports_that_cannot_obey_pause_frames_are_told(
    asked: Callable[..., tuple[int, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    without = json.loads(fixed_tables())
    for table in without["tables"]:
        table["data"] = [field for field in table["data"] if "PAUSE_FRAME_EN" not in field["singleton"]["name"]]
    monkeypatch.setattr("support.fake_bfruntime.fixed_tables", lambda *_: json.dumps(without).encode())
    settings = PortSettings(4, 10**11, honours_pause=True)
    monkeypatch.setattr(tofino, "port_settings_of", lambda _: [settings])
    code, shown = asked()
    assert code != 0
    assert "device port 4: PAUSE frames cannot stop it" in shown and "leave honours_pause out" in shown


def test_frames_that_linux_sends_by_itself_are_told(asked: Callable[..., tuple[int, str]], tmp_path: Path) -> None:
    (tmp_path / "bf_pci0").mkdir()
    (tmp_path / "bf_pci0" / "disable_ipv6").write_text("0\n")
    _, shown = asked()
    assert "sysctl net.ipv6.conf.bf_pci0.disable_ipv6=1" in shown


def test_p4runtime_is_said_to_tell_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "wedge.yaml"
    (tmp_path / "p4mesh.bin").write_bytes(b"program")
    path.write_text(p4runtime_text("127.0.0.1:1"))
    assert main(["doctor", "--target", "tofino", "--topology", str(path)]) == 3
    assert "p4runtime does not tell of them" in capsys.readouterr().out


def test_a_controller_that_measures_is_left_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with switch_of_chip(monkeypatch, switch()) as chip:
        path = tmp_path / "wedge.yaml"
        path.write_text(bfrt_text(chip.address))
        with open_measurer(parse_topology("wedge.yaml", path.read_text()), "tofino"):
            assert sorted(chip.ports) == sorted(DEVICE_PORTS.values())
            assert main(["doctor", "--target", "tofino", "--topology", str(path)]) == 3
            assert chip.owner is not None
