"""Routers as devices under test: neighbours by ARP and ND, longest prefix, equal-cost paths; scapy is the oracle."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import ICMPv6ND_NA, ICMPv6ND_NS, ICMPv6NDOptDstLLAddr, ICMPv6NDOptSrcLLAddr, IPv6
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Packet
from support import networks
from support.frames import FORMATS
from support.hosted_network import HostedNetwork
from support.networks import parsed
from support.runs import truth

from p4mesh.errors import TopologyError
from p4mesh.layers import udp
from p4mesh.topology import Device, DevicePort, Loop, Topology
from p4mesh.topology.engine_config import SpecialPorts, engine_config
from p4mesh.topology.loader import parse_topology
from p4mesh.traffic.line_rate import max_rate_fps
from p4mesh.traffic.patterns import FullMesh, Pairs
from p4mesh.traffic.stream import FieldModifier, Progression, Stream
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import Learning, TrialSpec
from p4mesh.verdict import Verdict

PS_PER_S = 10**12
ROUTER_MAC = "02:00:5e:00:00:{:02x}"
HOST_MAC = "02:00:00:00:00:{:02x}"


PORTS = (1, 2, 3)
ROUTER = "r"
EMPTY = Topology("", "", "", "", 1000, 0, Loop(10**11, 400.0), (), (), ())


class Lab(HostedNetwork):
    """A router with a host at its three ports. Port n is 10.0.n.1/24, 2001:db8:n::1/64."""

    def __init__(self, device: Device | None = None, **model: object) -> None:
        if device:
            (router,) = engine_config(replace(EMPTY, devices=(device,)), SpecialPorts(509, 510, 511))["nodes"]
        else:
            interfaces = [
                {
                    "port": number,
                    "mac": ROUTER_MAC.format(number),
                    "addresses": [f"10.0.{number}.1/24", f"2001:db8:{number}::1/64"],
                }
                for number in PORTS
            ]
            ports = [{"number": number, "rate_bps": 10**9} for number in PORTS]
            router = {"name": ROUTER, "device": "router", "ports": ports, "interfaces": interfaces, **model}
        super().__init__(PORTS, device=router)

    def exchange(self, port: int, packet: Packet, wait_ps: int = PS_PER_S // 1000) -> list[tuple[int, Packet]]:
        """Send a packet; return the frames that the router sends until the wait is over."""
        self.send(port, bytes(packet).ljust(60, b"\0"))
        return self.wait(wait_ps)

    def wait(self, wait_ps: int) -> list[tuple[int, Packet]]:
        """The frames that the router sends by then."""
        self.network.advance(wait_ps)
        return [(port, Ether(frame)) for port, frame in self.received()]


def to_router(port: int) -> Ether:
    return Ether(src=HOST_MAC.format(port), dst=ROUTER_MAC.format(port))


def packet(destination: str, source_port: int = 1000, ttl: int = 9) -> Packet:
    ip: IP | IPv6 | None = IPv6(src="2001:db8:1::9", dst=destination, hlim=ttl) if ":" in destination else None
    ip = ip or IP(src="10.0.1.9", dst=destination, ttl=ttl)
    return to_router(1) / ip / UDP(sport=source_port, dport=2000) / b"payload"


def answer(question: Packet, port: int) -> Packet:
    """Answer ARP and neighbour solicitations as a host does."""
    mac = HOST_MAC.format(port)
    if ARP in question:
        asked = question[ARP]
        return Ether(src=mac, dst=asked.hwsrc) / ARP(
            op=2, hwsrc=mac, psrc=asked.pdst, hwdst=asked.hwsrc, pdst=asked.psrc
        )
    target = question[ICMPv6ND_NS].tgt
    return (
        Ether(src=mac, dst=question.src)
        / IPv6(src=target, dst=question[IPv6].src, hlim=255)
        / ICMPv6ND_NA(tgt=target, R=0, S=1, O=1)
        / ICMPv6NDOptDstLLAddr(lladdr=mac)
    )


@pytest.mark.parametrize("destination", ["10.0.2.9", "2001:db8:2::9"])
def test_packets_wait_until_the_neighbour_has_answered_and_go_out_in_order(destination: str) -> None:
    lab = Lab()
    ((port, question),) = lab.exchange(1, packet(destination, 1))
    assert port == 2
    if ARP in question:
        asked = question[ARP]
        assert (question.dst, asked.op, asked.psrc, asked.pdst) == ("ff:ff:ff:ff:ff:ff", 1, "10.0.2.1", destination)
        assert asked.hwsrc == ROUTER_MAC.format(2)
    else:
        assert (question.dst, question[IPv6].dst) == ("33:33:ff:00:00:09", "ff02::1:ff00:9")
        assert question[ICMPv6NDOptSrcLLAddr].lladdr == ROUTER_MAC.format(2)
        assert question[IPv6].hlim == 255
        sum_written = question[ICMPv6ND_NS].cksum
        del question[ICMPv6ND_NS].cksum
        assert Ether(bytes(question))[ICMPv6ND_NS].cksum == sum_written
    assert lab.exchange(1, packet(destination, 2)) == []
    released = lab.exchange(2, answer(question, 2))
    assert [(port, frame[UDP].sport) for port, frame in released] == [(2, 1), (2, 2)]
    for _, frame in [*released, *lab.exchange(1, packet(destination, 3))]:
        assert (frame.src, frame.dst) == (ROUTER_MAC.format(2), HOST_MAC.format(2))
        expected = packet(destination, frame[UDP].sport, ttl=8)
        assert bytes(frame)[14:].rstrip(b"\0") == bytes(expected)[14:].rstrip(b"\0"), "one hop less, checksum right"
    assert sum(lab.drops(ROUTER).values()) == 0


@pytest.mark.parametrize("destination", ["10.0.2.9", "2001:db8:2::9"])
def test_a_neighbour_that_does_not_answer_is_asked_three_times_a_second_apart(destination: str) -> None:
    lab = Lab()
    questions = lab.exchange(1, packet(destination), 4 * PS_PER_S)
    assert len(questions) == 3
    assert lab.drops(ROUTER) == {"no_neighbour": 1}
    assert lab.network.in_flight() == 0


def test_the_router_answers_for_its_own_addresses() -> None:
    lab = Lab()
    mac = HOST_MAC.format(1)
    ((port, reply),) = lab.exchange(
        1, Ether(src=mac, dst="ff:ff:ff:ff:ff:ff") / ARP(hwsrc=mac, psrc="10.0.1.9", pdst="10.0.1.1")
    )
    assert (port, reply[ARP].op, reply[ARP].hwsrc, reply[ARP].psrc, reply[ARP].pdst) == (
        1, 2, ROUTER_MAC.format(1), "10.0.1.1", "10.0.1.9"
    )  # fmt: skip
    solicitation = (
        Ether(src=mac, dst="33:33:ff:00:00:01")
        / IPv6(src="2001:db8:1::9", dst="ff02::1:ff00:1", hlim=255)
        / ICMPv6ND_NS(tgt="2001:db8:1::1")
        / ICMPv6NDOptSrcLLAddr(lladdr=mac)
    )
    ((port, reply),) = lab.exchange(1, solicitation)
    assert (port, reply[ICMPv6ND_NA].tgt, reply[ICMPv6ND_NA].R, reply[ICMPv6ND_NA].S) == (1, "2001:db8:1::1", 1, 1)
    assert reply[ICMPv6NDOptDstLLAddr].lladdr == ROUTER_MAC.format(1)
    assert (reply.dst, reply[IPv6].dst) == (mac, "2001:db8:1::9")
    # Both questions told the router who asked: it forwards back without a question of its own.
    for address in ("10.0.1.9", "2001:db8:1::9"):
        (sent,) = lab.exchange(1, packet(address))
        assert (sent[0], sent[1].dst) == (1, mac)
    # An address of port 2 is not answered at port 1.
    assert (
        lab.exchange(1, Ether(src=mac, dst="ff:ff:ff:ff:ff:ff") / ARP(hwsrc=mac, psrc="10.0.1.9", pdst="10.0.2.1"))
        == []
    )


def test_packets_that_a_router_must_not_forward_end_with_a_cause() -> None:
    lab = Lab()
    damaged = packet("10.0.2.9")
    damaged[IP].chksum = 1
    for sent, cause in (
        (packet("192.0.2.1"), "no_route"),
        (packet("10.0.2.9", ttl=1), "ttl_expired"),
        (packet("2001:db8:2::9", ttl=1), "ttl_expired"),
        (damaged, "bad_header"),
        (packet("224.0.0.5"), "not_routed"),
        (Ether(src=HOST_MAC.format(1), dst=HOST_MAC.format(7)) / IP(dst="10.0.2.9"), "not_routed"),
        (to_router(1) / b"unknown type", "not_routed"),
    ):
        before = lab.drops(ROUTER)
        assert lab.exchange(1, sent) == []
        assert lab.drops(ROUTER) - before == {cause: 1}


def test_the_longest_prefix_wins_and_a_lost_link_moves_flows_to_the_other_path() -> None:
    lab = Lab(
        routes=[
            {"prefix": "198.51.100.0/24", "next_hops": ["10.0.2.9", "10.0.3.9"]},
            {"prefix": "198.51.100.128/25", "next_hops": ["10.0.3.9"]},
        ],
        static_neighbours=[{"address": f"10.0.{port}.9", "mac": HOST_MAC.format(port)} for port in (2, 3)],
    )

    def outputs(destination: str) -> list[int]:
        return [lab.exchange(1, packet(destination, flow))[0][0] for flow in range(64)]

    assert set(outputs("198.51.100.200")) == {3}
    spread = outputs("198.51.100.1")
    assert outputs("198.51.100.1") == spread, "a flow stays on its path"
    assert 16 <= spread.count(2) <= 48
    lab.network.set_link(ROUTER, 2, False)
    assert set(outputs("198.51.100.1")) == {3}


def entry(table: str, action: str, params: list[object], **key: object) -> dict[str, object]:
    """An entry of the P4 router, addresses as the topology file has them."""
    return {"table": table, "action": action, "params": params, "key": key}


P4_ROUTER = Device(
    "r",
    "p4",
    tuple(DevicePort(number, 10**9) for number in (1, 2, 3)),
    {
        "program": "l3_router",
        "entries": [
            *(entry("interface", "accept_frame", [], port=n, mac=ROUTER_MAC.format(n)) for n in (1, 2)),
            entry("own_address", "answer", [ROUTER_MAC.format(1)], port=1, address="10.0.1.1"),
            entry("own_address_ipv6", "advertise", [ROUTER_MAC.format(1)], port=1, address="2001:db8:1::1"),
            entry("route_ipv4", "to_next_hop", [4], destination={"value": "10.0.2.0", "prefix_bits": 24}),
            entry("route_ipv6", "to_next_hop", [6], destination={"value": "2001:db8:2::", "prefix_bits": 64}),
            *(entry("next_hop", "send_when_known", [2, ROUTER_MAC.format(2)], next_hop=n) for n in (4, 6)),
            entry("question", "ask_ipv4", [2, ROUTER_MAC.format(2), "10.0.2.1", "10.0.2.9"], next_hop=4),
            entry("question", "ask_ipv6", [2, ROUTER_MAC.format(2), "2001:db8:2::1", "2001:db8:2::9"], next_hop=6),
            entry("neighbour_ipv4", "learn_ipv4", [4], port=2, address="10.0.2.9"),
            entry("neighbour_ipv6", "learn_ipv6", [6], port=2, address="2001:db8:2::9"),
        ],
    },
)
"""``p4src/dut/l3_router.p4`` with the addresses of :class:`Lab` and one next hop per family."""


@pytest.mark.parametrize("destination", ["10.0.2.9", "2001:db8:2::9"])
def test_the_router_in_p4_asks_for_a_next_hop_and_forwards_when_it_has_answered(destination: str) -> None:
    lab = Lab(P4_ROUTER)
    ((port, question),) = lab.exchange(1, packet(destination, 1))
    assert port == 2
    ((_, asked_by_model),) = Lab().exchange(1, packet(destination, 1))
    length = 42 if ARP in question else 86
    assert bytes(question)[:length] == bytes(asked_by_model)[:length], "the same question as the router model"
    assert lab.exchange(2, answer(question, 2)) == []
    ((port, frame),) = lab.exchange(1, packet(destination, 2))
    assert (port, frame.src, frame.dst) == (2, ROUTER_MAC.format(2), HOST_MAC.format(2))
    assert bytes(frame)[14:].rstrip(b"\0") == bytes(packet(destination, 2, ttl=8))[14:].rstrip(b"\0")


def test_the_router_in_p4_answers_for_its_own_addresses_and_not_to_damaged_questions() -> None:
    lab, model = Lab(P4_ROUTER), Lab()
    mac = HOST_MAC.format(1)
    request = Ether(src=mac, dst="ff:ff:ff:ff:ff:ff") / ARP(hwsrc=mac, psrc="10.0.1.9", pdst="10.0.1.1")
    solicitation: Packet = (
        Ether(src=mac, dst="33:33:ff:00:00:01")
        / IPv6(src="2001:db8:1::9", dst="ff02::1:ff00:1", hlim=255)
        / ICMPv6ND_NS(tgt="2001:db8:1::1")
        / ICMPv6NDOptSrcLLAddr(lladdr=mac)
    )
    for question in (request, solicitation):
        ((port, reply),) = lab.exchange(1, question)
        ((_, expected),) = model.exchange(1, question)
        assert (port, bytes(reply)[:42]) == (1, bytes(expected)[:42])
        assert bytes(reply)[:86].rstrip(b"\0") == bytes(expected)[:86].rstrip(b"\0")
    damaged: Packet = solicitation.copy()
    damaged[ICMPv6ND_NS].cksum = 1
    forwarded_before: Packet = solicitation.copy()
    forwarded_before[IPv6].hlim = 254
    for question in (damaged, forwarded_before):
        assert lab.exchange(1, question) == []


def test_an_address_in_an_entry_that_is_none_is_refused_with_its_place() -> None:
    text = """
