"""A limit that is known beforehand, of a token bucket of the kernel, is found by the throughput search."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.linux_devices import needs_root, run_live, shipped_on

from p4mesh.network.nodes.base import run_command
from p4mesh.target.live import LiveTarget
from p4mesh.topology import Topology
from p4mesh.trial.engine import TrialEngine
from p4mesh.trial.opening import open_measurer

pytestmark = [
    pytest.mark.live,
    needs_root,
    pytest.mark.skipif(shutil.which("tc") is None, reason="tc is not installed"),
]
LIMIT_BPS = 50_000_000
QUEUE_MS = 15
TRIAL_MS = 150 * QUEUE_MS
"""The queue and the bucket carry an excess of less than 1 % for so long."""
SIZE_BYTES = 1024
FCS_BYTES = 4


@contextmanager
def behind_a_token_bucket(topology: Topology) -> Iterator[TrialEngine]:
    """Open a bridge whose port 2 sends 50 Mbit/s of frames without FCS, with a queue of 15 ms."""
    with open_measurer(topology, "live") as measurer:
        target = measurer.tester.target
        assert isinstance(target, LiveTarget)
        limit = ["rate", str(LIMIT_BPS), "burst", "5kb", "latency", f"{QUEUE_MS}ms"]
        node = target.network.node("bridge")
        run_command(node.command("tc", "qdisc", "add", "dev", "p2", "root", "tbf", *limit))
        yield measurer


def test_the_rate_of_a_token_bucket_is_found(tmp_path: Path) -> None:
    """RFC 2544 26.1, within 2 %."""
    topology = shipped_on("bridge-4x10m", "bridge", ("10000000", "100000000"))
    settings = (
        *("search_method=bisect", "search_min_pct=40", "search_max_pct=60", "search_initial_pct=50"),
        *("search_resolution_pct=0.3", "bidirectional=false", f"duration_ms={TRIAL_MS}", "confirm_factor=1"),
        *("learning_wait_ms=100", "settle_ms=200", "restabilise_ms=0"),
    )
    opener = f"{__name__}:behind_a_token_bucket"
    outcome = run_live("rfc2544.throughput", topology, SIZE_BYTES, tmp_path, *settings, opener=opener, ports="1,2")
    (row,) = outcome.tables[0].rows
    assert row["throughput_fps"] == pytest.approx(LIMIT_BPS / (8 * (SIZE_BYTES - FCS_BYTES)), rel=0.02)
