"""Caps and fractions of the load axis: 100 % of every load is the cap, and results have both percentages.

Method: runs on fakes whose capacity is known; loads, frames and tables are compared with closed forms.
"""

from __future__ import annotations

import csv
import json
from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from support.beds import make_bed
from support.fakes import FlowMeasurer, lossless
from support.networks import parsed, switch
from support.runs import run_units

from p4mesh.errors import ParameterError
from p4mesh.measurement.counts import PortCounts, QueueTrend, Transient, Trend
from p4mesh.methods.base import Session, TrialNote, Unit
from p4mesh.methods.bed import Bed
from p4mesh.methods.composition import Case
from p4mesh.methods.extensions.clocks import clock_note
from p4mesh.methods.extensions.load_axis import PORT_RATE_CAP, LoadAxis, on_line, require_room, scale_of
from p4mesh.methods.extensions.mixes import Mixed, Mixes
from p4mesh.methods.options.parameters import resolve
from p4mesh.methods.registry import TESTS, find_test
from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import Column
from p4mesh.methods.results.outcome import Cell, Outcome, Table
from p4mesh.methods.results.record import Record
from p4mesh.methods.sweeps import frame_loss_loads
from p4mesh.run.mixes import check_mixes
from p4mesh.run.options import RunOptions
from p4mesh.run.preparation import prepare
from p4mesh.run.single import run
from p4mesh.tester.histogram import HistogramPer
from p4mesh.traffic.imix import MixedSize
from p4mesh.traffic.patterns import Rotate
from p4mesh.traffic.stream import Stream
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

FOUR = switch()


def ran(out: Path, test: str, *settings: str, opener: str = "support.fakes:open_wire") -> Path:
    run(RunOptions(test, parsed(FOUR), "64", settings, out, jobs=1, opener=opener))
    return out


def trials(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "trials.jsonl").read_text().splitlines()]


def rows(out: Path, table: str) -> list[dict[str, str]]:
    with (out / f"{table}.csv").open() as file:
        return list(csv.DictReader(file))


def test_a_sweep_under_a_cap_sends_percent_of_the_cap(tmp_path: Path) -> None:
    settings = ("parts=forwarding", "sweep_step_pct=50", "sweep_start_pct=50", "port_rate_cap_mbps=900")
    out = ran(tmp_path / "run", "rfc2889.fully_meshed", *settings, "scaled_frames=3000")
    assert [trial["load_pct"] for trial in trials(out)] == [45, 90]
    (row,) = rows(out, "forwarding_rate")
    assert float(row["mfr_offered_pct"]) == pytest.approx(90, abs=0.05)
    assert float(row["mfr_offered_of_cap_pct"]) == pytest.approx(100, abs=0.05)
    stored = json.loads((out / "results.json").read_text())["outcome"]
    assert "100 % of a load is 900 Mbit/s on each port, 90 % of line rate." in stored["deviations"]


def test_cap_and_fraction_multiply_and_trials_keep_their_frames(tmp_path: Path) -> None:
    settings = ("parts=throughput", "rate_fraction_pct=1", "port_rate_cap_mbps=900", "scaled_frames=3000")
    out = ran(tmp_path / "run", "rfc2889.partially_meshed", "direction=to_one", *settings)
    (row,) = rows(out, "mesh_throughput")
    assert row["state"] == "MEASURED"
    assert float(row["load_pct"]) == pytest.approx(0.9, rel=1e-3)
    assert float(row["load_of_cap_pct"]) == pytest.approx(100, rel=1e-3)
    highest = max(trials(out), key=lambda trial: trial["load_pct"])
    (stream,) = highest["spec"]["streams"]
    assert stream["frame_count"] == 3000


def test_without_a_cap_nothing_changes() -> None:
    test, bed = find_test("rfc2889.fully_meshed"), make_bed()
    parameters = resolve(test.name, test.parameters, ())
    assert scale_of(bed, parameters) == 1
    assert on_line(test, bed, parameters) is parameters


