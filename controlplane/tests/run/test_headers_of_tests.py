"""Tests and traffic files with headers of the user's own on sim; bad stacks are refused before anything is sent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from scapy.contrib.roce import BTH
from scapy.layers.l2 import Ether
from support.networks import shipped

from p4mesh.cli.single_command import run_test
from p4mesh.errors import ParameterError, TrafficFileError, UsageError
from p4mesh.layers.notation import frame_of_text
from p4mesh.run.options import RunOptions
from p4mesh.run.run_files import run_file
from p4mesh.run.single import run
from p4mesh.run.suite import FinishedSuite
from p4mesh.run.traffic import run_traffic
from p4mesh.verdict import Verdict

VXLAN = "ipv4(source=192.0.2.1, destination=192.0.2.2)/udp/vxlan(vni=5)/ethernet/ipv4/tcp"
LABELS = "mpls(label=100)/mpls(ttl=3)/ipv6/udp"
TRAFFIC = """\
name: own
duration_s: 0.001
phases: {learning_wait_ms: 1, settle_ms: 1, restabilise_ms: 0}
classes:
  one:
    senders: 1
    receivers: 2
    pattern: pairs
    rate: 10 %
    sizes: 256
    headers: {layers: "LAYERS"}
    modifiers: [{field: "FIELD", count: 4}]
    accept: {loss_ratio: 0}
