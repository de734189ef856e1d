"""A chassis of eight ports, made from a shipped topology, and its tables."""

from __future__ import annotations

import re
from typing import Any

from support.networks import TOPOLOGIES

from p4mesh.methods.results.outcome import Outcome
from p4mesh.topology import Topology
from p4mesh.topology.loader import parse_topology

SWITCH, ROUTER = "nexus9508-32x100g", "nexus9508-32x100g-routed"
PORTS = 8
"""Ports 1 to 4 are of one module here, 5 to 8 of another."""
QUICK = ("scaled_frames=600", "learning_wait_ms=1", "settle_ms=1", "restabilise_ms=1")


def smaller(name: str, **keys: object) -> Topology:
    """The first ports of a chassis, with smaller modules, and other values of some keys."""
    text = (TOPOLOGIES / f"{name}.yaml").read_text()
    lines = [line for line in text.splitlines() if not re.match(r"      - \{port: (9|[1-3][0-9]),", line)]
    small = "\n".join(lines).replace("1-32", f"1-{PORTS}").replace("ports_per_module: 16", "ports_per_module: 4")
    small = small.replace("links_per_module: 32", "links_per_module: 8")
    for key, value in keys.items():
        small, changed = re.subn(rf"\b{key}: [\w.]+", f"{key}: {value}", small)
        assert changed, key
    return parse_topology(f"{name} (smaller).yaml", small)


def rows(outcome: Outcome, name: str) -> list[dict[str, Any]]:
    return [dict(row) for table in outcome.tables if table.name == name for row in table.rows]
