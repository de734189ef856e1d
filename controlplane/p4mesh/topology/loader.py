"""Topology file to :class:`Topology`: schema, ranges, and the checks that a schema cannot make."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path as File
from typing import Any, TypeVar

from p4mesh.causes import reading_hint
from p4mesh.config_files.yaml_source import Path, YamlSource, as_written
from p4mesh.errors import TopologyError
from p4mesh.regular_files import read_text
from p4mesh.shipped import topology_file, topology_names
from p4mesh.topology.consistency import Bridged, check_node, check_outages
from p4mesh.topology.device_keys import check_keys, check_on_linux, resolve_program
from p4mesh.topology.engine_network import build_network
from p4mesh.topology.keys import Cable, EngineMapping, Node, NodePorts, TesterPorts, TopologyFile
from p4mesh.topology.line_codes import line_code_ns
from p4mesh.topology.model import TESTER, Device, DevicePort, Link, Loop, PortRef, TesterPort, Topology
from p4mesh.topology.port_lists import checked_numbers
from p4mesh.topology.schema import TOPOLOGY_FILE, read
from p4mesh.topology.tester_switch import check_bgp, checked_tofino

_Item = TypeVar("_Item", int, str)
_Ports = TypeVar("_Ports", bound=TesterPorts | NodePorts)

MOST_BYTES = 4_000_000
"""Bytes of a topology file; 512 ports, each with routes and entries, need a quarter of this."""
HIGHEST_PORT = 8_191
"""Networks of 30 bits in 198.19.0.0/16 (RFC 2544 C.2.2) are for ports up to twice this."""
HIGHEST_TESTER_PORT = 508
"""Port of a switch: its program uses higher numbers for its loop, the controller and drops."""
DEFAULT_LOOP = Loop(rate_bps=400_000_000_000, latency_ns=400.0)
FASTEST_LOOP_BPS = 3_200_000_000_000
_LOOP_LINES = 4
"""A test may have both directions, or three streams one after the other (RFC 2544 26.2), each at line rate."""
_HIGHEST_DEVICE_PORT = 511
_OWN_KEYS_OF_NODES = ("name", "device", "ports", "on_linux")


def load_topology(path: str | File) -> Topology:
    """The topology in a file, or the one that comes with P4Mesh under this name, such as ``back-to-back``.

    Raises TopologyError with file, line and what is valid.
    """
    path = topology_file(str(path)) or path
    try:
        text = read_text(File(path), MOST_BYTES)
    except FileNotFoundError:
        names = topology_names()
        close = difflib.get_close_matches(File(path).stem, names, n=3)
        nearest = f"did you mean {' or '.join(close)}? " if close else ""
        hint = f"{nearest}name a YAML file, or one that comes with P4Mesh: {', '.join(names)}"
        raise TopologyError(f"{path}: no such topology file", hint=hint) from None
    except UnicodeDecodeError:
        raise TopologyError(f"{path}: not a text file", hint="a topology is a YAML file, see topologies/") from None
    except OSError as error:
        hint = reading_hint(error.errno, "name a YAML file, see topologies/")
        raise TopologyError(f"{path}: {error.strerror}", hint=hint) from None
    return parse_topology(str(path), text)


def parse_topology(name: str, text: str) -> Topology:
    """The topology that ``text`` describes; ``name`` is the file name for messages.

    The engine has judged it: what is returned can be run.
    """
    source = YamlSource(name, text, TOPOLOGY_FILE)
    topology = _topology(source, read(source))
    build_network(topology)
    return topology


def _topology(source: YamlSource, file: TopologyFile) -> Topology:
    tester = file.tester
    ports = _tester_ports(source, tester.ports, tester.switches)
    devices = tuple(_device(source, index, node) for index, node in enumerate(file.nodes))
    _require_unique_names(source, devices)
    if tester.bgp:
        check_bgp(source, tester.bgp, [port.number for port in ports])
    return Topology(
        name=file.name,
        description=file.description.strip(),
        source=source.name,
        text=source.text,
        clock_tick_ps=tester.clock_tick_ps,
        seed=file.seed,
        loop=Loop(tester.loop.rate_bps, tester.loop.latency_ns) if tester.loop else _default_loop(ports),
        tester_ports=ports,
        devices=devices,
        links=_links(source, file.links, ports, devices),
        notes={key: note.strip() for key, note in file.notes.items()},
        settings={
            test: tuple(f"{key}={as_written(value)}" for key, value in parameters.items())
            for test, parameters in file.tests.items()
        },
        tofino=checked_tofino(source, tester.tofino) if tester.tofino else None,
        live=tester.live,
        bgp=tester.bgp,
        switches=tester.switches,
    )


def _tester_ports(source: YamlSource, groups: list[TesterPorts], switches: int) -> tuple[TesterPort, ...]:
    path: Path = ("tester", "ports")
    device_ports, interfaces = _device_ports(source, groups), _interfaces(source, groups)
    macs = _behind_ports(source, groups, "station_mac", "a station MAC", lambda _, text: text.lower().split(","))
    numbered = _expand(source, path, groups, min(HIGHEST_PORT, switches * HIGHEST_TESTER_PORT))
    if len(numbered) % switches:
        raise TopologyError(
            f"{source.where(('tester', 'switches'))}: {len(numbered)} ports are not equal parts of {switches} switches",
            hint="give each switch as many ports as the others",
        )
    return tuple(
        TesterPort(
            number,
            f"{group.name}{number}",
            group.rate_bps,
            _gap_bits(source, (*path, index), group),
            float(group.clock_offset_ppm),
            group.start_skew_ns,
            _others(source, (*path, index), group),
            device_ports.get(number),
            group.role,
            group.layer,
            interfaces.get(number, ""),
            group.router_mac,
            bytes.fromhex(macs.get(number, "").replace(":", "")),
        )
        for number, index, group in numbered
    )


def _others(source: YamlSource, path: Path, group: EngineMapping) -> dict[str, Any]:
    """The keys of a group that the engine alone knows, as the file has them."""
    known = group.__struct_encode_fields__
    return {key: value for key, value in source.at(path).items() if key not in known}


def _default_loop(ports: Sequence[TesterPort]) -> Loop:
    """A loop with room for the streams of the fastest port."""
    wanted = _LOOP_LINES * max(port.rate_bps for port in ports)
    return replace(DEFAULT_LOOP, rate_bps=min(FASTEST_LOOP_BPS, max(DEFAULT_LOOP.rate_bps, wanted)))


def _device_ports(source: YamlSource, groups: list[TesterPorts]) -> dict[int, int]:
    """The device port of each tester port that has one; no device port twice."""

    def numbers(path: Path, text: str) -> list[int]:
        return checked_numbers(source, path, text, 0, _HIGHEST_DEVICE_PORT)

    return _behind_ports(source, groups, "device_ports", "a device port", numbers)


def _interfaces(source: YamlSource, groups: list[TesterPorts]) -> dict[int, str]:
    """The interface of each tester port that has one; no interface twice."""
    return _behind_ports(source, groups, "interface", "an interface", lambda _, text: text.split(","))


def _behind_ports(
    source: YamlSource,
    groups: list[TesterPorts],
    key: str,
    one: str,
    items_of: Callable[[Path, str], list[_Item]],
) -> dict[int, _Item]:
    """Values that ``key`` lists for the tester ports of each group that has it: one for each port, none twice."""
    found: dict[int, _Item] = {}
    kind = one.partition(" ")[2]
    for index, group in enumerate(groups):
        listed = getattr(group, key)
        if listed in (None, ""):
            continue
        path: Path = ("tester", "ports", index, key)
        of_group: Path = ("tester", "ports", index, "numbers")
        numbers = checked_numbers(source, of_group, str(group.numbers), 1, HIGHEST_PORT)
        items = items_of(path, str(listed))
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


def _device(source: YamlSource, index: int, node: Node) -> Device:
    path = ("nodes", index)
    model = source.data["nodes"][index]
    cut_through = model.get("forwarding") == "cut_through"
    if ("look_ahead_bytes" in model) != cut_through:
        raise TopologyError(
            f"{source.where((*path, 'forwarding'))}: look_ahead_bytes and forwarding do not fit together",
            hint="give look_ahead_bytes with 'forwarding: cut_through', and only then",
        )
    place = (*path, "ports")
    ports = tuple(
        DevicePort(
            number,
            group.rate_bps,
            _gap_bits(source, (*place, group_index), group),
            group.queue_frames,
            float(group.clock_offset_ppm),
            _others(source, (*place, group_index), group),
        )
        for number, group_index, group in _expand(source, place, node.ports, HIGHEST_PORT)
    )
    model = {key: value for key, value in model.items() if key not in _OWN_KEYS_OF_NODES}
    check_keys(source, path, node.device, model)
    if node.on_linux:
        check_on_linux(source, path, node.device, node.on_linux)
    model = resolve_program(source, path, model)
    device = Device(node.name, node.device, ports, model, node.on_linux)
    check_node(source, path, device)
    return device


def _expand(source: YamlSource, path: Path, groups: Sequence[_Ports], highest: int) -> list[tuple[int, int, _Ports]]:
    """(number, index of its group, group) per port in ascending order; numbers must be 1..N without gaps."""
    expanded: dict[int, tuple[int, _Ports]] = {}
    for index, group in enumerate(groups):
        where = (*path, index, "numbers")
        for number in checked_numbers(source, where, str(group.numbers), 1, highest):
            if number in expanded:
                raise TopologyError(
                    f"{source.where(where)}: port {number} is given twice", hint="number each port once"
                )
            expanded[number] = index, group
    missing = [number for number in range(1, len(expanded) + 1) if number not in expanded]
    if missing:
        raise TopologyError(
            f"{source.where(path)}: port {missing[0]} is missing",
            hint=f"number {len(expanded)} ports 1 to {len(expanded)}",
        )
    return [(number, *expanded[number]) for number in sorted(expanded)]


def _gap_bits(source: YamlSource, path: Path, group: TesterPorts | NodePorts) -> int:
    given = source.at(path)
    if "ifg_bytes" not in given:
        return int(group.ifg_bits)
    if "ifg_bits" in given:
        raise TopologyError(
            f"{source.where((*path, 'ifg_bytes'))}: the gap is given in bits as well", hint="keep one of the two"
        )
    return 8 * group.ifg_bytes


def _links(
    source: YamlSource, groups: list[Cable], tester_ports: Iterable[TesterPort], devices: tuple[Device, ...]
) -> tuple[Link, ...]:
    rates = {(TESTER, port.number): port.rate_bps for port in tester_ports}
    rates.update({(device.name, port.number): port.rate_bps for device in devices for port in device.ports})
    links: list[Link] = []
    used: set[PortRef] = set()
    bridged = Bridged(devices)
    for index, cable in enumerate(groups):
        path = ("links", index)
        near = _ends(source, (*path, "from"), cable.from_, rates)
        far = _ends(source, (*path, "to"), cable.to, rates)
        check_outages(source, (*path, "outages"), cable.outages)
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
            code = cable.line_code, line_code_ns(source, path, cable, rate)
            faults = cable.bit_errors_per_1e15, tuple(cable.outages)
            links.append(Link((left, right), float(cable.latency_ns), *faults, *code))
    loose = [number for node, number in rates if node == TESTER and PortRef(TESTER, number) not in used]
    if loose:
        raise TopologyError(
            f"{source.where(('links',))}: tester:{loose[0]} has no link",
            hint="link every tester port to a device or port",
        )
    return tuple(links)


def _ends(source: YamlSource, path: Path, text: str, rates: dict[tuple[str, int], int]) -> list[PortRef]:
    node, _, numbers = text.partition(":")
    nodes = sorted({name for name, _ in rates})
    if node not in nodes:
        raise TopologyError(f"{source.where(path)}: no node '{node}'", hint=f"valid nodes: {', '.join(nodes)}")
    ends = [PortRef(node, number) for number in checked_numbers(source, path, numbers, 1, HIGHEST_PORT)]
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
