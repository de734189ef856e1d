"""Errored frames of the White Rabbit report, table 1.8: undersize and oversize pass, bad FCS does not."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from support.networks import changed, shipped
from support.published import WHITE_RABBIT
from support.runs import run_on_sim

from p4mesh.errors import UnsupportedError
from p4mesh.methods.rfc2889.errored_frames import ErroredFrames, ErroredLoad
from p4mesh.run.preparation import bed_of
from p4mesh.target.sim import SimTarget
from p4mesh.topology import Topology
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import Stream
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict


def test_undersize_and_oversize_frames_are_forwarded_and_each_class_has_its_handling() -> None:
    settings = ("sweep_start_pct=10", "sweep_end_pct=90", "sweep_step_pct=80", "scaled_frames=3000")
    results, outcome, _ = run_on_sim(ErroredFrames(), shipped("wrs-18x1g"), (64,), *settings)
    for row in next(iter(results.values())).rows:
        assert row.undersize_handling == "forwarded", "undersize frames must be filtered, and are not"
        assert row.undersize_rx_frames == row.undersize_tx_frames > 0
        assert row.oversize_handling == "forwarded"
        assert row.valid_rx_frames == row.valid_tx_frames
    assert outcome.state is Verdict.FAIL


def test_the_streams_of_the_report_show_its_counts_by_class() -> None:
    """Table 1.8: below 100 % valid and oversize frames all pass, bad FCS is filtered, undersize is forwarded: FAIL.

    The report's switch loses 5.5e-5 to 8.8e-5 of the undersize frames; the model does not.
    """
    settings = ("stream_set=xena", "sweep_start_pct=10", "sweep_end_pct=90", "sweep_step_pct=40", "scaled_frames=3000")
    results, outcome, trials = run_on_sim(ErroredFrames(), shipped("wrs-18x1g"), (64, 1518), *settings)
    rows = next(iter(results.values())).rows
    for row, (spec, _), published in zip(rows, trials, WHITE_RABBIT["errored_frames"][0:9:4], strict=True):
        assert row.load_pct == published["tx_rate_pct"]
        # As many frames of each class as the report has in 30 s, for the length of this trial.
        part = spec.duration_ns / 30e9
        for name, short in (("oversize", "over"), ("undersize", "under")):
            assert getattr(row, f"{name}_tx_frames") == pytest.approx(
                part * published[f"tx_{short}"], rel=1.2e-4, abs=1
            )
        valid = row.valid_tx_frames + row.bad_fcs_tx_frames
        assert valid == pytest.approx(part * published["tx_valid"], rel=1.2e-4, abs=2)
        assert row.bad_fcs_tx_frames == pytest.approx(min(60, valid / 10), abs=1)
        for name in ("valid", "oversize", "undersize"):
            assert getattr(row, f"{name}_rx_frames") == getattr(row, f"{name}_tx_frames")
        assert row.bad_fcs_rx_frames == published["rx_fcs"] == 0
        handling = (row.oversize_handling, row.undersize_handling, row.bad_fcs_handling)
        assert handling == ("forwarded", "forwarded", "filtered")
    assert outcome.state.value == WHITE_RABBIT["errored_frames"][0]["result"] == "FAIL"


def test_a_switch_that_filters_by_length_passes() -> None:
    strict = changed("wrs-18x1g", ("    min_frame_bytes: 60", "    min_frame_bytes: 64\n    max_frame_bytes: 1518"))
    settings = ("sweep_start_pct=50", "sweep_end_pct=50", "scaled_frames=1000")
    results, outcome, _ = run_on_sim(ErroredFrames(), strict, (64,), *settings)
    (row,) = next(iter(results.values())).rows
    assert (row.undersize_rx_frames, row.oversize_rx_frames) == (0, 0)
    assert outcome.state is Verdict.PASS


def bad_fcs_row(topology: Topology, *settings: str, target: str = "sim") -> tuple[ErroredLoad, Verdict]:
    settings = ("sweep_start_pct=50", "sweep_end_pct=50", *settings)
    results, outcome, trials = run_on_sim(ErroredFrames(), topology, (128,), *settings, target=target)
    assert sum(trial.damaged_frames for _, trial in trials) == 0
    (row,) = next(iter(results.values())).rows
    return row, outcome.state


def test_frames_with_a_bad_fcs_are_filtered_by_the_switch() -> None:
    row, _ = bad_fcs_row(shipped("wrs-18x1g"), "scaled_frames=2000")
    assert (row.bad_fcs_tx_frames, row.bad_fcs_rx_frames, row.bad_fcs_handling) == (500, 0, "filtered")
    assert row.state.trusted


def test_a_switch_that_forwards_frames_with_a_bad_fcs_fails() -> None:
    careless = changed("wrs-18x1g", ("    min_frame_bytes: 60\n    filter_bad_fcs: true", "    filter_bad_fcs: false"))
    row, state = bad_fcs_row(careless, "scaled_frames=2000")
    assert (row.undersize_handling, state) == ("filtered", Verdict.FAIL)
    assert (row.bad_fcs_tx_frames, row.bad_fcs_rx_frames, row.bad_fcs_handling) == (500, 500, "forwarded")


def test_a_target_that_cannot_damage_an_fcs_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Stream("bad", 128, Fraction(1000), 10, Pairs(), (1,), (2,), bad_fcs=True)
    usual = SimTarget.declare(shipped("wrs-18x1g"))
    with monkeypatch.context() as patched:
        patched.setattr(SimTarget, "declare", lambda *_: replace(usual, target="bmv2", bad_fcs=False))
        with (
            open_measurer(shipped("wrs-18x1g")) as measurer,
            pytest.raises(UnsupportedError, match="not supported on bmv2: stream 'bad' asks for frames with a bad FCS"),
        ):
            measurer.measure(TrialSpec("bad", (stream,), 10_000_000))
    beds = {name: bed_of(shipped("wrs-18x1g"), name) for name in ("sim", "bmv2")}
    assert {name: bed.sends_bad_fcs for name, bed in beds.items()} == {"sim": True, "bmv2": False}
    row, _ = bad_fcs_row(shipped("wrs-18x1g"), "scaled_frames=100", target="bmv2")
    assert row.bad_fcs_handling == "not supported on bmv2"
