"""RFC 2889 5.9: a verdict per class of errored frames, never of valid loss."""

from __future__ import annotations

import pytest
from fakes import FlowMeasurer, lossless

from p4mesh.errors import UnsupportedError
from p4mesh.methods.base import UnitResult
from p4mesh.methods.bed import TestBed, TestPort
from p4mesh.methods.outcome import Outcome, State
from p4mesh.methods.parameters import resolve
from p4mesh.methods.rfc2889.errored_frames import ErroredFrames
from p4mesh.traffic.line_rate import l1_rate_bps
from p4mesh.trial.spec import TrialSpec

TEST = ErroredFrames()
Counts = dict[tuple[str, int, int], int]


def bed(pads: bool = False) -> TestBed:
    return TestBed("fake", tuple(TestPort(n, f"p{n}", 10**9, pads_short_frames=pads) for n in (1, 2)))


def run(carry: object) -> tuple[UnitResult, Outcome, FlowMeasurer]:
    measurer = FlowMeasurer(carry)  # type: ignore[arg-type]
    parameters = resolve(TEST.name, TEST.parameters, ())
    TEST.check(bed(), parameters)
    (unit,) = TEST.units(parameters, (512,))
    result = TEST.run_unit(unit, bed(), parameters, measurer)
    return result, TEST.assemble(bed(), parameters, {unit: result}), measurer


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


def test_a_device_that_filters_passes() -> None:
    result, outcome, _ = run(filtering)
    assert outcome.state is State.PASS
    assert {row["undersize_verdict"] for row in result["rows"]} == {"PASS"}
    assert all(row["valid_loss_pct"] == 0 for row in result["rows"])


def test_a_device_that_forwards_runts_fails_and_giants_are_only_reported() -> None:
    result, outcome, _ = run(lossless)
    assert outcome.state is State.FAIL
    assert (result["rows"][0]["undersize_verdict"], result["rows"][0]["oversize_verdict"]) == ("FAIL", "forwarded")


def test_loss_of_valid_frames_is_reported_and_no_class_failure() -> None:
    result, outcome, _ = run(lossy)
    assert result["rows"][0]["valid_loss_pct"] == pytest.approx(50, abs=0.1)
    assert outcome.state is State.PASS


def test_a_port_that_pads_short_frames_is_not_supported() -> None:
    with pytest.raises(UnsupportedError, match="it pads short frames to 64 bytes"):
        TEST.check(bed(pads=True), resolve(TEST.name, TEST.parameters, ()))
