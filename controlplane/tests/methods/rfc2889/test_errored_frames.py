"""RFC 2889 5.9: what becomes of each class of errored frames; never a verdict on valid loss."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from support.beds import make_bed
from support.fakes import FlowMeasurer, TrialLog, lossless
from support.published import WHITE_RABBIT
from support.runs import run_unit, run_units

from p4mesh.errors import ParameterError, UnsupportedError
from p4mesh.measurement.counts import Transient
from p4mesh.methods.base import TrialNote
from p4mesh.methods.bed import Bed
from p4mesh.methods.options.parameters import resolve
from p4mesh.methods.results.outcome import Outcome
from p4mesh.methods.rfc2889.errored_frames import ErroredFrames, ErroredUnit
from p4mesh.methods.rfc2889.errored_streams import MOST_SIZES, sizes_between
from p4mesh.tester.contract import load_contract
from p4mesh.traffic.line_rate import l1_rate_bps, tx_frames
from p4mesh.traffic.stream import MOST_STREAMS, Stream
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec
from p4mesh.trial.verification import verification_streams
from p4mesh.verdict import Verdict

TEST = ErroredFrames()
Counts = dict[tuple[str, int, int], int]


def bed(pads: bool = False, rate_bps: int = 10**9, bad_fcs: bool = False) -> Bed:
    return make_bed(3, rate_bps, padding={1} if pads else (), sends_bad_fcs=bad_fcs)


def run(carry: object, *settings: str, ports: Bed | None = None) -> tuple[ErroredUnit, Outcome, FlowMeasurer]:
    measurer = FlowMeasurer(carry)  # type: ignore[arg-type]
    result, outcome = run_unit(TEST, ports or bed(), measurer, 512, *settings)
    return result, outcome, measurer


def filtering(_: TrialSpec, sent: Counts) -> Counts:
    return {key: 0 if key[0] != "valid" else count for key, count in sent.items()}


def lossy(_: TrialSpec, sent: Counts) -> Counts:
    return {key: 0 if key[0] == "undersize" else count // 2 for key, count in sent.items()}


def test_each_class_takes_a_third_of_the_load() -> None:
    _, _, measurer = run(filtering)
    streams = {stream.name: stream for stream in measurer.specs[-1].streams}
    assert {name: stream.frame_size_bytes for name, stream in streams.items()} == {
        "valid": 512,
        "undersize": 63,
        "oversize": 1519,
    }
    shares = {l1_rate_bps(stream.rate_fps, stream.frame_size_bytes) for stream in streams.values()}
    assert len(shares) == 1 and sum(shares) * 3 == 10**9


def test_frames_with_a_bad_fcs_take_half_of_the_load_of_a_trial_of_their_own() -> None:
    """Of 50 % of 1 Gbit/s; only counts of each flow tell the classes apart."""
    _, _, measurer = run(filtering, "sweep_start_pct=50", "sweep_end_pct=50", ports=bed(bad_fcs=True))
    spec = measurer.specs[-1]
    found = {one.name: (l1_rate_bps(one.rate_fps, one.frame_size_bytes), one.bad_fcs) for one in spec.streams}
    assert found == {"valid": (250_000_000, False), "bad_fcs": (250_000_000, True)}
    assert all(one.per_flow and one.watch_losses for one in measurer.specs)


def test_a_device_that_filters_passes() -> None:
    result, outcome, _ = run(filtering)
    assert outcome.state is Verdict.PASS
    assert {row.undersize_handling for row in result.rows} == {"filtered"}
    assert all(row.valid_loss_pct == 0 for row in result.rows)
    # No loss of n frames: less than 3/n, with 95 % confidence.
    assert all(row.valid_loss_error_pct == pytest.approx(300 / row.valid_tx_frames) for row in result.rows)
    # A burst of 1,000 frames, in one trial.
    assert all(row.bucket_loss_pct == pytest.approx(100_000 / row.valid_tx_frames) for row in result.rows)


def test_a_device_that_forwards_runts_fails_and_giants_are_only_reported() -> None:
    result, outcome, _ = run(lossless)
    assert outcome.state is Verdict.FAIL
    row = result.rows[0]
    assert (row.frame_size_bytes, row.undersize_handling, row.state) == (512, "forwarded", Verdict.FAIL)


def test_the_trial_log_has_the_verdict_of_the_classes_that_must_be_filtered() -> None:
    """Trials without and with a bad FCS in turn; each device forwards one class beside valid frames."""

    def all_but(name: str) -> FlowMeasurer:
        return FlowMeasurer(lambda _, sent: {key: count * (key[0] in ("valid", name)) for key, count in sent.items()})

    ports = bed(bad_fcs=True)
    parameters = resolve(TEST.name, TEST.parameters, ("sweep_start_pct=50", "sweep_step_pct=50"))
    for name, verdicts in (
        ("oversize", ["PASS"] * 4),
        ("undersize", ["FAIL", "PASS"] * 2),
        ("bad_fcs", ["PASS", "FAIL"] * 2),
    ):
        log = TrialLog(all_but(name))
        TEST.run_unit(TEST.units(parameters, (512,))[0], ports, parameters, log)
        assert log.verdicts == verdicts, name


def test_loss_of_valid_frames_is_reported_and_no_class_failure() -> None:
    result, outcome, _ = run(lossy)
    row = result.rows[0]
    assert row.valid_loss_pct == pytest.approx(50, abs=0.1)
    assert row.valid_loss_pct is not None and row.valid_loss_error_pct
    most_pct = row.valid_loss_pct + row.valid_loss_error_pct + 100_000 / row.valid_tx_frames
    assert row.bucket_loss_pct == pytest.approx(min(100, most_pct)), "chance may have taken less than in a longer trial"
    assert outcome.state is Verdict.PASS


def test_a_port_that_pads_short_frames_is_not_supported() -> None:
    with pytest.raises(UnsupportedError, match="it pads short frames to 64 bytes"):
        TEST.check(bed(pads=True), resolve(TEST.name, TEST.parameters, ()))


def test_nothing_is_known_of_losses_while_a_transient_lasts() -> None:
    class Unsettled(FlowMeasurer):
        def measure(self, spec: TrialSpec, note: TrialNote | None = None) -> TrialResult:
            return replace(super().measure(spec, note), transient=Transient(0, over=False, frames=0))

    _, outcome = run_unit(TEST, bed(), Unsettled(filtering), 512, "sweep_start_pct=50", "sweep_end_pct=50")
    (row,) = outcome.tables[0].rows
    assert (row["valid_loss_pct"], row["valid_loss_error_pct"], row["bucket_loss_pct"]) == (0, 100, 100)


def test_totals_are_the_sums_of_the_classes_and_valid_frames_exclude_those_with_a_bad_fcs() -> None:
    result, outcome, measurer = run(filtering, "sweep_start_pct=50", "sweep_end_pct=50", ports=bed(bad_fcs=True))
    (row,) = result.rows
    counts = {
        name: sum(stream.frame_count for spec in measurer.specs for stream in spec.streams if stream.name == name)
        for name in ("valid", "oversize", "undersize", "bad_fcs")
    }
    assert {name: getattr(row, f"{name}_tx_frames") for name in counts} == counts
    assert row.total_tx_frames == sum(counts.values())
    # A burst of 1,000 frames in each of two trials.
    assert row.bucket_loss_pct == pytest.approx(200_000 / counts["valid"])
    assert row.total_rx_frames == row.valid_rx_frames == counts["valid"]
    titles = [column.title for column in outcome.tables[0].columns]
    assert titles == [
        *("Valid size", "Load", "Result", "Tx, all", "Rx, all", "Valid Tx", "Valid Rx"),
        *(
            "Valid loss",
            "Error of valid loss",
            "Bucket of 1,000",
            "Oversize Tx",
            "Oversize Rx",
            "Undersize Tx",
            "Undersize Rx",
            "Bad FCS Tx",
            "Bad FCS Rx",
        ),
        *("Oversize", "Undersize", "Bad FCS", "Dribble bits", "Alignment"),
    ]


@pytest.mark.parametrize(
    ("rate_bps", "handling"), [(10**8, "not supported on sim"), (10**9, "not applicable"), (10**11, "not applicable")]
)
def test_dribble_bits_and_alignment_errors_exist_up_to_100_mbit_per_second(rate_bps: int, handling: str) -> None:
    result, outcome, _ = run(filtering, ports=bed(rate_bps=rate_bps))
    row = result.rows[0]
    assert (row.dribble_handling, row.alignment_handling) == (handling, handling)
    said = f"Dribble bits and alignment errors: {handling.partition(' on')[0]}"
    assert any(text.startswith(said) for text in outcome.deviations)


def test_lengths_and_ports_are_parameters() -> None:
    _, outcome, measurer = run(filtering, "undersize_bytes=40", "oversize_bytes=9000", "tx_port=3", "rx_port=1")
    streams = {stream.name: stream for stream in measurer.specs[0].streams}
    assert (streams["undersize"].frame_size_bytes, streams["oversize"].frame_size_bytes) == (40, 9000)
    assert {(stream.tx_ports, stream.rx_ports) for stream in streams.values()} == {((3,), (1,))}
    assert outcome.tables[0].note.startswith("Undersize frames have 40 bytes, oversize frames 9000.")


def test_learning_is_verified_with_valid_frames() -> None:
    """A device that filters the other frames passes the learning phase all the same."""
    _, _, measurer = run(filtering)
    (spec, *_) = measurer.specs
    assert spec.learning.enabled and spec.learning.verify
    assert {stream.name: stream.may_be_filtered for stream in spec.streams} == {
        "valid": False,
        "undersize": True,
        "oversize": True,
    }


@pytest.mark.parametrize(
    ("pair", "shown"), [("tx_port=2", "tx_port=2, rx_port=2"), ("rx_port=9", "tx_port=1, rx_port=9")]
)
def test_one_port_and_ports_that_are_not_there_are_refused(pair: str, shown: str) -> None:
    with pytest.raises(ParameterError, match=f"{shown}: two different ports are needed") as caught:
        run(filtering, pair)
    assert caught.value.hint == "ports are 1 to 3"


CLASSES = {"valid": "valid", "oversize": "over", "undersize": "under"}
"""Our classes, and their names in the columns of the report."""


class CountingMeasurer(FlowMeasurer):
    """With receiving ports that count frames whose FCS does not fit, and count none."""

    def measure(self, spec: TrialSpec, note: TrialNote | None = None) -> TrialResult:
        result = super().measure(spec, note)
        return replace(result, ports=tuple(replace(port, bad_fcs_frames=0) for port in result.ports))


def xena(carry: object, *settings: str, sizes: tuple[int, ...] = (64, 1518), bad_fcs: bool = True) -> tuple[Any, ...]:
    """Run the stream set of Xena testers; return the row, the outcome and the streams of its one trial."""
    measurer = CountingMeasurer(carry)  # type: ignore[arg-type]
    load = () if any("sweep" in setting for setting in settings) else ("sweep_start_pct=50", "sweep_end_pct=50")
    _, outcome = run_units(TEST, bed(bad_fcs=bad_fcs), measurer, sizes, "stream_set=xena", *load, *settings)
    (spec,) = measurer.specs
    return outcome.tables[0].rows[0], outcome, spec


def of_class(spec: TrialSpec, name: str) -> list[Stream]:
    return [stream for stream in spec.streams if stream.name.partition("-")[0] == name]


def test_the_stream_set_of_xena_has_three_equal_classes_and_errors_in_place_of_valid_frames() -> None:
    _, _, spec = xena(filtering, f"valid_sizes={MOST_SIZES}")
    l1_bps = {
        name: sum(l1_rate_bps(stream.rate_fps, stream.frame_size_bytes) for stream in of_class(spec, name))
        for name in ("valid", "undersize", "oversize", "bad_fcs")
    }
    third_bps = Fraction(50, 300) * 10**9
    assert l1_bps["undersize"] == l1_bps["oversize"] == l1_bps["valid"] + l1_bps["bad_fcs"] == third_bps
    assert len(spec.streams) == MOST_STREAMS, "as many as the program has"


def test_no_more_streams_are_asked_for_than_the_program_has() -> None:
    assert load_contract()["STREAMS"] == MOST_STREAMS


@pytest.mark.parametrize(("count", "steps"), [(253, {5, 6}), (20, {76, 77}), (2, {1454}), (254, set())])
def test_valid_frames_leave_in_the_order_of_their_sizes(count: int, steps: set[int]) -> None:
    """Some of the sizes 64 to 1518 in turn, evenly spread, with the mean length of all of them."""
    if count > MOST_SIZES:
        with pytest.raises(ParameterError, match="valid_sizes"):
            xena(filtering, f"valid_sizes={count}")
        return
    _, outcome, spec = xena(filtering, f"valid_sizes={count}")
    valid = of_class(spec, "valid")
    sizes = [stream.frame_size_bytes for stream in valid]
    assert (sizes[0], sizes[-1], len(sizes), sum(sizes)) == (64, 1518, count, 791 * count)
    assert {after - before for before, after in pairwise(sizes)} == steps
    (interval_ns,) = {count * Fraction(10**9) / sum(stream.rate_fps for stream in valid)}
    for place, stream in enumerate(valid):
        assert stream.start_offset_ns == (round(place * interval_ns / count),)
    counts = [stream.frame_count for stream in valid]
    assert counts == sorted(counts, reverse=True) and counts[0] - counts[-1] <= 1, "the last round may be cut short"
    assert sum(counts) == tx_frames(spec.duration_ns, sum(stream.rate_fps for stream in valid))
    words = " or ".join(str(step) for step in sorted(steps))
    assert f"Valid frames have {count} sizes in turn, {words} bytes apart" in outcome.tables[0].note


@pytest.mark.parametrize(
    ("sizes", "count", "expected"),
    [
        ((64, 64), 61, [64]),
        ((64, 66), 61, [64, 65, 66]),
        ((64, 74), 3, [64, 69, 74]),
        ((64, 67), 3, [64, 66, 67]),
        ((512, 1518), 2, [512, 1518]),
    ],
)
def test_sizes_between_two_are_evenly_spread(sizes: tuple[int, int], count: int, expected: list[int]) -> None:
    assert list(sizes_between(*sizes, count)) == expected


@pytest.mark.parametrize(
    ("settings", "frames"),
    [
        (("duration_ms=30000",), 60),  # every 0.5 s
        (("duration_ms=30000", "bad_fcs_interval_ms=200"), 150),
        (("duration_ms=100", "bad_fcs_interval_ms=500"), 1),
        (("scaled_frames=600",), 10),  # every tenth of 100 places, a sixth of 600
    ],
)
def test_an_fcs_error_is_injected_at_an_interval(settings: tuple[str, ...], frames: int) -> None:
    row, _, spec = xena(filtering, *settings)
    (stream,) = of_class(spec, "bad_fcs")
    assert stream.bad_fcs and stream.frame_count == row["bad_fcs_tx_frames"] == frames
    assert (row["bad_fcs_rx_frames"], row["bad_fcs_handling"]) == (0, "filtered")


def test_a_short_trial_at_a_low_load_has_one_valid_frame() -> None:
    _, _, spec = xena(filtering, "duration_ms=0.1", "sweep_start_pct=1", "sweep_end_pct=1")
    assert [(stream.frame_size_bytes, stream.frame_count) for stream in of_class(spec, "valid")] == [(64, 1)]


def test_more_errors_than_valid_frames_are_refused() -> None:
    """Every second valid frame may be one: 2 / 25,688 s."""
    for interval_ms in ("0.01", "0.0778"):
        with pytest.raises(
            ParameterError, match=f"bad_fcs_interval_ms={interval_ms}: there are 25,688 valid"
        ) as caught:
            xena(filtering, f"bad_fcs_interval_ms={interval_ms}")
    assert str(caught.value.hint).startswith("an interval of 0.07786 ms or more")
    # 50 % of 1 Gbit/s in three parts, and 8 x (791 + 20) bits for each valid frame.
    xena(filtering, "bad_fcs_interval_ms=0.077856")


def test_each_class_of_the_xena_set_has_its_counts_and_its_handling() -> None:
    row, outcome, spec = xena(lossless)
    sent = {name: sum(stream.frame_count for stream in of_class(spec, name)) for name in ("valid", "oversize")}
    assert (row["frame_size_bytes"], row["valid_tx_frames"], row["valid_rx_frames"]) == (
        "64-1518",
        sent["valid"],
        sent["valid"],
    )
    assert row["total_tx_frames"] == row["total_rx_frames"] == sum(stream.frame_count for stream in spec.streams)
    handling = (row["oversize_handling"], row["undersize_handling"], row["bad_fcs_handling"])
    assert handling == ("forwarded", "forwarded", "forwarded")
    assert outcome.state is Verdict.FAIL
    strict, passed, _ = xena(filtering)
    handling = (strict["oversize_handling"], strict["undersize_handling"], strict["bad_fcs_handling"])
    assert (handling, passed.state) == (("filtered", "filtered", "filtered"), Verdict.PASS)


def test_ports_that_cannot_damage_an_fcs_send_the_three_classes() -> None:
    row, outcome, spec = xena(filtering, bad_fcs=False)
    assert len(spec.streams) == 22 and not of_class(spec, "bad_fcs")
    assert (row["bad_fcs_handling"], row["bad_fcs_tx_frames"]) == ("not supported on sim", None)
    assert "Frames with a bad FCS: not supported on sim." in outcome.deviations


def test_the_addresses_are_verified_with_one_of_the_valid_streams() -> None:
    """All of them at once would be a burst that a short queue loses."""
    _, _, spec = xena(filtering)
    verified, _ = verification_streams(spec.streams, {1: 10**9, 2: 10**9})
    assert [stream.name for stream in verified] == ["valid-64"]


@pytest.mark.parametrize("row", WHITE_RABBIT["errored_frames"], ids=lambda row: f"{row['tx_rate_pct']:g}")
def test_the_counts_of_the_report_are_sent_and_judged(row: dict[str, Any]) -> None:
    """Table 1.8, 30 s. Given the frames that its switch forwarded, our table agrees with the report.

    The report's frames with a bad FCS, 58 injected by software about every 0.5 s, are in its valid ones or in
    none of its counts; ours are 60 in the places of valid frames.
    """
    lost = {name: row[f"tx_{short}"] - row[f"rx_{short}"] for name, short in CLASSES.items()}

    def carry(_: TrialSpec, sent: Counts) -> Counts:
        left = dict(lost)
        arrived = {}
        for key, count in sent.items():
            name = key[0].partition("-")[0]
            gone = count if name == "bad_fcs" else min(count, left[name])
            if name in left:
                left[name] -= gone
            arrived[key] = count - gone
        return arrived

    load = f"{row['tx_rate_pct']:g}"
    settings = ("duration_ms=30000", f"sweep_start_pct={load}", f"sweep_end_pct={load}")
    ours, outcome, _ = xena(carry, *settings)
    assert ours["bad_fcs_tx_frames"] == 60
    sent = {name: ours[f"{name}_tx_frames"] for name in CLASSES}
    sent["valid"] += ours["bad_fcs_tx_frames"]
    # The report's streams keep their rates to some 1e-4, that of oversize frames at 40 % to 2.3e-4.
    for name, short in CLASSES.items():
        assert sent[name] == pytest.approx(row[f"tx_{short}"], rel=2.4e-4 if name == "oversize" else 1.2e-4), name
    assert row["tx_frames"] == sum(row[f"tx_{short}"] for short in CLASSES.values())
    assert ours["total_tx_frames"] == sum(sent.values())
    assert ours["total_rx_frames"] == sum(ours[f"{name}_rx_frames"] for name in CLASSES)
    for name in CLASSES:
        assert ours[f"{name}_tx_frames"] - ours[f"{name}_rx_frames"] == lost[name]
    assert row["rx_frames"] == sum(row[f"rx_{short}"] for short in CLASSES.values()) + row["rx_fcs"]
    assert ours["bad_fcs_rx_frames"] == row["rx_fcs"] == 0
    forwarded = {name for name, short in CLASSES.items() if name != "valid" and row[f"rx_{short}"]}
    assert {name for name in ("oversize", "undersize") if ours[f"{name}_handling"] != "filtered"} == forwarded
    assert outcome.state.value == row["result"] == "FAIL"