@pytest.mark.parametrize(
    "test", [test for test in TESTS if PORT_RATE_CAP in test.parameters], ids=lambda test: test.name
)
def test_every_load_of_a_test_is_scaled_and_nothing_else(test: Any) -> None:
    bed = make_bed()
    given = resolve(test.name, test.parameters, ("rate_fraction_pct=10",))
    scaled = on_line(test, bed, given)
    for parameter in test.parameters:
        before, after = given.values[parameter.name], scaled.values[parameter.name]
        if parameter.unit == "% of line rate" and not isinstance(before, str):
            assert after == Fraction(before) / 10
        elif parameter.name == "ppm_below":
            assert 100 - Fraction(after) / 10_000 == (100 - Fraction(before) / 10_000) / 10
        elif parameter.name == "scaled_frames":
            assert after == 10 * before
        else:
            assert after == before


@pytest.mark.parametrize("name", ["rfc2889.forward_pressure", "rfc2544.back_to_back", "messages.latency"])
def test_tests_that_need_the_line_have_no_cap(name: str) -> None:
    test = find_test(name)
    assert PORT_RATE_CAP not in test.parameters
    assert scale_of(make_bed(), resolve(test.name, test.parameters, ())) == 1
    with pytest.raises(ParameterError, match="has no parameter 'port_rate_cap_mbps'"):
        resolve(test.name, test.parameters, ("port_rate_cap_mbps=900",))


@pytest.mark.parametrize(
    ("topology", "message"),
    [
        (FOUR, "port_rate_cap_mbps=1500: above the line rate of the ports"),
        (switch(rates_bps=(10**9, 10**9, 10**10, 10**10)), "port_rate_cap_mbps=1500: the ports have different line"),
    ],
)
def test_a_cap_that_cannot_be_meant_is_refused(topology: str, message: str) -> None:
    options = RunOptions("rfc2889.broadcast", parsed(topology), "64", ("port_rate_cap_mbps=1500",))
    with pytest.raises(ParameterError, match=message):
        prepare(find_test(str(options.test)), parsed(topology), options)


@pytest.mark.parametrize(
    ("full_load", "fps"),
    [
        ("100000 frames/s", {64: 100_000, 512: 100_000}),
        ("40 Mbit/s L1", {64: Fraction(40_000_000, 8 * 84), 512: Fraction(40_000_000, 8 * 532)}),
        ("40 Mbit/s L2", {64: Fraction(40_000_000, 8 * 64), 512: Fraction(40_000_000, 8 * 512)}),
        ("40 Mbit/s no FCS", {64: Fraction(40_000_000, 8 * 60), 512: Fraction(40_000_000, 8 * 508)}),
        ("10 %", {64: Fraction(100_000_000, 8 * 84), 512: Fraction(100_000_000, 8 * 532)}),
    ],
)
def test_a_rate_in_any_unit_can_be_the_full_load(full_load: str, fps: dict[int, Fraction], tmp_path: Path) -> None:
    """The sweep sends 50 and 100 % of the rate at each frame size."""
    settings = (
        *("parts=forwarding", "sweep_step_pct=50", "sweep_start_pct=50", "scaled_frames=2000", "ppm_below=0"),
        f"full_load={full_load}",
    )
    out = tmp_path / "run"
    run(
        RunOptions(
            "rfc2889.fully_meshed", parsed(FOUR), "64,512", settings, out, jobs=1, opener="support.fakes:open_wire"
        )
    )
    sent: dict[int, list[Fraction]] = {}
    for trial in trials(out):
        (stream,) = trial["spec"]["streams"]
        sent.setdefault(stream["frame_size_bytes"], []).append(Fraction(stream["rate_fps"]))
    assert {size: sorted(rates) for size, rates in sent.items()} == {size: [f / 2, f] for size, f in fps.items()}
    for row in rows(out, "forwarding_rate"):
        assert float(row["mfr_offered_of_cap_pct"]) == pytest.approx(100, abs=0.1)


