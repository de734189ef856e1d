"""Topology file to :class:`Topology`: schema, ranges, and the checks that a schema cannot make."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from p4mesh.config_files.yaml_source import YamlSource, as_written
from p4mesh.errors import TopologyError
from p4mesh.regular_files import read_text
from p4mesh.shipped import topology_file, topology_names
from p4mesh.topology.consistency import Bridged, check_node, check_outages
from p4mesh.topology.device_keys import check_keys, check_on_linux, resolve_program
from p4mesh.topology.line_codes import line_code_ns
from p4mesh.topology.model import (
    TESTER,
    BgpPeers,
    Device,
    DevicePort,
    FrontLoop,
    FrontPort,
    Link,
    LiveSwitch,
    Loop,
    PortRef,
    TesterPort,
    TlsFiles,
    TofinoSwitch,
    Topology,
)
from p4mesh.topology.schema import TOPOLOGY_FILE, validate, with_defaults

_Item = TypeVar("_Item", int, str)

MOST_BYTES = 4_000_000
"""Of a topology file; 512 ports, each with routes and entries, need a quarter of this."""
HIGHEST_PORT = 512
HIGHEST_TESTER_PORT = 508
"""The tester program uses higher numbers for its loop, the controller and drops."""
DEFAULT_LOOP = Loop(rate_bps=400_000_000_000, latency_ns=400.0)
_FASTEST_LOOP_BPS = 1_600_000_000_000
_LOOP_LINES = 4
"""A test may have both directions, or three streams one after the other (RFC 2544 26.2), each at line rate."""
_IFG_KEYS = ("ifg_bits", "ifg_bytes")
_TESTER_PORT_KEYS = (
    *("numbers", "device_ports", "interface", "name", "rate_bps", *_IFG_KEYS),
    *("clock_offset_ppm", "start_skew_ns"),
)
_LEAST_HOLD_TIME_S = 3
_KEYS_OF_THE_OTHER_API = {
    "p4runtime": ("cpu_interface", "port_settings", "program", "request_timeout_s"),
    "bfrt": ("device_config", "election_id", "tls"),
}
_RESERVED_AS = {23_456, 65_535}
"""AS_TRANS (RFC 6793) and the last number of two octets (RFC 7300)."""
_GROUP_NAMES = ("role", "layer")
_DEVICE_PORT_KEYS = ("numbers", "rate_bps", *_IFG_KEYS, "queue_frames", "clock_offset_ppm")
_DEVICE_OWN_KEYS = ("name", "device", "ports", "on_linux")


def load_topology(path: str | Path) -> Topology:
    """Return the topology in a file, or the one that comes with P4Mesh under this name, such as ``back-to-back``.

    Raises TopologyError with file, line and what is valid.
    """
    path = topology_file(str(path)) or path
    try:
        text = read_text(Path(path), MOST_BYTES)
    except FileNotFoundError:
        names = ", ".join(topology_names())
        raise TopologyError(
            f"{path}: no such topology file", hint=f"name a YAML file, or one that comes with P4Mesh: {names}"
        ) from None
    except UnicodeDecodeError:
        raise TopologyError(f"{path}: not a text file", hint="a topology is a YAML file, see topologies/") from None
    except OSError as error:
        raise TopologyError(f"{path}: {error.strerror}", hint="name a YAML file, see topologies/") from None
    return parse_topology(str(path), text)


def parse_topology(name: str, text: str) -> Topology:
    """Return the topology that ``text`` describes; ``name`` is the file name for messages."""
    source = YamlSource(name, text, TOPOLOGY_FILE)
    validate(source)
    data = with_defaults(source.data)
    tester = with_defaults(data["tester"], "tester")
    device_ports = _device_ports(source, tester["ports"])
    interfaces = _interfaces(source, tester["ports"])
    ports = tuple(
        TesterPort(
            number,
            f"{port['name']}{number}",
            port["rate_bps"],
            port["ifg_bits"],
            float(port["clock_offset_ppm"]),
            port["start_skew_ns"],
            {key: value for key, value in group.items() if key not in (*_TESTER_PORT_KEYS, *_GROUP_NAMES)},
            device_ports.get(number),
            **{key: group.get(key, "") for key in _GROUP_NAMES},
            interface=interfaces.get(number, ""),
        )
        for number, group in _expand(source, ("tester", "ports"), tester["ports"], HIGHEST_TESTER_PORT)
        for port in (_gap_in_bits(group, "tester", "ports"),)
    )
    devices = tuple(_device(source, index, node) for index, node in enumerate(data.get("nodes", [])))
    _require_unique_names(source, devices)
    loop = tester.get("loop")
    return Topology(
        name=data["name"],
        description=data.get("description", "").strip(),
        source=name,
        text=text,
        clock_tick_ps=tester["clock_tick_ps"],
        seed=data["seed"],
        loop=Loop(loop["rate_bps"], float(loop["latency_ns"])) if loop else _default_loop(ports),
        tester_ports=ports,
        devices=devices,
        links=_links(source, data["links"], ports, devices),
        notes={key: str(text).strip() for key, text in data.get("notes", {}).items()},
        settings={
            test: tuple(f"{key}={as_written(value)}" for key, value in parameters.items())
            for test, parameters in data.get("tests", {}).items()
        },
        tofino=_tofino(source, tester["tofino"]) if "tofino" in tester else None,
        live=LiveSwitch(**tester.get("live", {})),
        bgp=_bgp(source, tester["bgp"], ports) if "bgp" in tester else None,
    )


def _bgp(source: YamlSource, given: dict[str, Any], ports: Sequence[TesterPort]) -> BgpPeers:
    data = with_defaults(given, "tester", "bgp")
    place = ("tester", "bgp")
    if 0 < data["hold_time_s"] < _LEAST_HOLD_TIME_S:
        raise TopologyError(
            f"{source.where((*place, 'hold_time_s'))}: a hold time of {data['hold_time_s']} s",
            hint=f"0, or {_LEAST_HOLD_TIME_S} to 65535 (RFC 4271 section 4.2)",
        )
    used = {data["first_as"] + port.number - 1: "first_as" for port in ports} | {data["router_as"]: "router_as"}
    for reserved in sorted(used.keys() & _RESERVED_AS):
        raise TopologyError(
            f"{source.where((*place, used[reserved]))}: AS {reserved} is reserved",
            hint="choose numbers such as 64512 to 65534, one for each port (RFC 6996)",
        )
    if data["first_as"] <= data["router_as"] < data["first_as"] + max(port.number for port in ports):
        raise TopologyError(
            f"{source.where((*place, 'router_as'))}: AS {data['router_as']} is that of a station, too",
            hint="the stations have first_as and the numbers after it, one for each port",
        )
    peers = BgpPeers(data["first_as"], data["router_as"], data["hold_time_s"], wait_s=float(data["wait_s"]))
    if "bfd" not in data:
        return peers
    bfd = with_defaults(data["bfd"], "tester", "bgp", "bfd")
    return replace(peers, bfd_interval_ms=bfd["interval_ms"], bfd_multiplier=bfd["multiplier"])


def _default_loop(ports: Sequence[TesterPort]) -> Loop:
    """Return a loop with room for the streams of the fastest port."""
    wanted = _LOOP_LINES * max(port.rate_bps for port in ports)
    return replace(DEFAULT_LOOP, rate_bps=min(_FASTEST_LOOP_BPS, max(DEFAULT_LOOP.rate_bps, wanted)))


def _tofino(source: YamlSource, given: dict[str, Any]) -> TofinoSwitch:
    data = with_defaults(given, "tester", "tofino")
    place = ("tester", "tofino")
    p4runtime = data["api"] == "p4runtime"
    for needed, of_p4runtime in (("device_config", True), ("cpu_interface", False)):
        if p4runtime == of_p4runtime and needed not in data:
            raise TopologyError(
                f"{source.where(place)}: api {data['api']} needs {needed}", hint="docs/TOFINO.md has examples of both"
            )
    for other in _KEYS_OF_THE_OTHER_API[data["api"]]:
        if other in given:
            raise TopologyError(
                f"{source.where((*place, other))}: {other} has no use with api {data['api']}",
                hint="remove it, or choose the other api",
            )
    return TofinoSwitch(
        chip=data["chip"],
        address=data["address"],
        api=data["api"],
        device_config=str(Path(source.name).parent / data["device_config"]) if p4runtime else "",
        program=data["program"],
        cpu_interface=data.get("cpu_interface", ""),
        request_timeout_s=float(data["request_timeout_s"]),
        port_settings=_port_settings(source, data.get("port_settings", [])),
        pipes=data.get("pipes"),
        device_id=data.get("device_id", 1 if p4runtime else 0),
        election_id=data["election_id"],
        loop_latency_ns=float(data["loop_latency_ns"]) if "loop_latency_ns" in data else None,
        front_loops=tuple(FrontLoop(loop["device_port"], loop["rate_bps"]) for loop in data.get("front_loops", ())),
        pipe_frames_per_s=data["pipe_frames_per_s"],
        bad_fcs=data["bad_fcs"],
        tls=_tls(source.name, data["tls"]) if "tls" in data else None,
    )


def _port_settings(source: YamlSource, groups: list[dict[str, Any]]) -> dict[int, FrontPort]:
    found: dict[int, FrontPort] = {}
    for index, group in enumerate(groups):
        path = ("tester", "tofino", "port_settings", index, "device_ports")
        data = with_defaults(group, "tester", "tofino", "port_settings")
        for port in _numbers(source, path, str(data["device_ports"]), lowest=0, highest=511):
            if port in found:
                raise TopologyError(
                    f"{source.where(path)}: device port {port} is given twice", hint="name each device port once"
                )
            found[port] = FrontPort(data["fec"], data["autonegotiation"], data.get("lanes"))
    return found


def _tls(topology: str, data: dict[str, str]) -> TlsFiles:
    files = {name: str(Path(topology).parent / data[name]) for name in ("ca", "certificate", "key") if name in data}
    return TlsFiles(**files, server_name=data.get("server_name", ""))


def _device_ports(source: YamlSource, groups: list[dict[str, Any]]) -> dict[int, int]:
    """Return the device port of each tester port that has one; no device port twice."""

    def numbers(path: tuple[str | int, ...], text: str) -> list[int]:
        return _numbers(source, path, text, lowest=0, highest=511)

    return _behind_ports(source, groups, "device_ports", "a device port", numbers)


def _interfaces(source: YamlSource, groups: list[dict[str, Any]]) -> dict[int, str]:
    """Return the interface of each tester port that has one; no interface twice."""
    return _behind_ports(source, groups, "interface", "an interface", lambda _, text: text.split(","))


def _behind_ports(
    source: YamlSource,
    groups: list[dict[str, Any]],
    key: str,
    one: str,
    items_of: Callable[[tuple[str | int, ...], str], list[_Item]],
) -> dict[int, _Item]:
    """Return what ``key`` lists for the tester ports of each group that has it: one for each port, none twice."""
    found: dict[int, _Item] = {}
    kind = one.partition(" ")[2]
    for index, group in enumerate(groups):
        if key not in group:
            continue
        path = ("tester", "ports", index, key)
        numbers = _numbers(source, ("tester", "ports", index, "numbers"), str(group["numbers"]))
        items = items_of(path, str(group[key]))
        if len(items) != len(numbers):
            raise TopologyError(
                f"{source.where(path)}: {len(items)} {kind}s for {len(numbers)} ports",
                hint=f"name {one} for each of 'numbers'",
            )
        for number, item in zip(numbers, items, strict=True):
            if item in found.values():
                raise TopologyError(
                    f"{source.where(path)}: {kind} {item} is given twice", hint=f"name each {kind} once"
                )
            found[number] = item
    return found


def _device(source: YamlSource, index: int, node: dict[str, Any]) -> Device:
    path = ("nodes", index)
    cut_through = node.get("forwarding") == "cut_through"
    if ("look_ahead_bytes" in node) != cut_through:
        raise TopologyError(
            f"{source.where((*path, 'forwarding'))}: look_ahead_bytes and forwarding do not fit together",
            hint="give look_ahead_bytes with 'forwarding: cut_through', and only then",
        )
    ports = tuple(
        DevicePort(
            number,
            port["rate_bps"],
            port["ifg_bits"],
            port["queue_frames"],
            float(port["clock_offset_ppm"]),
            {key: value for key, value in group.items() if key not in _DEVICE_PORT_KEYS},
        )
        for number, group in _expand(source, (*path, "ports"), node["ports"])
        for port in (_gap_in_bits(group, "nodes", "ports"),)
    )
    model = {key: value for key, value in node.items() if key not in _DEVICE_OWN_KEYS}
    check_keys(source, path, node["device"], model)
    if "on_linux" in node:
        check_on_linux(source, path, node["device"], node["on_linux"])
    model = resolve_program(source, path, model)
    device = Device(node["name"], node["device"], ports, model, node.get("on_linux", ""))
    check_node(source, path, device)
    return device


def _expand(
    source: YamlSource, path: tuple[str | int, ...], groups: list[dict[str, Any]], highest: int = HIGHEST_PORT
) -> list[tuple[int, dict[str, Any]]]:
    """Return (number, group) per port in ascending order; numbers must be 1..N without gaps."""
    expanded: dict[int, dict[str, Any]] = {}
    for index, group in enumerate(groups):
        where = (*path, index, "numbers")
        for number in _numbers(source, where, str(group["numbers"]), highest=highest):
            if number in expanded:
                raise TopologyError(
                    f"{source.where(where)}: port {number} is given twice", hint="number each port once"
                )
            expanded[number] = group
    for index, group in enumerate(groups):
        if all(key in group for key in _IFG_KEYS):
            raise TopologyError(
                f"{source.where((*path, index, _IFG_KEYS[1]))}: the gap is given in bits as well",
                hint="keep one of the two",
            )
    missing = [number for number in range(1, len(expanded) + 1) if number not in expanded]
    if missing:
        raise TopologyError(
            f"{source.where(path)}: port {missing[0]} is missing",
            hint=f"number {len(expanded)} ports 1 to {len(expanded)}",
        )
    return sorted(expanded.items())


def _gap_in_bits(group: dict[str, Any], *place: str) -> dict[str, Any]:
    """Return a group of ports at ``place`` with its defaults, the gap in bits."""
    gap = {"ifg_bits": 8 * group["ifg_bytes"]} if "ifg_bytes" in group else {}
    return with_defaults(group, *place) | gap


def _numbers(
    source: YamlSource, path: tuple[str | int, ...], text: str, lowest: int = 1, highest: int = HIGHEST_PORT
) -> list[int]:
    numbers: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        low, high = (int(number) if len(number) < 10 else -1 for number in (first, last or first))
        if not lowest <= low <= high <= highest:
            raise TopologyError(
                f"{source.where(path)}: '{part[:20]}' is not a range of ports", hint=f"ports are {lowest} to {highest}"
            )
        numbers.extend(range(low, high + 1))
    return numbers


def _links(
    source: YamlSource, groups: list[dict[str, Any]], tester_ports: Iterable[TesterPort], devices: tuple[Device, ...]
) -> tuple[Link, ...]:
    rates = {(TESTER, port.number): port.rate_bps for port in tester_ports}
    rates.update({(device.name, port.number): port.rate_bps for device in devices for port in device.ports})
    links: list[Link] = []
    used: set[PortRef] = set()
    bridged = Bridged(devices)
    for index, group in enumerate(groups):
        path = ("links", index)
        near, far = (_ends(source, (*path, key), group[key], rates) for key in ("from", "to"))
        cable = with_defaults(group, "links")
        check_outages(source, (*path, "outages"), cable["outages"])
        if len(near) != len(far):
            raise TopologyError(
                f"{source.where(path)}: {len(near)} ports are linked to {len(far)}",
                hint="name equally many ports at both ends",
            )
        for left, right in zip(near, far, strict=True):
            for key, end in (("from", left), ("to", right)):
                if end in used:
                    raise TopologyError(
                        f"{source.where((*path, key))}: {end} is linked twice", hint="each port takes one link"
                    )
                used.add(end)
            rate, other = rates[left.node, left.port], rates[right.node, right.port]
            if rate != other:
                raise TopologyError(
                    f"{source.where(path)}: {left} runs at {rate} bit/s, {right} at {other} bit/s",
                    hint="both ends of a link need the same rate_bps",
                )
            bridged.join(source, path, (left, right))
            latency_ns, bit_errors = float(cable["latency_ns"]), cable["bit_errors_per_1e15"]
            code = cable["line_code"], line_code_ns(source, path, cable, rate)
            links.append(Link((left, right), latency_ns, bit_errors, tuple(cable["outages"]), *code))
    loose = [number for node, number in rates if node == TESTER and PortRef(TESTER, number) not in used]
    if loose:
        raise TopologyError(
            f"{source.where(('links',))}: tester:{loose[0]} has no link",
            hint="link every tester port to a device or port",
        )
    return tuple(links)


def _ends(
    source: YamlSource, path: tuple[str | int, ...], text: str, rates: dict[tuple[str, int], int]
) -> list[PortRef]:
    node, _, numbers = text.partition(":")
    nodes = sorted({name for name, _ in rates})
    if node not in nodes:
        raise TopologyError(f"{source.where(path)}: no node '{node}'", hint=f"valid nodes: {', '.join(nodes)}")
    ends = [PortRef(node, number) for number in _numbers(source, path, numbers)]
    for end in ends:
        if (end.node, end.port) not in rates:
            count = sum(1 for name, _ in rates if name == node)
            raise TopologyError(f"{source.where(path)}: no port {end}", hint=f"{node} has ports 1 to {count}")
    return ends


def _require_unique_names(source: YamlSource, devices: tuple[Device, ...]) -> None:
    names: set[str] = set()
    for index, device in enumerate(devices):
        if device.name in names:
            raise TopologyError(
                f"{source.where(('nodes', index, 'name'))}: '{device.name}' is given twice", hint="name each node once"
            )
        names.add(device.name)
