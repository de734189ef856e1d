"""Preparation of a run: options before topology before defaults, what is refused, and the bed that methods see."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from msgspec.structs import replace as changed
from support.beds import make_bed
from support.networks import network, node, parsed, shipped, switch, wire

from p4mesh.errors import ParameterError, TopologyError, UnsupportedError, UsageError
from p4mesh.methods.options.parameters import resolve
from p4mesh.methods.registry import find_test
from p4mesh.run.options import RunOptions
from p4mesh.run.preparation import Prepared, bed_of, check_settings, commands_in, echo_of, job_of, prepare
from p4mesh.topology import Topology

THROUGHPUT, CACHING = "rfc2544.throughput", "rfc2889.address_caching"
PROGRAM = "program: l2_switch, groups: [{group: 1, ports: [1, 2]}]"


def prepared(topology: Topology, *settings: str, test: str = THROUGHPUT, **options: Any) -> Prepared:
    return prepare(find_test(test), topology, RunOptions(test, topology, settings=settings, **options))


def with_tests(text: str, topology: str = "") -> Topology:
    return parsed((topology or wire()) + f"tests:\n  {text}\n")


@pytest.mark.parametrize(("programs", "model"), [(1, "P4 program l2_switch"), (2, "P4 programs l2_switch, l3_router")])
def test_the_notes_of_a_run_name_the_programs_of_its_devices_once(programs: int, model: str) -> None:
    kinds = ("program: l2_switch", "program: l2_switch", "program: l3_router")[: 1 + programs]
    nodes = (node(f"n{place}", kind, ports=2, device="p4") for place, kind in enumerate(kinds))
    links = [(f"tester:{2 * place + end}", f"n{place}:{end}") for place in range(len(kinds)) for end in (1, 2)]
    topology = parsed(network(*nodes, links=links, ports=2 * len(kinds)))
    options = RunOptions(THROUGHPUT, topology, notes=("lab=3",), capture_frames=7)
    assert echo_of(topology, options) == {"notes": {"lab": "3", "model": model}, "capture_frames": 7}
    assert echo_of(parsed(wire()), RunOptions(THROUGHPUT)) == {}


def test_a_run_measures_on_a_cluster_where_one_is_named_else_with_processes() -> None:
    found = prepared(parsed(wire()), sizes="64,imix", workers="tcp://host:8786")
    assert (found.cluster, found.target, found.job.capture_frames) == ("tcp://host:8786", "sim", 0)
    assert [size if isinstance(size, int) else size.name for size in found.sizes] == [64, "imix"]
    alone = prepared(parsed(wire()), jobs=3, capture_frames=9)
    assert (alone.cluster, alone.jobs, alone.job.capture_frames) == ("", 3, 9)


def test_a_target_is_checked_unless_another_opener_takes_its_place() -> None:
    topology = parsed(switch(ports=2, link="outages: [{at_s: 1, duration_s: 1}]"))
    with pytest.raises(UnsupportedError, match="outages"):
        prepared(topology, target="live")
    assert prepared(topology, target="live", opener="support.fakes:open_fake_switch").job.opener


def test_only_simulated_devices_have_a_memory() -> None:
    outage, lossy = (switch(ports=2, link="outages: [{at_s: 1, duration_s: 1}]"), switch("loss_ppb: 5", ports=2))
    job = prepared(parsed(outage)).job
    assert job.simulated and job.memory.startswith("link outages") and job.memory == job.memory_without_verification
    job = prepared(parsed(lossy)).job
    assert job.memory == "" and job.memory_without_verification.startswith("device 'dut' may not learn")
    live = prepared(parsed(lossy), target="live", opener="support.fakes:open_fake_switch").job
    assert (live.simulated, live.memory, live.memory_without_verification) == (False, "", "")


def test_frames_are_captured_where_the_target_does() -> None:
    keys = 'chip: tofino1, address: "192.0.2.1:9559", device_config: p4mesh.bin'
    ports = {1: "device_ports: '0'", 2: "device_ports: '4'"}
    topology = parsed(switch(ports=2, rates_bps=10**11, tester=f"tofino: {{{keys}}}", tester_port=ports))
    test, options = find_test(THROUGHPUT), RunOptions(THROUGHPUT, topology, target="tofino", capture_frames=4)
    parameters = resolve(test.name, test.parameters, ())
    with pytest.raises(UnsupportedError, match="--capture 4: not supported on tofino by P4Runtime"):
        job_of(test, topology, make_bed(), parameters, options)
    job = job_of(test, topology, make_bed(), parameters, replace(options, capture_frames=None))
    assert (job.capture_frames, job.simulated) == (0, False)


@pytest.mark.parametrize(
    ("tests", "message", "hint"),
    [
        ("rfc2544.throughputs: {}", "there is no test 'rfc2544.throughputs'", "did you mean rfc2544.throughput?"),
        ("nothing: {}", "there is no test 'nothing'", "valid tests: "),
        (
            "rfc2544.throughput: {search_min_pct: 500}",
            "test.yaml: tests.rfc2544.throughput: search_min_pct=500: not valid",
            "search_min_pct is a number in",
        ),
    ],
)
def test_settings_of_a_topology_are_those_of_tests_that_there_are(tests: str, message: str, hint: str) -> None:
    with pytest.raises(TopologyError, match=message) as caught:
        check_settings(with_tests(tests))
    assert str(caught.value.hint).startswith(hint)


def test_the_commands_of_a_topology_are_listed() -> None:
    topology = with_tests("rfc2544.frame_loss: {reset_between: hook, hook: reboot now}")
    assert commands_in(topology) == [("rfc2544.frame_loss", "hook", "reboot now")]
    assert commands_in(with_tests("rfc2544.frame_loss: {reset_between: hook, hook: ' '}")) == []
    two = with_tests("rfc2544.reset: {reset_cmd: first, reset_between: hook, hook: second}")
    with pytest.raises(UsageError, match=r"test\.yaml: tests\.rfc2544\.reset: reset_cmd: .* by itself: first"):
        prepared(two, test="rfc2544.reset")


def test_the_users_settings_come_before_those_of_the_topology() -> None:
    topology = with_tests("rfc2544.throughput: {search_max_pct: 50, search_min_pct: 5}")
    found = prepared(topology, "search_max_pct=60").job.parameters
    assert (found.number("search_max_pct"), found.number("search_min_pct")) == (60, 5)


@pytest.mark.parametrize(
    ("target", "settings", "tests", "scaled"),
    [
        ("sim", (), "", True),
        ("live", (), "", False),
        ("live", ("scaled_frames=500",), "", True),
        ("live", (), "rfc2544.throughput: {scaled_frames: 500}", True),
        ("live", ("search_min_pct=1",), "", False),
    ],
)
def test_trials_are_as_long_as_the_rfc_says_where_time_is_real_and_nothing_scales_them(
    target: str, settings: tuple[str, ...], tests: str, scaled: bool
) -> None:
    text = f"{switch(ports=2)}{f'tests: {{{tests}}}' if tests else ''}\n"
    assert prepared(parsed(text), *settings, target=target).job.parameters.is_word("duration_ms") is scaled


def mixed_devices(*kinds: str) -> str:
    """Each device is between two ports of the tester: where the links of the first one begin, of the second one end."""
    nodes = []
    for place, kind in enumerate(kinds):
        own = (
            f"{{port: {end}, mac: '02:00:00:00:01:0{2 * place + end}', addresses: [198.18.{2 * place + end}.1/24]}}"
            for end in (1, 2)
        )
        keys = (f"interfaces: [{', '.join(own)}]",) if kind == "router" else ()
        nodes.append(node(f"n{place}", *keys, ports=2, device=kind))
    ends = [(f"tester:{2 * place + end}", f"n{place}:{end}") for place in range(len(kinds)) for end in (1, 2)]
    links = [(own, other) if other.startswith("n0") else (other, own) for own, other in ends]
    return network(*nodes, links=links, ports=2 * len(kinds))


@pytest.mark.parametrize(
    ("kinds", "test", "settings", "router"),
    [
        (("router",), THROUGHPUT, (), "n0"),
        (("router", "router"), THROUGHPUT, (), "n0"),
        (("router", "ethernet_switch"), THROUGHPUT, (), ""),
        (("ethernet_switch",), THROUGHPUT, (), ""),
        (("router",), THROUGHPUT, ("routed=true",), ""),
        (("router",), THROUGHPUT, ("frame_format=ethernet",), ""),
        (("router", "router"), CACHING, (), ""),
        ((), THROUGHPUT, (), ""),
    ],
)
def test_tests_on_routers_alone_are_routed(
    kinds: tuple[str, ...], test: str, settings: tuple[str, ...], router: str
) -> None:
    topology = parsed(mixed_devices(*kinds) if kinds else wire())
    found = prepared(topology, *settings, test=test)
    said = f"routed=true was chosen: device '{router}' is a router, which forwards nothing that is for a switch"
    assert found.job.chosen == ((said,) if router else ())
    assert (found.job.parameters.values.get("routed") is True) == bool(router or "routed=true" in settings)


def test_a_router_that_nobody_finds_is_refused_for_tests_that_are_routed() -> None:
    strange = parsed(mixed_devices("router").replace("198.18.2.1/24", "10.0.2.254/32"))
    with pytest.raises(TopologyError, match=r"n0:2 has 10\.0\.2\.254/32"):
        prepared(strange)
    assert prepared(strange, "frame_format=ethernet").job.chosen == ()


@pytest.mark.parametrize(
    ("settings", "sizes", "message", "hint"),
    [
        (
            ("vlan_id=5",),
            "64,66,68,512",
            "frame size 64 B: ipv4 frames with a VLAN tag with a signature need 68 B",
            "frame sizes in 68..16000 B: --sizes 68,512",
        ),
        (
            ("frame_format=ipv6",),
            "64",
            "frame size 64 B: ipv6 frames with a signature need 84 B",
            "; 124 B is the least for all extension headers, to compare them",
        ),
        (
            ("frame_format=ipv6", "extension_headers=chain"),
            "90",
            "frame size 90 B: ipv6 frames with routing + destination + fragment header with a signature need 124 B",
            "; 124 B is the least for all extension headers, to compare them",
        ),
        (
            ("headers=vlan(vid=5)/ipv6/routing/udp",),
            "100",
            "frame size 100 B: ethernet, vlan, ipv6, routing, udp frames with a signature need 112 B",
            "128 B is the least for all extension headers, to compare them",
        ),
        (
            ("headers=ipv4/udp", "vlan_id=5"),
            "64",
            "--set headers: vlan_id=5 asks for headers, too",
            "put them into headers, and leave vlan_id out",
        ),
    ],
)
def test_sizes_that_do_not_hold_the_headers_are_refused_with_the_least(
    settings: tuple[str, ...], sizes: str, message: str, hint: str
) -> None:
    with pytest.raises(ParameterError) as caught:
        prepared(parsed(wire()), *settings, sizes=sizes)
    assert caught.value.message == message
    assert str(caught.value.hint).endswith(hint)


def test_the_bed_has_what_the_topology_says() -> None:
    """Three switches in a row, links of 10 and of 1 Gbit/s between them."""
    nodes = (
        node("left", "reset: {time_s: 0.5}", rates_bps=(10**9, 10**9, 10**10)),
        node("middle", rates_bps=(10**10, 10**9)),
        node("right", ports=3),
    )
    links = [("left:1-2", "tester:1-2"), ("tester:3-4", "right:1-2"), ("left:3", "middle:1"), ("middle:2", "right:3")]
    bed = bed_of(parsed(network(*nodes, links=links)))
    assert (bed.topology, bed.target, bed.uplink_rate_bps, bed.wires) == ("network", "sim", 11 * 10**9, ())
    assert (bed.reset_times_s, bed.resets_devices, bed.ends_tunnels) == ((("left", 0.5),), True, False)
    assert (bed.announces_routes, bed.silence_noticed_s, bed.routes_back_s) == (False, None, None)
    assert (bed.compares_payload, bed.stream_per_size, bed.stamps.resolution_ns) == (True, False, 1)
    cabled = bed_of(parsed(wire(pairs=2)))
    assert (cabled.wires, cabled.uplink_rate_bps, cabled.ends_tunnels) == (((1, 2), (3, 4)), 0, True)
    p4 = bed_of(parsed(network(node("dut", PROGRAM, ports=2, device="p4"), links=[("tester:1-2", "dut:1-2")], ports=2)))
    assert p4.ends_tunnels
    live = bed_of(shipped("bridge-4x10m"), "live")
    assert (live.target, live.reset_times_s, live.failures) == ("live", (), 0)
    rerouted = shipped("p4-reroute")
    assert [bed_of(rerouted, target).failures for target in ("sim", "live")] == [5, 0]


def test_sessions_end_as_soon_as_bfd_or_a_hold_time_tells() -> None:
    topology = shipped("router-4x1g-bgp")
    bgp = topology.bgp
    assert bgp is not None
    slow = bed_of(replace(topology, bgp=changed(bgp, bfd=None, hold_time_s=9)))
    assert (slow.announces_routes, slow.silence_noticed_s) == (True, 9.0)
    assert slow.routes_back_s is not None and slow.routes_back_s > 9
    # 64 instead of 8 sessions are tried again two seconds later.
    many = bed_of(replace(shipped("nexus9508-32x100g"), bgp=changed(bgp, bfd=None, hold_time_s=9)))
    assert many.routes_back_s == slow.routes_back_s + 2
    never = bed_of(replace(topology, bgp=changed(bgp, bfd=None, hold_time_s=0)))
    assert (never.silence_noticed_s, never.routes_back_s) == (None, None)
