"""Runs all measurements, prints the comparison, writes runs/bench.json (``python -m bench``).

``python -m bench GROUP...`` runs groups: engine, simple_switch, swx, control or live; a missed target is exit code 1.
``python -m bench GROUP.NAME`` runs one measurement in this process and prints it as JSON.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

from bench import control_plane, engine_paths, live_ports, scale, simple_switch, swx
from bench.report import markdown, rows, text

gc.set_threshold(400_000, 20, 20)  # as the command p4mesh has it

_ROOT = Path(__file__).parents[3]
_JSON = _ROOT / "runs" / "bench.json"
_TABLE = _ROOT / "docs" / "BENCHMARKS.md"

_ONE_CORE: dict[str, Callable[[], dict[str, Any]]] = {
    "transmit": lambda: engine_paths.transmit(3_000_000),
    "receive": lambda: engine_paths.receive(500_000),
    "forward": lambda: engine_paths.forward(500_000),
    "simulation": lambda: engine_paths.simulation(1_800_000),
}
_SIMPLE_SWITCH: dict[str, Callable[[], dict[str, Any]]] = {
    "transmit": lambda: simple_switch.transmit(8),
    "receive": lambda: simple_switch.receive(100_000),
    "forward": lambda: simple_switch.forward(200_000),
}
_SWX: dict[str, Callable[[], dict[str, Any]]] = {"forward": lambda: swx.forward(2)}
_CONTROL: dict[str, Callable[[], dict[str, Any]]] = {
    "table_entries": lambda: control_plane.table_entries(100_000),
    "flow_records": lambda: control_plane.flow_records(65_536),
    "counters": control_plane.counters,
    "event_queue": control_plane.event_queue,
    "full_mesh": lambda: scale.full_mesh(256, 100_000),
    "thousand_ports": lambda: scale.full_mesh(1024, 100_000),
    "multicast": lambda: scale.multicast(100_000, 4_095),
}
_GROUPS = {
    "engine": _ONE_CORE,
    "simple_switch": _SIMPLE_SWITCH,
    "swx": _SWX,
    "control": _CONTROL,
    "live": live_ports.MEASUREMENTS,
}
_ON_ALL_CORES = ("control", "live")
_IN_TURNS = ("engine", "simple_switch", "swx")
_TURNS = 3
"""Rates that are compared are measured in turns, and the best of each counts: machines change their speed."""


def main(arguments: list[str]) -> int:
    """Run the measurements that the arguments name, or all."""
    parsed = _parser().parse_args(arguments)
    if len(parsed.what) == 1 and "." in parsed.what[0]:
        group, name = parsed.what[0].split(".")
        if group not in _ON_ALL_CORES:
            os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        print(json.dumps(_GROUPS[group][name]()))
        return 0
    write_table = parsed.write_table
    groups = [group for group in _GROUPS if group in parsed.what] or list(_GROUPS)
    if write_table and len(groups) < len(_GROUPS):
        print("--write-table: the table holds all groups, name none", file=sys.stderr)
        return 2
    results: dict[str, Any] = {"machine": _machine(), **{group: {} for group in _GROUPS}}
    for group in groups:
        measurements = _GROUPS[group]
        if group == "simple_switch" and not simple_switch.available():
            print(f"{simple_switch.PROGRAM} is not installed: no comparison", file=sys.stderr)
            continue
        if group == "swx" and not swx.available():
            print("DPDK, gcc or DPDK_SOURCE is missing (bench/swx.py): no comparison with SWX", file=sys.stderr)
            continue
        if group == "live" and not live_ports.available():
            print("network namespaces need root: nothing is measured on interfaces", file=sys.stderr)
            continue
        for name in measurements:
            results[group][name] = _measure(group, name)
    for turn in range(2, _TURNS + 1):
        for group in (it for it in groups if it in _IN_TURNS):
            for name, first in results[group].items():
                further = _measure(group, name, f" (turn {turn} of {_TURNS})")
                results[group][name] = max(first, further, key=lambda it: it.get("frames_per_s", 0))
    _JSON.parent.mkdir(exist_ok=True)
    _JSON.write_text(json.dumps(results, indent=2) + "\n")
    print(text(results, colour=sys.stdout.isatty() and "NO_COLOR" not in os.environ))
    if write_table:
        _TABLE.write_text(markdown(results))
    return 1 if any(row.missed for row in rows(results)) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure frames/s and the control plane.")
    names = [f"{group}.{name}" for group, measurements in _GROUPS.items() for name in measurements]

    def known(word: str) -> str:
        if word not in (*_GROUPS, *names):
            raise argparse.ArgumentTypeError(f"{word!r} is unknown; valid: {', '.join((*_GROUPS, *names))}")
        return word

    parser.add_argument(
        "what",
        nargs="*",
        type=known,
        metavar="GROUP|GROUP.NAME",
        help=f"groups: {', '.join(_GROUPS)} (default: all); or one of {', '.join(names)}",
    )
    parser.add_argument("--write-table", action="store_true", help=f"write {_TABLE.relative_to(_ROOT)} too")
    return parser


def _measure(group: str, name: str, turn: str = "") -> dict[str, Any]:
    print(f"measuring {group}.{name}{turn} ...", file=sys.stderr)
    return _in_a_process(f"{group}.{name}")


def _in_a_process(name: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "bench", name]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        return {"failed": f"{name} ended with exit code {done.returncode}"}
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def _machine() -> dict[str, str]:
    models = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    command = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False)
    return {
        "date": date.today().isoformat(),
        "processor": models[0].split(":", 1)[1].strip() if models else platform.processor(),
        "cores": str(os.cpu_count()),
        "system": f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
        "load of the machine": f"{os.getloadavg()[0]:.1f} processes wait for a core",
        "p4mesh": commit.stdout.strip(),
        "simple_switch_grpc": simple_switch.version() if simple_switch.available() else "not installed",
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
