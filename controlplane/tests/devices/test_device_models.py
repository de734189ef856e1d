"""Device models from topology file to result: each behaves as its keys say, measured by the tester itself.

One switch between tester ports of 1 Gbit/s, one short trial per behaviour; the tester's report is compared with the
closed form, or with the counts of the model where these are random.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from support import networks
from support.device_bench import GIGABIT, UNKNOWN, bench, latency_of, pairs, switch

from p4mesh.layers import PLAIN
from p4mesh.traffic.line_rate import max_rate_fps, tx_frames
from p4mesh.traffic.patterns import Pairs, Rotate
from p4mesh.traffic.stream import Stream

# Latency


@pytest.mark.parametrize(
    ("jitter", "mean_ns", "most_ns"),
    [
        ("uniform: {max_ns: 2000}", 1000, 2000),
        ("normal: {mean_ns: 500, sigma_ns: 80}", 500, 980),
        ("exponential: {mean_ns: 300, max_ns: 5000}", 300, 5000),
        ("spike: {delay_ns: 4000, chance_ppb: 100000000}", 400, 4000),
    ],
)
def test_jitter_has_its_distribution_and_its_seed(jitter: str, mean_ns: int, most_ns: int) -> None:
    sums = []
    for seed in (1, 1, 2):
        with switch("latency_ns: 1000", f"jitter: {{{jitter}}}", seed=seed) as it:
            latency = latency_of(it.measure(pairs(2, 64, 2000, (1, 2))))
        least_ns = 1000 + 8 * 64
        assert least_ns - 1 <= latency.min_ns <= latency.max_ns <= least_ns + most_ns + 1
        assert latency.sum_ns / latency.count - least_ns == pytest.approx(mean_ns, rel=0.2)
        assert latency.jitter_max_ns > 0
        sums.append(latency.sum_ns)
    assert sums[0] == sums[1] != sums[2]


def test_latency_by_size_is_interpolated() -> None:
    table = "latency_by_size: [{frame_bytes: 64, time_ns: 0}, {frame_bytes: 1064, time_ns: 1000}]"
    with switch("latency_ns: 100", table) as it:
        for size, expected_ns in ((64, 100), (564, 600), (1064, 1100), (1518, 1100)):
            latency = latency_of(it.measure(pairs(10, size, 20, (1, 2))))
            assert latency.max_ns == pytest.approx(expected_ns + 8 * size, abs=1.5)


@pytest.mark.parametrize(("forwarding", "awaited_bytes"), [("store_and_forward", 10_000), ("cut_through", 122)])
def test_cut_through_waits_for_its_look_ahead_and_store_and_forward_for_the_frame(
    forwarding: str, awaited_bytes: int
) -> None:
    keys = ["latency_ns: 500", f"forwarding: {forwarding}"]
    keys += ["look_ahead_bytes: 122"] if forwarding == "cut_through" else []
    with switch(*keys) as it:
        for size in (64, 128, 1518):
            latency = latency_of(it.measure(pairs(10, size, 20, (1, 2))))
            assert latency.max_ns == pytest.approx(500 + 8 * min(size, awaited_bytes), abs=1.5)


MIXED_RATES = networks.switch(
    "forwarding: cut_through, look_ahead_bytes: 64", rates_bps=(10**9, 10**10), port={2: "queue_frames: 16"}
)


def test_cut_through_to_a_faster_port_stores_the_frame() -> None:
    with bench(MIXED_RATES) as it:
        faster = latency_of(it.measure(pairs(10, 512, 20, (1, 2))))
        slower = latency_of(it.measure(pairs(1, 512, 20, (2, 1))))
    assert faster.max_ns == pytest.approx(8 * 512, abs=1.5)
    assert slower.max_ns == pytest.approx(0.8 * 64, abs=1.5)


# Buffers


@pytest.mark.parametrize(("cell_bytes", "frames_held"), [(1, 100), (128, 80)])
def test_a_shared_buffer_holds_its_bytes_and_no_more(cell_bytes: int, frames_held: int) -> None:
    # 10,240 bytes hold 100 frames of 102 bytes, or 80 cells of 128.
    size, count = 102, 1000
    with switch(f"shared_buffer: {{bytes: 10240, cell_bytes: {cell_bytes}}}", queue=1000) as it:
        result = it.measure(pairs(100, size, count, (1, 2), (3, 2)))
        assert it.drops("buffer_full") == result.lost_frames
    # While both senders send, the output sends as much as one of them.
    assert result.rx_frames == pytest.approx(count + frames_held, abs=2)


def test_input_queues_block_other_outputs_and_virtual_output_queues_do_not() -> None:
    # Ports 1 and 3 overload port 2; port 1 also sends a third of its frames to the idle port 4.
    streams = (pairs(66, 64, 2000, (1, 2)), pairs(33, 64, 1000, (1, 4)), pairs(99, 64, 3000, (3, 2)))
    lost = {}
    for queues in ("latency_ns: 0", "input_queue: {frames: 64}"):
        with switch(queues) as it:
            result = it.measure(*streams)
        lost[queues] = [flow.lost_frames for flow in result.flows if flow.rx_port == 4]
    free, blocked = lost.values()
    assert free == [0]
    assert blocked[0] > 100


def test_inputs_that_wait_for_one_output_get_equal_shares() -> None:
    stream = Stream("to-one", 64, max_rate_fps(64, GIGABIT), 3000, Rotate(), (1, 2, 3), (4,), PLAIN)
    with switch("input_queue: {frames: 32}", queue=4) as it:
        result = it.measure(stream)
    # Frames that leave while they send, one queue of the output and three of the inputs.
    assert result.rx_frames == pytest.approx(3000 + 4 + 3 * 32, abs=2)
    assert [flow.rx_frames for flow in result.flows] == pytest.approx([3100 / 3] * 3, abs=2)


@pytest.mark.parametrize("delay", ["latency_by_size: [{frame_bytes: 64, time_ns: 100000}]", "spike"])
def test_frames_on_their_way_through_a_device_take_no_place_of_its_queues(delay: str) -> None:
    # 148 frames are inside at a time; a frame in a queue of 2 waits for the line, not for the device.
    always = "jitter: {spike: {delay_ns: 100000, chance_ppb: 1000000000}}"
    shared = "shared_buffer: {bytes: 128}"
    with switch(always if delay == "spike" else delay, shared, queue=2) as it:
        result = it.measure(pairs(100, 64, 1000, (1, 2)))
    assert result.lost_frames == 0
    assert (latency_of(result).min_ns, latency_of(result).max_ns) == pytest.approx((100_512, 100_512), abs=2)


def test_a_frame_that_is_held_back_leaves_later_though_nothing_overtakes_it() -> None:
    with switch("impairments: {reorder_ppb: 1000000000, reorder_delay_ns: 50000}") as it:
        result = it.measure(pairs(0.67, 64, 50, (1, 2)))
    assert (latency_of(result).min_ns, latency_of(result).max_ns) == pytest.approx((50_512, 50_512), abs=2)
    assert result.lost_frames == result.reordered_frames == 0


PAUSED = """
name: paused
tester:
  ports:
    - {{numbers: 1, rate_bps: 1000000000}}
    - {{numbers: 2, rate_bps: 100000000}}
