"""Prometheus text and HdrHistogram logs: names of the vocabulary, numbers of the run, other readers."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader
from support.networks import TOPOLOGIES

from p4mesh import RunOptions, run
from p4mesh.cli.main import main
from p4mesh.methods.results.fields import FRAME_SIZE_BYTES as SIZE
from p4mesh.methods.results.fields import MEANINGS, Column
from p4mesh.methods.results.outcome import Cell, Outcome, Table
from p4mesh.report.export.hdr_histograms import hdr_log
from p4mesh.report.export.prometheus import Metrics, prometheus_text
from p4mesh.report.export.xena_tables import xena_csv
from p4mesh.report.publish import outcome_of
from p4mesh.store.stored_run import read_run
from p4mesh.verdict import Verdict

_SAMPLE = re.compile(r'^p4mesh_(\w+)\{((?:[a-z_0-9]+="(?:[^"\\]|\\.)*",?)*)\} (\S+)$')


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    settings = ("scaled_frames=300",)
    out = tmp_path_factory.mktemp("formats") / "run"
    return run(RunOptions("rfc2544.latency", TOPOLOGIES / "back-to-back.yaml", "64", settings, out, jobs=1)).directory


def test_prometheus_has_every_number_under_the_name_of_its_column(finished: Path) -> None:
    assert main(["export", str(finished), "--format", "prometheus"]) == 0
    lines = (finished / "results.prom").read_text().splitlines()
    samples = [_SAMPLE.match(line) for line in lines if not line.startswith("#")]
    assert all(samples)
    series = {(found[1], found[2]): float(found[3]) for found in samples if found}
    assert len(series) == len(samples), "no series comes twice"
    table = next(one for one in outcome_of(read_run(finished)).tables if one.name == "throughput")
    of_table = {name: value for (name, labels), value in series.items() if 'table="throughput"' in labels}
    assert of_table["throughput_pct"] == table.rows[0]["throughput_pct"]
    assert f"# HELP p4mesh_throughput_pct {MEANINGS['throughput_pct']}" in lines
    typed = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert len(set(typed)) == len(typed), "samples of a metric stand together"


def outcome_with(*tables: Table) -> Outcome:
    return Outcome(Verdict.PASS, "x", tables, ())


def test_samples_of_prometheus_are_the_numbers_of_a_table_by_hand(finished: Path) -> None:
    """Keys and words are labels or nothing, a row without a key has its number, and a label of the run is the run's."""
    columns = (SIZE, Column("note", "Note"), Column("ok", "OK"), Column("rate_pct", "Rate"), Column("lost", "Lost"))
    rows: tuple[dict[str, Cell], ...] = (
        {"frame_size_bytes": 64, "note": "n", "ok": True, "rate_pct": 17.5, "lost": 3},
        {"frame_size_bytes": None, "note": "n", "ok": False, "rate_pct": None, "lost": 0},
    )
    run = read_run(finished)
    found = prometheus_text([(run, outcome_with(Table("t", "T", columns, rows)))])
    about = ",".join(
        f'{name}="{text}"'
        for name, text in (
            *(("run_id", run.identifier), ("test", "rfc2544.latency"), ("label", "rfc2544.latency")),
            *(("topology", "back-to-back"), ("target", "sim")),
        )
    )
    assert [line for line in found.splitlines() if not line.startswith("#")] == [
        f'p4mesh_state{{{about},state="PASS"}} 1',
        f'p4mesh_rate_pct{{frame_size_bytes="64",table="t",{about}}} 17.5',
        f'p4mesh_lost{{frame_size_bytes="64",table="t",{about}}} 3',
        f'p4mesh_lost{{row="1",table="t",{about}}} 0',
    ]
    assert [line for line in found.splitlines() if "_lost" in line and line.startswith("#")] == [
        "# TYPE p4mesh_lost gauge"
    ], "no meaning but that of the vocabulary"


def test_columns_of_xena_are_percent_of_the_cap_and_bit_per_second() -> None:
    columns = tuple(Column(key, key) for key in ("load_pct", "load_of_cap_pct", "offered_l1_mbps", "lost_frames"))
    row: dict[str, Cell] = {"load_pct": 40.0, "load_of_cap_pct": 80.0, "offered_l1_mbps": 12.5, "lost_frames": 7}
    shown = xena_csv(outcome_with(Table("mesh_throughput", "T", columns, (row, {**row, "offered_l1_mbps": None}))))
    head, first, second = shown["throughput"].splitlines()
    assert head == "Tx Rate (Percent),Tx Rate (L1 Bit/s),Loss (Packets)"
    assert (first, second) == ("80.0,12500000.0,7", "80.0,,7")


