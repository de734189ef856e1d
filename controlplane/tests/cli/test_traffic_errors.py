"""Wrong traffic: one message with file, line and valid values, before anything is sent or written.

Golden texts as in ``test_cli_errors``, in ``golden/traffic.txt``.
"""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from support.golden import GoldenTable

GOLDEN = GoldenTable("traffic")
TOPOLOGY = """\
name: switched
tester:
  ports:
    - {numbers: 1-3, rate_bps: 1000000000, role: west}
    - {numbers: 4, rate_bps: 100000000, role: east, layer: access}
nodes:
  - name: dut
    device: ethernet_switch
    ports:
      - {numbers: 1-3, rate_bps: 1000000000}
      - {numbers: 4, rate_bps: 100000000}
links:
  - {from: tester:1-4, to: dut:1-4}
"""
GOOD = """\
name: good
duration_s: 0.01
classes:
  one:
    senders: 1
    receivers: 2
    pattern: pairs
    rate: 10 %
    sizes: 128
"""
OTHER = "  two: {senders: 1, receivers: 2-3, pattern: one_to_many, rate: 1 %, sizes: 128}\n"
FILES: dict[str, str] = {
    "empty": "",
    "not_a_mapping": "- one\n",
    "unknown_key": GOOD.replace("rate:", "rat:"),
    "no_classes": "name: none\nclasses: {}\n",
    "name_of_a_class": GOOD.replace("  one:", "  One:"),
    "class_twice": GOOD + GOOD.partition("classes:\n")[2],
    "rate_without_unit": GOOD.replace("10 %", "10"),
    "rate_of_nothing": GOOD.replace("10 %", "0 %"),
    "rate_above_the_line": GOOD.replace("10 %", "1.2 Gbit/s L1"),
    "rates_together_above_the_line": GOOD.replace("10 %", "60 %") + OTHER.replace("1 %", "60 %").replace("128", "256"),
    "rate_of_a_cap_without_one": GOOD.replace("10 %", "10 % of cap"),
    "rate_on_mixed_lines": GOOD.replace("senders: 1", "senders: 3-4").replace("receivers: 2", "receivers: 1-2"),
    "size_below_the_headers": GOOD.replace("sizes: 128", "sizes: 64\n    vlan: 7"),
    "size_given_twice": GOOD.replace("sizes: 128", "sizes: [{bytes: 128}, {bytes: 128, weight: 2}]"),
    "arrivals_beside_bursts": GOOD.replace("sizes: 128", "sizes: 128\n    burst_frames: 2\n    arrivals: {shape: saw}"),
    "arrivals_of_senders_that_drift": GOOD.replace(
        "sizes: 128", "sizes: 128\n    phases: drifting\n    arrivals: {shape: poisson}"
    ),
    "arrivals_of_sizes_with_latencies": "latency_definition: FILO\n"
    + GOOD.replace("sizes: 128", "sizes: imix\n    arrivals: {shape: poisson}"),
    "arrivals_that_begin_later": GOOD.replace("sizes: 128", "sizes: 128\n    start_ms: 1\n    arrivals: {shape: saw}"),
    "arrivals_above_the_line": GOOD.replace("10 %", "60 %").replace(
        "sizes: 128", "sizes: 128\n    arrivals: {shape: ramp}"
    ),
    "arrivals_without_distances": GOOD.replace("sizes: 128", "sizes: 128\n    arrivals: {shape: replay}"),
    "replay_of_no_file": GOOD.replace("sizes: 128", "sizes: 128\n    arrivals: {shape: replay, pcap: absent.pcap}"),
    "replay_of_no_capture": GOOD.replace(
        "sizes: 128", "sizes: 128\n    arrivals: {shape: replay, pcap: topology.yaml}"
    ),
    "replay_of_a_capture_and_times": GOOD.replace(
        "sizes: 128", "sizes: 128\n    arrivals: {shape: replay, gaps_us: [1], pcap: some.pcap}"
    ),
    "replay_above_the_line": GOOD.replace("10 %", "recorded").replace(
        "sizes: 128", "sizes: 1518\n    arrivals: {shape: replay, pcap: some.pcap}"
    ),
    "replay_of_sizes_to_several": GOOD.replace(
        "receivers: 2\n    pattern: pairs", "receivers: 2-3\n    pattern: rotate"
    )
    .replace("sizes: 128", "sizes: recorded\n    frames: 9\n    arrivals: {shape: replay, pcap: some.pcap}")
    .replace("duration_s: 0.01\n", ""),
    "a_key_of_another_shape": GOOD.replace("sizes: 128", "sizes: 128\n    arrivals: {shape: poisson, on_pct: 20}"),
    "capture_beside_a_shape": GOOD.replace("sizes: 128", "sizes: 128\n    arrivals: {shape: saw, pcap: some.pcap}"),
    "recorded_rate_of_no_replay": GOOD.replace("10 %", "recorded"),
    "recorded_sizes_of_no_capture": GOOD.replace(
        "sizes: 128", "sizes: recorded\n    arrivals: {shape: replay, gaps_us: [1]}"
    ),
    "arrivals_of_a_part_of_a_period": GOOD.replace(
        "sizes: 128", "sizes: 128\n    arrivals: {shape: ramp, period_ms: 7}"
    ),
    "arrivals_of_periods_without_frames": GOOD.replace(
        "sizes: 128", "sizes: 128\n    arrivals: {shape: sine, period_ms: 0.1}"
    ),
    "arrivals_of_no_shape": GOOD.replace("sizes: 128", "sizes: 128\n    arrivals: {shape: square}"),
    "arrivals_of_too_many_departures": GOOD.replace("10 %", "50 %")
    .replace("0.01", "1")
    .replace("sizes: 128", "sizes: 128\n    arrivals: {shape: sine}"),
    "sizes_of_no_genome": GOOD.replace("sizes: 128", "sizes: a7k4"),
    "sizes_of_a_mix_below_the_headers": GOOD.replace("sizes: 128", "sizes: ipv6_imix"),
    "size_range_downwards": GOOD.replace("sizes: 128", "sizes: 1518-128"),
    "sizes_more_than_the_program_has": GOOD.replace("sizes: 128", "sizes: 64-9216\n    frames: 9153")
    + OTHER.replace("sizes: 128", "sizes: 84-9216, frames: 9153, headers: {format: ipv6}"),
    "sizes_in_turn_between_rates": GOOD.replace("receivers: 2", "receivers: 4").replace(
        "sizes: 128", "sizes: 128-131\n    frames: 8"
    ),
    "sizes_in_turn_from_the_first_bit": "latency_definition: FILO\n"
    + GOOD.replace("sizes: 128", "sizes: 128-131\n    frames: 8"),
    "sizes_in_turn_in_bursts": GOOD.replace("sizes: 128", "sizes: 128-131\n    frames: 8\n    burst_frames: 2"),
    "drifting_with_a_group_each": GOOD.replace(
        "pattern: pairs",
        "pattern: multicast\n    groups: [{first: 225.1.1.1}]\n    own_groups: true\n    phases: drifting",
    ),
    "frames_fewer_than_sizes": GOOD.replace("sizes: 128", "sizes: imix\n    frames: 11").replace(
        "duration_s: 0.01\n", ""
    ),
    "no_receivers": GOOD.replace("    receivers: 2\n", ""),
    "no_such_port": GOOD.replace("receivers: 2", "receivers: 2-9"),
    "no_such_name": GOOD.replace("receivers: 2", "receivers: north"),
    "group_called_like_a_role": GOOD.replace("classes:", "groups: {west: 1}\nclasses:"),
    "port_named_twice": GOOD.replace("senders: 1", "senders: west, 1"),
    "no_pairs": GOOD.replace("receivers: 2", "receivers: 2-3"),
    "mesh_with_receivers": GOOD.replace("pairs", "mesh"),
    "groups_without_multicast": GOOD.replace("pairs", "pairs\n    groups: [{first: 225.1.1.1}]"),
    "group_that_is_none": GOOD.replace("pairs", "multicast\n    groups: [{first: 10.1.1.1}]"),
    "bursts_of_several_sizes": GOOD.replace("sizes: 128", "sizes: imix\n    burst_frames: 4"),
    "no_duration": GOOD.replace("duration_s: 0.01\n", ""),
    "duration_and_frames": GOOD.replace("sizes: 128", "sizes: 128\n    duration_s: 1\n    frames: 7"),
    "no_frame_in_the_duration": GOOD.replace("10 %", "1 frames/s"),
    "classes_alike": GOOD + OTHER.replace("receivers: 2-3, pattern: one_to_many", "receivers: 2, pattern: pairs"),
    "modifier_without_values": GOOD.replace("sizes: 128", "sizes: 128\n    modifiers: [{field: udp_dst}]"),
    "extensions_without_ipv6": GOOD.replace("sizes: 128", "sizes: 128\n    headers: {extensions: [routing]}"),
    "bidirectional_mesh": GOOD.replace("receivers: 2", "receivers: 1").replace(
        "pairs", "mesh\n    bidirectional: true"
    ),
    "sweep_of_too_many_runs": GOOD
    + f"sweep: {{product: {{one.sizes: {list(range(100, 420))}, one.frames: {list(range(1, 314))}}}}}\n",
    "sweep_of_an_unknown_key": GOOD + "sweep: {product: {one.sises: [64]}}\n",
    "sweep_of_an_unknown_class": GOOD + "sweep: {list: [{two.rate: 1 %}]}\n",
    "sweep_twice": GOOD + "sweep: {product: {one.rate: [1 %]}, list: [{one.rate: 2 %}]}\n",
    "sweep_with_a_run_twice": GOOD + "sweep: {product: {one.rate: [1 %, 2 %, 1 %]}}\n",
    "sweep_with_a_row_twice": GOOD + "sweep: {list: [{one.rate: 1 %}, {one.rate: 1 %}]}\n",
    "samples_faster_than_read": GOOD + "samples: {every_s: 0.0000001}\n",
    "samples_beyond_the_disk": GOOD.replace("duration_s: 0.01", "duration_s: 864000").replace("10 %", "1 frames/s")
    + "samples: {every_s: 0.01}\n",
    "samples_of_no_time": GOOD + "samples: {every_s: 0}\n",
    "flows_beyond_the_registers": GOOD.replace("10 %", "1 %").replace(
        "receivers: 2\n    pattern: pairs",
        "receivers: 2\n    pattern: multicast\n    groups: [{first: 225.1.1.1, count: 65536}]",
    ),
}
RUN = ("traffic", "traffic.yaml", "--topology", "topology.yaml")
COMMANDS: dict[str, tuple[str, ...]] = {
    "not_given": ("traffic",),
    "file_missing": ("traffic", "absent.yaml", *RUN[2:]),
    "file_is_a_directory": ("traffic", ".", *RUN[2:]),
    "set_without_equals": (*RUN, "--set", "one.rate"),
    "set_twice": (*RUN, "--set", "one.rate=1 %", "--set", "one.rate=2 %"),
    "set_twice_by_its_path": (*RUN, "--set", "one.rate=1 %", "--set", "classes.one.rate=2 %"),
    "set_unknown_class": (*RUN, "--set", "three.rate=1 %"),
    "set_unknown_key": (*RUN, "--set", "one.rat=1 %"),
    "set_below_a_value": (*RUN, "--set", "one.rate.unit=1"),
    "set_no_yaml": (*RUN, "--set", "one.sizes=[64"),
    "set_wrong_value": (*RUN, "--set", "one.sizes=20"),
    "software_stamps": (*RUN, "--target", "live", "--set", "latency_definition=FIFO"),
}


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "topology.yaml").write_text(TOPOLOGY)
    (tmp_path / "traffic.yaml").write_text(GOOD)
    records = ((0, 60), (12, 124), (19, 60))
    frames = b"".join(struct.pack("<4I", 0, at_us, 0, length) for at_us, length in records)
    (tmp_path / "some.pcap").write_bytes(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 0, 1) + frames)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def expect(name: str, arguments: tuple[str, ...], place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    GOLDEN.expect_refusal(name, arguments, place, capsys)


@pytest.mark.parametrize("name", FILES)
def test_wrong_files(name: str, workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (workplace / "traffic.yaml").write_text(FILES[name])
    expect(name, RUN, workplace, capsys)


@pytest.mark.parametrize("name", COMMANDS)
def test_wrong_commands(name: str, workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expect(name, COMMANDS[name], workplace, capsys)


def test_every_golden_text_has_a_case() -> None:
    assert set(GOLDEN.cases()) == {*FILES, *COMMANDS}
