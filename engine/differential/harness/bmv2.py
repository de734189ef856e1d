"""simple_switch_grpc as a switch of the harness."""

from __future__ import annotations

import shutil
import struct
import subprocess
import tempfile
from pathlib import Path

from harness.packet_stream import PacketStreams
from harness.programs import CompiledProgram, compiled
from harness.scenario import Outputs
from harness.switch import CPU_PORT, WAIT_S, HarnessError, Switch, known_ports
from p4mesh.p4runtime import Client, PacketIn

PROGRAM = "simple_switch_grpc"
_PRIORITIES = 8
FAR_INDEX = (1 << 32) - 1
"""So far beyond any array that the access ends a process which does not check it."""


def find_simple_switch(path: str | None) -> str | None:
    """The executable, if there is one."""
    return shutil.which(path or PROGRAM)


def version_of(executable: str) -> str:
    """The version that simple_switch_grpc reports."""
    done = subprocess.run([executable, "--version"], capture_output=True, text=True, check=True)
    return done.stdout.strip() or done.stderr.strip()


def checks_ranges(executable: str) -> bool:
    """Whether this build checks the indices of counters, meters and registers.

    One frame that asks for an index far beyond the arrays of ``index_range`` ends a build that does not.
    """
    switch = Bmv2Switch(executable)
    switch.start(compiled("index_range"))
    with switch:
        try:
            return bool(switch.frame(1, struct.pack(">II", FAR_INDEX, 0)))
        except HarnessError:
            return False


class Bmv2Switch(Switch):
    """A process of its own for each scenario; all sockets are files of a temporary directory."""

    def __init__(self, executable: str) -> None:
        self._executable = executable

    def start(self, program: CompiledProgram) -> None:
        """Start the process and load the program."""
        self._directory = tempfile.TemporaryDirectory(prefix="p4mesh-differential-")
        base = Path(self._directory.name)
        self._log = base / "log"
        p4runtime, packets = f"unix:{base}/p4runtime", f"unix:{base}/packets"
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                [self._executable, "--no-p4", "--device-id", "1", "--",
                 "--grpc-server-addr", p4runtime, "--dp-grpc-server-addr", packets,
                 "--cpu-port", str(CPU_PORT), "--priority-queues", str(_PRIORITIES)],
                stdout=log, stderr=subprocess.STDOUT, cwd=base,
            )  # fmt: skip
        self.client = Client(p4runtime, 1, timeout_s=WAIT_S)
        self.client.__enter__()
        self.client.set_pipeline(program.p4info_path, program.json_path)
        self._packets = PacketStreams(packets)
        self._packets.wait_ready()

    def stop(self) -> None:
        """End the process."""
        self._packets.close()
        self.client.__exit__(None, None, None)
        # SIGKILL: an orderly end would wait for streams that end anyway.
        self._process.kill()
        self._process.wait(WAIT_S)
        self._directory.cleanup()

    def frame(self, port: int, data: bytes) -> Outputs:
        """See the base class."""
        try:
            return known_ports(self._packets.exchange(port, data))
        except HarnessError as error:
            raise self._explained(error) from None

    def packet_out(self, data: bytes, metadata: dict[str, int]) -> Outputs:
        """See the base class."""
        stream = self._packets.open()
        self.client.packet_out(data, **metadata)
        self.client.round_trip()
        return known_ports(stream.finish())

    def packet_ins(self) -> list[PacketIn]:
        """See the base class."""
        self.client.round_trip()
        return self.client.take_packet_ins(1 << 30, timeout_s=0)

    def _explained(self, error: HarnessError) -> HarnessError:
        code = self._process.poll()
        if code is None:
            return error
        return HarnessError(f"{self._executable} ended with {code}: {self._log.read_text()[-2000:]}")
