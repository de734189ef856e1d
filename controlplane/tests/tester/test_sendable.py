"""Headers and streams that no program of the tester sends are refused before a trial, with what is valid."""

from __future__ import annotations

import re
from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction
from ipaddress import IPv4Address, IPv6Address
from typing import Any

import pytest
from support.networks import shipped
from support.stacks import STACKS

from p4mesh.errors import ParameterError, UnsupportedError
from p4mesh.layers import (
    PLAIN,
    UDP_OVER_IPV4,
    UDP_OVER_IPV6,
    Encapsulation,
    Ethernet,
    Fragment,
    Frame,
    Gre,
    IPv4,
    IPv6,
    Modifiable,
    Mpls,
    OwnBytes,
    Routing,
    ServiceTag,
    Udp,
    Vlan,
    Vxlan,
    ipv4,
    ipv6,
    udp,
    vlan,
)
from p4mesh.layers.layer import BAD_CHECKSUM
from p4mesh.layers.notation import frame_of_text
from p4mesh.tester.contract import load_contract
from p4mesh.tester.seed_layout import fields_of, require_field
from p4mesh.tester.sendable import require_plain_headers, require_sendable
from p4mesh.tester.stream_checks import check_stream, require_frame_sizes, require_line_rates, require_stamps
from p4mesh.topology.model import TesterPort
from p4mesh.traffic.arrivals import Poisson
from p4mesh.traffic.line_rate import NS_PER_S
from p4mesh.traffic.patterns import Multicast, Pairs, Rotate
from p4mesh.traffic.stream import Burst, FieldModifier, Progression, PseudoRandom, Stream, ValueList
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.spec import Learning, TrialSpec
from p4mesh.verdict import Verdict

OUTER = IPv4(source=IPv4Address("198.18.1.2"), destination=IPv4Address("198.18.1.1"))
OUTER6 = IPv6(source=IPv6Address("2001:db8::1"), destination=IPv6Address("2001:db8::9"))
ENDS = IPv4Address("198.18.1.2"), IPv4Address("198.18.1.1")


def stream_of(frame: Frame, *modifiers: FieldModifier) -> Stream:
    return Stream("s", 256, Fraction(10_000), 20, Pairs(), (1,), (2,), frame, modifiers=modifiers)


