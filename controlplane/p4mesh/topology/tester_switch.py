"""Refuses settings of the tester's switch and of its BGP sessions that contradict each other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from p4mesh.config_files.yaml_source import YamlSource
from p4mesh.errors import TopologyError
from p4mesh.topology.keys import BgpPeers, TofinoSwitch
from p4mesh.topology.port_lists import checked_numbers

_LEAST_HOLD_TIME_S = 3
_KEYS_OF_THE_OTHER_API = {
    "p4runtime": ("cpu_interface", "port_settings", "profile", "program", "request_timeout_s"),
    "bfrt": ("device_config", "election_id", "tls"),
}
_RESERVED_AS = {23_456, 65_535}
"""AS_TRANS (RFC 6793) and the last number of two octets (RFC 7300)."""
_BGP = ("tester", "bgp")
_TOFINO = ("tester", "tofino")
_HIGHEST_DEVICE_PORT = 511


def check_bgp(source: YamlSource, peers: BgpPeers, ports: Sequence[int]) -> None:
    """Raise TopologyError for a hold time that BGP does not have, and for a number of an AS that is taken."""
    if 0 < peers.hold_time_s < _LEAST_HOLD_TIME_S:
        raise TopologyError(
            f"{source.where((*_BGP, 'hold_time_s'))}: a hold time of {peers.hold_time_s} s",
            hint=f"0, or {_LEAST_HOLD_TIME_S} to 65535 (RFC 4271 section 4.2)",
        )
    used = {peers.first_as + number - 1: "first_as" for number in ports} | {peers.router_as: "router_as"}
    for reserved in sorted(used.keys() & _RESERVED_AS):
        raise TopologyError(
            f"{source.where((*_BGP, used[reserved]))}: AS {reserved} is reserved",
            hint="choose numbers such as 64512 to 65534, one for each port (RFC 6996)",
        )
    if peers.first_as <= peers.router_as < peers.first_as + max(ports):
        raise TopologyError(
            f"{source.where((*_BGP, 'router_as'))}: AS {peers.router_as} is that of a station, too",
            hint="the stations have first_as and the numbers after it, one for each port",
        )


def checked_tofino(source: YamlSource, switch: TofinoSwitch) -> TofinoSwitch:
    """The switch with its files found beside the topology; raises TopologyError for what its api does not take."""
    p4runtime = switch.api == "p4runtime"
    given = source.data["tester"]["tofino"]
    for needed, of_p4runtime in (("device_config", True), ("cpu_interface", False)):
        if p4runtime == of_p4runtime and needed not in given:
            raise TopologyError(
                f"{source.where(_TOFINO)}: api {switch.api} needs {needed}", hint="docs/TOFINO.md has examples of both"
            )
    for other in _KEYS_OF_THE_OTHER_API[switch.api]:
        if other in given:
            raise TopologyError(
                f"{source.where((*_TOFINO, other))}: {other} has no use with api {switch.api}",
                hint="remove it, or choose the other api",
            )
    _require_single_ports(source, switch)
    folder = Path(source.name).parent
    tls = switch.tls and replace(
        switch.tls,
        **{name: str(folder / file) for name in ("ca", "certificate", "key") if (file := getattr(switch.tls, name))},
    )
    return replace(
        switch,
        device_config=str(folder / switch.device_config) if p4runtime else "",
        tls=tls,
    )


def _require_single_ports(source: YamlSource, switch: TofinoSwitch) -> None:
    found: set[int] = set()
    for index, group in enumerate(switch.port_settings or ()):
        path = (*_TOFINO, "port_settings", index, "device_ports")
        for port in checked_numbers(source, path, str(group.device_ports), 0, _HIGHEST_DEVICE_PORT):
            if port in found:
                raise TopologyError(
                    f"{source.where(path)}: device port {port} is given twice", hint="name each device port once"
                )
            found.add(port)
