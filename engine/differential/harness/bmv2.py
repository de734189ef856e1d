"""simple_switch_grpc as a switch of the harness."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from harness.packet_stream import PacketStreams
from harness.programs import CompiledProgram
from harness.scenario import Outputs
from harness.switch import CPU_PORT, WAIT_S, HarnessError, Switch, known_ports
from p4mesh.p4runtime import Client, PacketIn
from p4mesh.p4runtime.writing import Requests

PROGRAM = "simple_switch_grpc"
_PRIORITIES = 8


def find_simple_switch(path: str | None) -> str | None:
    """Return the executable, if there is one."""
    return shutil.which(path or PROGRAM)


def version_of(executable: str) -> str:
    """Return the version that simple_switch_grpc reports."""
    done = subprocess.run([executable, "--version"], capture_output=True, text=True, check=True)
    return done.stdout.strip() or done.stderr.strip()


class _Controller(Client):
    """A client that can wait until the server has handled, and sent, everything on its stream."""

    def round_trip(self) -> None:
        """Arbitrate again: the answer comes after all that went before. The same id gets no answer."""
        self.election_id += 1
        self._requests = Requests(self.device_id, self.election_id, self.role)
        self._stream._arbitrate(self.device_id, self.election_id, self.role, WAIT_S)


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
        self.client = self._controller = _Controller(p4runtime, 1, timeout_s=WAIT_S)
        self.client.__enter__()
        self.client.set_pipeline(program.p4info_path, program.json_path)
        self._packets = PacketStreams(packets)
        self._packets.wait_ready()

    def stop(self) -> None:
        """End the process."""
        self._packets.close()
        self.client.__exit__(None, None, None)
        # SIGKILL: an orderly end waits for streams that are going away anyway.
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
        self._controller.round_trip()
        return known_ports(stream.finish())

    def packet_ins(self) -> list[PacketIn]:
        """See the base class."""
        self._controller.round_trip()
        return self.client.take_packet_ins(1 << 30, timeout_s=0)

    def _explained(self, error: HarnessError) -> HarnessError:
        code = self._process.poll()
        if code is None:
            return error
        return HarnessError(f"{self._executable} ended with {code}: {self._log.read_text()[-2000:]}")