name: r
tester: {ports: [{numbers: 1-2, rate_bps: 1000000000}]}
nodes:
  - name: dut
    device: p4
    program: l3_router
    ports: [{numbers: 1-2, rate_bps: 1000000000}]
    entries: [{table: own_address, key: {port: 1, address: 10.0.0.1}, action: answer, params: [10.0.0.300]}]
links: [{from: "tester:1-2", to: "dut:1-2"}]
"""
    with pytest.raises(
        TopologyError, match=r"r.yaml:9: nodes\[0\].entries\[0\].params\[0\]: '10.0.0.300' is not valid"
    ):
        parse_topology("r.yaml", text)


def routed(paths: int) -> str:
    """Two routers in a row, so that one learns the other by ARP and ND, with equal-cost paths between them.

    Test networks 1 and 2 are behind the first, 3 and 4 behind the second.
    """
    west = _router("west", 1, 2000, paths)
    east = _router("east", 2, 3000, paths)
    links = (("tester:1-2", "west:1-2"), ("tester:3-4", "east:1-2"), ("west:3-4", "east:3-4"))
    return networks.network(west, east, links=links)


def _router(name: str, place: int, latency_ns: int, paths: int) -> networks.Node:
    far = 3 - place
    interfaces = [
        f'{{port: {port}, mac: "02:00:5e:00:00:0{place}", addresses: [198.18.{test}.1/24, "2001:2:0:{test}::1/64"]}}'
        for port, test in enumerate((2 * place - 1, 2 * place), 1)
    ] + [
        f'{{port: {port}, mac: "02:00:5e:00:0{place}:0{port}", '
        f'addresses: [10.0.{path}.{place}/30, "2001:db8:{path}::{place}/126"]}}'
        for path, port in enumerate((3, 4))
    ]
    hops = [(f"10.0.{path}.{far}", f'"2001:db8:{path}::{far}"') for path in range(paths)]
    routes = [
        f"{{prefix: {prefix}, next_hops: [{', '.join(pair[family] for pair in hops)}]}}"
        for family, prefix in enumerate(("198.18.0.0/16", '"2001:2::/48"'))
    ]
    keys = f"latency_ns: {latency_ns}, interfaces: [{', '.join(interfaces)}], routes: [{', '.join(routes)}]"
    return networks.node(name, keys, device="router")


def trial(paths: int, *streams: Stream, duration_ns: int = 10_000_000) -> tuple[TrialResult, dict]:
    with open_measurer(parsed(routed(paths))) as measurer:
        result = measurer.measure(TrialSpec("routed", streams, duration_ns, Learning(wait_ns=1_000_000), per_flow=True))
        return result, truth(measurer)["nodes"]


@pytest.mark.parametrize("version", [4, 6])
def test_a_trial_through_two_routers_loses_nothing_and_shows_their_latency(version: int) -> None:
    size, ports = 128, (1, 2, 3, 4)
    fps = max_rate_fps(size, 10**9) / 4
    headers = FORMATS[version]
    mesh = Stream("mesh", size, fps, int(fps / 100), FullMesh(), ports, ports, headers, routed=True)
    result, nodes = trial(1, mesh)
    assert (result.status, result.reason, result.lost_frames) == (Verdict.MEASURED, "", 0)
    latency = {(flow.tx_port, flow.rx_port): flow.latency for flow in result.flows}
    store_ns = 8 * size
    near, far = latency[1, 2], latency[1, 4]  # 1 to 3 shares the trunk with 2 to 4
    assert near is not None and far is not None
    assert near.min_ns == pytest.approx(2000 + store_ns, abs=2)
    assert far.min_ns == pytest.approx(2000 + 3000 + 2 * store_ns, abs=2)
    for name in ("west", "east"):
        assert nodes[name]["counters"]["asked"] == 1, "each router asked for the other"
        assert nodes[name]["counters"]["answered"] == 3, "two stations and the other router"


def test_equal_cost_paths_carry_together_what_one_cannot() -> None:
    size = 256
    fps = max_rate_fps(size, 10**9) * Fraction(9, 10)
    spread = (FieldModifier(udp.SOURCE, Progression(64)),)
    stream = Stream("many flows", size, fps, int(fps / 100), Pairs(), (1, 2), (3, 4), modifiers=spread, routed=True)
    one, nodes = trial(1, stream)
    assert one.status is Verdict.MEASURED and one.lost_frames > 0, "1.8 Gbit/s into one link"
    two, nodes = trial(2, stream)
    # The paths have queues of different lengths: frames that come far out of order may be copies, so loss is a range.
    assert (two.status, two.rx_frames, two.lost_frames - two.doubtful_frames) == (Verdict.MEASURED, two.tx_frames, 0)
    shares = [nodes["west"]["ports"][port]["tx_frames"] for port in ("3", "4")]
    assert min(shares) > sum(shares) * 0.35
