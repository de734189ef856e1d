"""RFC 5180: IPv6 frames with extension headers, and IPv4 and IPv6 frames side by side."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from scapy.layers.inet import UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, IPv6ExtHdrRouting
from scapy.layers.l2 import Ether
from support.beds import make_bed
from support.fakes import FakeMeasurer
from support.frames import headers_of, ip_version_of
from support.networks import shipped
from support.runs import run_on_sim

from p4mesh.errors import ParameterError, UnsupportedError
from p4mesh.layers import Routing
from p4mesh.layers.notation import frame_of_text
from p4mesh.methods.base import Method
from p4mesh.methods.composition import Composed
from p4mesh.methods.conditions.protocols import mixed, protocol_text, with_columns
from p4mesh.methods.conditions.under_conditions import Conditions, UnderConditions
from p4mesh.methods.options.parameters import resolve
from p4mesh.methods.options.shared import frame_of
from p4mesh.methods.registry import find_test
from p4mesh.methods.results import fields
from p4mesh.methods.results.outcome import Outcome, Table
from p4mesh.methods.rfc2544.frame_loss import FrameLoss
from p4mesh.methods.rfc2544.latency import Latency
from p4mesh.methods.rfc2544.system_recovery import SystemRecovery
from p4mesh.methods.rfc2544.throughput import Throughput
from p4mesh.methods.rfc6201.reset import Reset
from p4mesh.run.options import RunOptions
from p4mesh.run.preparation import prepare
from p4mesh.tester.frames import minimum_frame_bytes
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import Stream
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

BED = make_bed()
QUICK = ("scaled_frames=1000", "learning_wait_ms=1", "settle_ms=1", "restabilise_ms=1", "search_resolution_pct=1")
# Sizes of the headers: RFC 8200 4.4 with one address, 4.6 with padding, 4.5, RFC 6275 6.1.2, RFC 4302 2 with an
# integrity value of 12 bytes, RFC 4303 2 without payload and trailer.
HEADER_BYTES = {
    "none": 0,
    "routing": 24,
    "destination": 8,
    "fragment": 8,
    "mobility": 8,
    "ah": 24,
    "esp": 8,
    "chain": 40,
}
IPV6_MINIMUM = 14 + 40 + 8 + 18 + 4
"""Ethernet, IPv6, UDP, signature, FCS."""


def settings_of(test: Method, *settings: str) -> tuple[str, ...]:
    known = {parameter.name for parameter in test.parameters}
    return tuple(setting for setting in (*QUICK, *settings) if setting.partition("=")[0] in known)


def run(test: Method, *settings: str, size: int = 256, topology: str = "router-4x1g") -> Outcome:
    whole = Composed(test, (UnderConditions(),))
    asked = settings_of(whole, "routed=true", "frame_format=ipv6", *settings)
    return run_on_sim(whole, shipped(topology), (size,), *asked)[1]


@pytest.mark.parametrize("name", HEADER_BYTES)
def test_a_frame_holds_its_extension_headers_and_is_not_longer(name: str) -> None:
    test = Composed(Throughput(), (UnderConditions(),))
    parameters = resolve(test.name, test.parameters, ("frame_format=ipv6", f"extension_headers={name}"))
    headers = frame_of(parameters)
    assert minimum_frame_bytes(headers) == IPV6_MINIMUM + HEADER_BYTES[name]
    packet = Ether(headers_of(headers, 256))
    assert len(packet) == 14 + 40 + HEADER_BYTES[name] + 8
    assert packet[IPv6].plen == 256 - 14 - 40 - 4, "extension headers are payload of IPv6"
    if name == "chain":
        layers = [type(layer) for layer in (packet[IPv6].payload, packet[IPv6].payload.payload)]
        assert layers == [IPv6ExtHdrRouting, IPv6ExtHdrDestOpt]
        assert IPv6ExtHdrFragment in packet and UDP in packet


@pytest.mark.parametrize(("name", "minimum"), [("routing", 108), ("chain", 124)])
def test_a_frame_too_small_for_its_headers_is_refused_with_the_minimum(name: str, minimum: int) -> None:
    options = RunOptions(
        "rfc2544.throughput", "", f"{minimum - 1},256", ("frame_format=ipv6", f"extension_headers={name}")
    )
    with pytest.raises(ParameterError, match=f"header with a signature need {minimum} B") as caught:
        prepare(find_test("rfc2544.throughput"), shipped("router-4x1g"), options)
    assert f"--sizes {minimum},256" in str(caught.value.hint)
    assert "124 B is the least for all extension headers" in str(caught.value.hint)


def headers_behind_ipv6(name: str) -> tuple[int, bytes]:
    """The type of the first header behind IPv6, and the bytes behind IPv6."""
    test = Composed(Throughput(), (UnderConditions(),))
    parameters = resolve(test.name, test.parameters, ("frame_format=ipv6", f"extension_headers={name}"))
    packet = headers_of(frame_of(parameters), 256)
    return packet[20], packet[54:]


def test_an_authentication_header_counts_its_length_in_units_of_four_bytes() -> None:
    """RFC 4302 2.2: 24 bytes are 6 units, less 2; index and sequence number are not 0."""
    first, behind = headers_behind_ipv6("ah")
    assert (first, behind[0], behind[1]) == (51, 17, 4)
    assert behind[2:4] == bytes(2), "reserved"
    assert int.from_bytes(behind[4:8], "big") > 255 and int.from_bytes(behind[8:12], "big") == 1
    assert UDP(behind[24:]).len == 256 - 14 - 40 - 24 - 4


def test_an_encapsulation_has_no_type_of_what_follows_in_the_clear() -> None:
    """RFC 4303 2: index and sequence number; UDP with null encryption."""
    first, behind = headers_behind_ipv6("esp")
    assert first == 50
    assert int.from_bytes(behind[:4], "big") > 255 and int.from_bytes(behind[4:8], "big") == 1
    assert (UDP(behind[8:]).dport, UDP(behind[8:]).len) == (20001, 256 - 14 - 40 - 8 - 4)


def test_a_chain_that_a_tofino_does_not_read_behind_is_refused_there() -> None:
    test = Composed(Throughput(), (UnderConditions(),))
    parameters = resolve(test.name, test.parameters, ("frame_format=ipv6", "extension_headers=chain"))
    test.check(BED, parameters)
    with pytest.raises(UnsupportedError, match="extension_headers=chain is not supported on tofino"):
        test.check(
            replace(BED, target="tofino", unsupported_headers=(("routing", "destination", "fragment"),)), parameters
        )


@pytest.mark.parametrize("name", [name for name in HEADER_BYTES if name != "none"])
@pytest.mark.parametrize("topology", ["router-4x1g", "p4-l3-4ports"])
def test_routers_forward_every_extension_header(name: str, topology: str) -> None:
    outcome = run(FrameLoss(), f"extension_headers={name}", topology=topology)
    assert [row["lost_frames"] for row in outcome.tables[0].rows] == [0, 0]
    assert any("one sequence number" in text for text in outcome.deviations) == (name in ("ah", "esp"))
    expected = {"chain": "routing + destination + fragment"}.get(name, name)
    (row, _) = outcome.tables[0].rows
    assert (row["extension_headers"], row["ip_mix"], row["prefix_bits"]) == (expected, "0:100", 64)
    keys = [column.key for column in outcome.tables[0].columns]
    assert keys[:5] == ["frame_size_bytes", "extension_headers", "ip_mix", "prefix_bits", "load_pct"]
    assert len(keys) == len({*keys})


@pytest.mark.parametrize(("mix", "older"), [("90:10", 90), ("50:50", 50), ("10:90", 10)])
def test_a_mix_has_the_rate_and_the_count_of_the_stream(mix: str, older: int) -> None:
    test = Composed(Throughput(), (UnderConditions(),))
    parameters = resolve(
        test.name, test.parameters, ("frame_format=ipv6", "extension_headers=routing", f"ip_mix={mix}")
    )
    stream = Stream("s", 256, Fraction(1000), 1000, Pairs(), (1, 3), (2, 4), frame_of(parameters))
    spec = TrialSpec("t", (stream,), 10**9)
    first, second = Conditions(FakeMeasurer(), parameters, BED.port_numbers).offered(spec).streams
    assert (ip_version_of(first.frame), ip_version_of(second.frame)) == (4, 6)
    assert (first.frame_count, second.frame_count) == (10 * older, 1000 - 10 * older)
    assert (first.rate_fps, second.rate_fps) == (10 * older, 1000 - 10 * older)
    assert (first.frame.extensions, second.frame.extensions) == ((), (Routing(),))


@pytest.mark.parametrize(("frames", "parts"), [(1, [1]), (2, [1, 1]), (19, [18, 1]), (20, [18, 2])])
def test_few_frames_of_a_mix_are_one_of_ipv6_at_least(frames: int, parts: list[int]) -> None:
    stream = Stream("s", 256, Fraction(1000), frames, Pairs(), (1,), (2,), frame_of_text("ipv6/udp"))
    found = mixed(stream, "90:10")
    assert [part.frame_count for part in found] == parts
    assert ip_version_of(found[-1].frame) == 6


def test_only_tables_of_frame_sizes_that_are_shown_get_the_columns() -> None:
    first, others = fields.FRAME_SIZE_BYTES, (fields.TX_FRAMES, fields.RX_FRAMES)
    test = Composed(Throughput(), (UnderConditions(),))
    parameters = resolve(test.name, test.parameters, ("frame_format=ipv6",))
    shown = Table("shown", "", (first, *others), ({"frame_size_bytes": 64},))
    details = replace(shown, detail=True)
    of_ports = replace(shown, columns=others)
    found, *same = with_columns((shown, details, of_ports), parameters)
    assert found.columns == (first, fields.EXTENSION_HEADERS, fields.IP_MIX, fields.PREFIX_BITS, *others)
    assert found.rows == ({"frame_size_bytes": 64, "extension_headers": "none", "ip_mix": "0:100", "prefix_bits": 64},)
    assert same == [details, of_ports]


def test_tests_without_ipv6_have_no_columns_of_it() -> None:
    whole = Composed(FrameLoss(), (UnderConditions(),))
    asked = settings_of(whole, "routed=true")
    outcome = run_on_sim(whole, shipped("router-4x1g"), (256,), *asked)[1]
    assert "ip_mix" not in {column.key for table in outcome.tables for column in table.columns}


@pytest.mark.parametrize("test", [Throughput(), Latency(), FrameLoss()])
def test_a_mix_is_measured_like_a_stream(test: Method) -> None:
    """At 256 bytes the router carries all four ports at line rate, whatever the family."""
    outcome = run(test, "ip_mix=90:10")
    assert outcome.state in (Verdict.PASS, Verdict.MEASURED)
    row = outcome.tables[0].rows[0]
    assert row["ip_mix"] == "90:10"
    if test.name == "rfc2544.latency":
        # Store and forward: the time of the frame, 3 us, and what one frame of the other family holds it up.
        assert row["min_us"] == pytest.approx(256 * 8 / 1000 + 3, abs=0.01)
        assert row["samples"] == 4000, "both families: four ports, 1000 frames after the warm-up"


def test_system_recovery_with_a_mix_is_that_of_the_slower_family_too() -> None:
    outcome = run(SystemRecovery(), "ip_mix=50:50", "overload_from=two_ports", "runs=1")
    row = next(table for table in outcome.tables if table.name == "system_recovery").rows[0]
    assert row["state"] == "PASS"
    # A queue of 128 frames, 2.2 us each: it is not full for longer than it takes to empty.
    assert 0 <= row["recovery_us_avg"] <= 128 * 2.208


def test_a_reset_with_a_mix_takes_what_the_router_takes() -> None:
    """300 ms, and until the neighbours are found again: asked at once, and answered at once."""
    outcome = run(Reset(), "ip_mix=10:90", "resets=1", "load_pct=10", "bidirectional=false")
    row = next(table for table in outcome.tables if table.name == "reset").rows[0]
    assert row["state"] == "PASS"
    assert 300 <= row["reset_ms_avg"] <= 301
    assert row["stamps_ms_avg"] == pytest.approx(row["reset_ms_avg"], rel=0.1)


@pytest.mark.parametrize(
    ("headers", "text"),
    [
        ("vlan(vid=3)/ipv4/udp", "IPv4/UDP"),
        ("ipv6/routing/udp", "IPv6/UDP with routing header"),
        ("ethernet(ether_type=0x88b5)", "Ethernet"),
        ("ipv4/udp/bth", "ipv4/udp/bth"),
        ("mpls/ipv6/tcp", "mpls/ipv6/tcp"),
    ],
)
def test_a_single_value_names_the_protocols_of_the_frames(headers: str, text: str) -> None:
    """RFC 2544 26.1: the one number that is advertised has the protocol beside it."""
    assert protocol_text(frame_of_text(headers)) == text