def test_a_share_of_a_rate_of_a_cap(tmp_path: Path) -> None:
    settings = ("parts=forwarding", "sweep_start_pct=100", "scaled_frames=2000", "ppm_below=0")
    axis = ("port_rate_cap_mbps=900", "full_load=50 % of cap", "rate_fraction_pct=10")
    out = ran(tmp_path / "run", "rfc2889.fully_meshed", *settings, *axis)
    assert [trial["load_pct"] for trial in trials(out)] == [pytest.approx(4.5)]
    stored = json.loads((out / "results.json").read_text())["outcome"]
    expected = "100 % of a load is 10 % of 50 % of cap on each port: 4.5 % of line rate at 64 B."
    assert expected in stored["deviations"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (("full_load=10 Mbit/s",), "full_load=10 Mbit/s: not a rate"),
        (("full_load=800 Mbit/s L2",), "full_load=800 Mbit/s L2: 105 % of the line at 64 B"),
        (("full_load=50 % of cap",), "full_load=50 % of cap: there is no cap"),
        (("full_load=10 %", "port_rate_cap_mbps=900"), "full_load=10 %: goes with no cap"),
    ],
)
def test_a_full_load_that_cannot_be_meant_is_refused(settings: tuple[str, ...], message: str) -> None:
    options = RunOptions("rfc2889.fully_meshed", parsed(FOUR), "512,64", settings)
    with pytest.raises(ParameterError, match=message):
        prepare(find_test(str(options.test)), parsed(FOUR), options)


def test_frame_loss_begins_at_the_highest_load_of_the_axis() -> None:
    tenth = Fraction(1, 10)
    assert list(frame_loss_loads(tenth, Fraction(1))) == [Fraction(n, 10) for n in range(10, 0, -1)]
    near = Fraction("99.99")
    assert frame_loss_loads(Fraction(10), near)[:3] == (near, 90, 80)
    assert frame_loss_loads(Fraction(7))[:3] == (100, 93, 86)


def assembled(bed: Bed, *settings: str) -> tuple[list[dict[str, Cell]], tuple[str, ...]]:
    """Rows of a table behind the axis, and what it says of 100 %."""
    test = find_test("rfc2889.fully_meshed")
    case = Case(test, bed, resolve(test.name, test.parameters, settings))
    columns = (fields.FRAME_SIZE_BYTES, Column("load_pct", "Load", "% of line"), Column("loss_pct", "Loss", "%"))
    loads: tuple[tuple[Cell, Cell], ...] = ((64, 6.72), (512, 21.28), (None, 12.5), (64, None), (64, "NA"))
    rows = tuple({"frame_size_bytes": size, "load_pct": load, "loss_pct": 1.0} for size, load in loads)
    outcome = Outcome(Verdict.MEASURED, "s", (Table("t", "T", columns, rows),), (), deviations=("known",))
    units = {Unit(size, ""): Record() for size in (512, 64)}
    found = LoadAxis().assemble(lambda _: outcome, case, units)
    return [dict(row) for row in found.tables[0].rows], found.deviations


def test_percent_of_a_rate_or_of_a_cap_stand_beside_percent_of_line_by_hand() -> None:
    """100,000 frames/s are 6.72 and 42.56 % of 1 Gbit/s; a row without a size has no share of a rate, but of a cap."""
    rows, said = assembled(make_bed(), "full_load=100000 frames/s")
    shares = [row["load_of_cap_pct"] for row in rows]
    assert shares == [pytest.approx(100), pytest.approx(50), None, None, "NA"]
    assert {row["loss_pct"] for row in rows} == {1.0} and "loss_of_cap_pct" not in rows[0]
    each = "on each port: 6.72 % of line rate at 64 B, 42.56 % of line rate at 512 B."
    assert said == ("known", f"100 % of a load is 100000 frames/s {each}")
    rows, said = assembled(make_bed(), "full_load=200000 frames/s", "rate_fraction_pct=50")
    assert rows[0]["load_of_cap_pct"] == pytest.approx(100)
    assert said[1] == f"100 % of a load is 50 % of 200000 frames/s {each}"
    rows, said = assembled(make_bed(), "port_rate_cap_mbps=500", "rate_fraction_pct=50")
    assert [row["load_of_cap_pct"] for row in rows[1:3]] == [pytest.approx(85.12), 50]
    assert said[1] == "100 % of a load is 250 Mbit/s on each port, 25 % of line rate."
    rows, said = assembled(make_bed())
    assert "load_of_cap_pct" not in rows[0] and said == ("known",)


