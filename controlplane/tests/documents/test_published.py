"""The page of published measurements: it is of the stored figures, and these are still what the models give."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

SCRIPTS = Path(__file__).parents[3] / "scripts"


@pytest.fixture(scope="module")
def script() -> Iterator[ModuleType]:
    sys.path.insert(0, str(SCRIPTS))
    yield importlib.import_module("compare_published")
    sys.path.remove(str(SCRIPTS))


def test_the_page_is_of_the_stored_figures(script: ModuleType) -> None:
    stored = json.loads(script.MODELLED.read_text())
    assert script.document(stored) == script.DOCUMENT.read_text(), "run scripts/compare_published.py --document"
    known = {comparison.name: set(comparison.cells) for comparison in script.COMPARISONS}
    assert all(set(cells) <= known[name] for name, cells in stored.items())


def test_cheap_cells_are_what_the_models_give(script: ModuleType) -> None:
    """Goal: no figure of the page is older than engine, methods and topologies."""
    stored = json.loads(script.MODELLED.read_text())
    cheap = [(comparison, cell) for comparison in script.COMPARISONS for cell in comparison.cheap]
    assert len({comparison.report for comparison, _ in cheap}) == len({item.report for item in script.COMPARISONS})
    for comparison, cell in cheap:
        assert script.measure(comparison, [cell])[cell] == stored[comparison.name][cell], (comparison.name, cell)


@pytest.mark.usefixtures("script")
def test_published_delays_beside_bursts_lie_between_those_of_two_kinds_of_phases(tmp_path: Path) -> None:
    """Goal: what the page says of the cells of 80 and 90 %: with bursts in step, the last cell takes 200 and 205 us."""
    atm = importlib.import_module("published.atm")
    table = importlib.import_module("published.table")
    for load_pct, in_step_us, published_us in ((80, 200, 94), (90, 205, 168)):
        settings = {**atm._PHASES, "phases": "in_step", "message_frames": 1000, "background_frames": 2004}
        settings |= {"messages": 12, "messages_per_s": 200, "load_start_pct": load_pct, "load_end_pct": load_pct}
        folder = tmp_path / str(load_pct)
        positions = table.measured("messages.background", atm._TOPOLOGY, "64", settings, folder)["positions"]
        last = next(row for row in positions if row["position"] == "1000")
        assert round(last["avg_us"] + atm._CLOSED_LOOP_US) == in_step_us > published_us


def test_numbers_of_a_chassis_stand_beside_their_errors(script: ModuleType, tmp_path: Path) -> None:
    """Of a run that has them: 6.528 us with an error of 12 ns, jitter of 3 ns at 10 % with one of 1 ns."""
    chassis = importlib.import_module("compare_chassis")
    published = json.loads(chassis.PUBLISHED.read_text())
    directory = tmp_path / "layer-2-unicast"
    directory.mkdir()
    size = published["t3"]["rows"][0]["frame_size_B"]
    rates = {
        "forwarding_fps": "100.5",
        "forwarding_error_fps": "0.25",
        "forwarding_l2_tbps": "1",
        "line_pct": "100",
        "avg_us": "6.528",
        "avg_error_us": "0.012",
        "min_us": "6",
        "max_us": "7",
        "jitter_max_us": "0.5",
        "jitter_avg_us": "0.003",
        "jitter_avg_error_us": "",
    }
    jitter = {"load_10_us": "0.003", "load_10_error_us": "0.001", "load_50_us": "", "load_90_us": "1"}
    for name, cells in (("rate_and_latency", rates), ("jitter_avg", {**jitter, "throughput_us": "2"})):
        keys, values = zip(*cells.items(), strict=True)
        text = f"frame_size_bytes,{','.join(keys)}\n{size},{','.join(values)}\n"
        (directory / f"{name}.csv").write_text(text)
    text = "".join(chassis.tables(tmp_path, published))
    assert "| 100.50 +-0.25 |" in text and "| 6.528 +-0.012 |" in text and "| 0.003 +-?, 0.50 |" in text
    assert "/ 0.003 +-0.001 |" in text and "/ NA |" in text and "/ 1.000 |" in text
    # A run of a part of the sizes replaces their rows alone.
    before = text.replace("6.528 +-0.012", "7")
    assert "".join(chassis.tables(Path("nowhere"), published, before)) == before != text
    assert "".join(chassis.tables(tmp_path, published, before)) == text


@pytest.mark.usefixtures("script")
def test_what_a_chassis_page_says_of_its_tables_is_what_they_hold() -> None:
    """How far averages, largest latencies and the jitter of layer 2 are from the published ones."""
    text = importlib.import_module("compare_chassis").DOCUMENT.read_text()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("| ")]
    rows = [row for row in rows if row[0].isdigit()]
    tables = [row for row in rows if len(row) == 14]
    unicast, multicast = tables[8:-8], tables[-8:]
    for part, most_pct in ((unicast, 16.3), (multicast, 13.8)):
        assert max(abs(float(row[9].removesuffix(" %"))) for row in part) == pytest.approx(most_pct, abs=0.15)
    largest = [float(row[11].split(", ")[1]) / float(row[10].split(", ")[1]) for row in tables[8:]]
    assert (min(largest), sorted(largest)[-3:]) == (
        pytest.approx(0.58, abs=0.01),
        pytest.approx([0.99, 1.01, 1.04], abs=0.005),
    )
    jitter = [row for row in rows if len(row) == 5 and "+-" in row[1]]
    ratios = {
        row[0]: [float(cell.split(" / ")[1].split()[0]) / float(cell.split(" / ")[0]) for cell in row[1:]]
        for row in jitter
        if "NA" not in "".join(row)
    }
    assert (min(ratios["9216"]), max(ratios["9216"])) == (pytest.approx(7.8, abs=0.05), pytest.approx(9.0, abs=0.05))
    assert max(max(found) for size, found in ratios.items() if int(size) > 256) == pytest.approx(9.0, abs=0.05)
    for said in ("within 16.3 % for unicast", "0.58 to 0.99", "up to 9.0 times", "7.8 to 9.0 times at 9,216"):
        assert said in " ".join(text.split()), said
