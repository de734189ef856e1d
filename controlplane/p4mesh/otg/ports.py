"""The ports of a configuration: which port of the tester each location names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from p4mesh.otg.elements import Element, refusal
from p4mesh.otg.locations import SCHEME
from p4mesh.topology import TesterPort, Topology


@dataclass(frozen=True)
class Port:
    """A port of a configuration."""

    name: str
    location: str
    tester: TesterPort

    @property
    def number(self) -> int:
        """Number of the tester port."""
        return self.tester.number


def read_ports(elements: Sequence[Element], topology: Topology) -> dict[str, Port]:
    """Read the list ``ports``, by their names."""
    known = port_names(topology)
    found: dict[str, Port] = {}
    owners: dict[int, str] = {}
    for element in elements:
        with element.whole():
            name, location = element.text("name"), element.text("location")
        port = known.get(location.rpartition("/")[2] if location.startswith(SCHEME) else location)
        if port is None:
            names = dict.fromkeys(port.interface or port.name or str(port.number) for port in topology.tester_ports)
            raise refusal(element.at("location"), f"'{location}' is no port of {topology.name}", list(names))
        if other := owners.get(port.number):
            raise refusal(element.at("location"), f"'{location}' is the port that {other} has", "a port of its own")
        owners[port.number] = name
        found[name] = Port(name, location, port)
    return found


def port_of(path: str, name: str, ports: Mapping[str, Port]) -> Port:
    """The port of a name; raises OtgError for an unknown one."""
    if name not in ports:
        raise refusal(path, f"'{name}' is no port", ports)
    return ports[name]


def port_names(topology: Topology) -> Mapping[str, TesterPort]:
    """Names by which a location finds a tester port: its number, name and interface."""
    return {
        name: port for port in topology.tester_ports for name in (port.interface, port.name, str(port.number)) if name
    }


def read_layer1(elements: Sequence[Element], ports: Mapping[str, Port]) -> list[str]:
    """Read the list ``layer1``; warnings on what the topology decides."""
    warnings = []
    for element in elements:
        with element.whole():
            element.text("name")
            names = element.texts("port_names")
            for place, name in enumerate(names):
                port_of(f"{element.at('port_names')}[{place}]", name, ports)
            element.require("promiscuous", True)
            element.require("ieee_media_defaults", False)
            warnings += read_mtu(element)
            speed = _SPEEDS_BPS.get(element.text("speed"))
            slower = [name for name in names if speed and ports[name].tester.rate_bps != speed]
            if slower:
                rates = ", ".join(f"{name} {ports[name].tester.rate_bps} bit/s" for name in slower)
                warnings.append(f"{element.at('speed')} has no effect: the topology gives the rates ({rates})")
            for key in ("media", "auto_negotiate", "auto_negotiation", "flow_control"):
                if key in element:
                    element.text(key)
                    warnings.append(f"{element.at(key)} has no effect: ports are as the topology has them")
    return warnings


def read_mtu(element: Element) -> list[str]:
    """Read the longest packet of an interface, which bounds nothing here: a warning where it is another than usual."""
    if element.integer("mtu", _USUAL_MTU_BYTES) == _USUAL_MTU_BYTES:
        return []
    return [f"{element.at('mtu')} has no effect: ports send and take frames of every length that the target has"]


_USUAL_MTU_BYTES = 1500
_SPEEDS_BPS = {
    **{f"speed_{mbps}_{duplex}_mbps": mbps * 10**6 for mbps in (10, 100) for duplex in ("fd", "hd")},
    **{f"speed_{gbps}_gbps": gbps * 10**9 for gbps in (1, 10, 25, 40, 50, 100, 200, 400, 800)},
}
