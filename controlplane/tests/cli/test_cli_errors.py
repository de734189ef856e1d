"""Bad input: one message on stderr, the exit code of its kind, no traceback, nothing written.

Each case has a golden text in ``golden/cli.txt``: the exit code, then the message word for word. Run with
``P4MESH_UPDATE_GOLDEN=1`` to write it anew, and read the difference before it is committed.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.golden import GoldenTable

from p4mesh.cli import single_command
from p4mesh.cli.main import main
from p4mesh.errors import ProgramError
from p4mesh.run import chosen_interfaces
from p4mesh.run.options import RunOptions

GOLDEN = GoldenTable("cli")
GOOD = """\
name: pair
tester:
  ports:
    - {numbers: 1-2, rate_bps: 1000000000}
links:
  - {from: tester:1, to: tester:2}
"""
SWITCH = """\
name: switched
tester:
  ports:
    - {numbers: 1-2, rate_bps: 1000000000}
nodes:
  - name: dut
    device: ethernet_switch
    ports:
      - {numbers: 1-2, rate_bps: 1000000000}
links:
  - {from: tester:1-2, to: dut:1-2}
"""
RUN = ("run", "rfc2889.fully_meshed", "--topology", "good.yaml")
HOOKED = (*RUN, "--jobs", "1", "--out", "out", "--set", "reset_between=hook", "--set")

COMMANDS: dict[str, tuple[str, ...]] = {
    "messages_of_too_many_frames": (
        *("run", "messages.latency", "--topology", "good.yaml", "--set", "message_frames=2005"),
    ),
    "no_command": (),
    "unknown_command": ("fly",),
    "unknown_option": (*RUN, "--output", "here"),
    "unknown_test": ("run", "rfc2889.fuly_meshed", "--topology", "good.yaml"),
    "topology_not_given": ("run", "rfc2889.fully_meshed"),
    "topology_missing": ("run", "rfc2889.fully_meshed", "--topology", "absent.yaml"),
    "topology_is_a_directory": ("run", "rfc2889.fully_meshed", "--topology", "."),
    "no_value": ("serve", "--port=--"),
    "capture_none": (*RUN, "--capture", "0"),
    "capture_of_other_digits": (*RUN, "--capture", "٣"),
    "jobs_with_a_sign": (*RUN, "--jobs", "+2"),
    "jobs_with_a_line": (*RUN, "--jobs", "1_0"),
    "sizes_of_other_digits": (*RUN, "--sizes", "٦٤"),
    "set_with_a_sign": (*RUN, "--set", "sweep_step_pct=+20"),
    "set_with_a_line": (*RUN, "--set", "sweep_step_pct=2_0"),
    "set_of_other_digits": (*RUN, "--set", "sweep_step_pct=२०"),
    "workers_of_a_port_that_is_none": (*RUN, "--workers", "tcp://host:65536"),
    "workers_with_tls_alone": (*RUN, "--workers", "tls://127.0.0.1:1"),
    "capture_below_zero": (*RUN, "--capture", "-1"),
    "capture_too_many": (*RUN, "--capture", "1001"),
    "note_without_text": (*RUN, "--note", "operator="),
    "note_twice": (*RUN, "--note", "operator=Ada", "--note", "operator=Bob"),
    "report_not_a_run": ("report", "."),
    "set_unknown_key": (*RUN, "--set", "duration=5"),
    "set_without_equals": (*RUN, "--set", "duration_ms"),
    "set_twice": (*RUN, "--set", "duration_ms=5", "--set", "duration_ms=6"),
    "set_out_of_range": (*RUN, "--set", "sweep_step_pct=200"),
    "set_not_a_number": (*RUN, "--set", "duration_ms=fast"),
    "set_not_an_integer": (*RUN, "--set", "burst_frames=1.5"),
    "set_not_a_choice": (*RUN, "--set", "parts=latency"),
    "set_not_a_boolean": (*RUN, "--set", "learning_verify=maybe"),
    "set_sweep_backwards": (*RUN, "--set", "sweep_start_pct=50", "--set", "sweep_end_pct=20"),
    "set_search_out_of_order": (*RUN, "--set", "search_min_pct=60"),
    "size_below_frame_format": (*RUN, "--sizes", "64,128", "--set", "frame_format=ipv6"),
    "size_below_vlan_tag": (*RUN, "--set", "vlan_id=7"),
    "vlan_out_of_range": (*RUN, "--set", "vlan_id=4095"),
    "routed_ethernet": (
        *("run", "rfc2544.throughput", "--topology", "good.yaml", "--set", "routed=true"),
        *("--sizes", "64", "--set", "frame_format=ethernet"),
    ),
    "set_hook_without_a_command": (*RUN, "--set", "reset_between=hook"),
    "set_hook_with_an_open_quote": (*RUN, "--set", "reset_between=hook", "--set", "hook=reset 'dut"),
    "nothing_to_reset": ("run", "rfc2544.reset", "--topology", "good.yaml"),
    "hook_fails": (*HOOKED, "hook=sh -c 'echo no such device >&2; exit 2'"),
    "hook_is_missing": (*HOOKED, "hook=/nonexistent/reset"),
    "tofino_without_switch": (*RUN, "--target", "tofino"),
    "definition_on_software_stamps": (*RUN, "--target", "live", "--set", "latency_definition=FIFO"),
    "tagged_network_without_tags": ("run", "rfc2544.latency", *RUN[2:], "--set", "tagged_network=new"),
    "iterations_out_of_range": (*RUN, "--set", "iterations=0"),
    "sizes_too_small": (*RUN, "--sizes", "60"),
    "sizes_not_a_number": (*RUN, "--sizes", "64,large"),
    "sizes_twice": (*RUN, "--sizes", "64,64"),
    "jobs_zero": (*RUN, "--jobs", "0"),
    "jobs_too_many": (*RUN, "--jobs", "1000000000"),
    "jobs_of_many_digits": (*RUN, "--jobs", "9" * 5000),
    "set_many_digits": (*RUN, "--set", f"duration_ms={'9' * 5000}"),
    "set_tiny": (*RUN, "--set", "duration_ms=1e-9999999"),
    "sizes_of_many_digits": (*RUN, "--sizes", "6" * 5000),
    "topology_is_a_device": (*RUN[:3], "/dev/zero"),
    "interfaces_on_sim": (*RUN, "--interfaces", "enp3s0f0,enp3s0f1"),
    "interfaces_too_few": (*RUN, "--target", "live", "--interfaces", "enp3s0f0"),
    "interfaces_twice": (*RUN, "--target", "live", "--interfaces", "enp3s0f0,enp3s0f0"),
    "access_on_sim": (*RUN, "--access", "af_xdp"),
    "workers_not_an_address": (*RUN, "--workers", "localhost"),
    "workers_on_live": (*RUN, "--workers", "tcp://localhost:8786", "--target", "live"),
    "workers_and_jobs": (*RUN, "--workers", "tcp://localhost:8786", "--jobs", "2"),
    "show_not_a_run": ("show", "."),
    "tests_unknown": ("tests", "rfc2889.fuly_meshed"),
    "tests_nothing_found": ("tests", "--search", "colour"),
}

TOPOLOGIES: dict[str, str] = {
    "not_yaml": "name: [unclosed\n",
    "empty": "",
    "a_list": "- 1\n",
    "unknown_key": GOOD.replace("rate_bps", "rate"),
    "near_key": GOOD.replace("links:", "link:"),
    "missing_key": GOOD.replace("name: pair\n", ""),
    "wrong_type": GOOD.replace("1000000000", "fast"),
    "out_of_range": GOOD.replace("1000000000", "5"),
    "number_with_lines": GOOD.replace("1000000000", "1_000_000_000"),
    "number_with_a_sign": GOOD.replace("1000000000", "+1000000000"),
    "number_of_base_8": GOOD.replace("1000000000", "07346545000"),
    "number_of_other_digits": GOOD.replace("1000000000", "१०००"),
    "ports_of_other_digits": GOOD.replace("1-2", "१-२"),
    "duplicate_key": GOOD + "name: again\n",
    "bad_port_range": GOOD.replace("1-2", "2-1"),
    "port_twice": GOOD.replace("1-2", '"1-2,2"'),
    "port_gap": GOOD.replace("1-2", '"1,3"'),
    "interface_count": GOOD.replace("1-2, rate_bps", "1-2, interface: enp3s0f0, rate_bps"),
    "interface_twice": GOOD.replace("1-2, rate_bps", '1-2, interface: "enp3s0f0,enp3s0f0", rate_bps'),
    "interface_not_a_name": GOOD.replace("1-2, rate_bps", "1-2, interface: /dev/eth0, rate_bps"),
    "unknown_node": GOOD.replace("to: tester:2", "to: dut:2"),
    "unknown_port": GOOD.replace("to: tester:2", "to: tester:3"),
    "linked_twice": GOOD.replace("to: tester:2", "to: tester:1"),
    "unlinked_port": GOOD.replace("1-2", "1-3"),
    "unequal_ends": SWITCH.replace("dut:1-2", "dut:1"),
    "unequal_rates": SWITCH.replace("dut\n", "dut\n").replace(
        "      - {numbers: 1-2, rate_bps: 1000000000}", "      - {numbers: 1-2, rate_bps: 100000000}"
    ),
    "unknown_device": SWITCH.replace("ethernet_switch", "toaster"),
    "settings_of_an_unknown_test": GOOD + "tests: {rfc2889.broadcas: {search_min_pct: 1}}\n",
    "settings_unknown_key": GOOD + "tests: {rfc2889.broadcast: {colour: red}}\n",
    "settings_out_of_range": GOOD + "tests: {rfc2889.broadcast: {search_min_pct: 101}}\n",
    "settings_a_list": GOOD + "tests: {rfc2889.broadcast: {search_min_pct: [1]}}\n",
    "reset_without_time": SWITCH.replace("    ports:\n      -", "    reset: {links_down: true}\n    ports:\n      -"),
    "reset_of_no_time": SWITCH.replace("    ports:\n      -", "    reset: {time_s: 0}\n    ports:\n      -"),
    "outage_without_begin": GOOD.replace("to: tester:2", "to: tester:2, outages: [{duration_s: 1}]"),
    "line_code_latency_without_code": GOOD.replace("to: tester:2", "to: tester:2, line_code_ns: 60"),
    "line_code_unknown": GOOD.replace("to: tester:2", "to: tester:2, line_code: kp4"),
    "graceful_restart": GOOD.replace(
        "tester:\n", "tester:\n  bgp: {first_as: 64513, router_as: 64512, graceful_restart: true}\n"
    ),
    "reserved_name": SWITCH.replace("name: dut", "name: tester"),
    "look_ahead_without_cut_through": SWITCH.replace(
        "    ports:\n      -", "    look_ahead_bytes: 64\n    ports:\n      -"
    ),
}

DEVICE = """name: lab
tester:
  ports:
    - {{numbers: 1-2, rate_bps: 1000000000}}
