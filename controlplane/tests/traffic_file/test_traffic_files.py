"""Traffic files: their schema, rates with units, settings, sweeps, and the examples."""

from __future__ import annotations

import importlib
import json
import re
import sys
from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from jsonschema import Draft202012Validator
from support.beds import make_bed

from p4mesh.errors import TrafficFileError
from p4mesh.measurement.counts import (
    ClassQueues,
    FlowCounts,
    HistogramStats,
    InterarrivalStats,
    LatencyBins,
    LatencyStats,
    PortCounts,
    QueueTrend,
    StrayCounts,
    StreamPacing,
    TimesBetween,
    Transient,
    Trend,
)
from p4mesh.methods.results.corrupted import Corrupted
from p4mesh.methods.results.latency import Definition
from p4mesh.methods.traffic.classes import Acceptance, LaidClass
from p4mesh.methods.traffic.method import laid_over
from p4mesh.methods.traffic.results import (
    ClassResult,
    Counts,
    RunResult,
    _begun_share,
    _bucket_loss_ratio,
    _loss_ratio_error,
    _may_lose,
    _more_loss,
    _of_class,
    _of_ports,
    _Rows,
    result_of,
)
from p4mesh.methods.traffic.runs import LaidRun
from p4mesh.run.preparation import bed_of
from p4mesh.tester.histogram import HistogramPer
from p4mesh.topology import load_topology
from p4mesh.traffic.arrivals import MOST_DEPARTURES, Poisson
from p4mesh.traffic.patterns import Broadcast, GroupRange, Multicast, Pairs
from p4mesh.traffic.rates import Rate, line_share, parse_bit_rate
from p4mesh.traffic.stream import Burst, Stream
from p4mesh.traffic_file.model import Accept
from p4mesh.traffic_file.reader import load_traffic, parse_traffic
from p4mesh.traffic_file.schema import schema
from p4mesh.trial.result import TrialResult
from p4mesh.trial.results import not_measured
from p4mesh.trial.sampling import Sampling
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

ROOT = Path(__file__).parents[3]
EXAMPLES = sorted((ROOT / "traffic").glob("*.yaml"))
PAIR = """\
name: pair
duration_s: 1
classes:
  east: {senders: 1, receivers: 2, pattern: pairs, rate: 10 %, sizes: 64}
  west: {senders: 2, receivers: 1, pattern: pairs, rate: 10 %, sizes: 64}
"""


def test_the_published_schema_and_the_table_of_keys_are_those_of_the_reader() -> None:
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        describe = importlib.import_module("describe_traffic")
    finally:
        sys.path.pop(0)
    assert describe.SCHEMA.read_text() == describe.schema_text(), "run scripts/describe_traffic.py"
    assert describe.DOCUMENT.read_text() == describe.document(), "run scripts/describe_traffic.py"
    Draft202012Validator.check_schema(schema())


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_editor_accepts_every_example_and_its_topology_carries_it(path: Path) -> None:
    text = path.read_text()
    published = json.loads((path.parent / "schema.json").read_text())
    assert not list(Draft202012Validator(published).iter_errors(yaml.safe_load(text)))
    assert text.startswith("# yaml-language-server: $schema=schema.json\n")
    command = re.search(rf"p4mesh traffic traffic/{path.name} --topology (\S+)", text)
    assert command
    assert laid_over(load_traffic(path), bed_of(load_topology(ROOT / command[1]))).runs


@pytest.mark.parametrize(
    ("text", "fps"),
    [
        ("100000 frames/s", 100_000),
        ("100 kframes/s", 100_000),
        ("88 Mbit/s L1", 100_000),  # 90 bytes and 20 of preamble and gap
        ("72 Mbit/s L2", 100_000),
        ("68.8 Mbit/s no FCS", 100_000),
        ("0.0688 Gbit/s no FCS", 100_000),
        ("8.8 %", 100_000),
        ("17.6 % of cap", 100_000),
        ("1 bit/s L2", Fraction(1, 720)),
    ],
)
def test_a_rate_means_the_same_in_every_unit(text: str, fps: Fraction) -> None:
    rate_fps = Rate.parse(text).fps(90, 10**9, 500_000_000)
    assert rate_fps == fps
    assert line_share(rate_fps, 90, 10**9) == Fraction(fps) * 8 * 110 / 10**9


@pytest.mark.parametrize(
    "text", ["10", "10 Mbit/s", "0 %", "-1 %", "10 percent", "1e3 frames/s", "1 Pbit/s L1", "1 %x"]
)
def test_a_rate_without_its_unit_is_none(text: str) -> None:
    with pytest.raises(ValueError, match="a rate with its unit"):
        Rate.parse(text)
    with pytest.raises(ValueError, match="the port has no rate cap"):
        Rate.parse("10 % of cap").fps(64, 10**9)


@pytest.mark.parametrize(("text", "rate_bps"), [("900 Mbit/s", 9 * 10**8), ("1.5 kbit/s", 1500), ("7 bit/s", 7)])
def test_a_bit_rate_has_no_layer(text: str, rate_bps: int) -> None:
    assert parse_bit_rate(text) == rate_bps
    for wrong in ("0 bit/s", f"{text} L1", "1e3 bit/s"):
        with pytest.raises(ValueError, match="a bit rate such as"):
            parse_bit_rate(wrong)