@pytest.mark.parametrize(
    "frame",
    [
        PLAIN.tagged(1, 2),
        UDP_OVER_IPV4.in_tunnel(*ENDS),
        UDP_OVER_IPV6.tagged(7).extended((Routing(),)),
        UDP_OVER_IPV6.extended((Routing(), Encapsulation())),
        UDP_OVER_IPV6.extended((Fragment(),)),
        *(Frame(layers) for layers in STACKS.values()),
    ],
)
def test_what_the_parsers_know_is_sent(frame: Frame) -> None:
    require_sendable("s", frame)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (Frame(()), "the tester does not send frames of "),
        (Frame((Ethernet(), Mpls())), "does not send frames of ethernet, mpls"),
        (Frame((Ethernet(), Vxlan(), *UDP_OVER_IPV4.layers)), "does not send frames of ethernet, vxlan, ethernet"),
        (Frame((Ethernet(), OUTER, Udp(), Vxlan(), *UDP_OVER_IPV4.changed(Udp, destination=4789).layers)), "vxlan"),
        (Frame((Ethernet(), OwnBytes(bytes(4)), *UDP_OVER_IPV4.layers[1:])), "bytes in front of another header"),
        (Frame((IPv4(), Udp())), "does not send frames of ipv4, udp"),
        (Frame((Ethernet(), IPv4(), IPv6(), Udp())), "ipv4 has no source"),
        (Frame((Ethernet(), IPv6(), Gre(), IPv4(), Udp())), "ipv6 has no source"),
        (PLAIN.tagged(*range(13)), "44 bytes of headers between the outermost"),
        (Frame((Ethernet(ether_type=0x88B5), OwnBytes(bytes(128)))), "128 bytes of headers between the innermost"),
        (Frame((Ethernet(ether_type=0x88B5), OwnBytes(bytes(7)))), "bytes has 7 bytes"),
        (Frame((Ethernet(ether_type=0x88B5), OwnBytes(b"1234PM56"))), "bytes has a word that begins with 504d"),
        (Frame((Ethernet(), OUTER, Udp(), Vxlan(), Ethernet(), OUTER, Udp(), Vxlan(), *UDP_OVER_IPV4.layers)), "three"),
        (Frame((Ethernet(), OUTER, Gre(), Ethernet(), OUTER, Udp(), Mpls(), IPv4(), Udp())), "udp leads into a tunnel"),
        (Frame((Ethernet(), OUTER6, Routing(segments_left=2), IPv4(), Udp())), "routing has segments_left=2 of 1"),
        (Frame((Ethernet(), OUTER, Gre(checksum_present=1), IPv4(), Udp())), "gre.checksum_present cannot be given"),
        (UDP_OVER_IPV4.changed(Udp, checksum=1), "udp.checksum cannot be given"),
        (UDP_OVER_IPV4.changed(Udp, checksum=BAD_CHECKSUM).changed(IPv4, checksum=BAD_CHECKSUM), "2 bad checksums"),
        (UDP_OVER_IPV4.changed(IPv4, source=ENDS[0]), "ipv4 has source=198.18.1.2"),
        (UDP_OVER_IPV6.changed(IPv6, destination=OUTER6.destination), "ipv6 has destination=2001:db8::9"),
        (UDP_OVER_IPV6.extended((Routing(segments_left=1),)), "ipv6 has no destination, and no list of segments has"),
        (UDP_OVER_IPV4.changed(Ethernet, destination=b"123456"), "ethernet has destination="),
        (PLAIN.changed(Ethernet, ether_type=0x0806), "ethernet has ether_type=0x0806"),
        (PLAIN.changed(Ethernet, ether_type=0x0800), "ethernet has ether_type=2048, the number of ipv4"),
        (
            Frame((Ethernet(), OUTER, Udp(destination=65), Vxlan(), *UDP_OVER_IPV4.layers)),
            "vxlan follows destination=4789",
        ),
        (UDP_OVER_IPV4.changed(Ethernet, ether_type=0x88B5), "does not send frames of ethernet, ipv4, udp"),
        (UDP_OVER_IPV4.changed(IPv4, protocol=17), "ipv4 has protocol=17"),
        (Frame((Ethernet(), replace(OUTER, options=bytes(4)), IPv4(), Udp())), "ipv4 has options in front of another"),
        (UDP_OVER_IPV4.changed(IPv4, options=bytes(20)), "ipv4 has 20 bytes of options"),
        (UDP_OVER_IPV4.changed(IPv4, flags=1), "ipv4 is a fragment"),
        (UDP_OVER_IPV4.changed(IPv4, fragment_offset=1), "ipv4 is a fragment"),
        (UDP_OVER_IPV6.extended((Fragment(more_fragments=1),)), "fragment is a fragment"),
        (UDP_OVER_IPV6.extended((Fragment(offset=1),)), "fragment is a fragment"),
        (UDP_OVER_IPV6.changed(IPv6, version=4), "ipv6 has version=4"),
        (UDP_OVER_IPV6.extended((Routing(),) * 4), "routing is one of 96 bytes of extension headers"),
        (UDP_OVER_IPV6.extended((Routing(addresses=bytes(96)),)), "routing is one of 104 bytes of extension headers"),
    ],
)
def test_other_headers_are_refused(frame: Frame, message: str) -> None:
    with pytest.raises(ParameterError, match="stream 's': ") as caught:
        require_sendable("s", frame)
    assert message in caught.value.message
    assert caught.value.hint and caught.value.hint not in caught.value.message


@pytest.mark.parametrize(
    ("frame", "field"),
    [
        (UDP_OVER_IPV4, ipv6.DESTINATION),
        (UDP_OVER_IPV6, ipv4.SOURCE),
        (PLAIN, udp.SOURCE),
        (PLAIN, vlan.OUTER),
        (PLAIN.tagged(7), vlan.INNER),
    ],
)
def test_a_field_that_the_frames_do_not_have_cannot_change(frame: Frame, field: Modifiable) -> None:
    with pytest.raises(ParameterError, match=f"stream 's': there is no {field.name} to change in frames of ethernet"):
        check_stream(stream_of(frame, FieldModifier(field, Progression(4))))


