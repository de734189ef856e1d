"""Sweeps on simulated networks: the bytes of a run depend neither on processes nor on which device a trial meets."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from support.networks import TOPOLOGIES, switch
from support.runs import files

from p4mesh.cli import single_command
from p4mesh.run import preparation
from p4mesh.run.options import RunOptions

WRS = str(TOPOLOGIES / "wrs-18x1g.yaml")
SHORT = ("scaled_frames=100",)
FEW_RATES = (*SHORT, "parts=forwarding", "sweep_start_pct=40", "sweep_step_pct=30")

ROUTER = """latency_ns: 2000
lookup: {capacity_fps: 4000000, overload_pass_ppm: 33333}
interfaces:
      - {port: 1, mac: "02:00:5e:00:00:01", addresses: [198.18.1.1/24]}
      - {port: 2, mac: "02:00:5e:00:00:02", addresses: [198.18.2.1/24]}
      - {port: 3, mac: "02:00:5e:00:00:03", addresses: [198.18.3.1/24]}
      - {port: 4, mac: "02:00:5e:00:00:04", addresses: [198.18.4.1/24]}"""
OVERLOADED = "lookup: {capacity_fps: 3000000, overload_pass_ppm: 33333}"
CHANCE = """jitter: {uniform: {max_ns: 500}}
impairments: {duplicate_ppb: 10000000, reorder_ppb: 10000000, reorder_delay_ns: 30000}"""
LOSSY = "loss_ppb: 20000000"
SHARED = "shared_buffer: {bytes: 9000, cell_bytes: 80}\npause: {xoff_frames: 6, xon_frames: 2}"


def network(model: str, link: str = "", device: str = "ethernet_switch", tester_port: str = "") -> str:
    port = "queue_frames: 8, clock_offset_ppm: -30"
    return switch(model, link=link, device=device, port=port, tester_port=tester_port, seed=11)


MEMORYLESS = {
    "loss sweep, look-up overload": ("rfc2544.frame_loss", network(OVERLOADED), SHORT),
    "loss sweep, chance": ("rfc2544.frame_loss", network(CHANCE), (*SHORT, "full_sweep=true", "sustained=false")),
    "loss sweep, router": ("rfc2544.frame_loss", network(ROUTER, device="router"), (*SHORT, "routed=true")),
    "loss sweep, roles swapped": ("rfc2544.frame_loss", network(OVERLOADED), (*SHORT, "reset_between=swap_roles")),
    "loss sweep, links toggled": ("rfc2544.frame_loss", network(SHARED), (*SHORT, "reset_between=toggle_link")),
    "latency loads": ("rfc2544.latency", network(OVERLOADED), (*SHORT, "loads=all", "search_resolution_pct=20")),
    "recovery runs": (
        "rfc2544.system_recovery",
        network(OVERLOADED.replace("3", "1", 1)),
        ("scaled_frames=200", "runs=2", "search_resolution_pct=20"),
    ),
    "forwarding sweep": ("rfc2889.fully_meshed", network(SHARED), FEW_RATES),
    "steps to the maximum": (
        "rfc2889.maximum_forwarding_rate",
        network("lookup: {capacity_fps: 500000, overload_pass_ppm: 900000}"),
        (*SHORT, "search_resolution_pct=20"),
    ),
    "errored frames": (
        "rfc2889.errored_frames",
        network(OVERLOADED, tester_port="pad_to_minimum: false"),
        (*SHORT, "sweep_step_pct=45"),
    ),
}
"""Devices that the learning phase brings to where a new one is."""

OTHERS = {
    "random loss": ("rfc2544.frame_loss", network(LOSSY), SHORT),
    "outage": ("rfc2544.frame_loss", network("loss_ppb: 0", "outages: [{at_s: 14, duration_s: 0.5}]"), SHORT),
    "P4 program": ("rfc2544.frame_loss", (TOPOLOGIES / "p4-l2-4ports.yaml").read_text(), SHORT),
    "addresses that stay": (
        "rfc2889.fully_meshed",
        network("mac_table: {entries: 6, aging_s: 3, aging: broken}"),
        (*FEW_RATES, "learning_verify=false"),
    ),
    "no learning": ("rfc2889.fully_meshed", network("loss_ppb: 0"), (*FEW_RATES, "learning_frames=0")),
}
"""Devices whose trials depend on each other, or on chance that depends on how often learning was repeated."""


Case = tuple[str, str, tuple[str, ...]]
Files = dict[str, bytes]


def run(where: Path, name: str, case: Case, workers: int) -> Files:
    test, text, settings = case
    topology = where / "network.yaml"
    topology.write_text(text)
    options = RunOptions(test, str(topology), "64", settings, str(where / name), jobs=workers)
    single_command.run_test(options)
    return files(where / name)


@pytest.fixture(scope="module")
def in_one_process(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Files]:
    """A function that runs a case in one process, once."""
    return functools.cache(lambda name: run(tmp_path_factory.mktemp("one"), "run", {**MEMORYLESS, **OTHERS}[name], 1))


@pytest.mark.parametrize("name", [*MEMORYLESS, *OTHERS])
def test_one_process_and_two_give_the_same_bytes(
    name: str, tmp_path: Path, in_one_process: Callable[[str], Files]
) -> None:
    assert run(tmp_path, "two", {**MEMORYLESS, **OTHERS}[name], 2) == in_one_process(name)
    assert len(in_one_process(name)["trials.jsonl"].splitlines()) > 1


@pytest.mark.parametrize("name", MEMORYLESS)
def test_new_devices_give_the_bytes_of_one_device(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_one_process: Callable[[str], Files]
) -> None:
    """Goal: a device of its own per trial is a way to run a sweep, not another test. Method: forbid it."""
    monkeypatch.setattr(preparation, "memory_of", lambda _: "forbidden")
    monkeypatch.setattr(preparation, "memory_without_verification", lambda _: "forbidden")
    one_device = run(tmp_path, "one", MEMORYLESS[name], 1)
    monkeypatch.undo()
    assert one_device == in_one_process(name)


def test_an_outage_is_met_by_one_trial_and_not_by_each(in_one_process: Callable[[str], Files]) -> None:
    """14 s after the start is in the second trial of a sweep on one device, and in no trial on new ones."""
    files = in_one_process("outage")
    statuses = [json.loads(line)["result"]["status"] for line in files["trials.jsonl"].splitlines()]
    assert statuses.count("ABORT") == 1
    assert statuses.index("ABORT") > 0


def test_a_device_that_keeps_something_is_named_before_its_sweep(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = "trials of one part run one after the other: the P4 program of device 'dut' may keep anything"
    for workers in (1, 2):
        run(tmp_path, f"run{workers}", OTHERS["P4 program"], workers)
        assert (expected in capsys.readouterr().err) == (workers > 1)
