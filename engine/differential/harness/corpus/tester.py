"""The tester program: reception, with frames told apart by their fields, and the read-out of its registers in band."""

from __future__ import annotations

from harness.corpus.recipe import Recipe
from harness.corpus.state import ones_complement_sum
from harness.generate import PORTS, Generator
from harness.programs import TESTER
from harness.scenario import Frame, PacketOut
from p4mesh.layers import (
    ControlWord,
    Ethernet,
    Geneve,
    Gre,
    Gtpu,
    GtpuOptions,
    HopByHop,
    Icmp,
    Icmpv6,
    IPv4,
    IPv6,
    Layer,
    Mpls,
    PduSession,
    Pppoe,
    SegmentRouting,
    ServiceTag,
    Tcp,
    Udp,
    Vlan,
    Vxlan,
    VxlanGpe,
)
from p4mesh.layers import Frame as Headers
from p4mesh.tester.contract import Contract, load_contract
from p4mesh.tester.received_fields import RECEIVED_FIELDS, ReceivedBits, ToldApart

_RUN = 9
_FLOWS = 12
_BROADCAST = (1 << 48) - 1
_STATIONS = tuple(0x020000000000 + number for number in range(1, 6))
_UDP, _ENCAPSULATION, _AUTHENTICATION, _DESTINATION = 17, 50, 51, 60
_EXTENSIONS = (
    (_UDP, b""),
    (_DESTINATION, bytes([_UDP, 0, 1, 4, 0, 0, 0, 0])),
    (_AUTHENTICATION, bytes([_UDP, 4]) + bytes(22)),
    (_AUTHENTICATION, bytes([_UDP, 3]) + bytes(18)),
    (_AUTHENTICATION, bytes([_ENCAPSULATION, 2]) + bytes(14) + bytes([51, 0, 0, 7, 0, 0, 0, 1])),
    (_ENCAPSULATION, bytes([_DESTINATION, 0, 0, 7, 0, 0, 0, 1])),
    (_DESTINATION, bytes([_AUTHENTICATION, 0, 1, 4, 0, 0, 0, 0, _UDP, 6]) + bytes(30)),
)
"""Type of the first header and bytes in front of UDP; one of them is not a whole number of units."""
_UDP4, _TCP6 = (IPv4(), Udp()), (IPv6(), Tcp())
_STACKS: tuple[tuple[tuple[Layer, ...], ...], ...] = (
    ((Mpls(5), Mpls(6)), _UDP4),
    ((Mpls(5), ControlWord(), Ethernet()), _TCP6),
    ((ServiceTag(vid=4), ServiceTag(vid=5), Vlan(vid=6)), _UDP4),
    ((Pppoe(),), _TCP6),
    ((IPv4(options=bytes([1] * 8)), Udp()),),
    ((IPv4(), Icmp()),),
    ((IPv6(), HopByHop(), SegmentRouting(segments_left=0, segments=bytes(32)), Icmpv6()),),
    ((IPv4(), Gre(key=1, sequence=2), Ethernet(), Vlan(vid=1)), _UDP4),
    ((IPv6(), SegmentRouting(segments=bytes(80))), _UDP4),
    ((IPv6(), SegmentRouting(segments_left=4, segments=bytes(80)), Udp()),),
    ((IPv6(), SegmentRouting(segments=bytes(48)), Mpls(5)), _TCP6),
    ((IPv6(), HopByHop(), Udp(), Vxlan(), Ethernet()), _UDP4),
    ((IPv4(), Udp(), Vxlan(), Ethernet(), IPv4(), Gre()), _TCP6),
    ((Vlan(vid=1), IPv6(), Udp(), VxlanGpe()), _UDP4),
    ((IPv4(), Udp(), Geneve(options=bytes(8)), Ethernet()), _TCP6),
    ((IPv4(), Udp(), Gtpu(), GtpuOptions(), PduSession()), _UDP4),
    ((IPv4(), Udp(), Vxlan(), Ethernet(), IPv4(), Udp(), Vxlan(), Ethernet()), _UDP4),
    ((*(Mpls(place) for place in range(50)),), _UDP4),
)
"""In pieces; the last two are more than the program takes."""


def _reception(generator: Generator) -> None:
    contract = load_contract()
    cpu, loop = contract["PORT_CPU"], contract["PORT_LOOP"]
    generator.insert("multicast_group", group=contract["GROUP_READ"], replicas=[(cpu, 1), (loop, 0)])
    generator.write("MODIFY", "default_entry", table="receive_run", action="set_receive_run", params={"run_id": _RUN})
    for port, station in zip(PORTS, _STATIONS, strict=False):
        looks = contract["TOLD_APART"] if port in PORTS[:2] else 0
        for mac, offset, tag in ((station, looks, port), (_BROADCAST, port, 0)):
            generator.insert(
                "table_entry", table="receiver", match={"port": port, "destination_mac": (mac, _BROADCAST)},
                action="expected", params={"flow_offset": offset, "receiver_tag": tag}, priority=48,
            )  # fmt: skip
    for port in PORTS[:2]:
        for flow in range(_FLOWS):
            _tell_apart(generator, contract, port, flow)
    punted = {"ether_type": (0x0806, 0xFFFF)}
    generator.insert("table_entry", table="punt", match=punted, action="to_controller", params={}, priority=1)
    for _ in range(3):
        for _ in range(70):
            _test_frame(generator, contract)
        generator.frames(10, "48 48 16{0x0806,0x8808,0x0800,0xffff,0x86dd} *0-60", cut=2)
        _sweep(generator, contract, 0)
    _sweep(generator, contract, contract["FLAG_CLEAR"])
    _sweep(generator, contract, contract["FLAG_CLEAR"] | contract["FLAG_SILENT"])
    send = {"kind": contract["KIND_SEND"]}
    for port in (*PORTS, 0, 7):
        generator.scenario.steps.append(PacketOut(generator.rng.randbytes(60), send | {"port": port}))
    generator.scenario.steps.append(PacketOut(b"", {"kind": 77}))


