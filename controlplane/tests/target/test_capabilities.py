"""One declaration per target: the rest of P4Mesh uses it, and never asks for the target's name."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from msgspec import structs

from p4mesh.errors import TopologyError
from p4mesh.methods.options.shared import EXTENSION_HEADERS
from p4mesh.run.preparation import bed_of
from p4mesh.target.capabilities import Architecture, Capabilities, Pipes
from p4mesh.target.table import TARGETS
from p4mesh.topology import Topology, load_topology
from p4mesh.topology.loader import parse_topology
from p4mesh.traffic.stamps import StampKind

ROOT = Path(__file__).parents[3]
PACKAGE = ROOT / "controlplane" / "p4mesh"
BRIDGE = ROOT / "topologies" / "bridge-4x10m.yaml"
SWITCH = """
name: wedge
tester:
  tofino: {chip: tofino1, address: "192.0.2.1:9559", device_config: p4mesh.bin, bad_fcs: true}
  ports: [{numbers: 1-2, device_ports: "0,4", rate_bps: 100000000000}]
nodes: [{name: dut, device: ethernet_switch, ports: [{numbers: 1-2, rate_bps: 100000000000}]}]
links: [{from: "tester:1-2", to: "dut:1-2"}]
"""


def topology_for(target: str) -> Topology:
    return parse_topology("wedge.yaml", SWITCH) if target == "tofino" else load_topology(BRIDGE)


def declared(target: str) -> Capabilities:
    return TARGETS[target].declare(topology_for(target))


@pytest.mark.parametrize("target", TARGETS)
def test_a_target_declares_itself_before_it_is_opened(target: str) -> None:
    capabilities = declared(target)
    assert capabilities.target == target == TARGETS[target].name
    assert capabilities.stamps.tick_ps > 0 and capabilities.loop.rate_bps > 0


def test_what_sets_the_targets_apart() -> None:
    every = {name: declared(name) for name in TARGETS}
    assert {name for name, found in every.items() if not found.real_time} == {"sim"}
    assert {name for name, found in every.items() if found.resets_devices} == {"sim"}
    assert {name for name, found in every.items() if found.stamps.kind is StampKind.SOFTWARE} == {"bmv2", "live"}
    assert {name for name, found in every.items() if found.stamps.kind is StampKind.PARSER} == {"tofino"}
    assert {name for name, found in every.items() if found.pipes} == {"tofino"}
    assert {name for name, found in every.items() if found.architecture is Architecture.TNA} == {"tofino"}
    assert {name for name, found in every.items() if found.unmeasured} == {"tofino"}
    for lacking in ("stamps_controller_frames", "tunnels", "cuts_frames"):
        assert {name for name, found in every.items() if not getattr(found, lacking)} == {"tofino"}
    assert {name: found.stamps.tick_ps for name, found in every.items()} == {
        "sim": topology_for("sim").clock_tick_ps,
        "bmv2": 1_000_000,
        "live": 1000,
        "tofino": 1000,
    }


def test_the_headers_that_a_tofino_does_not_reach_behind_are_those_that_tests_offer() -> None:
    assert declared("tofino").unsupported_headers == (tuple(header.kind for header in EXTENSION_HEADERS["chain"]),)
    assert all(declared(name).unsupported_headers == () for name in TARGETS if name != "tofino")


def test_options_of_a_switch_are_in_its_declaration() -> None:
    plain = parse_topology("wedge.yaml", SWITCH)
    assert plain.tofino is not None
    other = replace(
        plain, tofino=structs.replace(plain.tofino, bad_fcs=False, pipe_frames_per_s=1_250_000_000, loop_headroom_pct=0)
    )
    first, second = (TARGETS["tofino"].declare(topology) for topology in (plain, other))
    assert (first.bad_fcs, second.bad_fcs) == (True, False)
    usual = Pipes({1: 0, 2: 0}, 1_220_000_000, pads_in_egress=True)
    assert first.pipes == usual, "the clock of a Tofino 1 that no SKU reduces"
    assert second.pipes == replace(usual, frames_per_s=1_250_000_000)
    assert (first.loop.headroom, second.loop.headroom) == (Fraction(1, 100), 0)


def test_the_profile_of_a_tofino_2_measures_ipdv() -> None:
    def unmeasured_by(more: str) -> tuple[str, ...]:
        keys = f'chip: tofino2, api: bfrt, address: "127.0.0.1:1", cpu_interface: bf_pci0{more}'
        text = SWITCH.replace('"0,4"', '"8,16"')
        text = re.sub(r"tofino: {.*}", f"tofino: {{{keys}}}", text)
        found = TARGETS["tofino"].declare(parse_topology("wedge.yaml", text))
        assert found.pipes == Pipes({1: 0, 2: 0}, 1_100_000_000)
        return found.unmeasured

    assert unmeasured_by("") == ("IPDV", "RFC 3550 jitter")
    assert unmeasured_by(", profile: ipdv") == ("RFC 3550 jitter",)


def test_a_target_without_its_switch_is_refused_before_it_is_opened() -> None:
    with pytest.raises(TopologyError, match="target tofino needs tester"):
        TARGETS["tofino"].check(load_topology(BRIDGE))


@pytest.mark.parametrize("target", ["sim", "bmv2", "live"])
def test_methods_see_the_declaration_on_the_bed(target: str) -> None:
    capabilities, bed = declared(target), bed_of(topology_for(target), target)
    assert (bed.sends_bad_fcs, bed.resets_devices) == (capabilities.bad_fcs, capabilities.resets_devices)
    assert bed.stamps.kind == capabilities.stamps.kind
    assert bed.stamps.resolution_ns * 1000 == capabilities.stamps.tick_ps
    assert bool(bed.reset_times_s) == capabilities.resets_devices, "the bridge of this topology can be reset"


def test_nobody_outside_of_target_asks_for_the_name_of_a_target() -> None:
    name = r"\"(?:sim|bmv2|live|tofino)\""
    asked = re.compile(rf"[=!]=\s*(?:{name}|SIMULATED)|\bin \({name}")
    found = [
        f"{path.relative_to(PACKAGE)}: {line.strip()}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.relative_to(PACKAGE).parts[0] != "target"
        for line in path.read_text(encoding="utf-8").splitlines()
        if asked.search(line)
    ]
    assert found == []