nodes:
  - name: dut
    device: {device}
    ports:
      - {{numbers: 1-2, rate_bps: 1000000000}}
    {keys}
links:
  - {{from: tester:1-2, to: dut:1-2}}
"""
ROUTED = "interfaces: [{port: 1, mac: '02:00:00:00:00:01', addresses: [10.0.0.1/24]}]"
ENTRY = (
    "program: l3_router\n"
    "    entries: [{table: own_address, key: {port: 1, address: 10.0.0.1}, action: answer, params: [1]}]"
)
DEVICES = {
    "ways_no_divisor": ("ethernet_switch", "mac_table: {entries: 100, ways: 3}"),
    "entries_out_of_range": ("ethernet_switch", "mac_table: {entries: 0}"),
    "aging_word": ("ethernet_switch", "mac_table: {entries: 8, aging: sometimes}"),
    "forwarding_word": ("ethernet_switch", "forwarding: fast"),
    "latency_text": ("ethernet_switch", "latency_ns: soon"),
    "sizes_not_rising": (
        "ethernet_switch",
        "latency_by_size: [{frame_bytes: 128, time_ns: 1}, {frame_bytes: 64, time_ns: 2}]",
    ),
    "two_jitters": ("ethernet_switch", "jitter: {uniform: {max_ns: 1}, spike: {delay_ns: 1, chance_ppb: 1}}"),
    "lookup_without_capacity": ("ethernet_switch", "lookup: {burst_frames: 2}"),
    "broadcast_unknown_key": ("ethernet_switch", "broadcast: {service_ns: 5}"),
    "flood_limit_zero": ("ethernet_switch", "flood_limit: {rate_fps: 0}"),
    "input_queue_zero": ("ethernet_switch", "input_queue: {frames: 0}"),
    "shared_buffer_small": ("ethernet_switch", "shared_buffer: {bytes: 1}"),
    "pause_on_above_off": ("ethernet_switch", "pause: {xoff_frames: 10, xon_frames: 20}"),
    "loss_above_one": ("ethernet_switch", "loss_ppb: 1000000001"),
    "simultaneous_without_drop": ("ethernet_switch", "simultaneous_arrivals: {window_ns: 5}"),
    "impairments_negative": ("ethernet_switch", "impairments: {duplicate_ppb: -1}"),
    "vlan_no_such_port": ("ethernet_switch", "vlans: {ports: [{port: 3, mode: {access: 10}}]}"),
    "vlan_port_twice": (
        "ethernet_switch",
        "vlans: {ports: [{port: 1, mode: {access: 10}}, {port: 1, mode: {access: 11}}]}",
    ),
    "vlan_id": ("ethernet_switch", "vlans: {ports: [{port: 1, mode: {access: 4095}}]}"),
    "snooping_no_such_port": ("ethernet_switch", "snooping: {router_ports: [7]}"),
    "tap_no_such_monitor": ("tap", "monitor_first: 3"),
    "tap_with_switch_key": ("tap", "learning: false"),
    "router_without_interfaces": ("router", "latency_ns: 5"),
    "router_bad_mac": ("router", ROUTED.replace("02:", "03:")),
    "router_bad_network": ("router", ROUTED.replace("/24", "/33")),
    "router_no_such_port": ("router", ROUTED.replace("port: 1", "port: 3")),
    "router_far_next_hop": ("router", f"{ROUTED}\n    routes: [{{prefix: 10.9.0.0/16, next_hops: [10.0.1.9]}}]"),
    "router_other_family": ("router", f"{ROUTED}\n    routes: [{{prefix: '2001:db8::/32', next_hops: [10.0.0.9]}}]"),
    "router_own_next_hop": ("router", f"{ROUTED}\n    routes: [{{prefix: 10.9.0.0/16, next_hops: [10.0.0.1]}}]"),
    "p4_no_such_program": ("p4", "program: l4_switch"),
    "p4_no_such_table": ("p4", ENTRY.replace("own_address", "my_address")),
    "p4_no_such_key": ("p4", ENTRY.replace("address: 10", "ip: 10")),
    "p4_no_such_action": ("p4", ENTRY.replace("answer", "reply")),
    "p4_params": ("p4", ENTRY.replace("[1]", "[1, 2]")),
    "p4_bad_address": ("p4", ENTRY.replace("10.0.0.1", "10.0.0.256")),
    "p4_group_port": ("p4", "program: l2_switch\n    groups: [{group: 1, ports: [1, 9]}]"),
}
"""Errors in a device: a model and lines of its node. Names of golden texts begin with ``device_``."""

TOFINO = """\
name: wedge
tester:
  tofino: {{chip: tofino1, address: "127.0.0.1:9559", device_config: {file}{more}}}
  ports:
    - {{numbers: 1-2, {ports}rate_bps: 1000000000}}
