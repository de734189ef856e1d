"""A Tofino of two pipes with four tester ports and a device behind them: its topology, its fake, its traffic."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from support import networks
from support.fake_bfruntime import TOFINO_1, TOFINO_2, CpuInterface, FakeBfSwitchd, Kind
from support.tofino_chip import LOOP, Device

from p4mesh.target import tofino
from p4mesh.tester.contract import P4SRC
from p4mesh.topology import Topology
from p4mesh.topology.loader import parse_topology
from p4mesh.traffic.addresses import station_mac
from p4mesh.traffic.patterns import FullMesh
from p4mesh.traffic.stream import Stream
from p4mesh.trial.spec import Learning, TrialSpec

MS = 10**6
DEVICE_PORTS = {1: 0, 2: 4, 3: 128, 4: 132}
"""Tester ports 1 and 2 are in pipe 0, 3 and 4 in pipe 1."""
PORTS_OF_TOFINO_2 = {1: 8, 2: 16, 3: 136, 4: 400}
GROUPS = bytes.fromhex("01005e")
IGMPV3_ROUTERS = bytes.fromhex("01005e000016")
"""Address of reports, 224.0.0.22."""
STATIONS = {station_mac(number): number for number in DEVICE_PORTS}
FAR_LOOP = LOOP + 128
TESTER_PORTS = {device: number for number, device in DEVICE_PORTS.items()}
PROGRAM = b"what the compiler of the user's SDE has made"
"""Of a switch that is reached by P4Runtime."""
BFRT_PROGRAM = (P4SRC / "compiled" / "p4mesh.tofino1.bfrt.json").read_bytes()
"""Of a switch that is reached by BF Runtime."""
LATENCY_NS = 1000


def switch(
    *, lost: Callable[[int], bool] = lambda _: False, step_ns: int = 0, devices: Mapping[int, int] = DEVICE_PORTS
) -> Device:
    """A device that knows every station; frame n of a port takes LATENCY_NS + step_ns * (n mod 4)."""

    def forward(port: int, mac: bytes, number: int) -> list[tuple[int, int]]:
        # Station n has the address 00:01:AA:00:0n:00 (RFC 2544 bound to methodology 0.4).
        out = devices[STATIONS[mac]]
        return [] if lost(number) or out == port else [(out, LATENCY_NS + step_ns * (number % 4))]

    return forward


def p4runtime_text(address: str, *, more: str = "", ports: Sequence[int] = tuple(DEVICE_PORTS.values())) -> str:
    """The topology of a switch with P4Runtime; ``more`` are further keys of the switch."""
    return _text(f'chip: tofino1, address: "{address}", device_config: p4mesh.bin{more}', ports)


def bfrt_text(address: str, more: str = "") -> str:
    """The topology of a switch with BF Runtime; ``more`` are further keys of the switch."""
    keys = f'chip: tofino1, api: bfrt, address: "{address}", cpu_interface: bf_pci0{more}'
    return _text(keys, tuple(DEVICE_PORTS.values()))


def p4runtime_topology(program: Path, address: str, **options: Any) -> Topology:
    """The topology of :func:`p4runtime_text`, as a file beside its program."""
    return parse_topology(str(program.with_name("wedge.yaml")), p4runtime_text(address, **options))


def bfrt_topology(address: str, more: str = "") -> Topology:
    """The topology of :func:`bfrt_text`."""
    return parse_topology("wedge.yaml", bfrt_text(address, more))


FRONT_LOOP = ", front_loops: [{device_port: 24, rate_bps: 400000000000}]"


def tofino_2_text(address: str, loops: str = FRONT_LOOP, rate_bps: int = 400 * networks.GIGABIT) -> str:
    """Four ports of an AS9516-32D in three pipes, and ``loops`` beside the recirculation port."""
    return f"""
name: as9516
tester:
  tofino:
    {{chip: tofino2, api: bfrt, address: "{address}", cpu_interface: bf_pci0,
     port_settings: [{{device_ports: "8,16,136,400", fec: reed_solomon}}]{loops}}}
  ports: [{{numbers: 1-4, device_ports: "8,16,136,400", rate_bps: {rate_bps}}}]
nodes: [{{name: dut, device: ethernet_switch, ports: [{{numbers: 1-4, rate_bps: {rate_bps}}}]}}]
links: [{{from: "tester:1-4", to: "dut:1-4"}}]
"""


def tofino_2_topology(address: str, loops: str = FRONT_LOOP) -> Topology:
    """The topology of :func:`tofino_2_text` with ports of 400 Gbit/s."""
    return parse_topology("as9516.yaml", tofino_2_text(address, loops))


CHIPS: Mapping[str, tuple[Kind, Mapping[int, int], Callable[[str], Topology]]] = {
    "tofino1": (TOFINO_1, DEVICE_PORTS, bfrt_topology),
    "tofino2": (TOFINO_2, PORTS_OF_TOFINO_2, tofino_2_topology),
}
"""Programs that are interpreted: their chip, the device ports of tester ports, and a topology for an address."""


def switch_of_chip(monkeypatch: pytest.MonkeyPatch, device: Device, **options: Any) -> FakeBfSwitchd:
    """A bf_switchd whose CPU interface the target opens, and whose drops at ports are those of now."""
    kind: type[FakeBfSwitchd] = options.pop("kind", FakeBfSwitchd)
    chip = kind(device, options.pop("program", BFRT_PROGRAM), **options)
    monkeypatch.setattr(tofino, "PacketSocket", lambda interface: CpuInterface(chip))
    monkeypatch.setattr(tofino, "_DROPS_SHOWN_NS", 0)
    return chip


def mesh(frames: int = 60, **options: Any) -> TrialSpec:
    """A trial in which every port sends to every other one."""
    ports = tuple(DEVICE_PORTS)
    stream = Stream("mesh", 128, Fraction(1_000_000), frames, FullMesh(), ports, ports)
    spec = TrialSpec("mesh", (stream,), frames * 1000, Learning(enabled=False), settle_ns=MS, restabilise_ns=0)
    return replace(spec, per_flow=True, **options)


def _text(tofino_keys: str, device_ports: Sequence[int]) -> str:
    return networks.switch(
        rates_bps=100 * networks.GIGABIT,
        tester=f"tofino: {{{tofino_keys}}}",
        tester_port={number: f"device_ports: {port}" for number, port in enumerate(device_ports, 1)},
    )
