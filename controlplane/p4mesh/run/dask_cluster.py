"""Workers of a Dask cluster, for campaigns that outgrow one machine.

A Dask worker measures one trial of a run at a time, whatever its number of threads; start one per processor. The job
and the open device are a value in the worker's memory, tied to that worker by every task: they end when the run
releases them, also when the run is killed. A worker that joins later, or comes again, is used.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import ssl
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import ExitStack
from types import TracebackType
from typing import Any, cast

from p4mesh.errors import EngineMissingError, InternalError, P4MeshError, TargetError
from p4mesh.no_answer import why_no_answer
from p4mesh.run.executor import ClosedError, Executor, Task, Worker, WorkerLostError
from p4mesh.run.job import Job
from p4mesh.run.session import Measured, TakeLook
from p4mesh.run.worker_device import WorkerDevice
from p4mesh.tester.contract import load_contract
from p4mesh.version import __version__

_CONNECT_S = 10.0
_GREETING_S = 2.0
_NO_GREETING = "its greeting is none of Dask"
_LISTENS = "something listens there: is it a Dask scheduler (start one with: dask scheduler), and does it use TLS?"
_LOOK_S = 0.5
"""Interval at which the list of workers is read."""
_FETCH_S = 30.0
"""Time to wait for an answer that is known to be ready, before looking whether its worker is still there."""
_TIMEOUTS = (TimeoutError, asyncio.TimeoutError)
"""The second is the first from Python 3.11 on."""
_LOST = (CancelledError, OSError)
"""When the connection to the scheduler ends, Dask cancels what it was asked for."""

Versions = tuple[str, str]
"""The version of P4Mesh, and the hash of the compiled program."""


class DaskCluster(Executor):
    """The workers that a scheduler has; raises TargetError without workers or when versions differ."""

    patience_s = 60.0

    def __init__(self, address: str, job: Job) -> None:
        self.address = address
        self._job = job
        self._workers: dict[str, _DaskWorker] = {}
        self._closed = threading.Event()
        self._watcher: threading.Thread | None = None
        self._quiet = ExitStack()
        self._client: Any = None
        """Client of Dask, which has no types."""

    def __enter__(self) -> DaskCluster:
        """Connect, and compare versions."""
        try:
            from distributed import Client
            from distributed.utils import LoopRunner, silence_logging_cmgr
        except ImportError as error:
            raise EngineMissingError(
                f"--workers {self.address}: the Dask library does not load: {error}",
                hint="pip install 'p4mesh[dask]'" if isinstance(error, ModuleNotFoundError) else "install dask again",
            ) from None
        try:
            # A client waits without end for the greeting of what is no scheduler, or takes it for a length in bytes.
            runner: Any = LoopRunner
            runner().run_sync(_greet, self.address)
            client: Any = Client
            self._client = client(self.address, timeout=_CONNECT_S, set_as_default=False, name="p4mesh")
        except ssl.SSLError as error:
            raise TargetError(
                f"--workers {self.address}: no connection with TLS: {error}",
                hint="certificates are in distributed.comm.tls of Dask's configuration",
            ) from None
        except RuntimeError as error:
            raise TargetError(
                f"--workers {self.address}: Dask connects to none: {error}",
                hint="distributed.comm of Dask's configuration says how it connects",
            ) from None
        except P4MeshError:
            raise
        except Exception as error:
            said = _NO_GREETING if isinstance(error, MemoryError) else str(error) or "it says nothing"
            raise TargetError(
                f"--workers {self.address}: no Dask scheduler answers: {said}",
                hint=why_no_answer(self.address.partition("://")[2], server="scheduler", listens=_LISTENS),
            ) from None
        # A connection that is lost is one error of ours, and no traceback of Dask's beside it.
        self._quiet.enter_context(silence_logging_cmgr(logging.CRITICAL, "distributed.client"))
        try:
            self._adopt(self._addresses())
            if not self._workers:
                raise TargetError(
                    f"--workers {self.address}: the cluster has no worker",
                    hint=f"start them with: dask worker {self.address} --nthreads 1 --nworkers N",
                )
        except BaseException as error:
            self._client.close()
            self._quiet.close()
            if isinstance(error, Exception):
                raise _went_away(self.address, error) from None
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Give up the devices and the connection; the cluster stays."""
        self.close()

    @property
    def workers(self) -> Sequence[Worker]:
        """The workers that the cluster had at the beginning."""
        return list(self._workers.values())

    def watch(self, joined: Callable[[Worker], None], failed: Callable[[BaseException], None]) -> None:
        """Look at the cluster from time to time: workers go and come."""

        def look() -> None:
            while not self._closed.wait(_LOOK_S):
                try:
                    present = self._addresses()
                    for address in self._workers.keys() - present:
                        self._workers.pop(address).lose()
                    for worker in self._adopt(present - self._workers.keys()):
                        joined(worker)
                except Exception as error:
                    if not self._closed.is_set():
                        failed(_went_away(self.address, error))
                    return

        self._watcher = threading.Thread(target=look, daemon=True)
        self._watcher.start()

    def close(self) -> None:
        """Release everything that the run has on the cluster; a trial that runs there ends by itself."""
        if self._closed.is_set():
            return
        self._closed.set()
        for worker in self._workers.values():
            worker.close()
        if self._watcher is not None:
            self._watcher.join()
        self._client.close()
        self._quiet.close()

    def _addresses(self) -> set[str]:
        return set(self._client.nthreads())

    def _adopt(self, addresses: set[str]) -> list[_DaskWorker]:
        """Take workers whose versions are ours; raise TargetError for others."""
        if not addresses:
            return []
        answers = self._client.run(_versions, workers=sorted(addresses), on_error="return")
        _require_equal(_versions(), answers)
        found = [_DaskWorker(self._client, self.address, address, self._job) for address in sorted(addresses)]
        self._workers.update({worker.name: worker for worker in found})
        return found


