"""Errored frames of the White Rabbit report, table 1.8: undersize and oversize pass, bad FCS does not."""

from __future__ import annotations

from fractions import Fraction

from published import changed, run, shipped

from p4mesh.methods.outcome import State
from p4mesh.methods.rfc2889.errored_frames import ErroredFrames
from p4mesh.topology import Topology
from p4mesh.traffic.stream import PatternKind, Stream
from p4mesh.trial import open_measurer
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import Learning, TrialSpec


def test_undersize_and_oversize_frames_are_forwarded_and_each_class_has_its_verdict() -> None:
    settings = ("sweep_start_pct=10", "sweep_end_pct=90", "sweep_step_pct=80", "scaled_frames=3000")
    results, outcome, _ = run(ErroredFrames(), shipped("wrs-18x1g"), (64,), *settings)
    for row in next(iter(results.values()))["rows"]:
        assert row["undersize_verdict"] == "FAIL", "undersize frames must be filtered, and are not"
        assert row["undersize_rx_frames"] == row["undersize_tx_frames"] > 0
        assert row["oversize_verdict"] == "forwarded"
        assert row["valid_rx_frames"] == row["valid_tx_frames"]
    assert outcome.state is State.FAIL


def test_a_switch_that_filters_by_length_passes() -> None:
    strict = changed("wrs-18x1g", ("    min_frame_bytes: 60", "    min_frame_bytes: 64\n    max_frame_bytes: 1518"))
    settings = ("sweep_start_pct=50", "sweep_end_pct=50", "scaled_frames=1000")
    results, outcome, _ = run(ErroredFrames(), strict, (64,), *settings)
    (row,) = next(iter(results.values()))["rows"]
    assert (row["undersize_rx_frames"], row["oversize_rx_frames"]) == (0, 0)
    assert outcome.state is State.PASS


def frames_with_bad_fcs(topology: Topology) -> tuple[TrialResult, dict[str, dict[str, int]]]:
    """Send 2000 frames of which one per 100 us leaves with an FCS that does not fit."""
    rate_fps = Fraction(100_000)
    stream = Stream("damaged", 128, rate_fps, 2000, PatternKind.PAIRS, (1,), (2,))
    spec = TrialSpec("bad FCS", (stream,), 20_000_000, Learning(wait_ns=0, verify=False))
    with open_measurer(topology) as measurer:
        result = measurer.measure(spec)
        truth = measurer.target._network.truth()  # type: ignore[attr-defined]
    return result, {"sent": truth["nodes"]["tester"]["ports"]["1"], "dut": truth["nodes"]["wrs"]["ports"]["1"]}


def test_frames_with_a_bad_fcs_are_filtered_by_the_switch_and_counted_as_lost() -> None:
    topology = changed("wrs-18x1g", ("pad_to_minimum: false", "bad_fcs_interval_ns: 100000"))
    result, truth = frames_with_bad_fcs(topology)
    assert 180 <= truth["sent"]["tx_bad_fcs_frames"] <= 205
    assert result.lost_frames == truth["dut"]["drops"]["bad_fcs"]
    assert abs(truth["sent"]["tx_bad_fcs_frames"] - result.lost_frames) <= 1, "learning frames may be hit too"
    assert result.damaged_frames == 0