def _tell_apart(generator: Generator, contract: Contract, port: int, flow: int) -> None:
    """Add rules for a flow: two ranges of one bit of any header lead to one of four of the cells that are read."""
    rng = generator.rng
    header, fields = rng.choice(list(RECEIVED_FIELDS.items()))
    bits = tuple(ReceivedBits(header, rng.randrange(sum(fields.values())), 1) for _ in range(2))
    for keys, action, params in ToldApart(0, 0, port, flow, rng.randrange(_FLOWS), bits).rules(
        contract["RECEIVED_BITS"]
    ):
        generator.insert(
            "table_entry", table="received_fields", match={"port": port, "flow": flow, **keys}, action=action,
            params=dict(params), priority=1,
        )  # fmt: skip


def _sweep(generator: Generator, contract: Contract, flags: int) -> None:
    fields = {"kind": contract["KIND_READ"], "flags": flags, "value": 0, "count": _FLOWS + len(PORTS) + 1}
    generator.scenario.steps.append(PacketOut(b"", fields))


def _test_frame(generator: Generator, contract: Contract) -> None:
    """Add a test frame; some are of another run or receiver, unknown, damaged, cut short or on the wrong port."""
    rng = generator.rng
    number = rng.randrange(len(PORTS))
    station = rng.choice([_STATIONS[number]] * 6 + [_BROADCAST, _STATIONS[4]])
    run = rng.choice([_RUN] * 9 + [_RUN - 1])
    flow = rng.choice([*range(_FLOWS)] * 3 + [contract["FLOWS"] - 1])
    receiver = rng.choice([0 if station == _BROADCAST else PORTS[number]] * 8 + [0, PORTS[0]])
    sequence = rng.choice([rng.randrange(12), rng.randrange(12), 0x80000000, 0xFFFFFFFF])
    signature = contract["SIGNATURE_MAGIC"].to_bytes(2, "big") + bytes([run, receiver]) + flow.to_bytes(2, "big")
    signature += sequence.to_bytes(4, "big") + bytes(6)
    signature += ones_complement_sum(signature)
    if rng.randrange(12) == 0:
        place = rng.randrange(len(signature))
        signature = signature[:place] + bytes([signature[place] ^ 1 << rng.randrange(8)]) + signature[place + 1 :]
    tags = rng.choice([b"", b"", b"\x81\x00\x00\x05", b"\x88\xa8\x00\x07\x81\x00\x00\x05"])
    payload = signature + bytes(rng.randrange(60))
    data = station.to_bytes(6, "big") + rng.randbytes(6)
    data += _any_stack(generator, payload) if rng.randrange(3) == 0 else tags + _network_layer(generator, payload)
    if rng.randrange(15) == 0:
        data = data[: rng.randint(1, len(data))]
    generator.scenario.steps.append(Frame(PORTS[number], data))


def _any_stack(generator: Generator, payload: bytes) -> bytes:
    """Write labels, tunnels and bytes of one's own, some of them not known, behind the addresses."""
    layers = [layer for step in generator.rng.choice(_STACKS) for layer in step]
    own = generator.rng.randbytes(generator.rng.choice([0, 0, 0, 4, 12, 64, 72, 3]))
    return Headers((Ethernet(), *layers)).write(own + payload)[12:]


def _network_layer(generator: Generator, payload: bytes) -> bytes:
    udp = b"\x4e\x21\x4e\x21" + (8 + len(payload)).to_bytes(2, "big") + b"\0\0"
    choice = generator.rng.randrange(4)
    if choice == 0:
        return b"\xff\xff" + payload
    if choice == 1:
        first, chain = generator.rng.choice(_EXTENSIONS)
        length = (len(chain) + 8 + len(payload)).to_bytes(2, "big")
        return b"\x86\xdd\x60\0\0\0" + length + bytes([first, 64]) + bytes(32) + chain + udp + payload
    head = b"\x45\0" + (28 + len(payload)).to_bytes(2, "big") + b"\0\0\0\0\x40\x11\0\0\xc6\x12\1\2\xc6\x12\2\2"
    return b"\x08\x00" + head[:10] + ones_complement_sum(head) + head[12:] + udp + payload


RECIPES = {TESTER: Recipe(_reception, scenarios=2, counters=["receive_reason", "transmit_reason"])}