@pytest.mark.parametrize(
    ("stack", "message", "hint"),
    [
        (
            "vxlan/ethernet/ipv4/udp",
            "vxlan does not stand behind ethernet",
            "behind ethernet put bytes, ethernet, ipv4, ",
        ),
        ("ipv4/udp/icmp", "icmp does not stand behind udp", "behind udp put bth, bytes, geneve, gtpu, mpls, vxlan, "),
        ("mpls", "mpls is not the last layer", "behind mpls put control_word, ipv4, ipv6, mpls; "),
        ("ipv4/udp/bth/ipv4/udp", "ipv4 does not stand behind bth", "behind bth put bytes or nothing; "),
        ("ipv6/esp/tcp", "tcp does not stand behind esp", "behind esp put udp; "),
    ],
)
def test_a_refusal_names_the_layer_and_what_may_stand_there(stack: str, message: str, hint: str) -> None:
    with pytest.raises(ParameterError) as caught:
        require_sendable("s", frame_of_text(stack))
    assert caught.value.message.endswith(f": {message}")
    assert caught.value.hint and caught.value.hint.startswith(hint)


def test_the_examples_of_a_refusal_can_be_sent() -> None:
    with pytest.raises(ParameterError) as caught:
        require_sendable("s", Frame((Ethernet(), Udp(), IPv4())))
    examples = re.findall(r"[a-z0-9_]+(?:/[a-z0-9_]+)+(?![/.])", (caught.value.hint or "").partition("such as ")[2])
    assert len(examples) == 2
    for example in examples:
        require_sendable("s", frame_of_text(example))


FIELDS = fields_of(load_contract())


@pytest.mark.parametrize(
    ("name", "stack", "values", "message"),
    [
        ("gre.protocol", "gre", Progression(2), "gre has no field 'protocol' that can change: "),
        ("gre.checksum_present", "gre", Progression(2), "gre has no field 'checksum_present' that can change: "),
        ("ipv4.checksum", "tcp", Progression(2), "ipv4 has no field 'checksum' that can change: dscp, "),
        ("tcp.sum", "tcp", Progression(2), "tcp has no field 'sum' that can change"),
        ("tcpp.source", "tcp", Progression(2), "no layer 'tcpp': layers are "),
        ("ttl", "tcp", Progression(2), "no field 'ttl' can change"),
        ("ipv4[0].source", "tunnels in tunnels", Progression(2), "ipv4[0].source cannot change from frame to frame"),
        ("udp[0].destination", "vxlan", Progression(2), "udp[0].destination cannot change from frame to frame"),
        ("udp.destination", "tunnels in tunnels", Progression(2), "udp.destination cannot change from frame to frame"),
        ("ethernet.source", "vxlan", Progression(2), "ethernet.source cannot change from frame to frame"),
        ("gre.key", "gre", Progression(2), "frames have no gre.key to change"),
        ("mpls.ttl", "labels", Progression(193), "mpls.ttl runs over from 64, by 0 to 192"),
        ("mpls.ttl", "labels", Progression(192), ""),
        ("mpls.ttl", "labels", Progression(65, -1), ""),
        ("mpls.ttl", "labels", Progression(66, -1), "mpls.ttl runs over from 64, by -65 to 0"),
        ("mpls.ttl", "labels", ValueList((-64, 191)), ""),
        ("mpls.ttl", "labels", ValueList((5, 192)), "mpls.ttl runs over from 64, by 5 to 192"),
        ("ipv4.dscp", "tcp", Progression(65), ""),
        ("ipv4.ecn", "tcp", Progression(5), "ipv4.ecn runs over from 0, by 0 to 4"),
        ("tcp.flags", "tcp", PseudoRandom(1, 0x1FF), "tcp.flags runs over from 16, by 0 to 511"),
        ("ipv4.flags", "tcp", Progression(2), "ipv4.flags would make fragments"),
        ("ipv4.flags", "tcp", Progression(2, 2), ""),
        ("ipv4.flags", "tcp", PseudoRandom(1, 6), ""),
        ("ipv4.version", "tcp", Progression(2), "ipv4 has no field 'version' that can change"),
        ("ipv4.fragment_offset", "tcp", Progression(2), "ipv4 has no field 'fragment_offset' that can change"),
        ("udp.destination", "rdma", Progression(2), "udp.destination cannot change from frame to frame"),
        (
            "segment_routing.segments_left",
            "segments",
            Progression(2),
            "segments_left cannot change from frame to frame",
        ),
        ("segment_routing.tag", "segments", Progression(2), ""),
    ],
)
def test_fields_that_cannot_change_are_refused_with_those_that_can(
    name: str, stack: str, values: Progression, message: str
) -> None:
    frame = Frame(STACKS[stack])
    if not message:
        require_field("s", frame, FieldModifier(Modifiable.of_name(name), values), FIELDS)
        return
    with pytest.raises((ValueError, ParameterError), match=re.escape(message)) as caught:
        require_field("s", frame, FieldModifier(Modifiable.of_name(name), values), FIELDS)
    if "mpls.ttl runs over" in message:
        told = "stay in 0..255: the bits above are another field"
        assert isinstance(caught.value, ParameterError) and caught.value.hint == told


