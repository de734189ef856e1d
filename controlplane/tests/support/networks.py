"""Makes the topologies that tests simulate: wires, one or more devices, and those of the repository.

Keys are written as in a topology file, ``"queue_frames: 8, ifg_bits: 88"``: for all ports (links), or for some of them
by number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from p4mesh.topology import Topology, load_topology
from p4mesh.topology.loader import parse_topology

TOPOLOGIES = Path(__file__).parents[3] / "topologies"
GIGABIT = 10**9

_LOADER, _DUMPER = (getattr(yaml, f"CSafe{kind}", getattr(yaml, f"Safe{kind}")) for kind in ("Loader", "Dumper"))
"""Those in C, where PyYAML has them: thousands of tests make a network."""

Rates = int | Sequence[int]
"""Rate of all ports, or of each port in order."""
Keys = str | Mapping[int, str]
Node = dict[str, Any]
Link = tuple[str, str] | tuple[str, str, str]
"""Both ends, such as ``tester:1-2`` and ``dut:1-2``, and keys of the link."""


def wire(
    rates_bps: Rates = GIGABIT, latency_ns: float = 0, *, pairs: int = 1, tester: str = "", tester_port: Keys = ""
) -> str:
    """Tester ports that are cabled to each other: 1 to 2, 3 to 4, and so on."""
    rates = _each(rates_bps, 2 * pairs)
    links = [
        {"from": f"tester:{first}", "to": f"tester:{first + 1}", "latency_ns": latency_ns}
        for first in range(1, 2 * pairs, 2)
    ]
    return _text({"name": "wire", "tester": {**_keys(tester), "ports": _ports(rates, tester_port)}, "links": links})


def switch(
    *model: str,
    ports: int = 4,
    rates_bps: Rates = GIGABIT,
    port: Keys = "",
    tester: str = "",
    tester_port: Keys = "",
    link: Keys = "",
    device: str = "ethernet_switch",
    seed: int | None = None,
) -> str:
    """One device between all tester ports.

    ``model`` are keys of the device, ``port`` of its ports, ``tester`` of the tester, ``tester_port`` of its ports,
    ``link`` of the links.
    """
    rates = _each(rates_bps, ports)
    links = [(f"tester:{n}", f"dut:{n}", _of_number(link, n)) for n in range(1, len(rates) + 1)]
    dut = node("dut", *model, rates_bps=rates, port=port, device=device)
    return network(dut, links=links, rates_bps=rates, tester=tester, tester_port=tester_port, seed=seed, name="switch")


def node(
    name: str,
    *model: str,
    ports: int = 4,
    rates_bps: Rates = GIGABIT,
    port: Keys = "",
    device: str = "ethernet_switch",
) -> Node:
    """One device of a :func:`network`; ``model`` are its keys, ``port`` those of its ports."""
    made: Node = {"name": name, "device": device, "ports": _ports(_each(rates_bps, ports), port)}
    for text in model:
        made |= _keys(text)
    return made


def network(
    *nodes: Node,
    links: Sequence[Link],
    ports: int = 4,
    rates_bps: Rates = GIGABIT,
    tester: str = "",
    tester_port: Keys = "",
    seed: int | None = None,
    name: str = "network",
) -> str:
    """A tester, devices and the links between all of them."""
    return _text(
        {
            "name": name,
            **({} if seed is None else {"seed": seed}),
            "tester": {**_keys(tester), "ports": _ports(_each(rates_bps, ports), tester_port)},
            "nodes": list(nodes),
            "links": [{"from": near, "to": far, **_keys(" ".join(keys))} for near, far, *keys in links],
        }
    )


def parsed(text: str) -> Topology:
    return parse_topology("test.yaml", text)


def shipped(name: str) -> Topology:
    """A topology of the repository."""
    return load_topology(TOPOLOGIES / f"{name}.yaml")


def changed(name: str, *replacements: tuple[str, str]) -> Topology:
    """A topology of the repository with parts of its text replaced."""
    text = (TOPOLOGIES / f"{name}.yaml").read_text()
    for old, new in replacements:
        assert old in text, old
        text = text.replace(old, new)
    return parse_topology(f"{name} (changed).yaml", text)


def _each(rates_bps: Rates, count: int) -> Sequence[int]:
    return [rates_bps] * count if isinstance(rates_bps, int) else rates_bps


def _ports(rates_bps: Sequence[int], more: Keys) -> list[dict[str, Any]]:
    return [
        {"numbers": number, "rate_bps": rate, **_keys(_of_number(more, number))}
        for number, rate in enumerate(rates_bps, 1)
    ]


def _of_number(keys: Keys, number: int) -> str:
    return keys if isinstance(keys, str) else keys.get(number, "")


def _keys(text: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.load(text if "\n" in text else f"{{{text}}}", _LOADER)
    return found


def _text(document: dict[str, Any]) -> str:
    text: str = yaml.dump(document, Dumper=_DUMPER, sort_keys=False)
    return text
