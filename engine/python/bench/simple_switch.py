"""The same programs, entries and frames in simple_switch_grpc.

It runs in its pcap mode (``--use-files``): no socket and no kernel between the switch and the frames, so the switch
alone is measured. Its processor time, of all threads, is divided by the frames that it finished; the process is bound
to one core.
"""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any

from bench.workload import PORTS, program_router, routed_frames, tester_workload
from p4mesh.p4runtime import Client

PROGRAM = "simple_switch_grpc"
_WAIT_S = 4
"""From its start to the first frame; program and entries are installed in this time."""
_POLL_S = 1.0
_IDLE_S = 0.03
"""Processor time per poll below which the switch has nothing to do."""
_AT_WORK_S = 0.1
"""Processor time of a thread in a run above which it works on frames."""
_SEEDS = 2
"""With more, its egress queues of 64 packets overflow, and it works for copies that it drops."""
_PCAP_HEADER = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)


def available() -> bool:
    """True where simple_switch_grpc is installed."""
    return shutil.which(PROGRAM) is not None


def version() -> str:
    """First line of its version."""
    done = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=False)
    return (done.stdout or done.stderr).strip().splitlines()[-1]


def transmit(seconds: int) -> dict[str, Any]:
    """The mesh at more than it can send, for some seconds."""
    workload = tester_workload()
    with _Switch({port: [] for port in range(1, PORTS + 1)}, cpu_port=workload.contract["PORT_CPU"]) as switch:
        dataplane = workload.program(switch.client)
        ports = list(range(1, PORTS + 1))
        workload.start(dataplane, _SEEDS)
        time.sleep(1)

        def sent() -> int:
            counts = dataplane.reason_counts(ports)
            return sum(counts[port, "transmitted"] for port in ports)

        frames, cpu_s = sent(), switch.cpu_seconds()
        time.sleep(seconds)
        return _rate(sent() - frames, switch.cpu_seconds() - cpu_s)


def receive(frames: int) -> dict[str, Any]:
    """Test frames from a pcap file into port 1."""
    workload = tester_workload()
    files: dict[int, list[bytes]] = {port: [] for port in range(2, PORTS + 1)} | {1: workload.received_frames(frames)}
    with _Switch(files, cpu_port=workload.contract["PORT_CPU"]) as switch:
        dataplane = workload.program(switch.client)
        cpu_s = switch.finish()
        return _rate(dataplane.reason_counts([1])[1, "expected"], cpu_s) | {"offered": frames}


def forward(frames: int) -> dict[str, Any]:
    """Frames from a pcap file through the router into another.

    The file is read faster than egress goes, and egress queues of 64 packets overflow. So the cost of a frame is a sum:
    that of the threads that see all frames, and that of the threads of egress, which see those that it sends. They are
    told apart by a run in which the router drops all frames at the end of ingress.
    """
    ingress = {thread for thread, seconds in _forwarding(frames, neighbours=False)[1].items() if seconds > _AT_WORK_S}
    cpu_s, spent, sent = _forwarding(frames, neighbours=True)
    egress_s = sum(seconds for thread, seconds in spent.items() if thread not in ingress)
    return _rate(frames, cpu_s - egress_s + frames * egress_s / sent) | {"sent": sent}


def _forwarding(frames: int, *, neighbours: bool) -> tuple[float, dict[int, float], int]:
    """The processor time of a run, that of each thread that has not ended, and the frames that were sent."""
    with _Switch({1: routed_frames(frames), 2: []}, cpu_port=510) as switch:
        program_router(switch.client, neighbours=neighbours)
        before = switch.thread_seconds()
        cpu_s = switch.finish()
        spent = {thread: seconds - before.get(thread, 0) for thread, seconds in switch.thread_seconds().items()}
        return cpu_s, spent, switch.client.read_counters("sent", [2])[0][1].packets


class _Switch:
    """A running simple_switch_grpc with a pcap file per port."""

    def __init__(self, files: dict[int, list[bytes]], cpu_port: int) -> None:
        self._files = files
        self._cpu_port = cpu_port

    def __enter__(self) -> _Switch:
        self._directory = tempfile.TemporaryDirectory(prefix="p4mesh-bench-")
        path = Path(self._directory.name)
        ports = []
        for port, frames in sorted(self._files.items()):
            ports += ["-i", f"{port}@p{port}"]
            records = [struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame for frame in frames]
            (path / f"p{port}_in.pcap").write_bytes(_PCAP_HEADER + b"".join(records))
        address = f"unix:{path}/server.sock"
        command = [PROGRAM, "--no-p4", "--device-id", "1", *ports, "--use-files", str(_WAIT_S), "--"]
        command += ["--grpc-server-addr", address, "--cpu-port", str(self._cpu_port)]
        self._started = time.monotonic()
        self._log = (path / "log").open("w")
        self._process = subprocess.Popen(command, cwd=path, stdout=self._log, stderr=subprocess.STDOUT)
        self.client = Client(address)
        self.client.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.client.__exit__(kind, error, traceback)
        self._process.kill()
        self._process.wait()
        self._log.close()
        self._directory.cleanup()

    def cpu_seconds(self) -> float:
        """Processor time of all threads of the switch."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def thread_seconds(self) -> dict[int, float]:
        """Processor time of each thread that has not ended, by its number after that of the process."""
        threads = Path(f"/proc/{self._process.pid}/task").iterdir()
        times = {int(thread.name): int((thread / "schedstat").read_text().split()[0]) for thread in threads}
        return {thread - self._process.pid: nanoseconds / 1e9 for thread, nanoseconds in times.items()}

    def finish(self) -> float:
        """Wait until all frames are done with; return the processor time that they took."""
        late = time.monotonic() - self._started > _WAIT_S
        if late:
            raise RuntimeError(f"{PROGRAM} was not programmed within {_WAIT_S} s")
        before_s = last_s = self.cpu_seconds()
        while True:
            time.sleep(_POLL_S)
            now_s = self.cpu_seconds()
            if now_s - before_s > 10 * _IDLE_S and now_s - last_s < _IDLE_S:
                return now_s - before_s
            last_s = now_s


def _rate(frames: int, seconds: float) -> dict[str, Any]:
    return {"frames": frames, "cpu_seconds": round(seconds, 2), "frames_per_s": round(frames / max(seconds, 0.01))}