@pytest.mark.parametrize("stack", STACKS)
def test_a_program_without_stacks_of_words_refuses_them_with_its_limit(stack: str) -> None:
    frame = Frame(STACKS[stack])
    # How many labels it takes, the program itself says.
    if stack in ("the port of a tunnel", "labels", "provider tag"):
        require_plain_headers("s", frame, "tofino")
        return
    with pytest.raises(UnsupportedError, match="not supported on tofino: stream 's' has frames of ethernet") as caught:
        require_plain_headers("s", frame, "tofino")
    assert caught.value.hint and "two VLAN tags" in caught.value.hint


def test_the_outer_tag_may_be_that_of_a_provider_on_a_tofino() -> None:
    require_plain_headers("s", Frame((Ethernet(), ServiceTag(), IPv4(), Udp())), "tofino")
    require_plain_headers("s", Frame((Ethernet(), ServiceTag(), Vlan(), IPv6(), Udp())), "tofino")
    for tags in ((ServiceTag(), ServiceTag()), (Vlan(), ServiceTag())):
        with pytest.raises(UnsupportedError, match="frames of ethernet") as caught:
            require_plain_headers("s", Frame((Ethernet(), *tags, IPv4(), Udp())), "tofino")
        assert caught.value.hint and "of which the outer one may be a service_tag" in caught.value.hint


def test_a_program_that_writes_all_checksums_right_refuses_bad_ones() -> None:
    frame = UDP_OVER_IPV4.changed(IPv4, checksum=BAD_CHECKSUM)
    with pytest.raises(UnsupportedError, match="not supported on tofino: stream 's' has a bad checksum"):
        require_plain_headers("s", frame, "tofino")


def test_a_bad_checksum_and_frame_sizes_in_turn_exclude_each_other() -> None:
    frame = UDP_OVER_IPV6.changed(Udp, checksum=BAD_CHECKSUM)
    with pytest.raises(ParameterError, match="has sizes in turn in frames of ethernet, ipv6, udp"):
        check_stream(replace(stream_of(frame), sizes_in_turn_bytes=(128, 256)))


def test_the_room_for_words_is_that_of_the_program() -> None:
    contract = load_contract()
    assert (contract["TUNNEL_WORDS"], contract["MOST_OWN_WORDS"], contract["SEGMENTS"]) == (10, 31, 5)
    assert contract["MOST_OWN_WORDS_OF_CRC"] == 10
    assert contract["OWN_WORDS"] > contract["MOST_OWN_WORDS"]


def test_frames_with_unusual_headers_are_measured() -> None:
    frame = UDP_OVER_IPV4.changed(IPv4, ecn=1, flags=2, identification=0x1234, ttl=1)
    with open_measurer(shipped("back-to-back")) as measurer:
        result = measurer.measure(TrialSpec("unusual", (stream_of(frame),), 2_000_000, Learning(enabled=False)))
    assert (result.status, result.rx_frames, result.lost_frames) == (Verdict.MEASURED, 20, 0)