links:
  - {{from: tester:1, to: tester:2}}
"""
_BUILT = {"file": "good.yaml", "more": "", "ports": 'device_ports: "0,128", '}
SWITCHES: dict[str, dict[str, str]] = {
    "no_program": {**_BUILT, "file": "p4mesh.bin"},
    "no_device_ports": {**_BUILT, "ports": ""},
    "device_ports_too_few": {**_BUILT, "ports": "device_ports: 4, "},
    "device_port_twice": {**_BUILT, "ports": 'device_ports: "4,4", '},
    "device_port_out_of_range": {**_BUILT, "ports": 'device_ports: "4,512", '},
    "pipe_absent": {**_BUILT, "ports": 'device_ports: "0,256", '},
    "front_loop_carries_frames": {**_BUILT, "more": ", front_loops: [{device_port: 128, rate_bps: 100000000000}]"},
    "front_loop_in_another_pipe": {**_BUILT, "more": ", front_loops: [{device_port: 132, rate_bps: 100000000000}]"},
    "api_without_its_keys": {**_BUILT, "more": ", api: bfrt"},
    "key_of_the_other_api": {**_BUILT, "more": ", api: bfrt, cpu_interface: bf_pci0"},
    "address_without_port": {**_BUILT, "more": ", address: wedge"},
}
"""Errors in the switch of target tofino. Names of golden texts begin with ``tofino_``."""


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "good.yaml").write_text(GOOD)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def expect(name: str, arguments: tuple[str, ...], place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    GOLDEN.expect_refusal(name, arguments, place, capsys)


@pytest.mark.parametrize("name", COMMANDS)
def test_wrong_commands(name: str, workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expect(name, COMMANDS[name], workplace, capsys)


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_wrong_topologies(name: str, workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (workplace / "bad.yaml").write_text(TOPOLOGIES[name])
    expect(f"topology_{name}", ("topology", "check", "bad.yaml"), workplace, capsys)


def test_a_rate_that_the_loop_cannot_hold(workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    loop = "  loop: {rate_bps: 100000000, latency_ns: 500}\nlinks"
    (workplace / "slow.yaml").write_text(GOOD.replace("links", loop))
    (workplace / "runs").mkdir()
    arguments = ("run", RUN[1], "--topology", "slow.yaml", "--sizes", "64", "--jobs", "1")
    expect("rate_above_the_loop", arguments, workplace, capsys)


def test_a_message_that_does_not_fit_is_refused_before_anything_is_sent(
    workplace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (workplace / "runs").mkdir()
    settings = ("--set", "message_frames=2004", "--set", "messages_per_s=1000", "--sizes", "64", "--jobs", "1")
    arguments = ("run", "messages.latency", "--topology", "good.yaml", *settings)
    expect("message_that_does_not_fit", arguments, workplace, capsys)


LONG = "9" * 300_000
"""As somebody pastes a file where a word is asked for."""


@pytest.mark.parametrize(
    "arguments",
    [
        (LONG,),
        ("run", LONG, "--topology", "good.yaml"),
        ("run", RUN[1], "--topology", LONG),
        *((*RUN, f"--{option}", LONG) for option in ("sizes", "ports", "set", "note", "out", "jobs", "workers")),
        *((*RUN, "--set", f"{key}={LONG}") for key in ("duration_ms", "parts", "reset_between", "learning_verify")),
        (*RUN, "--calibration", LONG),
        (*RUN, "--target", "live", "--interfaces", LONG),
        ("run", "rfc2889.congestion_control", "--topology", "good.yaml", "--set", f"block_ports={LONG}"),
        ("run", "messages.n_to_one", "--topology", "good.yaml", "--set", f"loads_pct={LONG}"),
        ("run", "gsi.mixed", "--topology", "good.yaml", "--set", f"dm_mbps={LONG}"),
        ("traffic", LONG, "--topology", "good.yaml"),
        ("topology", "check", LONG),
        ("topology", "check", "long.yaml"),
        ("tests", LONG),
        ("tests", "--search", LONG),
        ("init", f"{LONG}.yaml"),
        ("init", "new.yaml", "--test", LONG),
        *((command, LONG) for command in ("show", "report", "runs", "serve", "import-xena", "clab", "completion")),
        ("compare", LONG, LONG),
        ("export", LONG, "--format", "json"),
        ("switch", LONG),
        ("switch", "--no-p4", "--grpc-server-addr", LONG),
        ("switch", "--no-p4", "-i", LONG),
        ("switch", "--no-p4", "--device-id", LONG),
    ],
    ids=lambda words: "-".join(words)[:60],
)
def test_messages_are_short_whatever_a_user_writes(
    arguments: tuple[str, ...], workplace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (workplace / "long.yaml").write_text(GOOD.replace("pair", LONG).replace("tester:2", f"tester:{LONG}"))
    assert main(arguments) in (2, 3)
    shown = capsys.readouterr()
    assert not shown.out
    assert shown.err.startswith("error: ")
    assert len(shown.err) < 4000
    assert "internal error" not in shown.err


def test_messages_have_no_commands_for_terminals(workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(("run", RUN[1], "--topology", "\x1b[2J\udcff")) == 2
    assert capsys.readouterr().err.startswith(r"error: \x1b[2J\udcff: no such topology file")


@pytest.mark.parametrize("name", DEVICES)
def test_wrong_devices(name: str, workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    device, keys = DEVICES[name]
    (workplace / "bad.yaml").write_text(DEVICE.format(device=device, keys=keys))
    expect(f"device_{name}", ("topology", "check", "bad.yaml"), workplace, capsys)


@pytest.mark.parametrize("name", SWITCHES)
def test_wrong_switches(name: str, workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = TOFINO.format(**SWITCHES[name])
    if name == "address_without_port":
        text = text.replace('address: "127.0.0.1:9559", ', "")
    (workplace / "wedge.yaml").write_text(text)
    arguments = ("run", RUN[1], "--topology", "wedge.yaml", "--target", "tofino")
    expect(f"tofino_{name}", arguments, workplace, capsys)


def test_tofino_captures_no_faults(workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (workplace / "wedge.yaml").write_text(TOFINO.format(**_BUILT))
    arguments = ("run", RUN[1], "--topology", "wedge.yaml", "--target", "tofino", "--capture", "5")
    expect("tofino_capture", arguments, workplace, capsys)


def test_a_wrong_device_stops_a_run_before_anything_is_written(
    workplace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    device, keys = DEVICES["ways_no_divisor"]
    (workplace / "bad.yaml").write_text(DEVICE.format(device=device, keys=keys))
    expect("device_ways_no_divisor", ("run", "rfc2889.fully_meshed", "--topology", "bad.yaml"), workplace, capsys)


def test_a_topology_with_too_few_ports(workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = SWITCH.replace("numbers: 1-2, rate_bps: 1000000000}\nnodes", "numbers: 1, rate_bps: 1000000000}\nnodes")
    (workplace / "one.yaml").write_text(one.replace("tester:1-2, to: dut:1-2", "tester:1, to: dut:1"))
    expect("too_few_ports", ("run", "rfc2889.fully_meshed", "--topology", "one.yaml"), workplace, capsys)


def test_a_topology_that_is_too_long_is_not_read(workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (workplace / "long.yaml").open("wb") as file:
        file.truncate(100_000_000)
    expect("topology_too_long", ("topology", "check", "long.yaml"), workplace, capsys)


def test_a_topology_that_is_a_pipe_is_not_waited_for(workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(workplace / "pipe.yaml")
    expect("topology_is_a_pipe", (*RUN[:3], "pipe.yaml"), workplace, capsys)


def test_a_calibration_that_is_a_pipe_is_not_waited_for(workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(workplace / "wires.json")
    (workplace / "switch.yaml").write_text(SWITCH)
    arguments = ("run", "rfc2544.latency", "--topology", "switch.yaml", "--calibration", "wires.json")
    expect("calibration_is_a_pipe", arguments, workplace, capsys)


def test_more_ports_than_the_program_has_are_refused(workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Both commands say the same: 'check' accepts nothing that 'run' refuses."""
    (workplace / "large.yaml").write_text(SWITCH.replace("1-2", "1-509"))
    expect("topology_too_many_ports", ("topology", "check", "large.yaml"), workplace, capsys)
    expect("topology_too_many_ports", (*RUN[:3], "large.yaml"), workplace, capsys)