def test_a_sweep_of_xena_has_received_and_lost_percent_of_each_size_beside_each_other() -> None:
    words = {"sweep_received": "forwarding", "sweep_loss": "loss"}
    sweeps = [
        Table(
            name,
            name,
            tuple(Column(key, key) for key in ("load_pct", f"{word}_pct_64B", f"{word}_pct_128B")),
            tuple(
                {"load_pct": load, f"{word}_pct_64B": load + at, f"{word}_pct_128B": load + at + 1} for load in (10, 20)
            ),
        )
        for at, (name, word) in enumerate(words.items(), 1)
    ]
    assert xena_csv(outcome_with(sweeps[0])) == {}
    sizes = [f"{size} B {what} Rate (Percent)" for size in (64, 128) for what in ("Rx", "Loss")]
    assert xena_csv(outcome_with(*sweeps))["forwarding"].splitlines() == [
        ",".join(("Tx Rate (Percent)", *sizes)),
        "10,11,12,12,13",
        "20,21,22,22,23",
    ]


def test_hostile_labels_stay_labels() -> None:
    metrics = Metrics()
    metrics.add("state", {"run-name": 'a"b\\c\nd'}, 1)
    assert metrics.text().splitlines()[-1] == r'p4mesh_state{run_name="a\"b\\c\nd"} 1'


def test_a_log_has_the_latencies_of_every_trial_with_a_histogram(finished: Path) -> None:
    assert main(["export", str(finished), "--format", "hdr"]) == 0
    reader = HistogramLogReader(str(finished / "latency.hlog"), HdrHistogram(1, 3_600 * 10**9, 3))
    stored = [(trial, one) for trial in read_run(finished).trials for one in trial.result["histograms"] or ()]
    assert stored
    for trial, one in stored:
        read = reader.get_next_interval_histogram()
        latency = one["latency"]
        assert read.get_total_count() == latency["count"]
        assert read.get_tag() == f"{trial.unit}:{trial.index}:{one['stream']}:{one['tx_port']}-{one['rx_port']}"
        assert read.get_mean_value() == pytest.approx(latency["sum_ns"] / latency["count"], rel=0.01)
    assert reader.get_next_interval_histogram() is None


def test_a_histogram_of_all_ports_of_a_stream_names_none(finished: Path) -> None:
    stored = read_run(finished)
    trial = next(trial for trial in stored.trials if trial.result["histograms"])
    joined = [{**one, "tx_port": None, "rx_port": None} for one in trial.result["histograms"]]
    of_all = replace(stored, trials=(replace(trial, result={**trial.result, "histograms": joined}),))
    tag = hdr_log(of_all).splitlines()[-1].partition(",")[0]
    assert tag == f"Tag={trial.unit}:{trial.index}:{joined[-1]['stream']}"


def test_a_line_of_a_log_has_begin_length_and_highest_latency_of_its_trial(finished: Path) -> None:
    """The trial begins 2.5 s after the run and takes 3 s; bins count at their middle, 1 ns at least: 2 us at most."""
    stored = read_run(finished)
    trial = next(trial for trial in stored.trials if trial.result["histograms"])
    one = trial.result["histograms"][0]
    bins = {"low_ns": [0, 1990], "high_ns": [0, 2010], "frames": [3, 1]}
    result = {**trial.result, "duration_ns": 3 * 10**9, "histograms": [{**one, "latency": {"bins": bins}}]}
    first, own = (
        replace(stored.timings[0], unit=unit, index=trial.index, started_utc=f"2030-01-01T00:00:{second}Z")
        for unit, second in (("first", "01.250"), (trial.unit, "03.750"))
    )
    text = hdr_log(replace(stored, trials=(replace(trial, result=result),), timings=(first, own)))
    assert text.splitlines()[-1].split(",")[1:4] == ["2.500", "3.000000", "2.000"]
    untimed = hdr_log(replace(stored, trials=(replace(trial, result=result),), timings=()))
    assert untimed.splitlines()[-1].split(",")[1] == "0.000"
    assert "#[StartTime: 0.000 (seconds since epoch), ]" in untimed
    assert "#[StartTime: 1893456001.250 (seconds since epoch), 2030-01-01T00:00:01.250Z]" in text
    read = HdrHistogram.decode(text.splitlines()[-1].rpartition(",")[2])
    assert (read.get_count_at_value(1), read.get_count_at_value(2000), read.get_total_count()) == (3, 1, 4)


def test_a_run_without_histograms_has_no_log_and_one_of_another_rfc_no_columns_of_xena(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = RunOptions(
        "rfc2544.frame_loss", TOPOLOGIES / "back-to-back.yaml", "64", ("scaled_frames=50",), tmp_path / "run", jobs=1
    )
    directory = run(options).directory
    assert main(["export", str(directory), "--format", "hdr"]) == 2
    assert "no trial has a histogram of latency" in capsys.readouterr().err
    assert main(["export", str(directory), "--format", "xena", "--out", str(tmp_path / "tables")]) == 2
    assert not (tmp_path / "tables").exists(), "what is refused leaves nothing"
