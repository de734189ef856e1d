"""Runs simple_switch_grpc on interfaces of a network namespace."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from p4mesh.errors import EnvironmentFault, TargetError
from p4mesh.network.nodes.base import find_program

PROGRAM = "simple_switch_grpc"
_STOP_S = 10


@dataclass(frozen=True)
class SimpleSwitch:
    """One running process; its P4Runtime server has a Unix socket, which namespaces share."""

    address: str
    device_id: int
    _process: subprocess.Popen[bytes]
    _log: Path

    def require_running(self) -> None:
        """Raise TargetError when the process has ended."""
        if self._process.poll() is not None:
            raise TargetError(
                f"{PROGRAM} ended with exit code {self._process.returncode}: {self._log.read_text()[-500:]}"
            )


@contextmanager
def simple_switch(
    command_of: Callable[..., list[str]],
    interfaces: Mapping[int, str],
    device_id: int,
    directory: Path,
    cpu_port: int | None = None,
) -> Iterator[SimpleSwitch]:
    """Start a switch without a program; its files are in ``directory``. Leaving stops it.

    ``command_of`` returns the command line that runs another one in its namespace.

    Raises EnvironmentFault where the program is not installed.
    """
    program = find_program(PROGRAM)
    if program is None:
        raise EnvironmentFault(
            f"{PROGRAM} is not installed",
            hint="install it from p4lang's packages (p4lang-bmv2), or use --target sim",
        )
    address, log = f"unix:{directory}/p4runtime-{device_id}.sock", directory / f"switch-{device_id}.log"
    command = [program, "--no-p4", "--device-id", str(device_id)]
    command += ["--notifications-addr", f"ipc://{directory}/notifications-{device_id}.ipc"]
    for port, interface in interfaces.items():
        command += ["-i", f"{port}@{interface}"]
    command += ["--", "--grpc-server-addr", address]
    if cpu_port is not None:
        command += ["--cpu-port", str(cpu_port)]
    with log.open("w") as output:
        process = subprocess.Popen(command_of(*command), stdout=output, stderr=subprocess.STDOUT)
    try:
        yield SimpleSwitch(address, device_id, process, log)
    finally:
        process.terminate()
        process.wait(_STOP_S)
