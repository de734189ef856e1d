"""Makes the topologies that tests simulate: wires, one device between all tester ports, and those of the repository.

Extra keys are written as in a topology file: ``"queue_frames: 8, ifg_bits: 88"``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from p4mesh.topology import Topology, load_topology
from p4mesh.topology.loader import parse_topology

TOPOLOGIES = Path(__file__).parents[3] / "topologies"
GIGABIT = 10**9

Rates = int | Sequence[int]
"""Rate of all ports, or of each port in order."""


def wire(rates_bps: Rates = GIGABIT, latency_ns: float = 0, *, pairs: int = 1, tester: str = "", port: str = "") -> str:
    """Return tester ports that are cabled to each other: 1 to 2, 3 to 4, and so on."""
    rates = _each(rates_bps, 2 * pairs)
    links = [
        {"from": f"tester:{first}", "to": f"tester:{first + 1}", "latency_ns": latency_ns}
        for first in range(1, 2 * pairs, 2)
    ]
    return _text({"name": "wire", "tester": {**keys(tester), "ports": _ports(rates, port)}, "links": links})


def switch(
    model: str = "",
    *,
    ports: int = 4,
    rates_bps: Rates = GIGABIT,
    port: str = "",
    tester: str = "",
    tester_port: str = "",
    link: str = "",
    device: str = "ethernet_switch",
    seed: int | None = None,
) -> str:
    """Return one device between all tester ports.

    ``model`` are keys of the device, ``port`` of its ports, ``tester_port`` of the tester's ports, ``tester`` of the
    tester, ``link`` of the links.
    """
    rates = _each(rates_bps, ports)
    numbers = f"1-{len(rates)}"
    return _text(
        {
            "name": "switch",
            **({} if seed is None else {"seed": seed}),
            "tester": {**keys(tester), "ports": _ports(rates, tester_port)},
            "nodes": [{"name": "dut", "device": device, "ports": _ports(rates, port), **keys(model)}],
            "links": [{"from": f"tester:{numbers}", "to": f"dut:{numbers}", **keys(link)}],
        }
    )


def keys(text: str) -> dict[str, Any]:
    """Return keys that are written in lines, or in one line with commas between them."""
    if not text.strip():
        return {}
    found: dict[str, Any] = yaml.safe_load(text if "\n" in text.strip() else f"{{{text}}}")
    return found


def parsed(text: str) -> Topology:
    """Return the topology that a text describes."""
    return parse_topology("test.yaml", text)


def shipped(name: str) -> Topology:
    """Return a topology of the repository."""
    return load_topology(TOPOLOGIES / f"{name}.yaml")


def changed(name: str, *replacements: tuple[str, str]) -> Topology:
    """Return a topology of the repository with parts of its text replaced."""
    text = (TOPOLOGIES / f"{name}.yaml").read_text()
    for old, new in replacements:
        assert old in text, old
        text = text.replace(old, new)
    return parse_topology(f"{name} (changed).yaml", text)


def _each(rates_bps: Rates, count: int) -> Sequence[int]:
    return [rates_bps] * count if isinstance(rates_bps, int) else rates_bps


def _ports(rates_bps: Sequence[int], more: str) -> list[dict[str, Any]]:
    return [{"numbers": number, "rate_bps": rate, **keys(more)} for number, rate in enumerate(rates_bps, 1)]


def _text(document: dict[str, Any]) -> str:
    return yaml.safe_dump(document, sort_keys=False)
