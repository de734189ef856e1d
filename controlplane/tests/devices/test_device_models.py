"""Device models from topology file to result: each behaves as its keys say, measured by the tester itself.

One switch between tester ports of 1 Gbit/s, one short trial per behaviour; the tester's report is compared with the
closed form, or with the counts of the model where these are random.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from scapy.layers.igmp import IGMP
from scapy.layers.inet import IP
from scapy.layers.inet6 import ICMPv6MLReport, IPv6, IPv6ExtHdrHopByHop, RouterAlert
from scapy.layers.l2 import Ether
from scapy.packet import Packet
from support import networks
from support.networks import parsed
from support.runs import truth

from p4mesh.tester.frames import learning_frame
from p4mesh.tester.stations import station
from p4mesh.traffic.line_rate import max_rate_fps, tx_frames
from p4mesh.traffic.patterns import Broadcast, FullMesh, GroupRange, Multicast, Pairs, Pattern, Rotate
from p4mesh.traffic.stream import FrameTemplate, Stream
from p4mesh.trial.engine import TrialEngine
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.result import LatencyStats, Status, TrialResult
from p4mesh.trial.spec import Learning, TrialSpec

GIGABIT = 10**9
LEARNED = Learning(wait_ns=1_000_000, verify=False)
UNKNOWN = Learning(enabled=False)


class Bench:
    """A running set-up: measures streams and shows the counts of the devices."""

    def __init__(self, measurer: TrialEngine) -> None:
        self._measurer = measurer

    def send(self, port: int, frame: bytes | Packet) -> None:
        """Send one frame out of a tester port, and wait until the devices are done with it."""
        self._measurer.tester.dataplane.send(port, bytes(frame).ljust(60, b"\0"))
        self._measurer.tester.target.wait(1_000_000, self._measurer.tester.dataplane.packet_outs_sent)

    def measure(self, *streams: Stream, learning: Learning = LEARNED) -> TrialResult:
        """Run a trial that must be VALID."""
        duration_ns = max(int(stream.frame_count * 10**9 / stream.rate_fps) for stream in streams)
        result = self._measurer.measure(TrialSpec("bench", streams, duration_ns, learning, 0, 0, per_flow=True))
        assert result.status is Status.VALID, result.reason
        return result

    def node(self, name: str = "dut") -> dict[str, Any]:
        """Return the counters of a node."""
        node: dict[str, Any] = truth(self._measurer)["nodes"][name]
        return node

    def drops(self, cause: str, name: str = "dut") -> int:
        """Return the frames that a node has dropped for a cause."""
        return sum(port["drops"].get(cause, 0) for port in self.node(name)["ports"].values())


@contextmanager
def bench(text: str) -> Iterator[Bench]:
    """Start a set-up."""
    with open_measurer(parsed(text)) as measurer:
        yield Bench(measurer)


def switch(*model: str, queue: int = 64, port: str = "", seed: int = 1) -> AbstractContextManager[Bench]:
    """Start one switch with these keys."""
    ports = f"queue_frames: {queue}, {port}"
    return bench(networks.switch(*model, port=ports, tester_port="pad_to_minimum: false", seed=seed))


def pairs(load_pct: float, size: int, frames: int, *ports: tuple[int, int], **options: Any) -> Stream:
    """Frames from the first to the second port of each pair."""
    fps = max_rate_fps(size, GIGABIT) * Fraction(str(load_pct)) / 100
    sources, targets = zip(*ports, strict=True)
    template = options.pop("template", FrameTemplate(ip_version=None))
    return Stream("pairs", size, fps, frames, Pairs(), sources, targets, template, **options)


def latency_of(result: TrialResult) -> LatencyStats:
    assert result.latency is not None
    return result.latency


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
    stream = Stream("to-one", 64, max_rate_fps(64, GIGABIT), 3000, Rotate(), (1, 2, 3), (4,), FrameTemplate(None))
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
        other = Stream("other", 256, max_rate_fps(256, 10**8), 500, Pairs(), (2,), (1,), FrameTemplate(None))
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


def test_the_flood_limit_holds_for_broadcasts_and_not_for_known_addresses() -> None:
    fps = Fraction(100_000)
    to_all = Stream("all", 64, fps, 1000, Broadcast(), (1,), (2, 3, 4), FrameTemplate(ip_version=None))
    with switch("flood_limit: {rate_fps: 20000, burst_frames: 10}") as it:
        assert it.measure(pairs(50, 64, 1000, (1, 2))).lost_frames == 0
        result = it.measure(to_all)
    # 10 ms at 20,000 frames/s, and 10 at once, on three ports.
    assert result.rx_frames == pytest.approx(3 * (200 + 10), abs=9)


# Addresses


def test_addresses_are_learned_after_the_learning_delay_at_its_rate() -> None:
    with switch("learning_path: {delay_ns: 50000000, rate_fps: 100}") as it:
        early = it.measure(pairs(1, 64, 100, (1, 2)), learning=Learning(wait_ns=1_000_000, verify=False))
        late = it.measure(pairs(1, 64, 100, (1, 2)), learning=Learning(wait_ns=200_000_000, verify=False))
    assert early.flooded_frames > 0 == early.lost_frames
    assert late.flooded_frames == 0 == late.lost_frames


@pytest.mark.parametrize(("aging", "learns_again"), [("works", True), ("broken", False)])
def test_addresses_age_and_are_learned_again_unless_aging_is_broken(aging: str, learns_again: bool) -> None:
    with switch(f"mac_table: {{entries: 64, aging_s: 0.5, aging: {aging}}}") as it:
        young = it.measure(pairs(1, 64, 10, (1, 2)), learning=Learning(wait_ns=400_000_000, verify=False))
        old = it.measure(pairs(1, 64, 10, (1, 2)), learning=Learning(wait_ns=600_000_000, verify=False))
        again = it.measure(pairs(1, 64, 10, (1, 2)))
    assert (young.flooded_frames, old.flooded_frames) == (0, 20)
    assert (again.flooded_frames == 0) == learns_again, "broken: the old entry is of no use and cannot be renewed"


@pytest.mark.parametrize("moves", [True, False])
def test_a_station_that_moves_is_followed_unless_the_table_does_not(moves: bool) -> None:
    with switch(f"mac_table: {{entries: 64, station_move: {str(moves).lower()}}}") as it:
        it.send(3, learning_frame(station(2).mac))
        it.send(2, learning_frame(station(2).mac))
        result = it.measure(pairs(1, 64, 10, (1, 2)), learning=UNKNOWN)
    assert result.lost_frames == (0 if moves else 10)
    assert result.flooded_frames == (0 if moves else 10), "at port 3"


@pytest.mark.parametrize(("ways", "known"), [(1, 1), (4, 4)])
def test_a_bucket_holds_as_many_addresses_as_it_has_ways(ways: int, known: int) -> None:
    # All addresses end in 00: with the low bits as hash they share a bucket of a table of 64 entries.
    macs = [bytes([2, 0, 0, 0, number, 0]) for number in range(1, 9)]
    with switch(f"mac_table: {{entries: 64, ways: {ways}, hash: low_bits}}") as it:
        for mac in macs:
            it.send(2, learning_frame(mac))
        assert it.node()["counters"]["learned"] == known
        assert it.node()["counters"]["not_learned"] == len(macs) - known


# Faults


def test_random_faults_are_those_that_the_tester_finds() -> None:
    faults = "duplicate_ppb: 10000000, reorder_ppb: 5000000, reorder_delay_ns: 50000, corrupt_ppb: 20000000"
    with switch("loss_ppb: 30000000", f"impairments: {{{faults}}}") as it:
        while it.node()["counters"]["learned"] == 0:
            it.send(2, learning_frame(station(2).mac))
        before, lost_before = it.node()["counters"], it.drops("random_loss")
        result = it.measure(pairs(50, 128, 5000, (1, 2)), learning=UNKNOWN)
        after, lost = it.node()["counters"], it.drops("random_loss") - lost_before
    counters = {name: after[name] - before[name] for name in after}
    assert lost == pytest.approx(150, abs=50)
    assert counters["duplicated"] == pytest.approx(50, abs=30)
    # A corrupted frame is damaged when its signature is hit, foreign when that is no signature any more, and
    # arrives as it is when its payload is hit.
    assert 0 < result.damaged_frames <= counters["corrupted"] + counters["duplicated"]
    assert lost <= result.lost_frames <= lost + result.damaged_frames + result.foreign_frames
    # Faults may coincide: of a duplicated frame that is held back, the second copy is the first to arrive.
    assert result.duplicate_frames == pytest.approx(counters["duplicated"], abs=3)
    assert result.reordered_frames == pytest.approx(counters["reordered"], abs=3)
    assert counters["reordered"] == pytest.approx(25, abs=20)


@pytest.mark.parametrize("pattern", [Rotate(), FullMesh(), Broadcast()])
@pytest.mark.parametrize("fault", ["loss", "duplicate", "reorder"])
def test_each_fault_is_found_in_its_flow_under_every_pattern(pattern: Pattern, fault: str) -> None:
    """Goal: loss, duplicates and reordering are told apart per flow, with several sources at one port."""
    chance = "loss_ppb: 20000000" if fault == "loss" else f"impairments: {{{fault}_ppb: 20000000}}"
    if fault == "reorder":
        chance = chance.replace("}", ", reorder_delay_ns: 100000}")
    tx = (1, 2, 3) if pattern == Rotate() else (1, 2, 3, 4)
    rx = (4,) if pattern == Rotate() else tx
    stream = Stream("s", 128, max_rate_fps(128, GIGABIT) / 5, 2000, pattern, tx, rx, FrameTemplate(ip_version=None))
    with switch(chance, queue=1000) as it:
        for port in (1, 2, 3, 4):
            while it.node()["counters"]["learned"] < port:
                it.send(port, learning_frame(station(port).mac))
        before, lost_before = it.node()["counters"], it.drops("random_loss")
        result = it.measure(stream, learning=UNKNOWN)
        after, lost = it.node()["counters"], it.drops("random_loss") - lost_before
    duplicated, reordered = (after.get(name, 0) - before.get(name, 0) for name in ("duplicated", "reordered"))
    copies = 3 if pattern == Broadcast() else 1
    sent = len(tx) * 2000 * copies
    assert (result.expected_rx_frames, result.flooded_frames) == (sent, 0)
    assert max(lost, duplicated, reordered) > 50
    assert result.lost_frames == lost * copies
    assert result.duplicate_frames == duplicated * copies
    # Copies are held back one by one. The last frames of a flow may be, with none behind them.
    assert result.reordered_frames == pytest.approx(reordered, abs=12 * bool(reordered))
    assert sum(flow.lost_frames for flow in result.flows) == result.lost_frames
    assert all(flow.lost_frames >= 0 for flow in result.flows)
    touched = [flow.lost_frames + flow.duplicate_frames + flow.reordered_frames for flow in result.flows]
    assert min(touched) > 0, "every flow has its share"


def test_bit_errors_of_a_cable_are_lost_frames_at_the_device_and_bad_fcs_at_the_tester() -> None:
    cable = {2: "bit_errors_per_1e15: 10000000000"}
    with bench(networks.switch(link=cable, port="queue_frames: 64", seed=3)) as it:
        outward = it.measure(pairs(50, 1518, 2000, (2, 1)))
        assert it.drops("bad_fcs") == outward.lost_frames
        inward = it.measure(pairs(50, 1518, 2000, (1, 2)))
    # 1e-5 per bit: about 11 % of the frames.
    for result in (outward, inward):
        assert result.lost_frames == pytest.approx(2000 * (1 - (1 - 1e-5) ** (8 * 1518)), rel=0.2)
    assert sum(port.bad_fcs_frames or 0 for port in inward.ports) == inward.lost_frames


def test_of_frames_that_arrive_at_one_moment_some_are_lost() -> None:
    with switch("simultaneous_arrivals: {window_ns: 50, drop_ppb: 100000000}") as it:
        alone = it.measure(pairs(1, 64, 500, (1, 2)))
        together = it.measure(pairs(1, 64, 500, (1, 2), (3, 2), (4, 2)))
        assert it.drops("simultaneous_arrival") == together.lost_frames
    assert alone.lost_frames == 0
    # Two of three frames come behind another; a tenth of these is lost.
    assert together.lost_frames == pytest.approx(100, abs=35)


def test_simultaneous_arrivals_can_be_limited_to_classes_sizes_and_numbers_of_ports() -> None:
    certain = "drop_ppb: 1000000000"
    three = pairs(1, 134, 50, (1, 2), (3, 2), (4, 2))
    with switch(f"simultaneous_arrivals: {{frames: group, {certain}}}") as it:
        assert it.measure(three).lost_frames == 0
    with switch(f"simultaneous_arrivals: {{other_ports: 2, {certain}}}") as it:
        assert it.measure(three).lost_frames == 50, "the third of each three"
    by_size = "window_by_size: [{frame_bytes: 90, time_ns: 40000}, {frame_bytes: 134, time_ns: 0}]"
    # Frames of the other port come 30 us later: short ones are within the window, long ones are not.
    for size, lost in ((90, 50), (134, 0)):
        late = replace(pairs(1, size, 50, (1, 2), (3, 2)), start_offset_ns=(0, 30_000))
        with switch(f"simultaneous_arrivals: {{{by_size}, {certain}}}") as it:
            assert it.measure(late).lost_frames == lost


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


@pytest.mark.parametrize(("size", "passes"), [(63, False), (64, True), (1518, True), (1519, False)])
def test_frames_outside_the_lengths_are_filtered(size: int, passes: bool) -> None:
    with switch("min_frame_bytes: 64", "max_frame_bytes: 1518") as it:
        assert it.measure(pairs(10, size, 20, (1, 2))).lost_frames == (0 if passes else 20)


# VLANs and groups

VLANS = """vlans:
      ports:
        - {port: 1, mode: {access: 10}}
        - {port: 2, mode: {access: 10}}
        - {port: 3, mode: {access: 20}}
        - {port: 4, mode: {trunk: {vids: [10, 20]}}}"""


def test_vlans_separate_access_ports_and_trunks_carry_tags() -> None:
    tagged = {vid: FrameTemplate(ip_version=None, vlan_ids=(vid,)) for vid in (10, 20, 30)}
    with switch(VLANS) as it:
        same = it.measure(pairs(1, 128, 20, (1, 2)))
        other = it.measure(pairs(1, 128, 20, (1, 3)))
        to_trunk = it.measure(pairs(1, 128, 20, (3, 4)))
        from_trunk = it.measure(pairs(1, 128, 20, (4, 3), template=tagged[20]))
        to_other_vlan = it.measure(pairs(1, 128, 20, (4, 1), template=tagged[20]))
        unknown_vlan = it.measure(pairs(1, 128, 20, (4, 1), template=tagged[30]))
        assert it.drops("vlan_filter") >= 20
    assert (same.lost_frames, same.flooded_frames) == (0, 0)
    assert (other.lost_frames, to_other_vlan.lost_frames, unknown_vlan.lost_frames) == (20, 20, 20)
    assert (to_trunk.lost_frames, from_trunk.lost_frames) == (0, 0)
    # A tag of 4 bytes more on the way out, 32 ns later when it is stored by nobody, and less on the way back.
    assert unknown_vlan.flooded_frames == 0


IGMP_JOIN = Ether(src=station(3).mac, dst="01:00:5e:01:01:01") / IP(dst="225.1.1.1", ttl=1) / IGMP(
    type=0x16, gaddr="225.1.1.1"
)  # fmt: skip
MLD_JOIN = (
    Ether(src=station(3).mac, dst="33:33:00:00:00:99")
    / IPv6(src="fe80::3", dst="ff0e::99", hlim=1)
    / IPv6ExtHdrHopByHop(options=[RouterAlert()])
    / ICMPv6MLReport(mladdr="ff0e::99")
)


@pytest.mark.parametrize(
    ("version", "group", "join"), [(4, "225.1.1.1", IGMP_JOIN), (6, "ff0e::99", MLD_JOIN)], ids=["IGMP", "MLD"]
)
def test_snooping_sends_a_group_to_its_members_only(version: int, group: str, join: Packet) -> None:
    template = FrameTemplate(ip_version=version)
    stream = Stream("group", 128, Fraction(10_000), 50, Multicast((GroupRange(group),)), (1,), (3,), template)
    with switch("latency_ns: 0") as it:
        flooded = it.measure(stream, learning=UNKNOWN)
    with switch("snooping: {membership_s: 10}") as it:
        before = it.measure(stream, learning=UNKNOWN)
        it.send(3, join)
        joined = it.measure(stream, learning=UNKNOWN)
        assert it.drops("no_members") == 50
    assert (flooded.lost_frames, flooded.flooded_frames) == (0, 100)
    assert (before.lost_frames, before.flooded_frames) == (50, 0)
    assert (joined.lost_frames, joined.flooded_frames) == (0, 0)


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
    stream = Stream("pair", 64, fps, 20_000, Pairs(), (1,), (2,), FrameTemplate(None))
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
