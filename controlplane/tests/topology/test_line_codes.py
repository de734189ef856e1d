"""Line codes of links: the latency that they add, and the comparison of runs with and without one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.networks import network, node, parsed, shipped, wire

from p4mesh.cli.main import main
from p4mesh.report.configuration import cables_text
from p4mesh.topology.drawing import draw
from p4mesh.topology.engine_config import SpecialPorts, engine_config

SPECIAL = SpecialPorts(loop=509, cpu=510, drop=511)
HUNDRED_GIGABIT = 10**11
PLAIN, CODED = "nexus9508-32x100g", "nexus9508-32x100g-fec"


@pytest.mark.parametrize(
    ("rate_bps", "keys", "delay_ns"),
    [
        (HUNDRED_GIGABIT, "latency_ns: 175", 175),
        (HUNDRED_GIGABIT, "latency_ns: 175, line_code: none", 175),
        # 80 blocks of 64 bits make a code word: 51.2 ns at 100 Gbit/s.
        (HUNDRED_GIGABIT, "latency_ns: 175, line_code: rs_528_514", 226.2),
        (HUNDRED_GIGABIT, "line_code: rs_544_514", 51.2),
        (25 * 10**9, "line_code: rs_528_514", 204.8),
        (10**10, "line_code: base_r", 204.8),
        (HUNDRED_GIGABIT, "latency_ns: 0.1, line_code: rs_544_514, line_code_ns: 0.2", 0.3),
        (HUNDRED_GIGABIT, "latency_ns: 3.4, line_code: rs_544_514, line_code_ns: 97.125", 100.525),
    ],
)
def test_the_latency_is_exact_to_the_picosecond(rate_bps: int, keys: str, delay_ns: float) -> None:
    dut = node("dut", ports=2, rates_bps=rate_bps)
    links = [("tester:1", "dut:1", keys), ("tester:2", "dut:2", keys)]
    document = engine_config(parsed(network(dut, links=links, ports=2, rates_bps=rate_bps)), SPECIAL)
    assert [link["latency_ns"] for link in document["links"]] == [delay_ns, delay_ns]


def test_every_frame_takes_the_code_once_per_direction_and_runs_are_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    off, on = tmp_path / "off.yaml", tmp_path / "on.yaml"
    off.write_text(wire(HUNDRED_GIGABIT, 100, tester="clock_tick_ps: 10"))
    on.write_text(off.read_text().replace("latency_ns: 100", "latency_ns: 100\n  line_code: rs_544_514"))
    runs = []
    for place in (off, on):
        out = str(place.with_suffix(""))
        quick = [
            f"--set={key}" for key in ("scaled_frames=200", "learning_wait_ms=1", "settle_ms=1", "sustained=false")
        ]
        asked = ["chassis.full_mesh", "--set", "frame_format=ethernet", *quick, "--sizes", "512", "--jobs", "1"]
        assert main(["run", *asked, "--topology", str(place), "--out", out]) == 0
        runs.append(out)
    capsys.readouterr()
    assert main(["compare", *runs, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    changed = {item["name"]: item["values"] for item in data["configuration"]}
    assert changed["topology.links[0].line_code"] == ["-", "rs_544_514"]
    rows = [item for item in data["differences"] if item["table"] == "every_load"]
    latencies = [item["difference"] for item in rows if item["column"] in ("min_us", "avg_us", "max_us")]
    assert latencies == pytest.approx([0.0512] * len(latencies), abs=1e-9) and latencies
    others = {item["sign"] for item in rows if item["column"] not in ("min_us", "avg_us", "max_us")}
    assert others == {"="}, "rates and jitter are as they were"
    echo = json.loads(Path(runs[1], "run.json").read_text())
    assert cables_text(echo).startswith("tester:1 to tester:2, 100 ns, line code rs_544_514")


def test_the_line_code_of_a_measured_latency_is_in_echo_and_drawing() -> None:
    keys = "latency_ns: 5, line_code: base_r, line_code_ns: 230"
    text = network(node("dut", ports=2), links=[("tester:1", "dut:1", keys), ("tester:2", "dut:2")], ports=2)
    config = {"topology": {"text": text}, "time_stamps": {"kind": "first bit"}, "calibration": None}
    assert cables_text(config).startswith(
        "tester:1 to dut:1, 5 ns, line code base_r of 230 ns; tester:2 to dut:2, 0 ns;"
    )
    drawing = draw(parsed(text))
    assert "5 ns, base_r 230 ns" in drawing


def test_the_chassis_with_correction_is_that_without_it_but_for_its_links() -> None:
    plain, coded = shipped(PLAIN), shipped(CODED)
    assert (coded.tester_ports, coded.devices) == (plain.tester_ports, plain.devices)
    assert {link.line_code for link in coded.links} == {"rs_528_514"}
