"""A topology that ``topology check`` calls valid can be run: each key of a file at the edges of its range."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
import yaml

from p4mesh.errors import LoopOverloadError, TargetError, TopologyError
from p4mesh.topology.device_keys import keys_of
from p4mesh.topology.loader import parse_topology
from p4mesh.topology.schema import schema
from p4mesh.traffic.line_rate import max_rate_fps
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import Stream
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.spec import Learning, TrialSpec

GIGABIT = 10**9
FILE: dict[str, Any] = {
    "name": "edges",
    "tester": {"ports": [{"numbers": "1-2", "rate_bps": GIGABIT}]},
    "nodes": [{"name": "dut", "device": "ethernet_switch", "ports": [{"numbers": "1-2", "rate_bps": GIGABIT}]}],
    "links": [{"from": "tester:1-2", "to": "dut:1-2"}],
}
OWN = {"tester": ("ports", "tofino"), "ports": ("rate_bps", "numbers", "device_ports"), "nodes": ("device", "on_linux")}
"""Keys with tests of their own, or that name other keys."""
KEYS = schema()["properties"]
SWITCH = {key: rule for key, rule in KEYS["nodes"]["items"]["properties"].items() if key in keys_of("ethernet_switch")}
TESTER = KEYS["tester"]["properties"]
PLACES: dict[str, tuple[dict[str, Any], tuple[str | int, ...], tuple[str, ...]]] = {
    "file": ({"seed": KEYS["seed"]}, (), ()),
    "tester": (TESTER, ("tester",), OWN["tester"]),
    "tester port": (TESTER["ports"]["items"]["properties"], ("tester", "ports", 0), OWN["ports"]),
    "switch": (SWITCH, ("nodes", 0), OWN["nodes"]),
    "switch port": (SWITCH["ports"]["items"]["properties"], ("nodes", 0, "ports", 0), OWN["ports"]),
    "link": (KEYS["links"]["items"]["properties"], ("links", 0), ()),
}
SLOW = "frames are still in flight"
"""A device may take a frame in a second: a trial says so, after a time."""


def edges(rule: dict[str, Any]) -> list[Any]:
    """The least and the largest value of a number, all values of a word."""
    if rule.get("type") == "boolean":
        return [True, False]
    if "enum" in rule:
        return list(rule["enum"])
    if rule.get("type") not in ("integer", "number"):
        return []
    low = (
        rule["minimum"] if "minimum" in rule else rule["exclusiveMinimum"] + (0.001 if rule["type"] == "number" else 1)
    )
    return [low, rule["maximum"]]


def settings(keys: dict[str, Any], inside: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Paths of keys with values; beside each one the keys that its mapping needs, as far as they are numbers."""
    for key, rule in keys.items():
        if "properties" in rule:
            for path, mapping in settings(rule["properties"], ()):
                needed = {
                    other: edges(rule["properties"][other])[-1]
                    for other in rule.get("required", ())
                    if edges(rule["properties"][other])
                }
                yield (*inside, key), _with(needed, path, mapping)
        else:
            yield from (((*inside, key), value) for value in edges(rule))


def _with(mapping: dict[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    (key,) = path
    return mapping | {key: value}


CASES = {
    (case := f"{place}: {'.'.join(path)} {value}"): pytest.param((*start, *path), value, id=case)
    for place, (keys, start, own) in PLACES.items()
    for path, value in settings({key: rule for key, rule in keys.items() if key not in own}, ())
}


@pytest.mark.parametrize(("path", "value"), CASES.values())
def test_a_valid_topology_can_be_run_at_line_rate(path: tuple[str | int, ...], value: Any) -> None:
    file = deepcopy(FILE)
    place: Any = file
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    try:
        topology = parse_topology("edges.yaml", yaml.safe_dump(file))
    except TopologyError:
        return
    stream = Stream("s", 64, max_rate_fps(64, GIGABIT), 20, Pairs(), (1, 2), (2, 1))
    try:
        with open_measurer(topology) as measurer:
            measurer.measure(TrialSpec("t", (stream,), 20_000, Learning(wait_ns=0)))
    except LoopOverloadError:
        assert "loop" in path, "only a slow loop has no room for a stream at line rate"
    except TargetError as error:
        assert SLOW in str(error)
