"""Headers that no program of the tester sends are refused before a trial, with what is valid."""

from __future__ import annotations

from fractions import Fraction
from ipaddress import IPv4Address

import pytest
from support.networks import shipped

from p4mesh.errors import ParameterError
from p4mesh.layers import (
    PLAIN,
    UDP_OVER_IPV4,
    UDP_OVER_IPV6,
    Ethernet,
    Frame,
    Gre,
    IPv4,
    IPv6,
    Modifiable,
    Routing,
    Udp,
    ipv4,
    ipv6,
    udp,
    vlan,
)
from p4mesh.tester.sendable import require_sendable
from p4mesh.tester.stream_checks import check_stream
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import FieldModifier, Progression, Stream
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.spec import Learning, TrialSpec
from p4mesh.verdict import Verdict

ENDS = IPv4Address("198.18.1.2"), IPv4Address("198.18.1.1")


def stream_of(frame: Frame, *modifiers: FieldModifier) -> Stream:
    return Stream("s", 256, Fraction(10_000), 20, Pairs(), (1,), (2,), frame, modifiers=modifiers)


@pytest.mark.parametrize(
    "frame",
    [PLAIN.tagged(1, 2), UDP_OVER_IPV4.in_tunnel(*ENDS), UDP_OVER_IPV6.tagged(7).extended((Routing(),))],
)
def test_what_the_parsers_know_is_sent(frame: Frame) -> None:
    require_sendable("s", frame)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (Frame(()), "the tester does not send frames of "),
        (Frame((Ethernet(), IPv4())), "does not send frames of ethernet, ipv4"),
        (Frame((IPv4(), Udp())), "does not send frames of ipv4, udp"),
        (Frame((Ethernet(), IPv4(), IPv6(), Udp())), "does not send frames of ethernet, ipv4, ipv6, udp"),
        (Frame((Ethernet(), IPv6(), Gre(), IPv4(), Udp())), "does not send frames of ethernet, ipv6, gre, ipv4, udp"),
        (PLAIN.tagged(1, 2, 3), "does not send frames of ethernet, vlan, vlan, vlan"),
        (UDP_OVER_IPV4.changed(Udp, checksum=1), "udp.checksum cannot be given"),
        (UDP_OVER_IPV4.changed(IPv4, source=ENDS[0]), "ipv4 has source=198.18.1.2"),
        (UDP_OVER_IPV4.changed(Ethernet, destination=b"123456"), "ethernet has destination="),
        (PLAIN.changed(Ethernet, ether_type=0x88B5), "ethernet has ether_type=34997"),
        (UDP_OVER_IPV4.changed(IPv4, options=bytes(4)), "ipv4 has options or is a fragment"),
        (UDP_OVER_IPV4.changed(IPv4, flags=1), "ipv4 has options or is a fragment"),
        (UDP_OVER_IPV4.changed(IPv4, fragment_offset=1), "ipv4 has options or is a fragment"),
        (UDP_OVER_IPV6.changed(IPv6, version=4), "ipv6 has version=4"),
        (UDP_OVER_IPV6.extended((Routing(addresses=bytes(32)),)), "routing has 40 bytes"),
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


def test_frames_with_unusual_headers_are_measured() -> None:
    frame = UDP_OVER_IPV4.changed(IPv4, ecn=1, flags=2, identification=0x1234, ttl=1)
    with open_measurer(shipped("back-to-back")) as measurer:
        result = measurer.measure(TrialSpec("unusual", (stream_of(frame),), 2_000_000, Learning(enabled=False)))
    assert (result.status, result.rx_frames, result.lost_frames) == (Verdict.MEASURED, 20, 0)