def port(number: int = 1, **changes: Any) -> TesterPort:
    return TesterPort(number, f"p{number}", 10**9, **changes)


def sent(interval_ns: float | Fraction, count: int = 100, start_ns: int = 0, **changes: Any) -> Stream:
    """Frames of 64 bytes, which take 672 ns of 1 Gbit/s with preamble and gap."""
    made = Stream("s", 64, NS_PER_S / Fraction(interval_ns), count, Pairs(), (1,), (2,))
    return replace(made, start_offset_ns=(start_ns,), **changes)


@pytest.mark.parametrize(
    ("streams", "on", "needed_pct"),
    [
        ([sent(1344), sent(1344)], port(), None),
        ([sent(1344), sent(1120)], port(), "110"),
        # 99 intervals of 1,120 ns lie between the first and the last frame.
        ([sent(1120), sent(1120, start_ns=110_880)], port(), None),
        ([sent(1120), sent(1120, start_ns=110_879)], port(), "120"),
        ([replace(sent(1120), start_offset_ns=()), sent(1120, start_ns=110_880)], port(), None),
        ([replace(sent(1120), start_offset_ns=()), sent(1120, start_ns=110_879)], port(), "120"),
        ([sent(1120, 1), sent(1120, 1)], port(), "120"),
        ([sent(672 / (1 + Fraction(1, 10**9)))], port(), None),
        ([sent(672 / (1 + Fraction(1, 10**9))), sent(1344, start_ns=10**6)], port(), None),
        ([sent(671)], port(), "100.149"),
        # The gap is twice as long: 96 bytes of 8 ns.
        ([sent(768)], port(ifg_bits=192), None),
        ([sent(767)], port(ifg_bits=192), "100.13"),
        # The faster one of the nominal rate and the port's own is that of its line.
        ([sent(672 / Fraction("1.0001"))], port(clock_offset_ppm=100.0), None),
        ([sent(672)], port(clock_offset_ppm=-100.0), None),
        # 84 and 148 bytes in turn: 116 of them in the mean.
        ([sent(928, frame_size_bytes=128, sizes_in_turn_bytes=(64, 128))], port(), None),
        ([sent(927, frame_size_bytes=128, sizes_in_turn_bytes=(64, 128))], port(), "100.108"),
    ],
)
def test_a_port_sends_no_more_than_its_line_at_a_time(
    streams: list[Stream], on: TesterPort, needed_pct: str | None
) -> None:
    if needed_pct is None:
        require_line_rates(streams, (on,))
        return
    with pytest.raises(ParameterError, match=f"port 1 needs {re.escape(needed_pct)} % of its line rate"):
        require_line_rates(streams, (on,))


def test_each_port_of_a_stream_has_its_own_start() -> None:
    both = replace(sent(1120), tx_ports=(1, 2), rx_ports=(3, 4), start_offset_ns=(0, 200_000))
    with pytest.raises(ParameterError, match="port 2 needs 120 %") as caught:
        require_line_rates([both, sent(1120, tx_ports=(2,), start_ns=200_000)], (port(1), port(2)))
    assert caught.value.hint == "the port sends at most 1488095.238 frames/s of 64 bytes"
    require_line_rates([both, sent(1120, tx_ports=(2,))], (port(1), port(2)))


def test_frames_are_as_long_as_the_target_carries() -> None:
    require_frame_sizes([replace(sent(10**6), frame_size_bytes=1518)], 1518, "x")
    with pytest.raises(UnsupportedError, match="not supported on x: stream 's' has frames of 1519 bytes"):
        require_frame_sizes([replace(sent(10**6), frame_size_bytes=1519)], 1518, "x")


