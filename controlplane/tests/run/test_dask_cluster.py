"""Runs on a Dask cluster of two worker processes: the bytes of one process, also when a worker is killed.

The trial that kills its worker does so once: a file says that it is armed, and is gone afterwards.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from dask import config
from distributed import Client, LocalCluster
from support.networks import parsed, switch
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
    parsed(switch()),
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


def test_a_worker_that_is_killed_in_a_trial_changes_nothing(cluster: str, armed: Path, tmp_path: Path) -> None:
    run(options(ADDRESSES, tmp_path / "one", jobs=1))
    armed.touch()
    events: list[Event] = []
    run(
        options(ADDRESSES, tmp_path / "cluster", workers=cluster, opener="test_dask_cluster:open_mortal"), events.append
    )
    assert not armed.exists(), "a worker was killed"
    assert [type(event) for event in events].count(WorkerLost) == 1
    assert isinstance(events[0], RunStarted) and events[0].cluster == cluster
    assert files(tmp_path / "cluster") == files(tmp_path / "one")


def test_a_run_has_the_bytes_of_one_process_and_leaves_nothing_on_the_cluster(cluster: str, tmp_path: Path) -> None:
    with Client(cluster, set_as_default=False) as client:  # type: ignore[no-untyped-call]  # Dask has no type here
        run(options(MESH, tmp_path / "run", workers=cluster))
        assert client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.tasks)) == []
    run(options(MESH, tmp_path / "one", jobs=1))
    assert files(tmp_path / "run") == files(tmp_path / "one")


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


def refusal(address: str, out: Path) -> TargetError:
    with pytest.raises(TargetError) as raised:
        run(options(MESH, out, workers=address))
    assert not out.exists()
    return raised.value


@contextmanager
def listener(greeting: bytes) -> Iterator[str]:
    """A server that greets whoever comes, without looking at what is said; it says nothing where that is empty."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def greet() -> None:
            with suppress(OSError):
                while greeting:
                    server.accept()[0].sendall(greeting)

        threading.Thread(target=greet, daemon=True).start()
        yield f"tcp://127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)


def test_an_address_without_a_scheduler_has_its_cause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_cluster, "_CONNECT_S", 0.5)
    error = refusal("tcp://127.0.0.1:1", tmp_path / "run")
    assert error.message.startswith(
        "--workers tcp://127.0.0.1:1: no Dask scheduler answers: Timed out trying to connect"
    )
    assert error.hint == "nothing listens there: is the scheduler running, and is the port right?"
    assert "'host.invalid'" in refusal("tcp://host.invalid:1", tmp_path / "run").hint


@pytest.mark.parametrize(
    ("greeting", "said"),
    [(b"", "it says nothing"), (b"HTTP/1.1 400 Bad Request", "its greeting is none of Dask")],
    ids=["nothing", "a web server"],
)
def test_what_listens_and_is_no_scheduler_is_not_waited_for(
    greeting: bytes, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_cluster, "_CONNECT_S", 0.5)
    with listener(greeting) as address:
        error = refusal(address, tmp_path / "run")
    assert error.message == f"--workers {address}: no Dask scheduler answers: {said}"
    assert error.hint.startswith("something listens there: is it a Dask scheduler")


def test_a_worker_is_no_scheduler(cluster: str, tmp_path: Path) -> None:
    with Client(cluster, set_as_default=False) as client:  # type: ignore[no-untyped-call]  # Dask has no type here
        worker = sorted(client.nthreads())[0]
    error = refusal(worker, tmp_path / "run")
    assert (error.message, error.hint) == (
        f"--workers {worker}: this is a worker of Dask",
        "name the address of its scheduler",
    )


class Lost:
    """A client, and each of its answers, whose scheduler is gone."""

    def submit(self, *arguments: object, **keywords: object) -> Lost:
        return self

    def add_done_callback(self, call: Callable[[object], None]) -> None:
        call(self)

    def done(self) -> bool:
        return True

    def result(self, timeout: float) -> None:
        raise CancelledError("scheduler-connection-lost.\nPlease run it again.")


def test_answers_that_end_with_the_scheduler_are_no_fault_of_ours() -> None:
    nothing: Any = None
    worker = dask_cluster._DaskWorker(Lost(), "tcp://host:8786", "tcp://host:1", nothing)
    with pytest.raises(TargetError) as raised:
        worker.measure(nothing, nothing)
    assert raised.value.message == (
        "--workers tcp://host:8786: the Dask scheduler went away: CancelledError: scheduler-connection-lost."
    )


def test_encryption_that_dask_requires_is_named(cluster: str, tmp_path: Path) -> None:
    with config.set({"distributed.comm.require-encryption": True}):
        error = refusal(cluster, tmp_path / "run")
    assert "encryption required by Dask configuration" in error.message
    assert error.hint == "distributed.comm of Dask's configuration says how it connects"


def test_a_cluster_without_workers_is_one_error(tmp_path: Path) -> None:
    with LocalCluster(n_workers=0, dashboard_address=":0") as empty:  # type: ignore[no-untyped-call]  # Dask has no type here
        with pytest.raises(TargetError, match="the cluster has no worker") as raised:
            run(options(MESH, tmp_path / "run", workers=empty.scheduler_address))
        assert f"dask worker {empty.scheduler_address}" in raised.value.hint
