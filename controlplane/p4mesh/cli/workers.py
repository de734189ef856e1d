"""Runs independent units in worker processes; the parent alone writes to the run directory.

A worker sends each finished trial and waits for the word that it is on disk. Units share no state,
so the results are those of a run in one process.
"""

from __future__ import annotations

import multiprocessing
import signal
import traceback
from collections.abc import Mapping
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import cast

from p4mesh.cli.execution import Job, Observer, TrialReport, run_unit
from p4mesh.errors import InternalError, P4MeshError, TargetError
from p4mesh.methods.base import Unit, UnitResult
from p4mesh.store.run_directory import RunDirectory

_STOPPED_S = 5.0


def run_parallel(
    job: Job, units: tuple[Unit, ...], directory: RunDirectory, observer: Observer, workers: int
) -> Mapping[Unit, UnitResult]:
    """Run all units on up to ``workers`` processes; raises what a unit raised."""
    pending = list(units)
    results: dict[Unit, UnitResult] = {}
    context = multiprocessing.get_context("spawn")
    processes: dict[Connection, SpawnProcess] = {}
    try:
        for _ in range(min(workers, len(pending))):
            parent, child = context.Pipe()
            process = context.Process(target=_work, args=(child, job), daemon=True)
            process.start()
            child.close()
            processes[parent] = process
        busy = set(processes)
        for connection in processes:
            _assign(connection, pending, directory, busy)
        while busy:
            for ready in wait(list(busy)):
                connection = cast(Connection, ready)
                message = _receive(connection, processes[connection])
                if isinstance(message, TrialReport):
                    if message.timing is not None:
                        directory.append(message.trial, message.timing)
                    observer.trial(message)
                    connection.send(True)
                else:
                    unit, result = message
                    results[unit] = result
                    observer.unit_finished(unit.key)
                    _assign(connection, pending, directory, busy)
    finally:
        for process in processes.values():
            if process.is_alive():
                process.terminate()
            process.join(_STOPPED_S)
    return {unit: results[unit] for unit in units}


def _assign(connection: Connection, pending: list[Unit], directory: RunDirectory, busy: set[Connection]) -> None:
    if not pending:
        connection.send(None)
        busy.discard(connection)
        return
    unit = pending.pop(0)
    connection.send((unit, directory.stored(unit.key)))


def _receive(connection: Connection, process: SpawnProcess) -> TrialReport | tuple[Unit, UnitResult]:
    try:
        message = connection.recv()
    except (EOFError, ConnectionResetError):
        process.join(_STOPPED_S)
        raise TargetError(
            f"a worker process ended with exit code {process.exitcode}",
            hint="the same command with --out resumes the run; --jobs 1 runs it in one process",
        ) from None
    if isinstance(message, P4MeshError):
        raise message
    return cast("TrialReport | tuple[Unit, UnitResult]", message)


def _work(connection: Connection, job: Job) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def publish(report: TrialReport) -> None:
        connection.send(report)
        connection.recv()

    try:
        while (task := connection.recv()) is not None:
            unit, stored = task
            connection.send((unit, run_unit(job, unit, stored, publish)))
    except P4MeshError as error:
        connection.send(error)
    except (EOFError, BrokenPipeError):
        return
    except Exception:
        connection.send(InternalError(f"worker process: {traceback.format_exc()}"))
