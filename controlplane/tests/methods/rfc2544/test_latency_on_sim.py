"""Latency on sim: what the tester prints for wires, switches of mixed speeds and jitter of a known distribution.

Each case is a whole run of the command, or the calls that it makes, on a network whose answer is a formula.
"""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from support.networks import TOPOLOGIES, switch, wire

from p4mesh.cli import single_command
from p4mesh.cli.calibrate_command import measure_wires
from p4mesh.run.options import RunOptions

QUICK = (
    "learning_wait_ms=1",
    "learning_verify=false",
    "settle_ms=1",
    "restabilise_ms=0",
    "search_resolution_pct=10",
    "confirm_factor=1",
)


TICK = "clock_tick_ps: 1000"


def run(
    place: Path,
    topology: str,
    sizes: str,
    *settings: str,
    calibration: str | None = None,
    test: str = "rfc2544.latency",
    common: tuple[str, ...] = QUICK,
) -> Path:
    (place / "net.yaml").write_text(topology)
    options = RunOptions(
        test,
        str(place / "net.yaml"),
        sizes,
        (*common, *settings),
        str(place / "run"),
        jobs=1,
        calibration=calibration,
    )
    assert single_command.run_test(options) == 0
    return place / "run"


def table(directory: Path, name: str) -> list[dict[str, str]]:
    with (directory / f"{name}.csv").open() as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("rate_bps", [10**9, 10**10, 10**11])
def test_a_wire_has_the_delay_of_the_wire_in_every_definition(rate_bps: int, tmp_path: Path) -> None:
    directory = run(tmp_path, wire(rate_bps, 137, tester=TICK), "64,1518", "scaled_frames=200")
    for row in table(directory, "latency_definitions"):
        serialization_us = 8 * int(row["frame_size_bytes"]) / rate_bps * 1e6
        assert float(row["fifo_us"]) == float(row["lilo_us"]) == float(row["mimo_us"]) == 0.137
        assert float(row["lifo_us"]) == pytest.approx(0.137 - serialization_us)
        assert float(row["filo_us"]) == pytest.approx(0.137 + serialization_us)
    for row in table(directory, "latency_variation"):
        assert {float(row[key]) for key in ("pdv_max_us", "ipdv_min_us", "ipdv_max_us", "rfc3550_max_us")} == {0.0}


def test_store_and_forward_between_speeds_has_one_lifo_latency(tmp_path: Path) -> None:
    """10G and 1G: last bit in to first bit out is the device's 700 ns at every size and in both directions."""
    directory = run(
        tmp_path,
        switch("latency_ns: 700", rates_bps=(10**10, 10**9), tester=TICK),
        "64,512,1518",
        "scaled_frames=300",
        "loads=all",
    )
    rows = [row for row in table(directory, "latency_definitions") if row["at"] == "10 %"]
    assert {row["link"] for row in rows} == {"10 -> 1", "1 -> 10"}
    for row in rows:
        size = int(row["frame_size_bytes"])
        rates = {"10 -> 1": (10.0, 1.0), "1 -> 10": (1.0, 10.0)}[row["link"]]
        s_in, s_out = (8 * size / rate / 1000 for rate in rates)
        assert float(row["lifo_us"]) == pytest.approx(0.7, abs=0.002), row
        assert float(row["fifo_us"]) == pytest.approx(0.7 + s_in, abs=0.002)
        assert float(row["lilo_us"]) == pytest.approx(0.7 + s_out, abs=0.002)
        assert float(row["filo_us"]) == pytest.approx(0.7 + s_in + s_out, abs=0.002)
        assert float(row["mimo_us"]) == pytest.approx(0.7 + min(s_in, s_out), abs=0.002)


def test_broadcast_latency_between_speeds_is_that_of_each_port(tmp_path: Path) -> None:
    """1G in, 1G and 100M out: last bit in to first bit out is 700 ns on both, for a single frame and a stream."""
    directory = run(
        tmp_path,
        switch("latency_ns: 700", rates_bps=(10**9, 10**9, 10**8), tester=TICK),
        "128",
        "scaled_frames=40",
        "search_max_pct=50",
        "latency_definition=FILO",
        test="rfc2889.broadcast",
        common=tuple(setting for setting in QUICK if not setting.startswith("confirm")),
    )
    defined = table(directory, "broadcast_latency_definitions")
    assert {(row["mode"], row["port"]) for row in defined} == {
        (mode, port) for mode in ("single frame", "stream") for port in ("2", "3")
    }
    for row in defined:
        s_out = {"2": 1.024, "3": 10.24}[row["port"]]
        assert float(row["lifo_us"]) == pytest.approx(0.7, abs=0.002), row
        assert float(row["lilo_us"]) == pytest.approx(0.7 + s_out, abs=0.002)
        assert float(row["filo_us"]) == pytest.approx(0.7 + 1.024 + s_out, abs=0.002)
    for row in table(directory, "broadcast_latency_ports"):
        assert (row["definition"], row["calibrated"]) == ("FILO", "no")


