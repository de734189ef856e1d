"""Runs of formats 5 and 6 in the words of today: shown, compared with a run of today, and exported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet
from support.networks import TOPOLOGIES

from p4mesh.cli.main import main
from p4mesh.run import RunOptions, run
from p4mesh.store.column_words import todays_table
from p4mesh.store.stored_run import read_run

FIXTURES = Path(__file__).parents[1] / "fixtures"
OLDER = FIXTURES / "mesh_of_format_6"


@pytest.fixture(scope="module")
def todays(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of ``OLDER``, measured today."""
    times = ("learning_wait_ms=1", "settle_ms=1", "restabilise_ms=1", "scaled_frames=100", "sweep_start_pct=100")
    search = ("search_method=linear_down", "search_step_pct=50", "search_min_pct=1")
    settings = ("direction=to_one", "routed=true", *times, *search)
    out = tmp_path_factory.mktemp("columns") / "run"
    topology = TOPOLOGIES / "router-4x1g.yaml"
    return run(
        RunOptions("rfc2889.partially_meshed", topology, "512", settings, ports="1-3", out=out, jobs=1)
    ).directory


def renamed(table: str, *keys: str) -> list[str]:
    """Keys of today for keys of a table of format 6."""
    found = todays_table({"name": table, "columns": [{"key": key, "title": key} for key in keys], "rows": []})
    return [column["key"] for column in found["columns"]]


def test_a_quantity_with_several_words_has_one() -> None:
    assert renamed("sweep", "tx_pct", "rx_fps", "sent_frames") == ["load_pct", "forwarding_fps", "tx_frames"]
    assert renamed("sweep", "latency_us_p99_9", "jitter_us_avg") == ["p99_9_us", "jitter_avg_us"]
    assert renamed("sweep", "frame_size_bytes", "no_such_word") == ["frame_size_bytes", "no_such_word"]


def test_a_word_of_one_table_is_another_quantity_than_in_others() -> None:
    assert renamed("throughput_per_port", "tx_pct", "tx_fps") == ["throughput_pct", "throughput_fps"]
    assert renamed("congestion", "tx_pct", "rx_pct") == ["offered_pct", "forwarding_pct"]
    assert renamed("address_learning", "fails_at_pct") == ["upper_rate_pct"]
    assert renamed("maximum_forwarding_rate", "mfr_tx_frames", "fails_at_pct") == ["tx_frames", "upper_pct"]


def test_a_share_of_the_cap_and_a_column_of_one_size_keep_what_they_say() -> None:
    assert renamed("sweep", "rx_of_cap_pct", "rx_pct_64B", "rx_fps_1518B", "rx_of_cap_pct_64B") == [
        "forwarding_of_cap_pct", "forwarding_pct_64B", "forwarding_fps_1518B", "forwarding_of_cap_pct_64B",
    ]  # fmt: skip


def test_a_throughput_of_a_mesh_is_told_by_its_columns() -> None:
    """Two tables had one name: that of RFC 2889 has the forwarding rate beside the load."""
    names = [
        todays_table({"name": name, "columns": [{"key": key} for key in keys], "rows": []})["name"]
        for name, keys in (
            ("throughput", ("tx_pct", "rx_pct")), ("throughput", ("tx_pct",)), ("frame_loss", ("tx_pct", "rx_pct")),
        )
    ]  # fmt: skip
    assert names == ["mesh_throughput", "throughput", "frame_loss"]


def test_cells_keys_and_headline_follow_their_columns() -> None:
    table = {
        "name": "congestion", "title": "Congestion", "columns": [{"key": "tx_pct", "digits": 2}],
        "rows": [{"tx_pct": 90.5}], "keys": ["tx_pct"], "headline": ["tx_pct"],
    }  # fmt: skip
    assert todays_table(table) == {
        "name": "congestion", "title": "Congestion", "columns": [{"key": "offered_pct", "digits": 2}],
        "rows": [{"offered_pct": 90.5}], "keys": ["offered_pct"], "headline": ["offered_pct"],
    }  # fmt: skip
    assert "headline" not in todays_table({key: table[key] for key in ("name", "columns", "rows", "keys")})


def test_a_run_of_format_6_has_no_column_that_one_of_today_does_not_have(todays: Path) -> None:
    now, before = _tables(todays), _tables(OLDER)
    assert now.keys() == before.keys()
    for name, (columns, keys, headline) in before.items():
        assert columns <= now[name][0], name
        assert (keys, headline) == now[name][1:], name


@pytest.mark.parametrize("order", [1, -1])
def test_each_number_of_a_run_of_format_6_is_compared_with_that_of_today(
    order: int, todays: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same but for the loss of a load that was not sent in time (today of the frames intended), and rounding.

    Today the rates per port are those of the ports that the test used.
    """
    found = _differences(capsys, *(OLDER, todays)[::order])
    before = _differences(capsys, OLDER, OLDER).keys()
    assert found.keys() == {key for key in before if key[0] != "port_rates" or "'port': 4}" not in key[1]}
    differing = {(table, column) for (table, _, column), difference in found.items() if abs(difference) > 0.001}
    assert differing == {("sweep_loss", "loss_pct_512B"), ("sweep_loss_interval", "loss_pct")}


def test_a_run_of_format_6_is_exported_in_the_words_of_today(
    todays: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for run_directory, name in ((OLDER, "before"), (todays, "now")):
        for format_name in ("parquet", "xena"):
            command = ["export", str(run_directory), "--format", format_name, "--out", str(tmp_path / name)]
            assert main(command) == 0
    before, now = tmp_path / "before", tmp_path / "now"
    assert sorted(path.name for path in before.iterdir()) == sorted(path.name for path in now.iterdir())
    table, same = (parquet.read_table(path / "mesh_throughput.parquet").to_pylist()[0] for path in (before, now))
    assert table.items() <= same.items() and table["forwarding_pct"] == 50
    for path in before.glob("xena_*.csv"):
        assert path.read_text().splitlines()[0] == (now / path.name).read_text().splitlines()[0]


def _differences(capsys: pytest.CaptureFixture[str], *runs: Path) -> dict[tuple[str, str, str], float]:
    assert main(["compare", *map(str, runs), "--json"]) == 0
    compared = json.loads(capsys.readouterr().out)["differences"]
    return {(one["table"], str(one["row"]), one["column"]): one["difference"] for one in compared}


def _tables(directory: Path) -> dict[str, Any]:
    tables = read_run(directory).results["outcome"]["tables"]
    return {
        table["name"]: ({column["key"] for column in table["columns"]}, table["keys"], table.get("headline", []))
        for table in tables
    }
