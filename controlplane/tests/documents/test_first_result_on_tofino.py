"""docs/TOFINO.md, "From a switch to a first result": its files and its commands, in their order, on a fake bf_switchd.

Method: everything is read from the page. The address is that of the fake, and trials have 30 frames a port, because
the fake counts each frame in Python; each switch measures one of the sizes, and one of them all that the page says of
its first run, with two loads of a sweep and a coarse search. All other settings are those of the page.
"""

from __future__ import annotations

import re
import shlex
import time
from pathlib import Path
from typing import Any

import pytest
from support.fake_bfruntime import TOFINO_2, FakeBfSwitchd
from support.tofino_beds import switch, switch_of_chip
from support.tofino_chip import Device

from p4mesh.cli.main import main
from p4mesh.doctor import tofino
from p4mesh.tester.contract import P4SRC

PAGE = (Path(__file__).parents[3] / "docs" / "TOFINO.md").read_text()
STEPS = PAGE[PAGE.index("## From a switch to a first result") : PAGE.index("Expect these results:")]
SHORT = (
    "duration_ms=scaled",
    "scaled_frames=30",
    "settle_ms=1",
    "restabilise_ms=0",
    "learning_wait_ms=0",
    "sweep_step_pct=60",
    "search_resolution_pct=25",
)

_TOFINO_2_PROGRAM = (P4SRC / "compiled" / "p4mesh.tofino2.bfrt.json").read_bytes()
SWITCHES: dict[str, tuple[dict[str, Any], tuple[int, ...]]] = {
    "wedge": ({}, (128, 136, 144, 152)),
    "as9516": ({"program": _TOFINO_2_PROGRAM, "chip": TOFINO_2}, (8, 16, 136, 144)),
}
"""Options of the fake, and device ports, of each topology of the page by its name."""


class Chip(FakeBfSwitchd):
    """A switch whose clock runs with the one on the wall."""

    def to_controller(self, kind: int, port: int, at: int, payload: bytes) -> None:
        super().to_controller(kind, port, int(time.monotonic() * 10**9) % (1 << 48), payload)


def topology_of_the_page(name: str, address: str) -> str:
    texts = re.findall(r"   ```yaml\n(.*?)   ```", STEPS, re.S)
    assert len(texts) == len(SWITCHES) and all("127.0.0.1:50052" in text for text in texts)
    (text,) = (text for text in texts if f"name: {name}\n" in text)
    return re.sub(r"^   ", "", text, flags=re.M).replace("127.0.0.1:50052", address)


def wired(text: str) -> str:
    """The topology with the wires that the page gives in place of the links to the device."""
    wires = re.findall(r"`(\{from: \"tester:\d\", to: \"tester:\d\"\})`", STEPS)
    assert len(wires) == 2
    kept = [line for line in text.splitlines() if not line.startswith(("nodes:", "links:"))]
    return "\n".join([*kept, f"links: [{', '.join(wires)}]", ""])


def commands() -> list[list[str]]:
    """The commands of the steps, in their order."""
    inline = r"`p4mesh ((?:topology|doctor) [^`]*)`"
    block = r"^ +p4mesh ((?:calibrate|run) (?:.*\\\n)*.*)$"
    found = sorted((match.start(), match[1]) for kind in (inline, block) for match in re.finditer(kind, STEPS, re.M))
    return [shlex.split(command.replace("\\\n", " ")) for _, command in found]


@pytest.mark.parametrize("name", SWITCHES)
def test_an_owner_gets_from_the_topology_of_the_page_to_a_result(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for setting, value in {"_CLOCK_S": 0.1, "_CLOCK_TOLERANCE": 0.5, "_IPV6": tmp_path}.items():
        monkeypatch.setattr(tofino, setting, value)
    options, (one, two, three, four) = SWITCHES[name]
    across = {one: two, two: one, three: four, four: three}
    cabled: list[Device] = [lambda port, mac, number: [(across[port], 5)]]

    def device(port: int, mac: bytes, number: int) -> list[tuple[int, int]]:
        return [] if mac[0] & 1 else cabled[0](port, mac, number)

    def shown(words: list[str]) -> str:
        assert main(words) == 0
        return capsys.readouterr().out

    check, doctor, calibrate, first, second = commands()
    short = [word for setting in SHORT for word in ("--set", setting)]
    only = {"wedge": "128", "as9516": "1518"}[name]  # of 128, 512 and 1,518 bytes
    with switch_of_chip(monkeypatch, device, kind=Chip, **options) as chip:
        text = topology_of_the_page(name, chip.address)
        Path("wedge.yaml").write_text(text)
        Path("wires.yaml").write_text(wired(text))
        assert "tester:4" in shown(check)
        found = shown(doctor)
        assert f"not set up: device port {one}, {two}, {three}, {four}" in found and "target tofino: ready" in found
        assert "8 wires, 8 of them new" in shown(calibrate)
        cabled[0] = switch(devices=dict(enumerate(across, 1)))
        if name == "wedge":
            assert re.findall(r"^ +(\d+) +MEASURED +([\d.]+) ", shown(first + short), re.M) == [("1518", "40.0000")]
        found = shown([*second, *short, "--sizes", only])
        assert chip.faults == []
    best = re.findall(r"^ +(\d+) +MEASURED +([\d.]+) ", found, re.M)
    assert best == [(only, "99.0000")]