class _DaskWorker:
    """One worker of the cluster."""

    def __init__(self, client: Any, scheduler: str, address: str, job: Job) -> None:
        self.name = address
        self._scheduler = scheduler
        self._client = client
        self._job = job
        self._device: Any = None
        self._news = threading.Event()
        self._lost = False
        self._closed = False

    def measure(self, task: Task, take_look: TakeLook) -> Measured:
        """The answer of the worker; it shows nothing before."""
        if self._device is None:
            self._device = self._submit(WorkerDevice, self._job)
        future = self._submit(WorkerDevice.answer, self._device, task)
        future.add_done_callback(lambda _: self._news.set())
        while not future.done():
            self._news.wait()
            self._news.clear()
            self._check()
        answer = self._fetched(future)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def lose(self) -> None:
        """Tell waiting threads that no answer will come."""
        self._lost = True
        self._news.set()

    def close(self) -> None:
        """Release the device, and tell threads that wait for an answer that the run is over."""
        self._closed = True
        self._device = None
        self._news.set()

    def _submit(self, function: Callable[..., object], *arguments: object) -> Any:
        self._check()
        try:
            return self._client.submit(
                function, *arguments, key=f"p4mesh-{uuid.uuid4().hex}", workers=[self.name], pure=False
            )
        except _LOST as error:
            self._check()
            raise _went_away(self._scheduler, error) from None
        except Exception as error:
            self._check()
            raise InternalError(f"--workers: {self.name} takes no task: {type(error).__name__}: {error}") from None

    def _fetched(self, future: Any) -> Measured | P4MeshError:
        from distributed import KilledWorker

        while True:
            self._check()
            try:
                return cast("Measured | P4MeshError", future.result(timeout=_FETCH_S))
            except _TIMEOUTS:
                continue
            except KilledWorker:
                raise WorkerLostError from None
            except _LOST as error:
                self._check()
                raise _went_away(self._scheduler, error) from None
            except Exception as error:
                self._check()
                raise InternalError(f"--workers: {self.name}: {type(error).__name__}: {error}") from None

    def _check(self) -> None:
        if self._closed:
            raise ClosedError
        if self._lost:
            raise WorkerLostError


async def _greet(address: str) -> None:
    """Ask a server of Dask what it is; raise TargetError for another one than a scheduler."""
    from distributed import Security, rpc

    library: Any = rpc
    security: Any = Security
    async with library(address, timeout=_CONNECT_S, connection_args=security().get_connection_args("client")) as server:
        answer = await asyncio.wait_for(server.identity(), _CONNECT_S + _GREETING_S)
    if answer["type"] != "Scheduler":
        raise TargetError(
            f"--workers {address}: this is a {answer['type'].lower()} of Dask", hint="name the address of its scheduler"
        )


def _went_away(address: str, error: Exception) -> P4MeshError:
    """The error of a run whose scheduler is lost; an error that has a message of its own is itself."""
    if isinstance(error, P4MeshError):
        return error
    said = str(error).partition("\n")[0]
    return TargetError(
        f"--workers {address}: the Dask scheduler went away: {type(error).__name__}: {said}",
        hint="the same command with --out resumes the run",
    )


def _versions() -> Versions:
    """The versions that must be equal on all machines, so that equal trials give equal results."""
    return __version__, hashlib.sha256(load_contract().json_path.read_bytes()).hexdigest()


def _require_equal(own: Versions, answers: Mapping[str, Versions | Exception]) -> None:
    """Raise TargetError for the first worker whose versions differ or are not known."""
    for address, found in sorted(answers.items()):
        if isinstance(found, Exception):
            absent = isinstance(found, ImportError)
            raise TargetError(
                f"worker {address} cannot measure: {type(found).__name__}: {found}",
                hint=f"install P4Mesh {own[0]} where the worker runs" if absent else "its output may say why",
            )
        if found[0] != own[0]:
            raise TargetError(
                f"worker {address} has P4Mesh {found[0]}, this is P4Mesh {own[0]}",
                hint="install the same version on all machines",
            )
        if found[1] != own[1]:
            raise TargetError(
                f"worker {address} has another compiled program: {found[1][:12]}, here {own[1][:12]}",
                hint="install the same version on all machines, or run make p4 on all",
            )
