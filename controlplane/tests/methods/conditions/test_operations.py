"""RFC 5695 and the draft on SRv6: throughput of each operation is what the longer frames behind the device leave."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

import pytest
from support.beds import make_bed
from support.networks import changed, shipped
from support.runs import run_on_sim

from p4mesh.errors import ParameterError
from p4mesh.layers.notation import text_of_frame
from p4mesh.methods.composition import Case
from p4mesh.methods.conditions.operations import OPERATION
from p4mesh.methods.conditions.operations import test_of as make_test
from p4mesh.methods.options.parameters import resolve
from p4mesh.methods.options.shared import frame_of
from p4mesh.methods.registry import find_test, suites
from p4mesh.methods.results import fields
from p4mesh.methods.results.outcome import Outcome, Table
from p4mesh.methods.rfc2544.frame_loss import FrameLoss
from p4mesh.methods.rfc5695.suite import OPERATIONS
from p4mesh.verdict import Verdict

MPLS, SRV6 = "p4-mpls-4ports", "p4-srv6-2ports"
QUICK = ("learning_wait_ms=1", "settle_ms=1", "restabilise_ms=1", "scaled_frames=2000")
SIZE = 256
ON_LINE = SIZE + 20


def run(test: str, *settings: str) -> Outcome:
    topology = shipped(MPLS if test.startswith("rfc5695") else SRV6)
    return run_on_sim(find_test(test), topology, (SIZE,), *QUICK, *settings)[1]


def headers_of(test: str, *settings: str) -> str:
    parameters = find_test(test).derived(resolve(test, find_test(test).parameters, settings))
    return text_of_frame(frame_of(parameters)).removeprefix("ethernet/")


@pytest.mark.parametrize(
    ("test", "operation", "added_bytes"),
    [
        ("rfc5695.throughput", "push", 4),
        ("rfc5695.throughput", "swap", 0),
        ("rfc5695.throughput", "pop_unlabeled", -4),
        ("rfc5695.throughput", "pop_aggregate", -4),
        # An IPv6 header, a routing header and three segments; the device takes off one or none of them.
        ("srv6.throughput", "source", 40 + 8 + 3 * 16),
        ("srv6.throughput", "endpoint", 0),
        ("srv6.throughput", "endpoint_cross_connect", -(40 + 8 + 16)),
        ("srv6.throughput", "endpoint_lookup", -(40 + 8 + 16)),
    ],
)
def test_throughput_is_the_share_of_the_line_that_longer_frames_leave(
    test: str, operation: str, added_bytes: int
) -> None:
    outcome = run(test, f"operation={operation}", "search_resolution_pct=1", "confirm_factor=1")
    assert outcome.state is Verdict.MEASURED
    (row,) = outcome.tables[0].rows
    assert row[OPERATION] == operation
    line_pct = 100 * min(Fraction(1), Fraction(ON_LINE, ON_LINE + added_bytes))
    found_pct = row["throughput_pct"]
    assert isinstance(found_pct, float)
    assert line_pct - 1 <= found_pct <= line_pct


@pytest.mark.parametrize(
    ("test", "settings", "headers"),
    [
        ("rfc5695.latency", ("operation=push", "frame_format=ipv6"), "ipv6/udp"),
        ("rfc5695.latency", ("operation=swap",), "mpls(label=100)/ipv4/udp"),
        ("rfc5695.latency", ("operation=swap", "labels=100 7"), "mpls(label=100)/mpls(label=7)/ipv4/udp"),
        ("rfc5695.reset", ("operation=pop_aggregate", "frame_format=ipv6"), "mpls(label=102)/ipv6/udp"),
        ("srv6.latency", ("operation=source",), "ipv4/udp"),
        (
            "srv6.latency",
            ("operation=endpoint",),
            "ipv6(source=2001:db8:7::1, destination=2001:db8:1::e)"
            "/segment_routing(segments_left=1, segments=2001:db8:2::1 2001:db8:1::e)/ipv4/udp",
        ),
        (
            "srv6.latency",
            ("operation=endpoint_lookup", "segments=2001:db8:3::1 2001:db8:1::d6", "frame_format=ipv6"),
            "ipv6(source=2001:db8:7::1, destination=2001:db8:1::d6)"
            "/segment_routing(segments=2001:db8:1::d6 2001:db8:3::1)/ipv6/udp",
        ),
        (
            "srv6.latency",
            ("operation=endpoint", "reduced=true"),
            "ipv6(source=2001:db8:7::1, destination=2001:db8:1::e)"
            "/segment_routing(segments_left=1, segments=2001:db8:2::1)/ipv4/udp",
        ),
        (
            "srv6.latency",
            ("operation=endpoint_lookup", "reduced=true"),
            "ipv6(source=2001:db8:7::1, destination=2001:db8:1::d4)/ipv4/udp",
        ),
    ],
)  # fmt: skip
def test_an_operation_makes_the_headers_of_the_frames(test: str, settings: tuple[str, ...], headers: str) -> None:
    """Segments are given in the order of the way, and stand in reverse; the active one is the destination."""
    assert headers_of(test, *settings) == headers


@pytest.mark.parametrize(
    ("test", "settings", "message"),
    [
        ("rfc5695.latency", ("headers=ipv4/udp",), "headers with operation=push, which makes the headers"),
        ("rfc5695.latency", ("frame_format=ethernet",), "frame_format=ethernet"),
        ("rfc5695.latency", ("labels=7",), "labels=7 with operation=push, whose frames have none"),
        ("rfc5695.latency", ("operation=swap", "labels=7 x"), "--set labels=7 x: mpls.label=x: not valid"),
        (
            "rfc5695.latency",
            ("received_headers=mpls(labl=7)/ipv4",),
            "--set received_headers: mpls has no field 'labl'",
        ),
        ("srv6.latency", ("operation=endpoint", "segments=2001:db8::1"), "segments=2001:db8::1: no segment is left"),
        ("srv6.latency", ("operation=endpoint", "segments=2001:db8::1 10.1.1.1"), "--set segments="),
    ],
)
def test_contradicting_settings_are_refused(test: str, settings: tuple[str, ...], message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        headers_of(test, *settings)
    assert message in caught.value.message


@pytest.mark.parametrize(
    ("test", "name", "value", "most"), [("srv6.latency", "segments", "1::1", 5), ("rfc5695.latency", "labels", "7", 10)]
)
def test_as_many_labels_or_segments_as_a_refusal_says_are_taken(test: str, name: str, value: str, most: int) -> None:
    """Goal: the message names the parameter that was given, not the headers that are made of it."""
    operation = "operation=endpoint" if name == "segments" else "operation=swap"
    headers_of(test, operation, f"{name}=" + " ".join([value] * most))
    with pytest.raises(ParameterError, match=rf"--set {name}=.*: {most + 1} {name}") as caught:
        headers_of(test, operation, f"{name}=" + " ".join([value] * (most + 1)))
    assert caught.value.hint == f"use {most} {name} or fewer"


@pytest.mark.parametrize(
    ("test", "settings", "message"),
    [
        ("rfc5695.latency", ("operation=swap", "pattern=rotate"), "port 1 sends to ports 3-4, and all frames have"),
        ("rfc5695.throughput", ("operation=pop_unlabeled", "pattern=full_mesh"), "port 1 sends to ports 2-4, and all"),
        ("srv6.latency", ("operation=endpoint", "bidirectional=true"), "frames go to ports 1-2, and all frames have"),
    ],
)
def test_frames_with_one_label_or_segment_are_for_one_port(test: str, settings: tuple[str, ...], message: str) -> None:
    """Anything else would come to the port that the device's label or segment says, and make every trial INVALID."""
    with pytest.raises(ParameterError) as caught:
        run(test, *settings)
    assert message in caught.value.message
    assert str(caught.value.hint).startswith("send to one port" if "frames go" in message else "use a pattern in which")