def test_an_output_directory_with_other_files(workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (workplace / "thesis").mkdir()
    (workplace / "thesis" / "chapter1.tex").write_text("text")
    expect("out_not_a_run", (*RUN, "--out", "thesis"), workplace, capsys)


def test_an_output_that_is_a_file(workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expect("out_is_a_file", (*RUN, "--out", "good.yaml"), workplace, capsys)


def test_an_output_directory_with_another_run(workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = RunOptions(RUN[1], RUN[3], "64", (), "mine", jobs=1, opener="support.fakes:open_wire")
    assert single_command.run_test(arguments) == 0
    capsys.readouterr()
    expect("out_other_run", (*RUN, "--sizes", "128", "--out", "mine"), workplace, capsys)


def test_a_stale_program_stops_the_run_before_anything_is_written(
    workplace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = RunOptions(RUN[1], RUN[3], "64", (), "mine", jobs=1, opener="support.fakes:open_stale")
    with pytest.raises(ProgramError) as raised:
        single_command.run_test(arguments)
    assert raised.value.exit_code == 3
    assert sorted(item.name for item in workplace.iterdir()) == ["good.yaml"]


def test_a_bug_is_exit_4_with_a_traceback_only_on_debug(
    workplace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(_: object) -> None:
        raise ZeroDivisionError("boom")

    monkeypatch.setattr(chosen_interfaces, "load_topology", broken)
    assert main(RUN) == 4
    shown = capsys.readouterr().err
    assert shown.startswith("error: internal error: ZeroDivisionError: boom")
    assert "Traceback" not in shown
    with pytest.raises(ZeroDivisionError):
        main((*RUN, "--debug"))


def test_every_golden_text_has_a_case() -> None:
    cases = {*COMMANDS, *(f"topology_{name}" for name in TOPOLOGIES), *(f"device_{name}" for name in DEVICES)}
    cases |= {f"tofino_{name}" for name in (*SWITCHES, "capture")}
    cases |= {"too_few_ports", "out_not_a_run", "out_is_a_file", "out_other_run", "rate_above_the_loop"}
    cases |= {"message_that_does_not_fit"}
    cases |= {"topology_too_long", "topology_is_a_pipe", "calibration_is_a_pipe", "topology_too_many_ports"}
    assert set(GOLDEN.cases()) == cases
