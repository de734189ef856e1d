"""RFC 2889 5.9: a verdict per class of errored frames, never of valid loss."""

from __future__ import annotations

import pytest
from fakes import FlowMeasurer, TrialLog, lossless

from p4mesh.errors import ParameterError, UnsupportedError
from p4mesh.methods.base import UnitResult
from p4mesh.methods.bed import TestBed, TestPort
from p4mesh.methods.outcome import Outcome, State
from p4mesh.methods.parameters import resolve
from p4mesh.methods.rfc2889.errored_frames import ErroredFrames
from p4mesh.traffic.line_rate import l1_rate_bps
from p4mesh.trial.spec import TrialSpec

TEST = ErroredFrames()
Counts = dict[tuple[str, int, int], int]


def bed(pads: bool = False, rate_bps: int = 10**9, bad_fcs: bool = False) -> TestBed:
    ports = tuple(TestPort(n, f"p{n}", rate_bps, pads_short_frames=pads and n == 1) for n in (1, 2, 3))
    return TestBed("fake", ports, sends_bad_fcs=bad_fcs)


def run(carry: object, *settings: str, ports: TestBed | None = None) -> tuple[UnitResult, Outcome, FlowMeasurer]:
    measurer = FlowMeasurer(carry)  # type: ignore[arg-type]
    ports = ports or bed()
    parameters = resolve(TEST.name, TEST.parameters, settings)
    TEST.check(ports, parameters)
    (unit,) = TEST.units(parameters, (512,))
    result = TEST.run_unit(unit, ports, parameters, measurer)
    return result, TEST.assemble(ports, parameters, {unit: result}), measurer


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
    assert result["rows"][0]["valid_loss_pct"] == pytest.approx(50, abs=0.1)
    assert outcome.state is State.PASS


def test_a_port_that_pads_short_frames_is_not_supported() -> None:
    with pytest.raises(UnsupportedError, match="it pads short frames to 64 bytes"):
        TEST.check(bed(pads=True), resolve(TEST.name, TEST.parameters, ()))


def test_totals_are_the_sums_of_the_classes_and_valid_frames_exclude_those_with_a_bad_fcs() -> None:
    result, outcome, measurer = run(filtering, "sweep_start_pct=50", "sweep_end_pct=50", ports=bed(bad_fcs=True))
    (row,) = result["rows"]
    counts = {
        name: sum(stream.frame_count for spec in measurer.specs for stream in spec.streams if stream.name == name)
        for name in ("valid", "oversize", "undersize", "bad_fcs")
    }
    assert {name: row[f"{name}_tx_frames"] for name in counts} == counts
    assert row["total_tx_frames"] == sum(counts.values())
    assert row["total_rx_frames"] == row["valid_rx_frames"] == counts["valid"]
    titles = [column.title for column in outcome.tables[0].columns]
    assert titles == [
        *("Valid size", "Load", "Tx, all", "Rx, all", "Valid Tx", "Valid Rx", "Valid loss"),
        *("Oversize Tx", "Oversize Rx", "Undersize Tx", "Undersize Rx", "Bad FCS Tx", "Bad FCS Rx"),
        *("Oversize", "Undersize", "Bad FCS", "Dribble bits", "Alignment"),
    ]


@pytest.mark.parametrize(
    ("rate_bps", "verdict"), [(10**8, "not supported on sim"), (10**9, "not applicable"), (10**11, "not applicable")]
)
def test_dribble_bits_and_alignment_errors_exist_up_to_100_mbit_per_second(rate_bps: int, verdict: str) -> None:
    result, outcome, _ = run(filtering, ports=bed(rate_bps=rate_bps))
    row = result["rows"][0]
    assert (row["dribble_verdict"], row["alignment_verdict"]) == (verdict, verdict)
    assert any(verdict.partition(" on")[0] in text for text in outcome.deviations)


def test_lengths_and_ports_are_parameters() -> None:
    _, outcome, measurer = run(filtering, "undersize_bytes=40", "oversize_bytes=9000", "tx_port=3", "rx_port=1")
    streams = {stream.name: stream for stream in measurer.specs[0].streams}
    assert (streams["undersize"].frame_size_bytes, streams["oversize"].frame_size_bytes) == (40, 9000)
    assert {(stream.tx_ports, stream.rx_ports) for stream in streams.values()} == {((3,), (1,))}
    assert outcome.tables[0].note.startswith("Undersize frames have 40 bytes, oversize frames 9000.")


def test_learning_is_verified_with_valid_frames() -> None:
    """A device that filters the others is not the worse for it."""
    _, _, measurer = run(filtering)
    (spec, *_) = measurer.specs
    assert spec.learning.enabled and spec.learning.verify
    assert {stream.name: stream.may_be_filtered for stream in spec.streams} == {
        "valid": False,
        "undersize": True,
        "oversize": True,
    }


@pytest.mark.parametrize("pair", [("tx_port=2",), ("rx_port=9",)])
def test_one_port_and_ports_that_are_not_there_are_refused(pair: tuple[str, ...]) -> None:
    with pytest.raises(ParameterError, match="two different ports are needed"):
        run(filtering, *pair)