def test_a_product_has_every_combination_and_a_list_its_rows() -> None:
    sweep = """\
sweep:
  list: [{east.rate: 1 %, west.rate: 2 %}, {east.rate: 3 %}]
  product: {west.sizes: [64, 128], duration_s: [1, 2, 3]}
"""
    runs = parse_traffic("x.yaml", PAIR + sweep).runs
    assert [run.label for run in runs][:4] == [
        "east.rate=1 %, west.rate=2 %, west.sizes=64, duration_s=1",
        "east.rate=1 %, west.rate=2 %, west.sizes=64, duration_s=2",
        "east.rate=1 %, west.rate=2 %, west.sizes=64, duration_s=3",
        "east.rate=1 %, west.rate=2 %, west.sizes=128, duration_s=1",
    ]
    assert len(runs) == 12
    last = runs[-1].traffic
    assert (last.classes["east"].rate, last.classes["west"].rate) == ("3 %", "10 %")
    assert (last.classes["west"].sizes, last.duration_s) == (128, 3)


@pytest.mark.parametrize(
    ("phases", "streams", "starts_differ"),
    [("in_step", 1, False), ("independent", 1, True), ("drifting", 2, True)],
)
def test_senders_of_a_class_begin_together_unless_their_phases_differ(
    phases: str, streams: int, starts_differ: bool
) -> None:
    """They start after 5 ms and send for 1 s; a phase is less than a frame interval, 6.72 us at 10 % of 64 bytes."""
    settings = ("east.senders=1-2", "east.receivers=3-4", "east.start_ms=5", f"east.phases={phases}")
    (run,) = laid_over(parse_traffic("x.yaml", PAIR, settings), make_bed()).runs
    east = run.classes[0]
    starts = [offset for stream in east.streams for offset in stream.start_offset_ns]
    assert (len(east.streams), len(set(starts)) > 1) == (streams, starts_differ)
    assert all(5_000_000 <= start < 5_006_720 for start in starts)
    assert east.end_ns == max(starts) + 10**9
    (mixed,) = laid_over(parse_traffic("x.yaml", PAIR, (*settings, "east.sizes=64-65")), make_bed()).runs
    assert {size for stream in mixed.classes[0].streams for size in stream.frame_sizes_bytes} == {64, 65}


def test_a_run_is_one_trial_of_all_its_classes() -> None:
    """Port 1 sends 10 and 30 % of its line, and port 3 5 %; the last class begins 5 ms later."""

    def laid(*settings: str, to: int = 3) -> LaidRun:
        both = ("west.senders=1", f"west.receivers={to}", "west.rate=30 %", *settings)
        late = "  late: {senders: 3, receivers: 4, pattern: pairs, rate: 5 %, sizes: 64}\n"
        (run,) = laid_over(parse_traffic("x.yaml", PAIR + late, both), make_bed()).runs
        return run

    run, second = laid(), 10**9
    spec = run.spec
    assert (run.load_pct, spec.duration_ns, len(spec.streams)) == (40, second, 3)
    assert (spec.learning.enabled, spec.learning.wait_ns) == (True, 2 * second)
    assert (spec.settle_ns, spec.restabilise_ns) == (2 * second, 5 * second)
    assert spec.per_flow and spec.watch_queues and spec.watch_losses and spec.histograms is HistogramPer.CLASS
    assert laid("percentiles=false").spec.histograms is None
    assert not laid("phases.learning_frames=0").spec.learning.enabled
    later = laid("late.start_ms=5").spec
    assert later.duration_ns == second, "from when the last sender begins"
    # Samples are a second apart unless told otherwise; a run of one second has none.
    assert [each.sampling and each.sampling.every_ns for each in (spec, later)] == [None, second]
    shortest = laid("samples.every_s=0.0000000001", "samples.flows=true").spec
    assert shortest.sampling == Sampling(1, flows=True)
    with pytest.raises(TrafficFileError, match="class east sends from port 1 to port 2: no device can tell the two"):
        laid(to=2)


def east(keys: str, **bed: Any) -> LaidClass:
    """The class ``east`` with some keys, alone in its file."""
    text = f"name: x\nclasses:\n  east: {{senders: 1-2, receivers: 3-4, pattern: pairs, {keys}}}\n"
    (run,) = laid_over(parse_traffic("x.yaml", text), make_bed(**bed)).runs
    return run.classes[0]


def test_senders_whose_clocks_differ_send_for_the_time_or_the_frames_of_the_class() -> None:
    """One clock is up to 100 ppm slower: in 1 s it sends up to 14 frames less of 148,809."""
    timed = east("rate: 10 %, sizes: 64, phases: drifting, duration_s: 1")
    assert len({stream.frame_count for stream in timed.streams}) == 2
    assert all(0 <= stream.rate_fps - stream.frame_count < 1 for stream in timed.streams)
    counted = east("rate: 10 %, sizes: 64, phases: drifting, frames: 148809")
    assert [stream.frame_count for stream in counted.streams] == [148_809] * 2
    assert east("rate: 10 %, sizes: 64, duration_s: 1").end_ns == 10**9
    whole = east("rate: 1000 frames/s, sizes: 64, frames: 9")
    assert (whole.end_ns, whole.streams[0].frame_count, whole.streams[0].burst) == (9_000_000, 9, None)


