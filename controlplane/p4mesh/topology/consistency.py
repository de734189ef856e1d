"""Refuses parts of a topology that are valid by themselves and contradict each other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from p4mesh.config_files.yaml_source import Path, YamlSource
from p4mesh.errors import TopologyError
from p4mesh.topology.model import Device, PortRef

_SWITCH = "ethernet_switch"
_TAP = "tap"
_CABLE_PORTS = (1, 2)
"""Ports of a tap that are in its cable; monitors take nothing in."""
_LINEAR_SERVICE = ("service_min_ns", "service_base_ns", "service_per_byte_ns")


def check_node(source: YamlSource, path: Path, device: Device) -> None:
    """Raise TopologyError where keys of a node, each valid by itself, cannot be meant together."""
    model = device.model
    low, high = model.get("min_frame_bytes", 0), model.get("max_frame_bytes", 1 << 16)
    if low > high:
        raise TopologyError(
            f"{source.where((*path, 'min_frame_bytes'))}: {low} is above max_frame_bytes {high}",
            hint="no frame would pass: lower it",
        )
    faults = model.get("impairments", {})
    if faults.get("reorder_ppb") and not faults.get("reorder_delay_ns"):
        raise TopologyError(
            f"{source.where((*path, 'impairments', 'reorder_ppb'))}: reorder_delay_ns is missing or 0",
            hint="give the time for which a frame is held back, in ns",
        )
    server = model.get("broadcast", {})
    linear = [key for key in _LINEAR_SERVICE if key in server]
    if "service_by_size" in server and linear:
        raise TopologyError(
            f"{source.where((*path, 'broadcast', linear[0]))}: service_by_size is given as well",
            hint="keep one of the two",
        )
    rates = {port.rate_bps for port in device.ports if port.number in _CABLE_PORTS}
    if device.device == _TAP and len(rates) > 1:
        raise TopologyError(
            f"{source.where((*path, 'ports'))}: ports 1 and 2 of a tap have different rates",
            hint="they are in one cable: give both the same rate_bps",
        )


def check_outages(source: YamlSource, path: Path, outages: Sequence[dict[str, Any]]) -> None:
    """Raise TopologyError for an outage that begins before the one in front of it is over."""
    for index, (outage, following) in enumerate(pairwise(outages), 1):
        if "duration_s" not in outage or following["at_s"] < outage["at_s"] + outage["duration_s"]:
            raise TopologyError(
                f"{source.where((*path, index, 'at_s'))}: begins before the outage in front of it is over",
                hint="give outages in the order of their times, as one where they overlap",
            )


class Bridged:
    """Links between switches that flood: on a second way between two of them a frame would circulate for ever."""

    def __init__(self, devices: Sequence[Device]) -> None:
        """Note the nodes that flood; switches with VLANs can have a way for each VLAN."""
        self._joined = {device.name: device.name for device in devices if self._floods(device)}
        self._taps = {device.name for device in devices if device.device == _TAP}

    @staticmethod
    def _floods(device: Device) -> bool:
        return device.device == _TAP or (device.device == _SWITCH and "vlans" not in device.model)

    def join(self, source: YamlSource, path: Path, ends: tuple[PortRef, PortRef]) -> None:
        """Add one link; raise TopologyError when it closes a ring."""
        if any(end.node not in self._joined or self._is_monitor(end) for end in ends):
            return
        near, far = (self._root(end.node) for end in ends)
        if near == far:
            raise TopologyError(
                f"{source.where(path)}: {ends[0]} and {ends[1]} close a ring of switches",
                hint="flooded frames would circulate for ever without a spanning tree: remove a link",
            )
        self._joined[near] = far

    def _is_monitor(self, end: PortRef) -> bool:
        return end.node in self._taps and end.port not in _CABLE_PORTS

    def _root(self, node: str) -> str:
        while self._joined[node] != node:
            node = self._joined[node]
        return node
