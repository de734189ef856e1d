"""The forwarding program on DPDK's SWX pipeline, compiled: the code that p4c's DPDK back end targets.

``dpdk/l3_forward.spec`` is ``p4/l3_forward.p4`` by hand, with the same entries; SWX has no table of longest prefixes,
so its wildcard table has the routes. Needed are gcc, Debian's ``libdpdk-dev``, and the sources of the same version
(``apt-get source dpdk``) in the folder that the variable DPDK_SOURCE names: generated code includes a header of them.
"""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from bench.workload import NEIGHBOURS, ROUTES, neighbour_mac, own_mac, route_prefix, routed_frames

_DIRECTORY = Path(__file__).parent / "dpdk"
_HEADER = Path("lib/pipeline/rte_swx_pipeline_internal.h")
_FRAMES = 2000
"""Different frames, which come again and again."""
_PCAP_HEADER = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
_PORTS = """\
port in 0 source mempool FRAMES file frames.pcap loop 0 packets 0
port out 0 sink file none
port out 1 sink file none
port out 2 sink file none
port out 3 sink file none
"""
# Generated code reads a header as words of several sizes.
_COMPILER = ("gcc", "-O3", "-march=native", "-fno-strict-aliasing", "-DALLOW_EXPERIMENTAL_API", "-w")


def available() -> bool:
    """True where a compiler, DPDK and the header of its sources are there."""
    found = shutil.which("gcc") and shutil.which("pkg-config") and (_source() / _HEADER).is_file()
    return bool(found) and subprocess.run(["pkg-config", "--exists", "libdpdk"], check=False).returncode == 0


def forward(seconds: float) -> dict[str, Any]:
    """Frames from memory through the router into nothing, for some seconds of processor time."""
    flags, libraries = (_output("pkg-config", kind, "libdpdk").split() for kind in ("--cflags", "--libs"))
    with tempfile.TemporaryDirectory(prefix="p4mesh-bench-") as name:
        folder = Path(name)
        compiler = (*_COMPILER, *flags, f"-I{_source() / _HEADER.parent}")
        _output(*compiler, str(_DIRECTORY / "peer.c"), "-o", "peer", *libraries, cwd=folder)
        _output("./peer", "code", str(_DIRECTORY / "l3_forward.spec"), "pipeline.c", cwd=folder)
        _output(*compiler, "-fpic", "-shared", "pipeline.c", "-o", "pipeline.so", cwd=folder)
        frames = (struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame for frame in routed_frames(_FRAMES))
        (folder / "frames.pcap").write_bytes(_PCAP_HEADER + b"".join(frames))
        (folder / "ports").write_text(_PORTS)
        tables = []
        for table, lines in _entries().items():
            (folder / table).write_text("".join(f"match {line}\n" for line in lines))
            tables += [table, table]
        sent, spent_s = _output("./peer", "run", "./pipeline.so", "ports", str(seconds), *tables, cwd=folder).split()
    return {
        "frames": int(sent),
        "cpu_seconds": round(float(spent_s), 2),
        "frames_per_s": round(int(sent) / float(spent_s)),
    }


def _entries() -> dict[str, list[str]]:
    return {
        "ipv4_route": [
            f"0x{route_prefix(number):08x}/0xffffff00 action route next_hop {number % NEIGHBOURS}"
            for number in range(ROUTES)
        ],
        "neighbour": [f"{hop} action forward port 2 mac 0x{neighbour_mac(hop):012x}" for hop in range(NEIGHBOURS)],
        "interface_address": [f"{port} action own_address mac 0x{own_mac(port):012x}" for port in (1, 2)],
    }


def _source() -> Path:
    return Path(os.environ.get("DPDK_SOURCE", ""))


def _output(*command: str, cwd: Path | None = None) -> str:
    return subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, text=True, check=True).stdout
