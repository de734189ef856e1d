"""A configuration of the Open Traffic Generator API with all kinds of elements, and values to give them in turn."""

from __future__ import annotations

from snappi import otg_pb2 as pb2

TEXTS = (
    "",
    "p1",
    "p2",
    "f",
    "d1",
    "e1",
    "v4",
    "v6",
    "10.0.0.2",
    "2001:db8::2",
    "02:00:00:00:00:07",
    "0",
    "65535",
    "é",
    "x" * 3000,
)
NUMBERS = (0, 1, 2, 3, 63, 64, 65, 255, 1500, 9999, 65535, 65536, (1 << 31) - 1, (1 << 32) - 1, (1 << 63) - 1)
REALS = (0.0, 0.1, -1.0, 1e-30, 1e30, 50.0, 100.0, float("inf"), float("nan"))


def usual() -> pb2.Config:
    """A configuration that has all kinds of elements which there are."""
    config = pb2.Config()
    for number in (1, 2):
        config.ports.add(name=f"p{number}", location=str(number))
        device = config.devices.add(name=f"d{number}")
        ethernet = device.ethernets.add(name=f"e{number}", mac=f"02:00:00:00:00:0{number}")
        ethernet.connection.port_name = f"p{number}"
        ethernet.vlans.add(name=f"vlan{number}", id=7)
        ethernet.ipv4_addresses.add(name=f"v4{number}", address=f"10.0.0.{number}", gateway=f"10.0.0.{3 - number}")
        ethernet.ipv6_addresses.add(
            name=f"v6{number}", address=f"2001:db8::{number}", gateway=f"2001:db8::{3 - number}"
        )
        device.ipv4_loopbacks.add(name=f"lo{number}", eth_name=f"e{number}", address=f"192.0.2.{number}")
        device.bgp.router_id = f"10.0.0.{number}"
        peer = device.bgp.ipv4_interfaces.add(ipv4_name=f"v4{number}").peers.add(
            name=f"peer{number}", peer_address=f"10.0.0.{3 - number}", as_number=65000 + number
        )
        peer.as_type = pb2.BgpV4Peer.AsType.ebgp
        routes = peer.v4_routes.add(name=f"routes{number}")
        routes.addresses.add(address=f"10.{number}.0.0", count=3)
        routes.advanced.multi_exit_discriminator = 50
        routes.as_path.as_set_mode = pb2.BgpAsPath.AsSetMode.include_as_set
        routes.as_path.segments.add(as_numbers=[65010, 65011])
        routes.communities.add(type=pb2.BgpCommunity.Type.manual_as_number, as_number=1, as_custom=2)
        routes.extended_communities.add().custom.value = "0102"
    config.captures.add(name="c", port_names=["p2"])
    config.layer1.add(name="l", port_names=["p1"], mtu=1500)
    for number in range(3):
        flow = config.flows.add(name=f"f{number}")
        if number:
            flow.tx_rx.choice = pb2.FlowTxRx.Choice.device
            flow.tx_rx.device.tx_names.append("d1")
            flow.tx_rx.device.rx_names.append("d2")
        else:
            flow.tx_rx.port.tx_name = "p1"
            flow.tx_rx.port.rx_names.append("p2")
        for kind in ("ethernet", "vlan", "ipv4" if number < 2 else "ipv6", "udp"):
            header = flow.packet.add()
            header.choice = pb2.FlowHeader.Choice.Enum.Value(kind)
            getattr(header, kind).SetInParent()
        flow.packet[3].udp.src_port.choice = pb2.PatternFlowUdpSrcPort.Choice.increment
        flow.packet[3].udp.src_port.increment.count = 5
        flow.packet[3].udp.src_port.metric_tags.add(name="t")
        flow.size.fixed, flow.rate.pps, flow.duration.fixed_packets.packets = 200, 100, 10
        flow.size.choice, flow.rate.choice = pb2.FlowSize.Choice.fixed, pb2.FlowRate.Choice.pps
        flow.duration.choice = pb2.FlowDuration.Choice.fixed_packets
        flow.metrics.enable = flow.metrics.latency.enable = True
        flow.payload.choice = pb2.FlowPayload.Choice.fixed
        flow.payload.fixed.pattern = "cafe"
    return config
