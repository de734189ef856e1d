"""Every Linux part by its name for the key ``on_linux``."""

from __future__ import annotations

from collections.abc import Mapping

from p4mesh.errors import UnsupportedError
from p4mesh.network.nodes.base import LinuxNode
from p4mesh.network.nodes.bird import BirdNode
from p4mesh.network.nodes.bridge import BridgeNode
from p4mesh.network.nodes.frr import FrrNode
from p4mesh.network.nodes.openvswitch import OpenVSwitchNode
from p4mesh.network.nodes.p4 import EngineSwitchNode, SimpleSwitchNode
from p4mesh.network.nodes.router import RouterNode
from p4mesh.network.nodes.smcroute import SmcrouteNode
from p4mesh.topology.keys import ON_LINUX
from p4mesh.topology.model import Device

PARTS: Mapping[str, type[LinuxNode]] = {
    part.software: part
    for part in (
        *(BridgeNode, OpenVSwitchNode),
        *(RouterNode, FrrNode, BirdNode, SmcrouteNode),
        *(SimpleSwitchNode, EngineSwitchNode),
    )
}


def node_class(device: Device) -> type[LinuxNode]:
    """The Linux part that stands for a node; raises UnsupportedError where none can."""
    usual = ON_LINUX.get(device.device, ())
    if not usual:
        raise UnsupportedError(
            f"not supported on Linux interfaces: node '{device.name}' is a {device.device}",
            hint=f"use nodes of device {', '.join(ON_LINUX)}, or --target sim",
        )
    return PARTS[device.on_linux or usual[0]]
