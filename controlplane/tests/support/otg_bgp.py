"""Two devices that speak BGP with each other, and what starts and ends their sessions."""

from __future__ import annotations

from typing import Any

from support.otg import two_ports

ADDRESSES = {4: ("10.0.0.1", "10.0.0.2"), 6: ("2001:db8::1", "2001:db8::2")}
LOOPBACKS = {4: ("192.0.2.1", "192.0.2.2"), 6: ("2001:db8:1::1", "2001:db8:1::2")}


def two_speakers(api: Any, version: int = 4, *, on_loopbacks: bool = False, as_type: str = "ebgp") -> tuple[Any, Any]:
    """A configuration with devices d1 and d2, and their peers peer1 and peer2."""
    config = two_ports(api)
    # The client of the test before lets its devices speak on.
    config.options.port_options.location_preemption = True
    own, peers = LOOPBACKS[version] if on_loopbacks else ADDRESSES[version], []
    for place in (0, 1):
        device = config.devices.add(name=f"d{place + 1}")
        ethernet = device.ethernets.add(name=f"e{place + 1}", mac=f"02:00:00:00:00:0{place + 1}")
        ethernet.connection.port_name = f"p{place + 1}"
        for each, (key, keys) in ((4, ("ipv4", "ipv4_addresses")), (6, ("ipv6", "ipv6_addresses"))):
            name, addresses = f"d{place + 1}.{key}", ADDRESSES[each]
            getattr(ethernet, keys).add(name=name, address=addresses[place], gateway=addresses[1 - place])
        name = f"d{place + 1}.ipv{version}"
        if on_loopbacks:
            name = f"d{place + 1}.lo"
            getattr(device, f"ipv{version}_loopbacks").add(name=name, eth_name=ethernet.name, address=own[place])
        device.bgp.router_id = ADDRESSES[4][place]
        interface = getattr(device.bgp, f"ipv{version}_interfaces").add()
        setattr(interface, f"ipv{version}_name", name)
        peer = interface.peers.add(name=f"peer{place + 1}", peer_address=own[1 - place], as_type=as_type)
        peer.as_number = 65001 + (place if as_type == "ebgp" else 0)
        peer.learned_information_filter.set(unicast_ipv4_prefix=True, unicast_ipv6_prefix=True)
        peers.append(peer)
    return config, peers


def protocols(api: Any, state: str) -> None:
    control = api.control_state()
    control.protocol.all.state = state
    api.set_control_state(control)


def switch_peers(api: Any, state: str, *names: str) -> None:
    control = api.control_state()
    control.protocol.bgp.peers.set(peer_names=list(names), state=state)
    api.set_control_state(control)
