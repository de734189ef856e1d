"""A P4 program in the style of p4lang's tutorials, whose keys have no ``@name``: one file for sim, live and Mininet."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.linux_devices import ATTEMPTS, RATE_BPS, available, needs_root, run_live
from support.networks import TOPOLOGIES, shipped

from p4mesh.methods.results.outcome import Cell, Outcome
from p4mesh.run.options import RunOptions
from p4mesh.run.single import run
from p4mesh.verdict import Verdict

NAME = "p4-tutorial-router"
FILE = TOPOLOGIES / f"{NAME}.yaml"
TEST = "rfc2544.frame_loss"
LOAD_PCT, DURATION_MS, SIZE = 5, 500, 128
SETTINGS = (
    *(f"rate_fraction_pct={LOAD_PCT}", f"duration_ms={DURATION_MS}"),
    *("settle_ms=300", "learning_wait_ms=200", "restabilise_ms=0"),
)
SENT = 4 * (RATE_BPS * LOAD_PCT // 100 * DURATION_MS // 1000 // (8 * (SIZE + 20)))
"""Frames of four ports at the first load: a frame takes 20 bytes of the line beside its own."""


def counts(outcome: Outcome) -> tuple[Cell, Cell]:
    row = outcome.tables[0].rows[0]
    return row["tx_frames"], row["rx_frames"]


def test_the_router_is_measured_on_sim(tmp_path: Path) -> None:
    outcome = run(RunOptions(TEST, shipped(NAME), str(SIZE), SETTINGS, tmp_path / "run")).outcome
    assert outcome.state is Verdict.MEASURED
    assert counts(outcome) == (SENT, SENT)


@pytest.mark.live
@needs_root
def test_the_same_file_is_measured_on_live(tmp_path: Path) -> None:
    outcome = run_live(TEST, available(shipped(NAME)), SIZE, tmp_path, *SETTINGS)
    sent, received = counts(outcome)
    assert sent == SENT
    assert received > 0.9 * sent


@pytest.mark.live
@needs_root
@pytest.mark.skipif(shutil.which("mnexec") is None, reason="mininet is not installed")
def test_the_same_file_is_measured_in_mininet(tmp_path: Path) -> None:
    from p4mesh.mininet import network_of

    net = network_of(shipped(NAME))
    words = (*("run", TEST, "--topology", str(FILE), "--sizes", str(SIZE)), *_set(SETTINGS))
    try:
        net.start()
        for attempt in range(ATTEMPTS):
            done = net["tester"].p4mesh(*words, "--out", str(tmp_path / str(attempt)))
            if done.returncode == 0:
                break
        assert done.returncode == 0, done.stdout + done.stderr
    finally:
        net.stop()
    assert f"Frame loss rate: 4 ports, {Verdict.MEASURED.value}" in done.stdout


def _set(settings: tuple[str, ...]) -> list[str]:
    return [word for item in settings for word in ("--set", item)]
