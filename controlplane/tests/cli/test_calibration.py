"""``p4mesh calibrate`` and ``run --calibration``: wires are measured, joined, shown; those that do not fit are refused.

Each refusal has a golden text in ``golden/calibration.txt``, written anew with ``P4MESH_UPDATE_GOLDEN=1``.
"""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.golden import GoldenTable

from p4mesh.cli import single_command
from p4mesh.cli.calibrate_command import measure_wires
from p4mesh.cli.main import main
from p4mesh.cli.suite_command import run_tests
from p4mesh.errors import CalibrationError, P4MeshError
from p4mesh.run.options import RunOptions
from p4mesh.store.calibration_file import read_calibration
from p4mesh.trial.calibration import Calibration, CalibrationRun, Wire

GOLDEN = GoldenTable("calibration")


def topology(*links: tuple[int, int], ports: int = 4, rate_bps: int = 10**9, name: str = "cables") -> str:
    """Tester ports cabled to each other."""
    lines = "".join(f"  - {{from: tester:{a}, to: tester:{b}, latency_ns: 10}}\n" for a, b in links)
    return f"name: {name}\ntester:\n  ports: [{{numbers: 1-{ports}, rate_bps: {rate_bps}}}]\nlinks:\n{lines}"


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "cables.yaml").write_text(topology((1, 2), (3, 4)))
    (tmp_path / "recabled.yaml").write_text(topology((1, 3), (2, 4), name="recabled"))
    (tmp_path / "faster.yaml").write_text(topology((1, 2), (3, 4), rate_bps=10**10))
    (tmp_path / "switch.yaml").write_text(
        "name: switched\ntester:\n  ports: [{numbers: 1-2, rate_bps: 1000000000}]\nnodes:\n  - name: dut\n"
        "    device: ethernet_switch\n    ports: [{numbers: 1-2, rate_bps: 1000000000}]\n"
        "links: [{from: tester:1-2, to: dut:1-2}]\n"
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def measure(
    source: str = "cables.yaml",
    sizes: str | None = "64,128",
    opener: str = "support.delays:open_wires",
    target: str = "sim",
) -> int:
    return measure_wires(RunOptions("", source, sizes, out="wires.json", target=target, opener=opener))


def refuse(name: str, error: P4MeshError) -> None:
    """Compare an error with its golden text."""
    text = f"exit {error.exit_code}\n{error.render()}\n"
    assert text == GOLDEN.text(name, text)


def latency(out: str, source: str = "switch.yaml", sizes: str = "64", **more: Any) -> int:
    """Run the latency test over ports 1 and 2, which take 2000 ns."""
    settings = ("scaled_frames=50", "search_resolution_pct=20")
    options = RunOptions(
        "rfc2544.latency",
        source,
        sizes,
        settings,
        out,
        jobs=1,
        opener="support.delays:open_device",
        calibration="wires.json",
        **more,
    )
    return single_command.run_test(options)


@pytest.mark.parametrize("at_once", [256, 2])
def test_every_direction_of_every_wire_is_measured_with_every_size(
    at_once: int, workplace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("p4mesh.run.calibration._AT_ONCE", at_once)
    assert measure() == 0
    stored = read_calibration(workplace / "wires.json", "")
    assert [wire.place for wire in stored.wires] == [
        (tx, rx, size) for tx, rx in ((1, 2), (2, 1), (3, 4), (4, 3)) for size in (64, 128)
    ]
    assert {(wire.tx_port, wire.median_ns, wire.median_error_ns) for wire in stored.wires} == {
        (port, 100.0 + 10 * port, 0.0) for port in (1, 2, 3, 4)
    }
    (run,) = stored.runs
    assert (run.topology, run.target, run.resolution_ns, len(run.topology_sha256)) == ("cables", "sim", 1.0, 64)
    assert run.date_utc.endswith("+00:00")
    shown = capsys.readouterr()
    assert "Wires of cables" in shown.out
    assert "calibration: wires.json: 8 wires, 8 of them new" in shown.out


def test_rates_latency_and_jitter_of_all_wires_are_shown_per_size(
    workplace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = RunOptions("", "faster.yaml", "64,1518", out="fast.json", load_pct="100")
    assert measure_wires(options, as_json=True) == 0
    rows = json.loads(capsys.readouterr().out)["rates"]
    for row, size in zip(rows, (64, 1518), strict=True):
        frames_per_s = 4 * 10**10 / (8 * (size + 20))
        assert row["forwarding_fps"] == pytest.approx(frames_per_s, rel=1e-12)
        assert row["forwarding_l2_tbps"] == pytest.approx(frames_per_s * 8 * size / 10**12, rel=1e-12)
        assert row["line_pct"] == pytest.approx(100)
        # Cables of 10 ns; first bit to first bit does not depend on the size.
        assert [row[key] for key in ("min_us", "avg_us", "max_us")] == [pytest.approx(0.01)] * 3
        assert (row["jitter_avg_us"], row["jitter_max_us"]) == (0, 0)


def test_calibrations_of_other_cables_are_appended(workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measure()
    measure("recabled.yaml", "64")
    stored = read_calibration(workplace / "wires.json", "")
    assert [run.topology for run in stored.runs] == ["cables", "recabled"]
    assert len(stored.wires) == 12
    assert stored.runs[stored.wire(1, 3, 64).run].topology == "recabled"
    assert stored.runs[stored.wire(1, 2, 64).run].topology == "cables"
    assert "12 wires, 4 of them new" in capsys.readouterr().out


def test_the_same_wires_again_change_nothing(workplace: Path) -> None:
    measure()
    before = (workplace / "wires.json").read_bytes()
    measure()
    assert (workplace / "wires.json").read_bytes() == before


def test_a_run_shows_the_wires_and_both_latencies(workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measure()
    capsys.readouterr()
    assert latency("run") == 0
    shown = capsys.readouterr().out
    assert "Calibration: latency over the wire" in shown
    assert "Raw latency  Calibrated" in shown
    with (workplace / "run" / "latency_calibration.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["wire_us"], row["latency_raw_us"], row["latency_calibrated_us"]) for row in rows] == [
        ("0.11", "2.0", "1.89"),
        ("0.12", "2.0", "1.88"),
    ]
    stored = json.loads((workplace / "run" / "run.json").read_text())["calibration"]
    assert len(stored["wires"]) == 8
    report = (workplace / "run" / "report.html").read_text()
    assert "Calibration: latency over the wire" in report
    assert f"calibrated (cables on sim, {stored['runs'][0]['date_utc'][:10]})" in report


def test_in_a_suite_the_calibration_is_for_the_tests_with_latency(workplace: Path) -> None:
    measure()
    options = RunOptions(
        "rfc2544",
        "switch.yaml",
        "64",
        ("scaled_frames=50", "search_resolution_pct=20"),
        "all",
        jobs=1,
        opener="support.delays:open_device",
        calibration="wires.json",
    )
    assert run_tests(options) == 0
    assert (workplace / "all" / "latency" / "latency_calibration.csv").exists()
    assert json.loads((workplace / "all" / "frame_loss" / "run.json").read_text())["calibration"] is None


def test_a_run_does_not_resume_with_other_wires(workplace: Path) -> None:
    measure()
    latency("run")
    (workplace / "wires.json").unlink()
    measure(opener="support.delays:open_longer_wires")
    with pytest.raises(P4MeshError, match="different calibration"):
        latency("run")


def test_contradictions_are_refused_and_the_file_stays(workplace: Path) -> None:
    measure()
    before = (workplace / "wires.json").read_bytes()
    for name, source, opener in (
        ("contradicting_time", "cables.yaml", "support.delays:open_longer_wires"),
        ("contradicting_rate", "faster.yaml", "support.delays:open_wires"),
    ):
        with pytest.raises(P4MeshError) as raised:
            measure(source, opener=opener)
        refuse(name, raised.value)
    assert (workplace / "wires.json").read_bytes() == before


@pytest.mark.parametrize(("moved_ns", "agree"), [(0, True), (2.5, True), (-2.5, True), (2.75, False), (-2.75, False)])
def test_two_measurements_of_a_wire_agree_within_their_errors_and_the_resolution(moved_ns: float, agree: bool) -> None:
    """Errors of 1 and 0.5 ns, and a resolution of 1 ns; the wire that is new belongs to the second measurement."""
    run = CalibrationRun("cables", "0" * 64, "sim", 1.0, "2030-01-01", "1")
    wire = Wire(1, 2, 10**9, 10**9, 64, 100.0, 1.0, 100.0, 100.0, 1, 0)
    again = replace(wire, median_ns=100 + moved_ns, median_error_ns=0.5)
    new = replace(again, tx_port=2, rx_port=1)
    before, now = Calibration((run,), (wire,)), Calibration((run,), (new, again))
    if agree:
        assert before.joined(now, "wires.json") == Calibration((run, run), (wire, replace(new, run=1)))
    else:
        with pytest.raises(CalibrationError, match="took 100 ns before"):
            before.joined(now, "wires.json")


def test_a_wire_between_ports_of_two_speeds_is_for_a_run_in_its_direction() -> None:
    """Port 1 has 1 Gbit/s and port 2 10 Gbit/s; the other direction has not been measured."""
    run = CalibrationRun("cables", "0" * 64, "sim", 1.0, "2030-01-01", "1")
    wire = Wire(1, 2, 10**9, 10**10, 64, 100.0, 1.0, 100.0, 100.0, 1, 0)
    known = Calibration((run,), (wire, replace(wire, frame_size_bytes=128)))
    known.require("wires.json", "sim", [(1, 2)], {1: 10**9, 2: 10**10}, (64, 128))
    with pytest.raises(CalibrationError) as raised:
        known.require("wires.json", "sim", [(1, 2)], {1: 10**10, 2: 25 * 10**9}, (64,))
    assert raised.value.message == (
        "wires.json: ports 1 -> 2, 64 B was measured at 1000000000 -> 10000000000 bit/s, the run is at 10000000000 -> "
        "25000000000 bit/s"
    )
    with pytest.raises(CalibrationError, match="no wire from port 2 to port 1 was measured"):
        known.require("wires.json", "sim", [(2, 1)], {1: 10**9, 2: 10**10}, (64,))


def test_a_port_that_was_measured_without_wires_has_its_time_towards_all_others() -> None:
    """Port 1 takes 300 ns to the line; the wire to port 2, of 310 ns, takes precedence."""
    run = CalibrationRun("cables", "0" * 64, "tofino", 1.0, "2030-01-01", "1")
    port = Wire(1, None, 10**9, None, 64, 300.0, 2.0, 299.0, 301.0, 5, 0)
    wire = Wire(1, 2, 10**9, 10**10, 64, 310.0, 1.0, 310.0, 310.0, 1, 0)
    known = Calibration((run,), (port,)).joined(Calibration((run,), (wire,)), "wires.json")
    rates = {1: 10**9, 2: 10**10, 3: 10**10}
    known.require("wires.json", "tofino", [(1, 2), (1, 3)], rates, (64,))
    assert [known.wire(1, receiver, 64) for receiver in (2, 3)] == [replace(wire, run=1), port]
    with pytest.raises(CalibrationError, match="port 1, 64 B was measured at 1000000000 -> 10000000000 bit/s"):
        known.require("wires.json", "tofino", [(1, 3)], rates | {1: 10**8}, (64,))
    with pytest.raises(CalibrationError, match="port 1, 64 B took 300 ns before, now 310 ns"):
        known.joined(Calibration((run,), (replace(port, median_ns=310.0),)), "wires.json")


def test_wires_of_another_target_are_not_joined(workplace: Path) -> None:
    measure()
    with pytest.raises(P4MeshError) as raised:
        measure(target="live")
    refuse("contradicting_target", raised.value)


def test_what_the_calibration_lacks_is_named(workplace: Path) -> None:
    measure("recabled.yaml", "64")
    with pytest.raises(P4MeshError) as raised:
        latency("run")
    refuse("missing_ports", raised.value)
    measure("cables.yaml", "64")
    with pytest.raises(P4MeshError) as raised:
        latency("run", sizes="64,512,1518")
    refuse("missing_sizes", raised.value)
    (workplace / "wires.json").unlink()
    measure("faster.yaml", "64")
    with pytest.raises(P4MeshError) as raised:
        latency("run")
    refuse("other_speed", raised.value)
    assert not (workplace / "run").exists()


def test_a_calibration_is_for_its_target(workplace: Path) -> None:
    measure()
    with pytest.raises(P4MeshError) as raised:
        latency("run", target="bmv2")
    refuse("other_target", raised.value)


def test_a_test_without_latency_refuses_a_calibration(workplace: Path) -> None:
    measure()
    with pytest.raises(P4MeshError) as raised:
        single_command.run_test(RunOptions("rfc2544.frame_loss", "switch.yaml", calibration="wires.json"))
    refuse("no_latency", raised.value)


def test_ports_that_exchange_their_roles_have_no_wire_of_their_own(workplace: Path) -> None:
    measure()
    options = RunOptions(
        "rfc2544.latency", "switch.yaml", "64", ("reset_between=swap_roles",), "run", calibration="wires.json"
    )
    with pytest.raises(P4MeshError) as raised:
        single_command.run_test(options)
    refuse("swapped_roles", raised.value)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("not_json", "wires"),
        ("not_a_calibration", "{}"),
        ("other_format", '{"kind": "calibration", "format": 2}'),
        ("damaged", '{"kind": "calibration", "format": 1, "runs": [], "wires": [{"tx_port": 1}]}'),
        ("absent", None),
    ],
)
def test_files_that_are_no_calibration(
    name: str, content: str | None, workplace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if content is not None:
        (workplace / "wires.json").write_text(content)
    with pytest.raises(P4MeshError) as raised:
        latency("run")
    refuse(name, raised.value)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(
            ("median_ns", value)
            for value in ("NaN", "Infinity", "1e308", "1e999", "-1", "true", '"110"', "null", "1e9")
        ),
        *(("samples", value) for value in ("0", "9223372036854775808", "true", "1.5", "-1")),
        *(("frame_size_bytes", value) for value in ("0", "63", "1e2", "false")),
        *(("tx_port", value) for value in ("0", "513")),
        *(("run", value) for value in ("-1", "1")),
        ("tx_rate_bps", "0"),
    ],
)
def test_wrong_values_of_a_wire_are_named(
    key: str, value: str, workplace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file that is right but for one value, which any program may have written."""
    measure(sizes="64")
    content = json.loads((workplace / "wires.json").read_text())
    content["wires"][1][key] = "wrong"
    (workplace / "wires.json").write_text(json.dumps(content).replace('"wrong"', value))
    with pytest.raises(CalibrationError, match=r"--calibration wires\.json: ") as raised:
        read_calibration(Path("wires.json"), "--calibration")
    assert value in ("NaN", "Infinity", "1e999") or "`$.wires[1]" in raised.value.message


@pytest.mark.parametrize("changed", ["no_runs", "no_wires", "twice"])
def test_files_without_runs_or_with_a_wire_twice(changed: str, workplace: Path) -> None:
    measure(sizes="64")
    content = json.loads((workplace / "wires.json").read_text())
    content |= {"no_runs": {"runs": []}, "no_wires": {"wires": []}, "twice": {"wires": content["wires"] * 2}}[changed]
    (workplace / "wires.json").write_text(json.dumps(content))
    with pytest.raises(CalibrationError, match="damaged"):
        read_calibration(Path("wires.json"), "--calibration")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("device_between", ("--topology", "switch.yaml", "--out", "wires.json")),
        ("out_is_a_directory", ("--topology", "cables.yaml", "--out", ".")),
        ("out_not_given", ("--topology", "cables.yaml")),
        ("bad_load", ("--topology", "cables.yaml", "--out", "wires.json", "--load-pct", "0")),
        ("bad_size", ("--topology", "cables.yaml", "--out", "wires.json", "--sizes", "60")),
    ],
)
def test_wrong_commands(
    name: str, arguments: tuple[str, ...], workplace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(("calibrate", *arguments))
    text = f"exit {code}\n{capsys.readouterr().err}"
    assert text == GOLDEN.text(name, text)
    assert not (workplace / "wires.json").exists()


def test_lossy_and_untrusted_wires_are_not_stored(workplace: Path) -> None:
    wires = {"lossy_wire": "support.fakes:open_lossy", "untrusted_wire": "support.delays:open_untrusted"}
    for name, opener in wires.items():
        with pytest.raises(P4MeshError) as raised:
            measure(opener=opener)
        refuse(name, raised.value)
    assert not (workplace / "wires.json").exists()


def test_every_golden_text_has_a_case() -> None:
    named = Path(__file__).read_text()
    assert all(f'"{case}"' in named for case in GOLDEN.cases())