nodes:
  - name: fast
    device: ethernet_switch
    ports:
      - {{numbers: 1, rate_bps: 1000000000}}
      - {{numbers: 2, rate_bps: 1000000000, queue_frames: 4000, honours_pause: {honours}}}
  - name: slow
    device: ethernet_switch
    ports:
      - {{numbers: 1, rate_bps: 1000000000}}
      - {{numbers: 2, rate_bps: 100000000, queue_frames: 64}}
    pause: {{xoff_frames: 32, xon_frames: 16}}
links:
  - {{from: "tester:1", to: "fast:1"}}
  - {{from: "fast:2", to: "slow:1"}}
  - {{from: "slow:2", to: "tester:2"}}
"""


@pytest.mark.parametrize("honours", ["true", "false"])
def test_pause_moves_the_queue_to_the_device_before_when_that_obeys(honours: str) -> None:
    # 300 Mbit/s towards a port of 100 Mbit/s whose queue is short; the device before has room.
    with bench(PAUSED.format(honours=honours)) as it:
        result = it.measure(pairs(30, 256, 1500, (1, 2)))
        assert it.node("slow")["counters"]["pause_sent"] > 0
    assert (result.lost_frames == 0) == (honours == "true")
    if honours == "true":
        # 1500 frames come in 1500 slots of 30 % and leave in slots of 100 Mbit/s: PAUSE ends when there is room.
        in_ns, out_ns = 8 * 276 / 0.3, 8 * 276 * 10
        assert latency_of(result).max_ns == pytest.approx(1500 * (out_ns - in_ns), rel=0.02)


REVERSE = (
    PAUSED.replace("nodes:", "    - {{numbers: 3, rate_bps: 1000000000}}\nnodes:")
    .replace("\n    pause:", "\n      - {{numbers: 3, rate_bps: 1000000000}}\n    pause:")
    .replace('"tester:2"}}', '"tester:2"}}\n  - {{from: "slow:3", to: "tester:3"}}')
)


def test_a_pause_frame_leaves_before_what_waits_in_the_other_direction() -> None:
    # Ports 2 and 3 of the tester fill the queue towards port 1, in which a PAUSE frame would come too late.
    with bench(REVERSE.format(honours="true")) as it:
        reverse = replace(pairs(100, 256, 5000, (3, 1)), name="reverse")
        other = Stream("other", 256, max_rate_fps(256, 10**8), 500, Pairs(), (2,), (1,), PLAIN)
        result = it.measure(pairs(30, 256, 1500, (1, 2)), reverse, other)
        assert it.node("slow")["counters"]["pause_sent"] > 0
    assert [flow.lost_frames for flow in result.flows if flow.stream == "pairs"] == [0]


def test_pause_frames_that_reach_the_tester_are_counted() -> None:
    with switch("pause: {xoff_frames: 32, xon_frames: 16}") as it:
        result = it.measure(pairs(100, 64, 1000, (1, 2), (3, 2)))
        sent = it.node()["counters"]["pause_sent"]
    assert sum(port.pause_frames for port in result.ports) == sent > 0


# Rates


def test_lookups_above_capacity_follow_the_overload_behaviour() -> None:
    line = float(max_rate_fps(64, GIGABIT))
    with switch("lookup: {capacity_fps: 1000000, overload_pass_ppm: 100000, burst_frames: 16}") as it:
        assert it.measure(pairs(60, 64, 3000, (1, 2))).lost_frames == 0, f"0.6 of {line} is below the capacity"
        result = it.measure(pairs(90, 64, 3000, (1, 2)))
        assert it.drops("lookup_overload") == result.lost_frames
    # An excess of 0.34 Mframe/s fills 16 places within 63 frames; then every tenth frame passes.
    assert result.rx_frames == pytest.approx(63 + 2937 / 10, abs=20)


def test_a_fabric_slot_slows_short_frames_only() -> None:
    with switch(port="min_slot_bits: 1600", queue=16) as it:
        short = it.measure(pairs(100, 64, 2000, (1, 2)))
        long = it.measure(pairs(100, 512, 500, (1, 2)))
    # A slot of 1600 bit times per 672: 42 % of the frames leave while the sender sends.
    assert short.rx_frames == pytest.approx(2000 * 672 / 1600 + 16, abs=3)
    assert long.lost_frames == 0


@pytest.mark.parametrize(("ifg_bits", "ppm", "carried_pct"), [(96, 0, 100), (136, 0, 94.38), (96, -5000 / 10, 99.95)])
def test_the_gap_and_the_clock_of_a_port_set_what_it_carries(ifg_bits: int, ppm: float, carried_pct: float) -> None:
    with switch(port=f"ifg_bits: {ifg_bits}, clock_offset_ppm: {ppm}", queue=4) as it:
        result = it.measure(pairs(100, 64, 20_000, (1, 2)))
    assert result.rx_frames == pytest.approx(20_000 * carried_pct / 100 + (4 if carried_pct < 100 else 0), abs=5)


def test_a_fabric_is_shared_evenly_by_the_inputs_that_have_frames() -> None:
    """Three lines of 1 Gbit/s through a fabric of two and a half: each input falls behind by a fifth of its slot."""
    slot_ns = 8 * 148
    capacity = f"fabric: {{capacity_fps: {round(2.5e9 / slot_ns)}, queue_frames: 1000}}"
    offsets = (0, slot_ns // 3, 2 * slot_ns // 3)

    def ring(*ports: tuple[int, int], frames: int = 100) -> Stream:
        return replace(pairs(100, 128, frames, *ports), start_offset_ns=offsets[: len(ports)])

    with switch(capacity, "latency_ns: 1000") as it:
        two = latency_of(it.measure(ring((1, 2), (2, 1))))
        three = latency_of(it.measure(ring((1, 2), (2, 3), (3, 1))))
    assert two.max_ns - two.min_ns < slot_ns
    assert three.max_ns - three.min_ns == pytest.approx(99 * slot_ns / 5, rel=0.1)
    with switch(capacity.replace("1000", "10")) as it:
        short = it.measure(ring((1, 2), (2, 3), (3, 1), frames=300))
        assert it.drops("fabric_queue_full") == short.lost_frames > 0


# The tester's ports, and taps


def test_the_start_skew_of_a_port_is_measured() -> None:
    with bench(networks.switch(tester_port={2: "start_skew_ns: 100000"}, port="queue_frames: 64")) as it:
        result = it.measure(pairs(10, 64, 100, (1, 3), (2, 4)))
    # Whole departures, 6.72 us apart.
    assert result.start_skew_ns == pytest.approx(100_000, abs=6720 / 2)
    assert result.lost_frames == 0


TAP = "latency_ns: 30, monitor_first: 3, monitor_second: 4"


def test_a_tap_copies_each_direction_to_its_monitor_and_delays_by_no_more_than_it_says() -> None:
    size = 256
    count = tx_frames(100_000, max_rate_fps(size, GIGABIT))
    with bench(networks.switch(TAP, device="tap")) as it:
        result = it.measure(pairs(100, size, count, (1, 2), (2, 1)), learning=UNKNOWN)
    assert result.lost_frames == 0
    assert latency_of(result).max_ns == pytest.approx(30, abs=1.5)
    assert {port.port: port.flooded_frames for port in result.ports} == {1: 0, 2: 0, 3: count, 4: count}


@pytest.mark.parametrize("port", ["ifg_bits: 40", "clock_offset_ppm: 100", "clock_offset_ppm: -50"])
def test_a_tap_keeps_the_gaps_and_the_clock_of_the_sender(port: str) -> None:
    overhead = 13 if "40" in port else 20
    sender = networks.switch(TAP, device="tap", tester_port=port)
    fps = max_rate_fps(64, GIGABIT, overhead)
    stream = Stream("pair", 64, fps, 20_000, Pairs(), (1,), (2,), PLAIN)
    with bench(sender) as it:
        result = it.measure(stream, learning=UNKNOWN)
    assert result.lost_frames == 0
    assert latency_of(result).max_ns == pytest.approx(30, abs=1.5)
    assert {port.port: port.flooded_frames for port in result.ports}[3] == 20_000


CHAIN = """
name: chain
tester: {ports: [{numbers: 1-2, rate_bps: 1000000000}]}
nodes:
  - {name: tap, device: tap, ports: [{numbers: 1-2, rate_bps: 1000000000}], latency_ns: 20}
  - name: switch
    device: ethernet_switch
    ports: [{numbers: 1-2, rate_bps: 1000000000}]
    latency_ns: 300
    forwarding: cut_through
    look_ahead_bytes: 64
  - name: program
    device: p4
    program: l2_switch
    ports: [{numbers: 1-2, rate_bps: 1000000000}]
    latency_ns: 900
    groups: [{group: 1, ports: [1, 2]}]
links:
  - {from: "tester:1", to: "tap:1", latency_ns: 5}
  - {from: "tap:2", to: "switch:1", latency_ns: 10}
  - {from: "switch:2", to: "program:1", latency_ns: 40}
  - {from: "program:2", to: "tester:2", latency_ns: 80}
"""


@pytest.mark.parametrize("size", [64, 512])
def test_the_latency_of_a_chain_of_different_devices_is_the_sum_of_its_parts(size: int) -> None:
    with bench(CHAIN) as it:
        result = it.measure(pairs(40, size, 100, (1, 2), (2, 1)))
    assert (result.lost_frames, result.flooded_frames) == (0, 0)
    cables_ns, look_ahead_ns, stored_ns = 5 + 10 + 40 + 80, 8 * 64, 8 * size
    expected_ns = cables_ns + 20 + (300 + look_ahead_ns) + (900 + stored_ns)
    assert latency_of(result).min_ns == pytest.approx(expected_ns, abs=1.5)
    assert latency_of(result).max_ns == pytest.approx(expected_ns, abs=1.5)