def test_senders_begin_one_behind_the_other_where_they_are_staggered() -> None:
    (stream,) = east("rate: 10 %, sizes: 64, frames: 9, start_ms: 5, stagger_us: 7").streams
    assert stream.start_offset_ns == (5_000_000, 5_007_000)


@pytest.mark.parametrize(
    ("keys", "refused"),
    [
        ("senders: 1-2, pattern: mesh", ""),
        ("senders: 1-2, receivers: 1-2, pattern: mesh", ""),
        ("senders: 1, pattern: mesh", "a mesh has two or more ports that all send and receive"),
        ("senders: 1-2, receivers: 2-3, pattern: mesh", "a mesh has two or more ports that all send and receive"),
        ("senders: 1-2, receivers: 1-2, pattern: broadcast", ""),
        ("senders: 1, receivers: 1, pattern: broadcast", "only the sender receives"),
        ("senders: 1, receivers: 1, pattern: pairs, bidirectional: true", "the receivers send already"),
    ],
)
def test_ports_that_send_and_receive_are_those_that_a_pattern_can_have(keys: str, refused: str) -> None:
    text = f"name: x\nclasses: {{all: {{{keys}, rate: 1 %, sizes: 64, frames: 9}}}}\n"
    with pytest.raises(TrafficFileError, match=refused) if refused else nullcontext():
        laid_over(parse_traffic("x.yaml", text), make_bed())


@pytest.mark.parametrize(
    ("keys", "bed", "order"),
    [
        # A frame interval at the line carries 65.5 bytes, at 98 % of it 67.2: only there follows 67 upon 66.
        ("rate: 100 %, sizes: 64-67", {}, [(64, 67, 65, 66)]),
        ("rate: 98 %, sizes: 64-67", {}, [(64, 65, 66, 67)]),
        ("rate: 10 %, sizes: 64-65", {"stream_per_size": True}, [(64,), (65,)]),
        ("rate: 10 %, sizes: [{bytes: 64}, {bytes: 65}]", {}, [(64,), (65,)]),
        # Twice as many of 128 bytes, with the shortest round in which they are.
        (
            "rate: 10 %, sizes: [{bytes: 64, weight: 2}, {bytes: 128, weight: 4}], arrivals: {shape: poisson}",
            {},
            [(128, 64, 128)],
        ),
    ],
)
def test_sizes_of_a_class_are_in_turn_or_streams(keys: str, bed: dict[str, bool], order: list[tuple[int, ...]]) -> None:
    assert [stream.frame_sizes_bytes for stream in east(f"{keys}, duration_s: 1", **bed).streams] == order


def test_the_largest_size_of_a_range_bounds_the_rate_of_a_burst() -> None:
    """1 Gbit/s carries 1,488,095 frames/s of 64 bytes and 1,470,588 of 65; a share of 50 % doubles the rate."""
    keys = "sizes: 64-65, duration_s: 0.01, arrivals: {shape: on_off, on_pct: 50}"
    assert east(f"{keys}, rate: 735000 frames/s").streams
    with pytest.raises(TrafficFileError, match="1,480,000 frames/s, is above the line rate"):
        east(f"{keys}, rate: 740000 frames/s")
    # Of sizes in a list it is the mean one: 1,077,586 frames/s of 96 bytes.
    assert east(keys.replace("64-65", "[{bytes: 64}, {bytes: 128}]") + ", rate: 530000 frames/s").streams
    (burst,) = east("sizes: 64, duration_s: 0.01, burst_frames: 2, rate: 10 %").streams
    assert (burst.name, burst.burst) == ("east", Burst(2))
    with pytest.raises(TrafficFileError, match="bursts of several sizes"):
        east("sizes: [{bytes: 64}, {bytes: 128}], duration_s: 0.01, burst_frames: 2, rate: 10 %")


