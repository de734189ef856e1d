"""Runs on a Dask cluster of two worker processes: the bytes of one process, also when a worker is killed.

The trial that kills its worker does so once: a file says that it is armed, and is gone afterwards.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from distributed import Client, LocalCluster
from support.networks import parsed, shipped, switch
from support.runs import files

from p4mesh.errors import TargetError
from p4mesh.run import Event, RunOptions, RunStarted, WorkerLost, dask_cluster, run
from p4mesh.topology import Topology
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec

ARMED = "P4MESH_TEST_ARMED"
FATAL_TRIAL = 2
Case = tuple[str, Topology, tuple[str, ...]]
MESH: Case = (
    "rfc2889.fully_meshed",
    shipped("wrs-18x1g"),
    ("scaled_frames=100", "sweep_step_pct=30", "search_resolution_pct=10"),
)
"""A search on the device of its unit, and announced trials of a sweep."""
ADDRESSES: Case = (
    "rfc2889.address_caching",
    parsed(switch("mac_table: {entries: 300, aging_s: 300, aging: broken}")),
    ("aging_s=400", "addresses_max=900"),
)
"""Trials that build on one another, and on entries that aging leaves behind."""


class Mortal:
    """A measurer in a process that is killed in the middle of a trial."""

    def __init__(self, measurer: Any) -> None:
        self._measurer = measurer

    def measure(self, spec: TrialSpec, onlooker: object = None) -> TrialResult:
        armed = Path(os.environ[ARMED])
        if spec.number == FATAL_TRIAL and armed.exists():
            armed.unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        result: TrialResult = self._measurer.measure(spec)
        return result


@contextmanager
def open_mortal(topology: Topology) -> Iterator[Mortal]:
    with open_measurer(topology) as measurer:
        yield Mortal(measurer)


@pytest.fixture(scope="module")
def armed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("dask") / "armed"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ARMED, str(path))
        yield path


@pytest.fixture(scope="module")
def cluster(armed: Path) -> Iterator[str]:
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as started:  # type: ignore[no-untyped-call]  # Dask has no type here
        yield started.scheduler_address


def options(case: Case, out: Path, **more: Any) -> RunOptions:
    test, topology, settings = case
    return RunOptions(test, topology, "64", settings, out, **more)


@pytest.mark.parametrize("case", [MESH, ADDRESSES], ids=["search and sweep", "trials that build on others"])
def test_a_worker_that_is_killed_in_a_trial_changes_nothing(
    case: Case, cluster: str, armed: Path, tmp_path: Path
) -> None:
    run(options(case, tmp_path / "one", jobs=1))
    armed.touch()
    events: list[Event] = []
    run(options(case, tmp_path / "cluster", workers=cluster, opener="test_dask_cluster:open_mortal"), events.append)
    assert not armed.exists(), "a worker was killed"
    assert [type(event) for event in events].count(WorkerLost) == 1
    assert isinstance(events[0], RunStarted) and events[0].cluster == cluster
    assert files(tmp_path / "cluster") == files(tmp_path / "one")


def test_a_run_leaves_nothing_on_the_cluster(cluster: str, tmp_path: Path) -> None:
    with Client(cluster, set_as_default=False) as client:  # type: ignore[no-untyped-call]  # Dask has no type here
        run(options(MESH, tmp_path / "run", workers=cluster))
        assert client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.tasks)) == []


def test_a_worker_of_another_version_is_refused(cluster: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_cluster, "__version__", "9.9")
    with pytest.raises(TargetError, match=r"worker tcp://\S+ has P4Mesh \d\S+, this is P4Mesh 9\.9"):
        run(options(MESH, tmp_path / "run", workers=cluster))
    assert not (tmp_path / "run").exists()


def test_a_worker_with_another_program_is_refused(
    cluster: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other.json"
    other.write_text("{}")
    monkeypatch.setattr(dask_cluster, "load_contract", lambda: SimpleNamespace(json_path=other))
    with pytest.raises(TargetError, match=r"another compiled program: [0-9a-f]{12}, here 44136fa355b3"):
        run(options(MESH, tmp_path / "run", workers=cluster))


def test_an_address_without_a_scheduler_is_one_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_cluster, "_CONNECT_S", 0.2)
    with pytest.raises(TargetError, match=r"tcp://127\.0\.0\.1:1: no Dask scheduler answers") as raised:
        run(options(MESH, tmp_path / "run", workers="tcp://127.0.0.1:1"))
    assert raised.value.hint == "start one with: dask scheduler"
    assert not (tmp_path / "run").exists()


def test_a_cluster_without_workers_is_one_error(tmp_path: Path) -> None:
    with LocalCluster(n_workers=0, dashboard_address=":0") as empty:  # type: ignore[no-untyped-call]  # Dask has no type here
        with pytest.raises(TargetError, match="the cluster has no worker") as raised:
            run(options(MESH, tmp_path / "run", workers=empty.scheduler_address))
        assert f"dask worker {empty.scheduler_address}" in raised.value.hint
