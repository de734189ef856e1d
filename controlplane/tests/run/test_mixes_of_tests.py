"""Tests with mixes of frame sizes (`--sizes imix`): shares, rates, counts of each size, and what is refused."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from fractions import Fraction
from math import ceil
from pathlib import Path

import pytest
from support.networks import parsed as topology_of
from support.networks import shipped, switch, wire

from p4mesh.errors import ParameterError
from p4mesh.methods.results.loss_interval import loss_interval
from p4mesh.methods.results.outcome import Cell, Outcome
from p4mesh.report.document import Chart
from p4mesh.report.figures import chart_of, figures_of
from p4mesh.run.options import RunOptions
from p4mesh.run.run_files import run_file
from p4mesh.run.single import FinishedRun, run
from p4mesh.topology import Topology
from p4mesh.traffic.imix import SIMPLE_IMIX, MixedSize, MixPart, mix_of
from p4mesh.traffic.line_rate import max_rate_fps
from p4mesh.verdict import Verdict

MEAN = Fraction(7 * 64 + 4 * 570 + 1518, 12)
"""Of simple IMIX (RFC 6985 section 3)."""
QUICK = ("learning_wait_ms=1", "settle_ms=1", "restabilise_ms=1", "scaled_frames=1200")


def outcome(out: Path, test: str, sizes: str, *settings: str, topology: Topology | None = None) -> Outcome:
    topology = topology or topology_of(wire())
    return run(RunOptions(test, topology, sizes, (*QUICK, *settings), out / f"{test}-{sizes}", 1)).outcome


def rows(found: Outcome, name: str) -> list[dict[str, Cell]]:
    (table,) = (table for table in found.tables if table.name == name)
    return [dict(row) for row in table.rows]


def test_a_mix_fills_the_line_in_the_shares_of_its_sizes(tmp_path: Path) -> None:
    """Goal: 100 % of line rate is that of the mean size; each size has exactly its share of the frames."""
    found = outcome(tmp_path, "rfc2544.throughput", "imix,64", "search_max_pct=100")
    of_mix, of_64 = rows(found, "throughput")
    assert (found.state, of_mix["frame_size_bytes"], of_64["frame_size_bytes"]) == (Verdict.MEASURED, "imix", 64)
    assert of_mix["throughput_fps"] == pytest.approx(2 * float(max_rate_fps(MEAN, 10**9)))
    sizes = rows(found, "sizes")
    assert {row["mix"] for row in sizes} == {"imix"}
    of_trial = [row for row in sizes if row["trial"] == 1]
    assert [row["frame_size_bytes"] for row in of_trial] == [64, 570, 1518]
    assert (
        [row["tx_frames"] for row in of_trial] == [2 * 700, 2 * 400, 2 * 100] == [row["rx_frames"] for row in of_trial]
    )
    assert {row["lost_frames"] for row in sizes} == {0}
    assert any("64 B : 7, 570 B : 4, 1,518 B : 1, in the mean 353.833 B" in text for text in found.deviations)
    trials = [json.loads(line) for line in (tmp_path / "rfc2544.throughput-imix,64" / "trials.jsonl").open()]
    sent = {stream["frame_size_bytes"] for trial in trials for stream in trial["spec"]["streams"]}
    assert sent == {64, 570, 1518}


def test_losses_of_a_mix_are_told_by_size(tmp_path: Path) -> None:
    """Goal: a device that drops long frames loses one in 12 of all, each of the longest and none of the others."""
    device = topology_of(switch("max_frame_bytes: 1000", ports=2))
    found = outcome(tmp_path, "rfc2544.frame_loss", "imix", "step_pct=10", topology=device)
    losses = [row["loss_pct"] for row in rows(found, "frame_loss")]
    assert losses == pytest.approx([100 / 12] * len(losses))
    by_size = {row["frame_size_bytes"]: row["loss_pct"] for row in rows(found, "sizes")}
    assert by_size == {64: 0, 570: 0, 1518: 100}


def test_a_loss_contains_that_of_a_full_queue_which_drops_short_frames_first(tmp_path: Path) -> None:
    """Frames of 353.83 B need 68 bytes of line each instead of 20: 11.4 % are held while a queue fills.

    Full, it has room again for the short frame behind a long one, and loses 20 % of all: more short ones.
    """
    device = topology_of(switch(ports=2, port="ifg_bytes: 60, queue_frames: 150"))

    def measured(frames: int) -> tuple[dict[str, Cell], dict[Cell, dict[str, Cell]]]:
        settings = (*QUICK[:3], f"scaled_frames={frames}", "step_pct=10")
        out = tmp_path / str(frames)
        found = run(RunOptions("rfc2544.frame_loss", device, "imix", settings, out, 1)).outcome
        sizes = {row["frame_size_bytes"]: row for row in rows(found, "sizes") if row["trial"] == 1}
        return rows(found, "frame_loss")[0], sizes

    (short, by_size), (long, long_by_size) = measured(1200), measured(7200)
    held, sent = int(str(short["late_frames"])), 2 * 1200
    assert (held / sent, short["lost_frames"]) == (
        pytest.approx(1 - (float(MEAN) + 20) / (float(MEAN) + 68), abs=0.01),
        0,
    )
    others = ceil(held * (MEAN / 64 - 1))
    low, high = loss_interval(held - others, sent)[0], loss_interval(held + others, sent)[1]
    assert (short["loss_low_pct"], short["loss_high_pct"]) == (
        pytest.approx(100 * low),
        pytest.approx(100 * high, abs=0.1),
    )
    assert short["loss_low_pct"] <= long["loss_low_pct"] <= long["loss_high_pct"] <= short["loss_high_pct"]
    assert 18 < long["loss_pct"] < 22
    for size, row in by_size.items():
        assert abs(row["loss_pct"] - long_by_size[size]["loss_pct"]) <= row["loss_error_pct"]
        assert row["bucket_loss_pct"] >= long_by_size[size]["loss_pct"]


def test_each_size_of_a_mix_has_the_latency_that_it_has_alone(tmp_path: Path) -> None:
    device = topology_of(switch("latency_ns: 1000", ports=2))
    settings = ("search_max_pct=10", "search_initial_pct=10", "latency_definition=LILO")
    mixed = outcome(tmp_path, "rfc2544.latency", "imix", *settings, topology=device)
    alone = outcome(tmp_path, "rfc2544.latency", "64,570,1518", *settings, topology=device)
    least = {row["frame_size_bytes"]: row["min_us"] for row in rows(alone, "latency")}
    of_sizes = {row["frame_size_bytes"]: row["min_us"] for row in rows(mixed, "sizes") if row["min_us"] is not None}
    assert of_sizes == least
    assert len(set(least.values())) == 3
    (whole,) = rows(mixed, "latency")
    assert (whole["frame_size_bytes"], whole["min_us"]) == ("imix", min(map(float, map(str, least.values()))))


def test_meshes_take_genomes_and_repeat(tmp_path: Path) -> None:
    settings = (
        "iterations=2",
        "latency_percentiles=true",
        "sweep_start_pct=50",
        "sweep_step_pct=50",
        "parts=forwarding",
    )
    found = outcome(tmp_path, "rfc2889.fully_meshed", "aaaf", *settings, topology=topology_of(switch()))
    assert found.state is Verdict.MEASURED
    assert {row["frame_size_bytes"] for row in rows(found, "sizes")} == {64, 1280}


@pytest.mark.parametrize(
    ("test", "sizes", "settings", "message", "hint"),
    [
        ("rfc2544.back_to_back", "imix", (), "frames of a trial have one size", "rfc2544.throughput, rfc2544.latency"),
        ("rfc2889.broadcast", "64,imix", (), "frames of a trial have one size", "rfc2889.fully_meshed"),
        ("rfc2544.throughput", "imix", ("burst_frames=4",), "burst_frames=4 of several", "leave burst_frames out"),
        ("rfc2544.throughput", "imix", ("decision=per_source_port",), "decision=per_source_port", "rfc2544.frame_loss"),
        ("rfc2544.latency", "imix", ("mode=rfc",), "mode=rfc measures one frame", "rfc2544.latency"),
        ("rfc2544.latency", "imix", ("latency_definition=LIFO",), "latency_definition=LIFO is not", "=FIFO"),
        ("rfc2544.throughput", "imix", ("full_load=1000 frames/s",), "full_load=1000 frames/s is for", "in % of line"),
    ],
)
def test_a_mix_is_refused_where_a_test_cannot_take_it(
    tmp_path: Path, test: str, sizes: str, settings: tuple[str, ...], message: str, hint: str
) -> None:
    with pytest.raises(ParameterError) as caught:
        outcome(tmp_path, test, sizes, *settings)
    assert caught.value.message.startswith(f"--sizes imix: {test}: {message}")
    assert hint in (caught.value.hint or "")
    assert not list(tmp_path.iterdir())


def test_a_mix_is_refused_with_calibrated_wires_whatever_is_in_their_file(tmp_path: Path) -> None:
    options = RunOptions("rfc2544.latency", topology_of(wire()), "imix", QUICK, tmp_path / "run", 1)
    with pytest.raises(ParameterError, match=r"^--sizes imix: rfc2544\.latency: wires are measured for one size$"):
        run(replace(options, calibration="no-file.json"))


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ("imix,imix", "--sizes imix,imix: imix is given twice"),
        ("a7k2", "--sizes a7k2: 'a7k2' is not valid"),
        ("a0", "--sizes a0: 'a0' is not valid"),
        ("ipv6_imix", "frame size 60 B: ipv4 frames with a signature need 64 B"),
    ],
)
def test_what_is_no_mix_or_has_frames_too_small_is_refused(tmp_path: Path, sizes: str, message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        outcome(tmp_path, "rfc2544.throughput", sizes)
    assert caught.value.message == message


def test_figures_name_mixes_and_keep_them_apart_from_a_size_that_is_their_mean(tmp_path: Path) -> None:
    """Goal: `ac` has a mean of 160 bytes and a bar of its own beside that of 160 bytes."""
    found = outcome(tmp_path, "rfc2544.throughput", "64,160,ac,imix", "search_max_pct=100")
    (rate,) = (figure for figure in found.figures if figure.name == "rate")
    assert [place.name for place in rate.x_names] == ["ac", "imix"]
    chart = chart_of(rate)
    assert chart is not None
    throughput = [value for value in chart.spec["data"]["values"] if not value["theory"]]
    assert [value["size"] for value in throughput] == [64, 160, "ac", "imix"]
    assert len({value["x"] for value in throughput}) == 4
    axis = chart.spec["layer"][-1]["encoding"]["x"]["axis"]
    assert axis["labelExpr"].endswith(f'["ac", "imix"][indexof({[place.x for place in rate.x_names]}, datum.value)]')
    (drawn,) = (item for item in figures_of([rate], found.tables) if isinstance(item, Chart))
    assert drawn.numbers is None and drawn.note == "The numbers are in the tables below."


def test_a_run_file_has_mixes_among_its_sizes(tmp_path: Path) -> None:
    file = tmp_path / "lab.yaml"
    file.write_text(
        f"name: lab\ntopology: {shipped('back-to-back').source}\nsizes: [imix, a3g1, 64]\n"
        "parameters: {scaled_frames: 120}\ntests: [rfc2544.frame_loss]\n"
    )
    found = run_file(RunOptions(file, None, None, (), tmp_path / "out", 1))
    assert isinstance(found, FinishedRun)
    assert [row["frame_size_bytes"] for row in rows(found.outcome, "frame_loss")[::2]] == ["imix", "a3g1", 64]


def test_a_mix_is_a_number_but_no_frame_size() -> None:
    mix = MixedSize("ac")
    assert (float(mix), mix.sizes) == (160, (64, 256))
    assert mix != 160 and mix == MixedSize("ac") and len({mix, 160}) == 2
    assert pickle.loads(pickle.dumps(mix)) == mix
    assert MixedSize("imix").parts == SIMPLE_IMIX and MixedSize("imix") * 12 == 12 * MEAN


def test_a_mix_has_the_shares_of_its_name_or_of_its_letters() -> None:
    assert [part.weight for part in mix_of("ipsec_imix")] == [5867, 200, 2366, 1567], "hundredths of a percent"
    assert mix_of("aad2b") == (MixPart(64, 2), MixPart(128, 1), MixPart(512, 2))
    mix = MixedSize("ab")
    assert (mix == MixedSize("ab"), mix == MixedSize("aabb"), mix == Fraction(96)) == (True, False, False)