@pytest.mark.parametrize(
    ("operation", "pattern"), [("push", "many_to_one"), ("pop_aggregate", "full_mesh"), ("swap", "pairs")]
)
def test_any_pattern_is_for_addresses_and_pairs_are_for_labels(operation: str, pattern: str) -> None:
    test = find_test("rfc5695.frame_loss")
    settings = (f"operation={operation}", f"pattern={pattern}")
    OPERATIONS.check(Case(FrameLoss(), make_bed(), resolve(test.name, test.parameters, settings)))


def test_only_tables_of_frame_sizes_that_are_shown_say_the_operation() -> None:
    first, others = fields.FRAME_SIZE_BYTES, (fields.TX_FRAMES, fields.RX_FRAMES)
    test = find_test("rfc5695.frame_loss")
    parameters = resolve(test.name, test.parameters, ("operation=swap",))
    shown = Table("shown", "", (first, *others), ({"frame_size_bytes": 64},))
    details = replace(shown, detail=True)
    of_ports = replace(shown, columns=others)
    outcome = Outcome(Verdict.MEASURED, "", (shown, details, of_ports), ())
    found = OPERATIONS.assemble(lambda _: outcome, Case(test, make_bed(), parameters), {})
    expected = replace(
        shown, columns=(first, fields.OPERATION, *others), rows=({"frame_size_bytes": 64, "operation": "swap"},)
    )
    assert found.tables == (expected, details, of_ports)