@pytest.mark.parametrize(
    ("count", "start_ns", "refused"),
    [(281_474, 0, False), (281_475, 0, True), (281_474, 976_710_655, False), (281_474, 976_710_656, True)],
)
def test_a_trial_is_shorter_than_a_time_stamp_holds(count: int, start_ns: int, refused: bool) -> None:
    """One frame a second; 48 bits of 1 ns are 281,474.976710656 s."""
    with (
        pytest.raises(ParameterError, match=r"sends for 281,47(5|4\.9767) s, .* bits holds 281,474\.9767 s")
        if refused
        else nullcontext()
    ):
        require_stamps([sent(NS_PER_S, count), sent(NS_PER_S, count, start_ns)], 1000)
    for early_ns, held in ((1, nullcontext()), (0, pytest.raises(ParameterError))):
        with held:
            require_stamps([replace(sent((1 << 48) - early_ns, 1), start_offset_ns=())], 1000)


TO_MANY = {"pattern": Multicast(), "tx_ports": (1,), "rx_ports": (2, 3)}
TUNNEL = UDP_OVER_IPV4.in_tunnel(*ENDS)
TWO_PAIRS = {"tx_ports": (1, 2), "rx_ports": (3, 4)}
MAC = bytes((2, 0, 0, 0, 0, 1))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"frame_count": 1}, ""),
        ({"frame_count": 0, "rate_fps": Fraction(1, 3)}, "no frame fits into the trial at 0.333 frames/s"),
        ({"rx_ports": (), "pattern": Rotate()}, "has no port"),
        ({"tx_ports": (), "pattern": Rotate()}, "has no port"),
        ({"source_mac": MAC, "destination_mac": MAC}, ""),
        ({**TWO_PAIRS, "source_mac": MAC}, "gives one address to several ports"),
        ({**TWO_PAIRS, "destination_mac": MAC}, "gives one address to several ports"),
        ({"routed": True}, ""),
        ({"routed": True, "frame": PLAIN}, "only unicast IPv4 and IPv6 frames can be routed"),
        ({"routed": True, **TO_MANY}, "only unicast IPv4 and IPv6 frames can be routed"),
        ({"routed": True, **TO_MANY, "frame": TUNNEL}, ""),
        (TO_MANY, ""),
        ({"frame": TUNNEL}, ""),
        ({**TO_MANY, "frame": TUNNEL}, "frames in a tunnel need a router at its other end"),
        ({"received_in_tunnel": True}, "only untagged IP frames to many can be in a tunnel"),
        ({**TO_MANY, "received_in_tunnel": True, "frame": UDP_OVER_IPV4.tagged(7)}, "only untagged IP frames to many"),
        ({**TO_MANY, "received_in_tunnel": True}, ""),
        ({"sizes_in_turn_bytes": (128, 256)}, ""),
        ({"sizes_in_turn_bytes": (128, 255)}, "256 bytes are not the largest of its sizes in turn"),
        ({"sizes_in_turn_bytes": (128, 256), "burst": Burst(2)}, "has sizes in turn in bursts"),
        ({"arrivals": Poisson(), "start_offset_ns": (0,)}, ""),
        ({"arrivals": Poisson(), "start_offset_ns": (5,)}, "has arrivals beside bursts"),
        ({"arrivals": Poisson(), "burst": Burst(2)}, "has arrivals beside bursts"),
        ({"modifiers": (FieldModifier(udp.SOURCE, Progression(2)),) * 4}, ""),
        ({"advertised_networks": 2}, "only a router reaches networks behind the receivers"),
        ({"advertised_prefix_bits": 64}, "only a router reaches networks behind the receivers"),
        ({"advertised_networks": 2, "routed": True}, ""),
        ({"addresses_per_port": 1024}, ""),
        ({"addresses_per_port": 2048}, "has 2048 addresses per port"),
        ({"addresses_per_port": 3}, "has 3 addresses per port"),
        ({"addresses_per_port": 0}, "has 0 addresses per port"),
        *(
            ({"addresses_per_port": 2, **beside}, "has 2 addresses per port beside")
            for beside in ({"source_mac": MAC}, {"destination_mac": MAC}, {"routed": True}, TO_MANY)
        ),
    ],
)
def test_streams_that_contradict_themselves_are_refused(changes: dict[str, Any], message: str) -> None:
    stream = replace(stream_of(UDP_OVER_IPV4), **changes)
    with pytest.raises(ParameterError, match=f"stream 's'.*{re.escape(message)}") if message else nullcontext():
        check_stream(stream)