@pytest.mark.parametrize("setting", ["port_rate_cap_mbps=1000", "full_load=1000 Mbit/s L1", "full_load=100 %"])
def test_the_whole_line_is_a_cap_and_a_full_load(setting: str) -> None:
    test, bed = find_test("rfc2889.fully_meshed"), make_bed()
    parameters = resolve(test.name, test.parameters, (setting,))
    LoadAxis().check(Case(test, bed, parameters))
    require_room(bed, parameters, (64, 1518))
    assert scale_of(bed, parameters, 64) == 1


@pytest.mark.parametrize(
    ("offsets_ppm", "said"),
    [
        ((0, 0), ""),
        ((20, 20), "are +20 ppm off, as the topology says: 100 % of line rate is that of their own clock."),
        ((20, -50), "are -50 to +20 ppm off, as the topology says: 100 % of line rate is that of the slowest clock of"),
    ],
)
def test_clocks_that_are_off_say_what_100_percent_is(offsets_ppm: tuple[float, ...], said: str) -> None:
    found = clock_note(make_bed(2, clocks_ppm=offsets_ppm))
    assert bool(found) == bool(said) and said in found


def test_sizes_of_a_mix_are_counted_by_hand() -> None:
    """Simple IMIX of 7, 4 and 1: every tenth frame of 1,518 bytes is lost, one of 120 in all."""

    def carry(spec: TrialSpec, sent: dict[tuple[str, int, int], int]) -> dict[tuple[str, int, int], int]:
        size_of = {stream.name: stream.frame_size_bytes for stream in spec.streams}
        return {key: count - count // 10 * (size_of[key[0]] == 1518) for key, count in sent.items()}

    measurer = FlowMeasurer(carry)
    settings = ("scaled_frames=1200", "step_pct=10", "full_sweep=false", "sustained=false", "bidirectional=false")
    test = find_test("rfc2544.frame_loss")
    _, outcome = run_units(test, make_bed(2), measurer, (MixedSize("imix"),), *settings)  # type: ignore[arg-type]
    tables = {table.name: table for table in outcome.tables}
    assert tables["sizes"].detail and all(spec.per_flow for spec in measurer.specs)
    sizes = tables["sizes"].rows[:3]
    assert [
        (row["frame_size_bytes"], row["trial"], row["load_pct"], row["tx_frames"], row["rx_frames"], row["lost_frames"])
        for row in sizes
    ] == [(64, 1, 100, 700, 700, 0), (570, 1, 100, 400, 400, 0), (1518, 1, 100, 100, 90, 10)]
    assert [row["loss_pct"] for row in sizes] == [0, 0, 10]
    assert tables["frame_loss"].rows[0]["loss_pct"] == pytest.approx(100 / 120)
    assert [row["trial"] for row in tables["sizes"].rows[3:6]] == [2, 2, 2]
    assert any("64 B : 7, 570 B : 4, 1,518 B : 1, in the mean 353.833 B" in text for text in outcome.deviations)
    assert [stream.frame_count for stream in measurer.specs[0].streams] == [700, 400, 100]


@pytest.mark.parametrize(("flows", "histograms"), [((), 12), ((("s", 1, 3), ("s", 2, 4)), 6)])
def test_histograms_of_flows_of_a_mix_are_one_for_each_size_by_hand(
    flows: tuple[tuple[str, int, int], ...], histograms: int
) -> None:
    """Two ports send to two in three sizes: 12 flows, or 6 of two that are chosen; where there is no room, none."""
    stream = Stream("s", MixedSize("imix"), Fraction(1000), 12, Rotate(), (1, 2), (3, 4))  # type: ignore[arg-type]
    spec = TrialSpec("t", (stream,), 10**7, histograms=HistogramPer.FLOW, histogram_flows=flows)
    test = find_test("rfc2544.frame_loss")
    for room in (histograms, histograms - 1):
        case = Case(test, make_bed(4, histograms=room), resolve(test.name, test.parameters, ()))
        measurer = FlowMeasurer(lossless)

        def one_trial(session: Session) -> Record:
            session.measure(spec, TrialNote(Fraction(1), 0))
            return Record()

        Mixes().run_unit(one_trial, Unit(MixedSize("imix"), ""), case, measurer)
        (sent,) = measurer.specs
        assert sent.histograms is (HistogramPer.FLOW if room == histograms else None)
        assert len(sent.histogram_flows) == (3 * len(flows) if room == histograms else 0)


KNOWN = Transient(70, over=True, frames=0, hidden_frames=4, uneven_frames=3)


@pytest.mark.parametrize(
    ("held", "lost", "transient", "expected"),
    [
        (0, 60, None, None),
        (0, 60, KNOWN, KNOWN),
        (8, 60, replace(KNOWN, frames=1), replace(KNOWN, frames=1)),
        (2, 60, None, Transient(0, over=True, frames=0, hidden_frames=10, uneven_frames=10)),
        (2, 60, KNOWN, replace(KNOWN, hidden_frames=14, uneven_frames=13)),
        (8, 60, None, Transient(0, over=True, frames=0, hidden_frames=32, uneven_frames=32)),
    ],
)
def test_a_frame_that_a_queue_held_may_cost_so_many_of_the_shortest_by_hand(
    held: int, lost: int, transient: Transient | None, expected: Transient | None
) -> None:
    """Of 353.83 bytes in the mean: 4.53 frames of 64 more, but no more than came; unless a transient had more of all.

    Of 100 frames, 60 are lost.
    """
    stream = Stream("s", MixedSize("imix"), Fraction(1000), 100, Rotate(), (1,), (2,))  # type: ignore[arg-type]
    spec = TrialSpec("t", (stream,), 10**8)
    found: list[TrialResult] = []

    class Holding(FlowMeasurer):
        def measure(self, spec: TrialSpec, note: TrialNote | None = None) -> TrialResult:
            ports = (PortCounts(2, rx_frames=100 - lost, late_frames=held),)
            return replace(super().measure(spec, note), lost_frames=lost, ports=ports, transient=transient)

    def one_trial(session: Session) -> Record:
        found.append(session.measure(spec, TrialNote(Fraction(1), 0)))
        return Record()

    test = find_test("rfc2544.frame_loss")
    case = Case(test, make_bed(2), resolve(test.name, test.parameters, ()))
    Mixes().run_unit(one_trial, Unit(MixedSize("imix"), ""), case, Holding(lossless))
    assert found[0].transient == expected


def test_late_and_early_frames_of_each_size_are_in_its_loss_by_hand() -> None:
    """Each flow has a tenth of its frames early, and came in twice its time: it has its share of the late ones, too.

    Of 70,000, 40,000 and 10,000 frames, 5 % are late. The queue may have cost any number of the few of a size.
    """
    stream = Stream("s", MixedSize("imix"), Fraction(1000), 120_000, Rotate(), (1,), (2,))  # type: ignore[arg-type]
    spec = TrialSpec("t", (stream,), 12 * 10**10)

    class Slow(FlowMeasurer):
        def measure(self, spec: TrialSpec, note: TrialNote | None = None) -> TrialResult:
            found = super().measure(spec, note)
            sent_ns = {one.name: 10**9 * (one.frame_count - 1) / one.rate_fps for one in spec.streams}
            flows = tuple(replace(flow, last_rx_ns=int(2 * sent_ns[flow.stream])) for flow in found.flows)
            ports = (PortCounts(2, rx_frames=120_000, late_frames=6000, early_frames=12_000),)
            return replace(found, flows=flows, ports=ports, queues=QueueTrend(Trend.FILLING))

    def one_trial(session: Session) -> Record:
        session.measure(spec, TrialNote(Fraction(1), 0))
        return Record()

    test = find_test("rfc2544.frame_loss")
    case = Case(test, make_bed(2), resolve(test.name, test.parameters, ()))
    found = Mixes().run_unit(one_trial, Unit(MixedSize("imix"), ""), case, Slow(lossless))
    assert isinstance(found, Mixed)
    assert [(one.tx_frames, one.loss_pct) for one in found.sizes] == [(70_000, 15), (40_000, 15), (10_000, 15)]
    # 6000 frames held are 27,172 short ones that may be lost: 38.8, 67.9 and more than 85 % of a size, beside chance.
    errors = [one.loss_error_pct for one in found.sizes]
    assert 38.8 < errors[0] < 40 and 67.9 < errors[1] < 69 and errors[2] == 85
    assert [one.bucket_loss_pct for one in found.sizes] == [15 + error for error in errors]


def test_sizes_of_a_mix_have_latencies_in_trials_for_them_alone_by_hand() -> None:
    """Flows take 2 to 2.5 us, 2.2 in the mean; the trials of the search for the throughput are not for latency."""
    settings = ("scaled_frames=1200", "search_max_pct=10", "search_initial_pct=10", "latency_definition=FIFO")
    test = find_test("rfc2544.latency")
    _, outcome = run_units(test, make_bed(2), FlowMeasurer(lossless), (MixedSize("imix"),), *settings)  # type: ignore[arg-type]
    (sizes,) = (table for table in outcome.tables if table.name == "sizes")
    found = [(row["min_us"], row["avg_us"], row["max_us"]) for row in sizes.rows]
    assert (found[:3], found[-3:]) == ([(None, None, None)] * 3, [(2.0, 2.2, 2.5)] * 3)


def test_a_size_that_a_short_trial_does_not_send_has_lost_nothing_by_hand() -> None:
    """Of ten frames of simple IMIX, seven have 64 bytes and three 570; of 12, one has 1,518 and is lost."""
    test, settings = find_test("rfc2544.frame_loss"), ("sustained=false", "bidirectional=false")
    left = {1: 0, 10: 1}
    measurer = FlowMeasurer(lambda _, sent: {key: left.get(count, count) for key, count in sent.items()})
    for frames, expected in (
        (10, [(64, 7, 0), (570, 3, 0), (1518, 0, 0)]),
        (12, [(64, 7, 0), (570, 4, 0), (1518, 1, 100)]),
        (120, [(64, 70, 0), (570, 40, 0), (1518, 10, 90)]),
    ):
        asked = (*settings, f"scaled_frames={frames}")
        _, outcome = run_units(test, make_bed(2), measurer, (MixedSize("imix"),), *asked)  # type: ignore[arg-type]
        (sizes,) = (table for table in outcome.tables if table.name == "sizes")
        found = [(row["frame_size_bytes"], row["tx_frames"], row["loss_pct"]) for row in sizes.rows]
        assert found[:3] == expected
        assert [row["loss_error_pct"] for row in sizes.rows[:3] if not row["tx_frames"]] == [0] * (frames < 12)
        assert {row["bucket_loss_pct"] for row in sizes.rows[:3]} == {100}


def test_each_size_of_a_mix_may_fill_a_bucket_of_each_port_by_hand() -> None:
    """A bucket of 1,000 frames of each of two ports hides the loss of as many of 70,000, 40,000 and 10,000."""
    settings = ("scaled_frames=120000", "sustained=false", "step_pct=10")
    test = find_test("rfc2544.frame_loss")
    _, outcome = run_units(test, make_bed(2), FlowMeasurer(lossless), (MixedSize("imix"),), *settings)  # type: ignore[arg-type]
    (sizes,) = (table for table in outcome.tables if table.name == "sizes")
    found = [row["bucket_loss_pct"] for row in sizes.rows[:3]]
    assert found == pytest.approx([100 / 70, 2.5, 10], rel=1e-3)


def test_latency_of_a_mix_needs_what_is_added_to_be_the_same_for_all_sizes_by_hand() -> None:
    """First bits are stamped: last in, first out is less the time of a frame on the line, another one for each size."""
    test = find_test("rfc2544.latency")
    for definition, allowed in (("FIFO", True), ("LILO", True), ("LIFO", False)):
        parameters = resolve(test.name, test.parameters, (f"latency_definition={definition}",))
        refusal = pytest.raises(ParameterError, match="plus the same time for each size from port 1 to port 2")
        with nullcontext() if allowed else refusal:
            check_mixes(test, make_bed(2), parameters, (MixedSize("ac"),), calibrated=False)
