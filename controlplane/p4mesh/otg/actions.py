"""Control actions: addresses of devices ask others for echoes, sessions of BGP end."""

from __future__ import annotations

from typing import Any

from snappi import otg_pb2 as pb2

from p4mesh.errors import OtgError
from p4mesh.otg.bgp_actions import read_bgp_action
from p4mesh.otg.devices import Devices
from p4mesh.otg.elements import Element, refusal
from p4mesh.otg.hosts import Hosts
from p4mesh.otg.interfaces import Address, Interface

_MOST_ECHOES = 64
"""Most echo requests of one action."""
_KINDS: dict[str, tuple[int, Any]] = {
    "ipv4": (4, pb2.ActionResponseProtocolIpv4),
    "ipv6": (6, pb2.ActionResponseProtocolIpv6),
}


def act(root: Element, devices: Devices, hosts: Hosts) -> pb2.ControlActionResponse:
    """Do what a request asks for; raises OtgError for others than these."""
    root.choice("protocol", default="protocol")
    with root.element("protocol").whole() as protocol:
        kind = protocol.choice(*_KINDS, "bgp", default="")
        if kind == "bgp":
            return _end_sessions(protocol.element(kind), devices, hosts)
        version, answer = _KINDS[kind]
        with protocol.element(kind).whole() as inner:
            inner.choice("ping", default="ping")
            with inner.element("ping").whole() as ping:
                requests = ping.elements("requests")
                if len(requests) > _MOST_ECHOES:
                    raise refusal(ping.at("requests"), f"are {len(requests)}", f"up to {_MOST_ECHOES}")
                asked = [_echo(request, devices, version) for request in requests]
    told = answer(choice=answer.Choice.ping)
    for (interface, address), answers in zip(asked, hosts.ping(asked), strict=True):
        one = told.ping.responses.add(src_name=interface.name, dst_ip=str(address))
        one.result = type(one).Result.Enum.Value("succeeded" if answers else "failed")
    response = pb2.ActionResponseProtocol(choice=pb2.ActionResponseProtocol.Choice.Enum.Value(kind), **{kind: told})
    return pb2.ControlActionResponse(
        response=pb2.ActionResponse(choice=pb2.ActionResponse.Choice.protocol, protocol=response)
    )


def _end_sessions(element: Element, devices: Devices, hosts: Hosts) -> pb2.ControlActionResponse:
    names, ending = read_bgp_action(element, devices.peers)
    if down := [name for name in names if not hosts.session(name)[0].up]:
        raise OtgError(f"the session of {', '.join(down)} is not up", hint="the metrics bgpv4 and bgpv6 show which are")
    for name in names:
        hosts.end_session(name, ending)
    return pb2.ControlActionResponse()


def _echo(element: Element, devices: Devices, version: int) -> tuple[Interface, Address]:
    """Read one request: the address of a device that asks, and the one that is asked."""
    known = {it.name: it for it in (*devices.interfaces, *devices.loopbacks) if it.address.version == version}
    with element.whole():
        name, address = element.text("src_name"), element.address("dst_ip")
    if name not in known:
        raise refusal(element.at("src_name"), f"'{name}' is no IPv{version} address of a device", known)
    return known[name], address