@pytest.mark.parametrize("test", ["rfc2544.latency", "rfc2889.fully_meshed", "rfc2889.broadcast"])
def test_latency_beyond_the_time_stamps_is_said(test: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With a clock of 1 ps 32 bits reach 4.29 ms; the device takes 5 ms."""
    topology = switch("latency_ns: 5000000", ports=2, tester="clock_tick_ps: 1")
    common = tuple(setting for setting in QUICK if test == "rfc2544.latency" or not setting.startswith("confirm"))
    run(tmp_path, topology, "64", "scaled_frames=50", "search_max_pct=50", test=test, common=common)
    shown = capsys.readouterr().out
    assert "frames took longer than the 2^32 ticks that time stamps reach" in shown
    assert "64 B: 0 frames" not in shown


@pytest.mark.parametrize(
    ("forwarding", "found"),
    [
        ("", "Store-and-forward device:"),
        ("forwarding: cut_through, look_ahead_bytes: 64", "Cut-through device"),
    ],
)
def test_the_type_of_the_device_is_found(
    forwarding: str, found: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(tmp_path, switch("latency_ns: 900", forwarding, ports=2, tester=TICK), "64,512,1518", "scaled_frames=100")
    assert found in capsys.readouterr().out


def test_variation_of_uniform_jitter(tmp_path: Path) -> None:
    """Each frame waits 0 to 2 us more, evenly: closed forms of the uniform distribution of width w.

    PDV p99 = 0.99 w; |D(i) - D(i-1)| has the mean w/3; its signed form has 1 % beyond 0.859 w on each side. Departures
    are up to 20 ns late, which is in every error: nothing tells jitter from a queue.
    """
    model = "latency_ns: 5000, jitter: {uniform: {max_ns: 2000}}"
    directory = run(
        tmp_path,
        switch(model, ports=2, tester=TICK, seed=7),
        "64",
        "scaled_frames=20000",
        "search_max_pct=10",
        "search_initial_pct=10",
    )
    (latency,) = table(directory, "latency")
    (row,) = table(directory, "latency_variation")
    assert float(row["pdv_max_us"]) == pytest.approx(2.0, abs=0.02)
    width = 2 * (1 - 0.02**0.5)
    for cells, key, truth, largest_error in (
        (latency, "p50", 6.512, 0.12),
        (latency, "p99", 7.492, 0.12),
        (row, "pdv_p99", 1.98, 0.12),
        (latency, "jitter_avg", 2 / 3, 0.07),
        (row, "ipdv_avg", 0.0, 0.12),
        (row, "ipdv_p99", width, 0.12),
        (row, "ipdv_p1", -width, 0.12),
        (row, "rfc3550_avg", 2 / 3, 0.5),
    ):
        error = float(cells[f"{key}_error_us"])
        assert abs(float(cells[f"{key}_us"]) - truth) <= error <= largest_error, key


def test_variation_of_a_mesh_is_that_of_its_flows(tmp_path: Path) -> None:
    """Jitter of 0 to 2 us again; frames from and to port 3 take 5 us more on the wire, which is no variation."""
    model = "latency_ns: 5000, jitter: {uniform: {max_ns: 2000}}"
    topology = switch(model, ports=3, link={3: "latency_ns: 5000"}, tester=TICK, seed=7)
    settings = ("parts=forwarding", "sweep_start_pct=10", "sweep_end_pct=10", "scaled_frames=40000")
    common = (*QUICK[:3], "latency_percentiles=true")
    directory = run(tmp_path, topology, "64", *settings, test="rfc2889.fully_meshed", common=common)
    (latency,) = table(directory, "latency_sweep")
    (row,) = table(directory, "latency_sweep_variation")
    assert float(latency["max_us"]) - float(latency["min_us"]) == pytest.approx(7.0, abs=0.05)
    assert float(latency["p99_us"]) == pytest.approx(5 + 0.512 + 5 + 2 * (1 - 0.01 * 3 / 2), abs=0.1), "of all frames"
    assert float(row["pdv_max_us"]) == pytest.approx(2.0, abs=0.02)
    assert float(row["pdv_p99_us"]) == pytest.approx(1.98, abs=0.12)


def test_tagged_frames_measure_what_all_frames_measure(tmp_path: Path) -> None:
    topology = switch("latency_ns: 1200", ports=2, tester=TICK)
    (every,) = table(run(tmp_path, topology, "256", "scaled_frames=200", "loads=throughput"), "latency")
    (tmp_path / "rfc").mkdir()
    settings = ("scaled_frames=200", "mode=rfc", "tagged_network=both", "runs=6")
    directory = run(tmp_path / "rfc", topology, "256", *settings)
    rows = table(directory, "latency")
    assert [(row["network"], row["runs"], row["samples"]) for row in rows] == [
        ("same network", "6", "12"),
        ("new network", "6", "12"),
    ]
    for row in rows:
        assert float(row["avg_us"]) == pytest.approx(float(every["avg_us"]), abs=0.002)
    trials = (directory / "trials.csv").read_text()
    assert "INVALID" not in trials


def test_tagged_frames_at_every_load_through_a_router(tmp_path: Path) -> None:
    """Store and forward of 64 bytes at 1 Gbit/s behind 3 us; the router looks up 67.2 % of four lines, not 90 %.

    Two runs to the network of the stream, then two to one that the router has not seen, at every load it carries.
    """
    topology = (TOPOLOGIES / "router-4x1g.yaml").read_text()
    settings = ("routed=true", "mode=rfc", "loads=all", "tagged_network=both", "runs=2", "scaled_frames=200")
    directory = run(tmp_path, topology, "64", *settings)
    rows = table(directory, "latency")
    measured = [row for row in rows if row["definition"] != "NA"]
    networks = ["same network", "new network"]
    assert [(row["at"], row["network"]) for row in measured] == [
        (at, network) for at in ("10 %", "50 %", "throughput") for network in networks
    ]
    (above,) = (row for row in rows if row["definition"] == "NA")
    assert (above["at"], above["load_pct"], above["min_us"], above["samples"]) == ("90 %", "90.0", "", "")
    for row in measured:
        assert (row["definition"], row["runs"], row["samples"]) == ("LILO", "2", "8")
        assert float(row["min_us"]) == pytest.approx(3.512, abs=0.002)
        assert float(row["rate_fps"]) == pytest.approx(float(row["load_pct"]) / 100 * 10**9 / 8 / 84)
    columns = ("frame_size_bytes", "load_pct", "rate_fps", "definition", "min_us", "avg_us", "max_us", "samples")
    assert sorted(columns, key=list(measured[0]).index) == list(columns), "the order of methodology 2.2"


def test_a_calibration_takes_the_tester_out_of_the_latency_of_each_pair(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Stamps of the ports are off by different times; over a wire of 10 ns and a device of 3000 ns LIFO."""
    offsets = {1: "rx_stamp_offset_ns: 580", 2: "tx_stamp_offset_ns: -40, rx_stamp_offset_ns: 95"}
    (tmp_path / "cable.yaml").write_text(wire(latency_ns=10, tester=TICK, tester_port=offsets))
    wires = str(tmp_path / "wires.json")
    assert measure_wires(RunOptions("", tmp_path / "cable.yaml", "64,512", out=wires)) == 0
    directory = run(
        tmp_path,
        switch("latency_ns: 3000", ports=2, tester=TICK, tester_port=offsets),
        "64,512",
        "scaled_frames=100",
        "latency_definition=LIFO",
        calibration=wires,
    )
    rows = table(directory, "latency_calibration")
    assert len(rows) == 4
    for row in rows:
        assert float(row["latency_calibrated_us"]) == pytest.approx(3.0 - 0.010, abs=0.002), row
        own = {"1": 95, "2": 580 + 40}[row["tx_port"]]
        assert float(row["wire_us"]) == pytest.approx((10 + own) / 1000), row
    calibrated = [row for row in table(directory, "latency") if row["calibrated"] == "yes"]
    assert {round(float(row["max_us"]) - float(row["min_us"]), 3) for row in calibrated} <= {0.0, 0.001, 0.002}


def test_errors_cover_what_late_departures_add_near_capacity(tmp_path: Path) -> None:
    """Goal: the printed error covers the closed form, a latency of 2 us and the frame for every frame.

    Method: the device leaves a few bits more between frames than the tester, so that a search ends just below its
    capacity. There a frame that leaves late delays those behind it, and averages and percentiles are too high.
    """
    finely = (*QUICK[:3], "search_resolution_pct=0.01", "scaled_frames=20000")
    network = switch("latency_ns: 2000", port="queue_frames: 200, ifg_bits: 104", ports=2, tester=TICK)
    (row,) = table(run(tmp_path, network, "64", common=finely), "latency")
    true_us = 2 + 8 * 64 / 1000
    assert float(row["avg_us"]) > true_us + 0.001, "else nothing is shown"
    for key in ("avg", "p50", "p99"):
        # Cells are rounded to a picosecond.
        assert abs(float(row[f"{key}_us"]) - true_us) <= float(row[f"{key}_error_us"]) + 2e-6, key
    assert float(row["jitter_avg_us"]) <= float(row["jitter_avg_error_us"]) + 2e-6, "no jitter"