@pytest.mark.parametrize(
    ("phases", "both_ways", "share"), [("in_step", False, 1), ("in_step", True, 2), ("independent", True, 4)]
)
def test_arrivals_share_the_departures_that_there_is_room_for(phases: str, both_ways: bool, share: int) -> None:
    """Senders in step have those of their direction; four senders have a quarter each."""
    made = east(
        f"rate: 10 %, sizes: 64, frames: 9, arrivals: {{shape: poisson}}, phases: {phases}, "
        f"bidirectional: {str(both_ways).lower()}"
    )
    rounds = {cast(Poisson, stream.arrivals).longest_round for stream in made.streams}
    assert rounds == {MOST_DEPARTURES // share}


@pytest.mark.parametrize(
    ("keys", "refused"),
    [
        ("phases: in_step, arrivals: {shape: poisson}", False),
        ("phases: independent, arrivals: {shape: poisson}", True),
        ("phases: independent", False),
        ("phases: drifting", True),
    ],
)
def test_senders_with_a_group_each_stay_one_stream(keys: str, refused: bool) -> None:
    groups = "groups: [{first: 225.0.0.1, count: 2}], own_groups: true, rate: 10 %, sizes: 64, frames: 9"
    text = f"name: x\nclasses: {{east: {{senders: 1-2, receivers: 3-4, pattern: multicast, {groups}, {keys}}}}}\n"
    if refused:
        with pytest.raises(TrafficFileError, match="senders with a group each") as caught:
            laid_over(parse_traffic("x.yaml", text), make_bed())
        assert caught.value.hint == f"use phases: {'in_step' if 'arrivals' in keys else 'independent'}"
    else:
        (stream,) = laid_over(parse_traffic("x.yaml", text), make_bed()).runs[0].classes[0].streams
        assert stream.pattern == Multicast((GroupRange("225.0.0.1", 2),), own_groups=True)


def test_criteria_are_the_numbers_of_the_file() -> None:
    whole = "loss_ratio: 0.1, lost_frames: 5, reordered_frames: 3, duplicate_frames: 4"
    times = "latency_us: 1.7, mean_latency_us: 1.3, jitter_us: 0.3"
    accept = east(f"rate: 10 %, sizes: 64, frames: 9, accept: {{{whole}, {times}}}").accept
    assert accept == Acceptance(Fraction(1, 10), 5, 3, 4, Fraction(17, 10), Fraction(13, 10), jitter_us=Fraction(3, 10))
    assert east("rate: 10 %, sizes: 64, frames: 9, accept: {jitter_us: 0}").accept == Acceptance(jitter_us=Fraction(0))


def test_settings_replace_values_and_messages_name_them() -> None:
    (run,) = parse_traffic("x.yaml", PAIR, ("east.rate=5 %", "west.accept={loss_ratio: 1e-9}", "duration_s=2")).runs
    assert (run.traffic.classes["east"].rate, run.traffic.duration_s) == ("5 %", 2)
    assert run.source.where(("classes", "west", "accept", "loss_ratio")) == "--set west.accept={loss_ratio: 1e-9}"
    assert run.source.where(("classes", "west", "rate")) == "x.yaml:5: classes.west.rate"


def test_a_setting_that_every_run_of_the_sweep_replaces_is_refused() -> None:
    swept = PAIR + "sweep:\n  product: {east.sizes: [64, 128]}\n"
    for setting in ("east.sizes=256", "classes.east.sizes=256"):
        with pytest.raises(TrafficFileError, match=r"the sweep gives every run a 'east.sizes' of its own") as raised:
            parse_traffic("x.yaml", swept, [setting])
        assert "x.yaml:7: sweep.product" in raised.value.hint
    rows = PAIR + "sweep:\n  list: [{east.accept.lost_frames: 1}, {east.accept.lost_frames: 2, east.rate: 2 %}]\n"
    with pytest.raises(TrafficFileError, match=r"a 'east\.accept\.lost_frames' of its own"):
        parse_traffic("x.yaml", rows, ["east.accept.lost_frames=3"])
    # A key of some rows alone, and what is around a key of the sweep, still count.
    one, two = parse_traffic("x.yaml", rows, ["east.rate=3 %", "east.accept={loss_ratio: 0.5}"]).runs
    assert (one.traffic.classes["east"].rate, two.traffic.classes["east"].rate) == ("3 %", "2 %")
    accepted = [run.traffic.classes["east"].accept for run in (one, two)]
    assert [isinstance(accept, Accept) and accept.loss_ratio for accept in accepted] == [0.5, 0.5]


def test_a_value_of_a_sweep_is_checked_where_it_stands() -> None:
    with pytest.raises(TrafficFileError, match=r"x.yaml:7: sweep.product.east.sizes\[1\]: 63 is not valid"):
        parse_traffic("x.yaml", PAIR + "sweep:\n  product: {east.sizes: [64, 63]}\n")


STREAMS = (
    Stream("gold 100", 100, Fraction(1000), 100, Pairs(), (1, 2), (3, 4), traffic_class="gold"),
    Stream("gold 300", 300, Fraction(1000), 100, Pairs(), (1,), (3,), traffic_class="gold"),
    Stream("many", 64, Fraction(1000), 50, Broadcast(), (1,), (2, 3, 4), traffic_class="silver"),
)
SPEC = TrialSpec("run", STREAMS, 10**8)
BETWEEN = TimesBetween(
    99, 33, 2000.0, 500.0, 1000.0, 100.0, ((1.0, 10.0), (50.0, 20.0), (99.0, 30.0), (99.9, 40.0)),
    ((1.0, 1.0), (50.0, 2.0), (99.0, 3.0), (99.9, 4.0)),
    LatencyBins((), (), ()),
)  # fmt: skip
FLOWS = (
    # 90 of its frames came in one and a half times of what they were sent in: all late frames of its port are its own.
    FlowCounts("gold 100", 1, 3, 100, 95, 5, 2, LatencyStats(90, 1000.0, 3000.0, 180_000.0), last_rx_ns=150_000_000),
    FlowCounts("gold 100", 2, 4, 100, 100, latency=LatencyStats(100, 500.0, 1500.0, 100_000.0), flooded_frames=3),
    FlowCounts("gold 300", 1, 3, 100, 99, rx_bytes=96 * 304, doubtful_frames=3, misdirected_frames=1),
    *(FlowCounts("many", 1, port, 50, frames) for port, frames in ((2, 50), (3, 50), (4, 49))),
)
RESULT = replace(
    not_measured(SPEC, Verdict.MEASURED, ""),
    flows=FLOWS,
    lost_frames=15,
    ports=(PortCounts(3, rx_frames=241, late_frames=2), PortCounts(4, rx_frames=200, early_frames=10)),
    strays=(StrayCounts("gold 100", 3, 0), StrayCounts("gold 300", 0, 1), StrayCounts("many", 0, 4)),
    pacing=tuple(
        StreamPacing(name, 1, 0.0, 0.0, 0.0, 0.0, 0.0, error_ns, start_offset_error_ns=start_ns)
        for name, error_ns, start_ns in (("gold 100", 7.0, 1.0), ("gold 300", 9.0, 1.23456), ("many", 20.0, 0.0))
    ),
    interarrival=(
        InterarrivalStats("gold 100", 1, 3, BETWEEN, None),
        InterarrivalStats("gold", None, None, BETWEEN, BETWEEN),
    ),
    histograms=tuple(
        HistogramStats(name, port, port, LatencyStats(2, 500.0, 3000.0, 3500.0, percentiles_ns=((50.0, median_ns),)))
        for name, port, median_ns in (("gold", 1, 1100.0), ("silver", None, 1200.0), ("gold", None, 1300.0))
    ),
    foreign_frames=6,
    flooded_frames=3,
    misdirected_frames=5,
)


def rows_of(
    result: TrialResult = RESULT, definition: Definition = Definition.FIFO, layers: str = " " * 4, **accept: Any
) -> RunResult:
    """Rows at ports 1 to 4; a letter each names their layers."""
    classes = tuple(
        LaidClass(
            name, tuple(one for one in STREAMS if one.traffic_class == name), given, "1 %", Fraction(9), Fraction(8), 0
        )
        for name, given in (("gold", Acceptance(**accept) if accept else None), ("silver", None))
    )
    run = LaidRun("run", classes, SPEC, Fraction(1), percentiles=False)
    bed = make_bed(4)
    ports = tuple(replace(port, layer=layer.strip()) for port, layer in zip(bed.ports, layers, strict=True))
    return result_of(run, result, replace(bed, ports=ports), definition)


def test_counts_of_classes_by_hand() -> None:
    """Of 300 frames 14 are lost, 2 late and 5 early: a twentieth of the frames at port 4 came at first.

    Three of those that are lost may have come late. A frame to many is sent once, and expected at three ports.
    """
    found = rows_of()
    gold, silver = found.classes
    counts = gold.counts
    assert (counts.tx_frames, counts.expected_frames, counts.rx_frames, counts.lost_frames) == (300, 300, 289, 14)
    assert (counts.doubtful_frames, counts.late_frames, counts.early_frames) == (3, 2, 5)
    assert (counts.reordered_frames, counts.duplicate_frames, counts.missed_frames) == (2, 5, 21)
    assert (gold.rx_bytes, gold.loss_ratio, gold.loss_ratio_below) == (90 * 100 + 100 * 100 + 96 * 304, 0.07, None)
    assert (gold.flooded_frames, gold.misdirected_frames, gold.departure_error_ns) == (3, 1, 9)
    assert (gold.latency.min_us, gold.latency.max_us, gold.state) == (0.5, 3, Verdict.MEASURED)
    assert gold.latency.avg_us == pytest.approx(280 / 190)
    assert gold.latency.p50_us == 1.3, "of the histogram of the class"
    by_size = rows_of(definition=Definition.LIFO).classes[0].latency
    assert (by_size.min_us, by_size.p50_us) == (-0.3, None), "less 8 ns a byte, or nothing for bins of all sizes"
    ports = (PortCounts(3, rx_frames=241, corrupted_frames=4),)
    assert rows_of(replace(RESULT, ports=ports)).classes[0].counts.corrupted == Corrupted(shared_corrupted_frames=4)
    counts = silver.counts
    assert (counts.tx_frames, counts.expected_frames, counts.rx_frames, counts.lost_frames) == (50, 150, 149, 1)
    assert (counts.doubtful_frames, counts.late_frames, counts.early_frames) == (None, None, 2)
    assert (silver.rx_bytes, silver.loss_ratio, silver.departure_error_ns) == (149 * 64, 0.02, 20)
    assert (silver.latency.avg_us, silver.latency.min_us) == (None, None)
    assert (found.foreign_frames, found.flooded_frames, found.misdirected_frames) == (6, 3, 5)
    assert found.rounded_starts == ("gold 300: by up to 1.235 ns",)


def test_rows_of_flows_pairs_and_sizes_by_hand() -> None:
    found = rows_of()
    assert [(row.stream, row.tx_port, row.rx_port, row.counts.lost_frames) for row in found.flows] == [
        ("gold 100", 1, 3, 10),
        ("gold 100", 2, 4, 0),
        ("gold 300", 1, 3, 4),
        *(("many", 1, port, lost) for port, lost in ((2, 0), (3, 0), (4, 1))),
    ]
    assert [(row.flooded_frames, row.misdirected_frames) for row in found.flows[:4]] == [
        (0, 0),
        (3, 0),
        (0, 1),
        (None, None),
    ]
    pairs = [(row.traffic_class, row.tx_port, row.rx_port, row.counts.lost_frames) for row in found.pairs]
    assert pairs[:2] == [("gold", 1, 3, 14), ("gold", 2, 4, 0)] and len(pairs) == 5
    assert (found.pairs[0].stream, found.pairs[0].misdirected_frames) == (None, 1)
    sizes = [(row.traffic_class, row.frame_size_bytes, row.counts.tx_frames, row.latency.max_us) for row in found.sizes]
    assert sizes == [("gold", 100, 200, 3), ("gold", 300, 100, None)]


def test_rows_of_layers_by_hand() -> None:
    """Frames of gold come to ports 3 and 4, with 2 and 1 us in the mean; those of silver have no latency."""
    found = rows_of(layers="abcd").layers
    assert [(row.traffic_class, row.name, row.counts.rx_frames, row.low_us, row.high_us) for row in found] == [
        ("gold", "c", 90 + 99, 2, 2),
        ("gold", "d", 100, 1, 1),
        *(("silver", layer, frames, None, None) for layer, frames in (("b", 50), ("c", 50), ("d", 49))),
    ]
    assert [(row.receivers, row.increment.increment_us) for row in found] == [(1, None), (1, -1), *[(1, None)] * 3]
    both = rows_of(layers="aacc").layers[0]
    assert (both.receivers, both.low_us, both.high_us, both.latency.avg_us) == (2, 1, 2, pytest.approx(280 / 190))


def test_times_between_frames_are_shown_at_both_ends() -> None:
    flow, departures, arrivals = rows_of().interarrival
    assert (flow.traffic_class, flow.stream, flow.tx_port, flow.rx_port, flow.measured_at) == (
        *("gold", "gold 100", 1, 3, "receiver"),
    )
    assert (departures.traffic_class, departures.stream, departures.measured_at) == ("gold", None, "sender")
    assert arrivals.measured_at == "receiver"
    assert (flow.times, flow.independent_times, flow.between_avg_us, flow.between_avg_error_us) == (99, 33, 2, 0.5)
    assert (flow.variation, flow.variation_error) == (0.5, 0.05)
    assert (flow.between_p1_us, flow.between_p50_us, flow.between_p99_us, flow.between_p99_9_us) == (
        *(0.01, 0.02, 0.03, 0.04),
    )
    assert (flow.between_p1_error_us, flow.between_p50_error_us, flow.between_p99_error_us) == (0.001, 0.002, 0.003)
    assert flow.between_p99_9_error_us == 0.004
    at_once = replace(BETWEEN, mean_ns=0.0)
    (none,) = rows_of(
        replace(RESULT, interarrival=(InterarrivalStats("gold", None, None, at_once, None),))
    ).interarrival
    assert (none.variation, none.variation_error) == (None, None)


LATE = "3 of 14 lost frames may have come late"


@pytest.mark.parametrize(
    ("accept", "reason"),
    [
        ({"loss_ratio": Fraction(7, 100), "lost_frames": 21, "reordered_frames": 2, "duplicate_frames": 5}, ""),
        ({"latency_us": Fraction(3), "mean_latency_us": Fraction(3, 2), "jitter_us": Fraction(0)}, ""),
        ({"loss_ratio": Fraction(69, 1000)}, f"loss ratio 0.07 above 0.069; {LATE}"),
        ({"lost_frames": 20, "latency_us": Fraction(2)}, f"lost frames 21 above 20; latency in us 3 above 2; {LATE}"),
        ({"reordered_frames": 1}, f"reordered frames 2 above 1; {LATE}"),
        ({"duplicate_frames": 4}, f"duplicate frames 5 above 4; {LATE}"),
    ],
)
def test_a_class_fails_for_what_is_above_its_criteria(accept: dict[str, Any], reason: str) -> None:
    gold = rows_of(**accept).classes[0]
    assert (gold.state, gold.reason) == (Verdict.FAIL if reason else Verdict.PASS, reason)
    broken = rows_of(replace(RESULT, status=Verdict.INVALID, reason="a link fell"), **accept).classes[0]
    assert (broken.state, broken.reason) == (Verdict.INVALID, "a link fell")


def test_a_class_says_what_a_longer_run_loses_if_a_burst_is_forgiven() -> None:
    """1,000 frames of each sender: gold has two, which send 30,000 frames; silver sends 5,000 to three ports each."""
    sent = {"gold 100": 10_000, "gold 300": 10_000, "many": 5_000}
    more = tuple(
        replace(flow, tx_frames=sent[flow.stream], rx_frames=flow.rx_frames + sent[flow.stream] - flow.tx_frames)
        for flow in FLOWS
    )
    result = replace(RESULT, flows=more, tx_frames=45_000, expected_rx_frames=45_000)
    gold, silver = rows_of(result).classes
    missed, copies = gold.counts.missed_frames, silver.counts.missed_frames
    assert gold.loss_ratio_error is not None and silver.loss_ratio_error is not None
    assert gold.bucket_loss_ratio == pytest.approx((missed + 2 * 1000) / 30_000 + gold.loss_ratio_error)
    assert silver.bucket_loss_ratio == pytest.approx((copies + 3 * 1000) / 15_000 + silver.loss_ratio_error)
    assert [row.bucket_loss_ratio for row in rows_of().classes] == [1, 1], "fewer frames than a bucket holds"
    begun = Transient(0, over=False, frames=0)
    assert [row.bucket_loss_ratio for row in rows_of(replace(result, transient=begun)).classes] == [1, 1]
    few = Counts(tx_frames=0, expected_frames=0, rx_frames=0, lost_frames=0, reordered_frames=0, duplicate_frames=0)
    many = replace(few, tx_frames=10_000, expected_frames=10_000)
    assert [_bucket_loss_ratio(counts, None, 2) for counts in (few, many)] == [1, 0.2]
    transient = Transient(0, over=True, frames=0, uneven_frames=300)
    ports = tuple(replace(port, uneven_frames=300) for port in RESULT.ports)
    unsure = rows_of(replace(result, transient=transient, ports=ports)).classes[0]
    assert unsure.loss_ratio_error is not None and unsure.loss_ratio_error >= 300 / 30_000
    assert unsure.bucket_loss_ratio == pytest.approx(missed / 30_000 + unsure.loss_ratio_error + 2 * 1000 / 30_000)


def test_the_part_of_a_class_in_a_transient_is_what_it_had_sent_by_its_end() -> None:
    """250 us of a frame per us from 0 on, and one that is on its way, or a burst of 40; none of those from 1 ms on."""
    stream = Stream("first", 64, Fraction(10**6), 1000, Pairs(), (1,), (3,))
    second = replace(stream, name="second", start_offset_ns=(1_000_000,))
    bursts = replace(stream, name="bursts", burst=Burst(40))
    brief = replace(stream, name="brief", frame_count=100)
    begun = Transient(250_000, over=True, frames=50)

    def share(one: Stream, transient: Transient | None = begun, rx_frames: int = 800) -> float:
        flow = FlowCounts(one.name, 1, 3, one.frame_count, rx_frames)
        return _begun_share(
            replace(RESULT, flows=(flow,), duration_ns=2_000_000, rx_frames=1600, transient=transient), [one]
        )

    assert [share(one) for one in (stream, second, bursts, brief)] == pytest.approx(
        [v / 800 for v in (251, 0, 291, 100)]
    )
    assert share(stream, rx_frames=200) == share(stream, rx_frames=0) == 1, "no more than came"
    assert share(replace(stream, frame_count=1), rx_frames=1) == 1
    assert share(second, Transient(0, over=False, frames=0)) == 1
    assert [share(stream, other) for other in (None, Transient(250_000, over=True, frames=0))] == [0, 0]


def test_a_class_has_the_queues_and_the_latency_of_its_own_time() -> None:
    """Losses by chance beside a queue that fills in the time of a class do not say that it is full."""
    filling, steady = QueueTrend(Trend.FILLING, 1000.0, rx_ports=(3,)), QueueTrend(Trend.STEADY)
    gold, silver = ClassQueues("gold", filling, 50.0, 7.0, 0.25), ClassQueues("silver", steady, 0.0, 0.0)
    result = replace(RESULT, queues=filling, latency_error_ns=40.0, class_queues=(gold, silver))
    for own, error_ns in ((gold, 50), (silver, 40)):
        found = _of_class(result, own.traffic_class)
        assert (found.queues, found.latency_error_ns, found.class_queues) == (own.trend, error_ns, (own,))
        assert found.latency_growth_ns == own.latency_growth_ns
        seen = _Rows("run", found, STREAMS, make_bed(4), Definition.FIFO)._circumstances
        assert (seen.filling, seen.burst_share, seen.average_error_ns) == (own is gold, own.burst_share, error_ns)
    whole = _Rows("run", replace(result, class_queues=()), STREAMS, make_bed(4), Definition.FIFO)._circumstances
    assert (whole.filling, whole.burst_share) == (True, 0), "lost frames do not make a queue full"


def test_a_longer_run_loses_the_same_share_unless_a_transient_or_a_queue_has_hidden_some() -> None:
    held = replace(RESULT, lost_frames=0, ports=(), queues=QueueTrend(Trend.FILLING, 1000.0))
    uneven = replace(RESULT, transient=Transient(0, over=True, frames=0, uneven_frames=1))
    begun = replace(RESULT, transient=Transient(0, over=False, frames=0))
    counts = rows_of().classes[0].counts
    held_error = _loss_ratio_error(counts, held)
    cases = ((True, held), (False, held), (True, RESULT), (False, uneven), (False, begun))
    assert [_more_loss(fills, counts, each) for fills, each in cases] == [held_error, None, None, 1 / 300, None]


@pytest.mark.parametrize(
    ("expected", "uneven", "most"), [(300, 3, 0.01), (300, 301, 1), (1, 1, 1), (0, 1, 1), (300, 0, None)]
)
def test_a_longer_run_may_lose_the_frames_of_a_class_that_left_unevenly(
    expected: int, uneven: int, most: float | None
) -> None:
    counts = replace(rows_of().classes[0].counts, expected_frames=expected)
    transient = Transient(0, over=True, frames=0, uneven_frames=uneven)
    assert _more_loss(False, counts, replace(RESULT, transient=transient)) == most


def test_frames_of_a_class_that_queues_held_may_all_be_those_that_a_full_one_loses() -> None:
    """Of 30 that were late or early, gold has the 20 late ones and half of the early ones: 25 of its 300 frames."""
    ports = (PortCounts(3, rx_frames=241, late_frames=20), PortCounts(4, rx_frames=200, early_frames=10))
    filling, transient = QueueTrend(Trend.FILLING, 1000.0), Transient(5, over=True, frames=10)
    result = replace(RESULT, ports=ports, queues=filling, transient=transient, tx_frames=450, expected_rx_frames=450)
    gold = rows_of(result).classes[0]
    of_chance = _loss_ratio_error(gold.counts, result)
    assert gold.loss_ratio_error is not None and of_chance is not None
    assert gold.loss_ratio_error - of_chance == pytest.approx(25 / 300)
    assert _loss_ratio_error(gold.counts, result, 300) == 1, "no more than all"


@pytest.mark.parametrize(
    ("accept", "may"),
    [
        ({}, False),
        ({"loss_ratio": Fraction(1, 100)}, False),
        ({"loss_ratio": Fraction(99, 10_000)}, True),
        ({"lost_frames": 3}, False),
        ({"lost_frames": 2}, True),
        ({"loss_ratio": Fraction(1), "lost_frames": 2}, True),
        ({"loss_ratio": Fraction(0), "lost_frames": 3}, True),
    ],
)
def test_a_criterion_may_be_missed_by_the_most_that_a_longer_run_loses(accept: dict[str, Any], may: bool) -> None:
    """A hundredth of 300 frames."""
    told = ["a longer run may lose up to 0.01 of the frames"] if may else []
    assert _may_lose(Acceptance(**accept), rows_of().classes[0].counts, Fraction(1, 100)) == told


def test_a_class_has_the_transient_of_the_ports_that_it_is_sent_to() -> None:
    """Of 9 uneven frames 4 may be at its port. Where nothing was lost and nothing was late, there is none."""
    ports = (PortCounts(3, rx_frames=241, uneven_frames=4), PortCounts(4, rx_frames=95, uneven_frames=8))
    result = replace(
        RESULT, ports=ports, transient=Transient(5, over=True, frames=2, hidden_frames=12, uneven_frames=9)
    )
    assert _of_ports(result, {3}).transient == Transient(5, over=True, frames=2, hidden_frames=7, uneven_frames=4)
    assert _of_ports(result, {3, 4}).transient == result.transient, "no more than of all ports"
    flows = tuple(replace(flow, rx_frames=flow.tx_frames, duplicate_frames=0, doubtful_frames=0) for flow in FLOWS)
    whole = replace(result, flows=flows)
    assert _of_ports(whole, {3}).transient is None
    late = replace(whole, ports=(replace(ports[0], late_frames=1), ports[1]))
    assert [_of_ports(late, {port}).transient is None for port in (3, 4)] == [False, True]
    assert _of_ports(RESULT, {3}) is RESULT


def test_a_class_is_told_of_the_queues_that_its_frames_go_through() -> None:
    """Nothing is lost of 300 frames: 3 / 300 is the loss ratio that is excluded."""

    def queues(trend: QueueTrend | None, **accept: Any) -> list[ClassResult]:
        whole = tuple(replace(flow, rx_frames=flow.tx_frames, duplicate_frames=0, doubtful_frames=0) for flow in FLOWS)
        result = replace(RESULT, flows=whole, tx_frames=450, expected_rx_frames=450, lost_frames=0, ports=())
        return list(rows_of(replace(result, queues=trend, strays=()), **accept).classes)

    filling = QueueTrend(Trend.FILLING, 12.3456, rx_ports=(2,))
    assert [row.queues for row in queues(filling)] == ["steady", "filling, 12.35 ppm"]
    assert [row.loss_ratio_error for row in queues(filling)] == [None, pytest.approx(3 / 150)]
    to_gold = queues(replace(filling, rx_ports=(3,)), lost_frames=2)[0]
    assert (to_gold.state, to_gold.reason) == (Verdict.FAIL, "a longer run may lose up to 0.01 of the frames")
    assert queues(filling, lost_frames=2)[0].state is Verdict.PASS
    assert [row.queues for row in queues(QueueTrend(Trend.UNCLEAR))] == ["too short to tell"] * 2
    gold, _ = queues(None)
    assert (gold.queues, gold.loss_ratio, gold.loss_ratio_below) == ("not judged", 0, pytest.approx(0.01, rel=0.01))
    assert (gold.flooded_frames, gold.misdirected_frames) == (None, None)
    assert [row.queues for row in rows_of().classes] == ["frames lost"] * 2