@pytest.mark.parametrize("test", ["rfc5695.throughput", "srv6.latency"])
def test_devices_of_operations_are_routers(test: str) -> None:
    assert resolve(test, find_test(test).parameters, ()).flag("routed")
    assert resolve("x", make_test(FrameLoss(), "x.frame_loss", "RFC 5695 1", (64,)).parameters, ()).flag("routed")


@pytest.mark.parametrize("operation", ["push", "pop_aggregate"])
def test_a_packet_that_is_routed_by_its_address_goes_to_any_port(operation: str) -> None:
    """The topology routes between the ports of a pair alone; many to one asks for one of them."""
    settings = (f"operation={operation}", "pattern=many_to_one", "bidirectional=false", "learning_verify=false")
    assert run("rfc5695.frame_loss", *settings).tables[0].rows


@pytest.mark.parametrize("suite", ["rfc5695", "srv6"])
def test_every_test_of_a_suite_measures_its_device(suite: str) -> None:
    """The reset of the device takes 50 ms."""
    found = {}
    for test in suites()[suite]:
        outcome = run(test.name, "operation=pop_aggregate" if suite == "rfc5695" else "operation=endpoint_lookup")
        (row,) = outcome.tables[0].rows[:1]
        assert (row["frame_size_bytes"], row[OPERATION] != "") == (SIZE, True)
        found[test.name.partition(".")[2]] = (outcome.state, row)
    assert {state for state, _ in found.values()} <= {Verdict.MEASURED, Verdict.PASS}
    assert found["reset"][1]["reset_ms_avg"] == pytest.approx(50, rel=0.01)
    assert found["frame_loss"][1]["lost_frames"] == 0


RIGHT_HEADERS = [
    ("rfc5695", "push", "mpls(label=200)/ipv4/udp"),
    ("rfc5695", "swap", "mpls(label=200, ttl=63)/ipv4/udp"),
    ("rfc5695", "pop_unlabeled", "ethernet/ipv4/udp"),
    ("srv6", "endpoint", "ipv6(destination=2001:db8:2::1)/segment_routing(segments_left=0)/ipv4/udp"),
]
WRONG_HEADERS = [
    ("rfc5695", "swap", "mpls(label=200, ttl=64)/ipv4/udp"),
    ("rfc5695", "swap", "mpls/mpls/ipv4/udp"),
    ("rfc5695", "pop_unlabeled", "mpls(label=101)/ipv4/udp"),
    ("srv6", "endpoint", "ipv6(destination=2001:db8:1::e)/segment_routing(segments_left=1)/ipv4/udp"),
]


@pytest.mark.parametrize(("suite", "operation", "headers"), RIGHT_HEADERS)
def test_headers_that_the_device_is_to_make_are_found(suite: str, operation: str, headers: str) -> None:
    """Goal: every trial is valid, which the session of these tests asserts."""
    run(f"{suite}.frame_loss", f"operation={operation}", f"received_headers={headers}")


@pytest.mark.parametrize(("suite", "operation", "headers"), WRONG_HEADERS)
def test_other_headers_make_a_trial_invalid(suite: str, operation: str, headers: str) -> None:
    with pytest.raises(AssertionError, match=f"headers: port 2 received .*, not {re.escape(headers)}"):
        run(
            f"{suite}.frame_loss",
            f"operation={operation}",
            f"received_headers={headers}",
            "bidirectional=false",
            "ports=first_pair",
        )


def test_a_router_that_does_not_know_the_label_forwards_nothing() -> None:
    topology = changed(MPLS, ("label: 100}", "label: 99}"))
    test = find_test("rfc5695.frame_loss")
    outcome = run_on_sim(test, topology, (SIZE,), *QUICK, "operation=swap", "learning_verify=false")[1]
    assert {row["rx_frames"] for row in outcome.tables[0].rows} == {0}