"""


def options(out: Path, test: str, *settings: str, sizes: str = "256") -> RunOptions:
    return RunOptions(test, shipped("back-to-back"), sizes, settings, str(out), jobs=1)


MULTICAST = ("rfc3918.aggregated", "rfc3918.scaled_matrix")
"""The others are in a run file, below."""


@pytest.mark.parametrize(
    ("test", "headers"),
    [
        *(
            (test, VXLAN)
            for test in ("rfc2544.frame_loss", "rfc2889.fully_meshed", "rfc5180.throughput", "rfc3918.scaled_matrix")
        ),
        *((test, LABELS) for test in ("rfc2544.throughput", "rfc3918.aggregated")),
    ],
)
def test_a_test_sends_its_frames_with_these_headers(tmp_path: Path, test: str, headers: str) -> None:
    hosts = (
        (f"protocol={'mldv2' if 'ipv6' in headers else 'igmpv3'}", "joins_per_s=100000") if test in MULTICAST else ()
    )
    run_test(options(tmp_path / "out", test, f"headers={headers}", "scaled_frames=100", *hosts))
    kinds = ["ethernet", *(part.partition("(")[0] for part in headers.split("/"))]
    trials = [json.loads(line) for line in (tmp_path / "out" / "trials.jsonl").read_text().splitlines()]
    frames = [stream["frame"]["layers"] for trial in trials for stream in trial["spec"]["streams"]]
    assert frames
    assert all([layer if isinstance(layer, str) else layer["kind"] for layer in frame] == kinds for frame in frames)
    assert {trial["result"]["status"] for trial in trials} <= {"PASS", "MEASURED"}


@pytest.mark.parametrize(
    ("settings", "sizes", "message", "hint"),
    [
        (
            ["headers=mpls/ipv4/udp"],
            "64",
            "frame size 64 B: ethernet, mpls, ipv4, udp frames with",
            "--sizes 68",
        ),
        (
            ["headers=mpls/udp"],
            "128",
            "--set headers: the tester does not send frames of ethernet, mpls, udp",
            "use a stack",
        ),
        (["headers=mpls(lable=1)/ipv4/udp"], "128", "--set headers: mpls has no field 'lable'", "fields are label"),
        (["headers=ipv4(ttl)/udp"], "128", "--set headers: ipv4.ttl has no value", "write ttl=64"),
        (["headers=ipv4(ttl=3, ttl=4)/udp"], "128", "--set headers: ipv4.ttl is given twice", "each field once"),
        (["headers=ipv4(options=010101)/udp"], "128", "--set headers: ipv4.options: 3 bytes", "multiple of 4"),
        (
            ["headers=ipv4/udp/bytes(content=zz)"],
            "128",
            "--set headers: bytes.content=zz: not valid",
            "content=01020304",
        ),
        (
            ["headers=ipv4/bytes(content=01020304)/udp"],
            "128",
            "--set headers: bytes in front of another header",
            "behind the last header",
        ),
        (["headers=ipv4(options=01010101)/udp/bth"], "128", "--set headers: bth has options", "RoCEv2 has neither"),
        (
            ["headers=ipv6(source=2001:db8::1, destination=2001:db8::9)/segment_routing(segments_left=2)/ipv4/udp"],
            "256",
            "--set headers: segment_routing has segments_left=2 of 1 segments",
            "use 0 to 1",
        ),
        (["headers=ipv4/ipv4/udp"], "128", "--set headers: ipv4 has no source", "only the innermost IP header"),
        (["headers=ipv4(checksum=1)/udp"], "128", "--set headers: ipv4.checksum cannot be given", "leave it out"),
        (
            ["headers=ipv4/udp", "vlan_id=5"],
            "128",
            "--set headers: vlan_id=5 asks for headers",
            "put them into headers",
        ),
    ],
)
def test_a_stack_that_cannot_be_sent_is_refused_before_the_run(
    tmp_path: Path, settings: list[str], sizes: str, message: str, hint: str
) -> None:
    with pytest.raises(ParameterError) as caught:
        run_test(options(tmp_path / "out", "rfc2544.throughput", *settings, sizes=sizes))
    assert caught.value.message.startswith(message)
    assert hint in (caught.value.hint or "")
    assert not (tmp_path / "out").exists()


def test_a_base_transport_header_of_rocev2_is_sent_as_bytes_without_its_crc(tmp_path: Path) -> None:
    header = BTH(opcode=0x64, dqpn=17, psn=3)
    del header.icrc
    stack = f"ipv4/udp(destination=4791)/bytes(content={bytes(header)[:12].hex()})"
    found = run(
        RunOptions(
            "rfc2544.frame_loss",
            shipped("back-to-back"),
            "256",
            (f"headers={stack}", "scaled_frames=100"),
            tmp_path / "o",
            1,
        )
    )
    assert found.outcome.state is Verdict.MEASURED
    assert {row["lost_frames"] for row in found.outcome.tables[0].rows} == {0}
    packet = Ether(frame_of_text(stack).write(bytes(60)))
    assert (packet[BTH].dqpn, packet[BTH].psn) == (17, 3)


MULTICAST_FILE = """\
name: groups
topology: TOPOLOGY
sizes: [256]
parameters: {scaled_frames: 100, joins_per_s: 100000, HEADERS}
tests: [rfc3918.mixed_class, rfc3918.aggregated, rfc3918.group_capacity, rfc3918.latency, rfc3918.join_delay]
"""


def test_a_run_file_gives_headers_to_the_tests_of_groups(tmp_path: Path) -> None:
    """Goal: with headers of its own, every test has the result that it has without, and each frame has them."""
    states = []
    for name, headers in (("plain", ""), ("own", "headers: vlan(vid=7)/ipv4(dscp=46)/tcp")):
        file = tmp_path / f"{name}.yaml"
        text = MULTICAST_FILE.replace("TOPOLOGY", shipped("back-to-back").source).replace("HEADERS", headers)
        file.write_text(text.replace(", }", "}"))
        found = run_file(RunOptions(file, None, None, (), tmp_path / name, 1))
        assert isinstance(found, FinishedSuite)
        states.append([entry.run.outcome.state for entry in found.entries if entry.run])
    assert states[0] == states[1] and len(states[0]) == 5
    for trials in (tmp_path / "own").glob("*/trials.jsonl"):
        for line in trials.read_text().splitlines():
            for stream in json.loads(line)["spec"]["streams"]:
                kinds = [layer if isinstance(layer, str) else layer["kind"] for layer in stream["frame"]["layers"]]
                assert kinds == ["ethernet", "vlan", "ipv4", "tcp"]


def test_a_run_file_refuses_headers_that_cannot_be_sent_with_their_place(tmp_path: Path) -> None:
    file = tmp_path / "bad.yaml"
    text = MULTICAST_FILE.replace("TOPOLOGY", shipped("back-to-back").source)
    file.write_text(text.replace("HEADERS", "headers: mpls(lable=1)/ipv4/udp"))
    with pytest.raises(UsageError) as caught:
        run_file(RunOptions(file, None, None, (), tmp_path / "out", 1))
    assert caught.value.message.endswith("bad.yaml:4: parameters.headers: mpls has no field 'lable'")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("setting", "noted"),
    [
        ("headers=ipv4/tcp", 1),
        ("headers=ipv6(source=2001:db8::1, destination=2001:db8::2)/ipv4/udp", 1),
        ("frame_format=ipv4", 1),
        ("headers=ipv4(source=192.0.2.1, destination=192.0.2.2)/ipv6/tcp", 0),
        ("frame_format=ipv6", 0),
    ],
)
def test_frames_that_rfc_5180_is_not_about_are_a_deviation(tmp_path: Path, setting: str, noted: int) -> None:
    settings = (setting, "scaled_frames=100")
    found = run(RunOptions("rfc5180.frame_loss", shipped("back-to-back"), "256", settings, str(tmp_path / "out"), 1))
    assert sum(text.startswith("The frames carry no IPv6") for text in found.outcome.deviations) == noted


def test_hop_by_hop_options_have_to_be_among_the_headers(tmp_path: Path) -> None:
    message = "rfc5180.hop_by_hop: headers=ipv6/udp has no hop-by-hop options"
    with pytest.raises(ParameterError) as caught:
        run_test(options(tmp_path / "out", "rfc5180.hop_by_hop", "headers=ipv6/udp"))
    assert caught.value.message == message
    settings = ("headers=ipv6/hop_by_hop/tcp", "scaled_frames=100", "ports=first_pair")
    run_test(RunOptions("rfc5180.hop_by_hop", shipped("p4-l3-4ports"), "256", settings, str(tmp_path / "out"), jobs=1))


@pytest.mark.parametrize("headers", ["mpls(label=100)/ipv6/udp", "vlan(vid=7)"])
def test_headers_without_the_addresses_of_groups_are_refused(tmp_path: Path, headers: str) -> None:
    with pytest.raises(ParameterError, match="no frames of IPv4, which igmpv3 joins the groups of"):
        run_test(options(tmp_path / "out", "rfc3918.aggregated", f"headers={headers}"))


def traffic(tmp_path: Path, layers: str, field: str) -> Verdict:
    file = tmp_path / "traffic.yaml"
    file.write_text(TRAFFIC.replace("LAYERS", layers).replace("FIELD", field))
    return run_traffic(RunOptions(file, shipped("back-to-back"), None, (), tmp_path / "out", 1)).outcome.state


@pytest.mark.parametrize(
    ("layers", "field"), [(VXLAN, "vxlan.vni"), (VXLAN, "udp[0].source"), (LABELS, "mpls[1].label")]
)
def test_a_class_sends_its_frames_with_these_headers_and_a_field_that_changes(
    tmp_path: Path, layers: str, field: str
) -> None:
    assert traffic(tmp_path, layers, field) is Verdict.PASS


@pytest.mark.parametrize(
    ("layers", "field", "message"),
    [
        (LABELS, "mpls.bottom", "classes.one.modifiers[0].field: mpls has no field 'bottom' that can change"),
        (LABELS, "gre.key", "there is no gre.key to change in frames of ethernet, mpls, mpls, ipv6, udp"),
        (
            "mpls/udp",
            "udp.source",
            "classes.one.headers.layers: the tester does not send frames of ethernet, mpls, udp",
        ),
        (f"{VXLAN}/bytes(content={'00' * 60})/{LABELS}", "udp.source", "bytes in front of another header"),
    ],
)
def test_a_class_that_cannot_be_sent_is_refused_with_its_place(
    tmp_path: Path, layers: str, field: str, message: str
) -> None:
    with pytest.raises((TrafficFileError, ParameterError)) as caught:
        traffic(tmp_path, layers, field)
    assert message in caught.value.message
    assert not (tmp_path / "out").exists()


def test_frames_of_a_class_that_are_too_small_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "traffic.yaml"
    file.write_text(TRAFFIC.replace("LAYERS", VXLAN).replace("FIELD", "vxlan.vni").replace("256", "[{bytes: 64}]"))
    with pytest.raises(TrafficFileError, match=r"64 B: frames of ethernet, ipv4, udp, vxlan, .* need 126 B") as caught:
        run_traffic(RunOptions(file, shipped("back-to-back"), None, (), tmp_path / "out", 1))
    assert caught.value.hint == "sizes of 126 B or more, or fewer layers"


def test_a_class_changes_four_fields_and_has_a_wrong_checksum(tmp_path: Path) -> None:
    fields = ("ipv4.ttl", "ipv4_src", "udp_src", "udp_dst")
    modifiers = ", ".join(f"{{field: {name}, count: 4}}" for name in fields)
    file = tmp_path / "traffic.yaml"
    text = TRAFFIC.replace("LAYERS", "ipv4(checksum=bad)/udp").replace('{field: "FIELD", count: 4}', modifiers)
    file.write_text(text)
    ran = run_traffic(RunOptions(file, shipped("back-to-back"), None, (), tmp_path / "out", 1))
    assert ran.outcome.state is Verdict.PASS


def test_a_router_drops_a_wrong_checksum_that_is_not_taken_for_an_address_unlearned(tmp_path: Path) -> None:
    layers = "ipv4(checksum=bad)/udp"
    settings = ("routed=true", f"headers={layers}", "scaled_frames=100", "ports=first_pair")
    run_test(RunOptions("rfc2544.frame_loss", shipped("p4-l3-4ports"), "256", settings, str(tmp_path / "out"), jobs=1))
    trials = [json.loads(line) for line in (tmp_path / "out" / "trials.jsonl").read_text().splitlines()]
    assert {(trial["result"]["status"], trial["result"]["rx_frames"]) for trial in trials} == {("MEASURED", 0)}
