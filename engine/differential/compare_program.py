#!/usr/bin/env python3
"""Compares the engine with simple_switch_grpc on any P4 program: random entries, random frames.

``compare_program.py FILE.p4 ... [--seed N] [--frames N] [--simple-switch PATH]`` (needs p4c-bm2-ss
and simple_switch_grpc). Prints a line per program and the differences. Programs that read fields
that were never written differ by nature, and are reported as unstable when simple_switch_grpc does
not do the same twice.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from harness.any_program import any_scenario
from harness.bmv2 import PROGRAM, Bmv2Switch, find_simple_switch
from harness.compare import differences, report
from harness.engine import EngineSwitch
from harness.programs import CompiledProgram
from harness.run import run_scenario
from harness.switch import HarnessError

from p4mesh.errors import P4MeshError

COMPILER = "p4c-bm2-ss"


def main() -> int:
    """Compare the programs of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="+", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--p4v", choices=("14", "16"), default="16", help="version of the language")
    parser.add_argument("--frames", type=int, default=60)
    parser.add_argument("--simple-switch", metavar="PATH")
    options = parser.parse_args()
    executable = find_simple_switch(options.simple_switch)
    if executable is None:
        print(f"{PROGRAM} is not installed", file=sys.stderr)
        return 3
    failed = 0
    with tempfile.TemporaryDirectory(prefix="p4mesh-compare-") as directory:
        for source in options.programs:
            outcome, details = compare(source, Path(directory), executable, options)
            failed += outcome in ("DIFFERENT", "engine")
            print(f"{outcome:12} {source.stem}", flush=True)
            if details:
                print("    " + details.replace("\n", "\n    "), flush=True)
    return 1 if failed else 0


def compare(source: Path, directory: Path, executable: str, options: argparse.Namespace) -> tuple[str, str]:
    """The outcome of one program, and details of a failure."""
    program = CompiledProgram(source.stem, directory / f"{source.stem}.json", directory / f"{source.stem}.txtpb")
    done = subprocess.run(
        [COMPILER, "--p4v", options.p4v, "-o", program.json_path, "--p4runtime-files", program.p4info_path, source],
        capture_output=True, check=False,
    )  # fmt: skip
    if done.returncode or not program.json_path.exists():
        return "no-compile", ""
    scenario = any_scenario(program, options.seed, options.frames)
    try:
        expected = run_scenario(scenario, program, Bmv2Switch(executable))
        again = run_scenario(scenario, program, Bmv2Switch(executable))
    except (HarnessError, P4MeshError) as error:
        return "no-bmv2", str(error)[-200:]
    if differences(scenario, expected, again):
        return "unstable", ""
    try:
        found = differences(scenario, expected, run_scenario(scenario, program, EngineSwitch()))
    except (HarnessError, P4MeshError) as error:
        return "engine", str(error)[:600]
    return ("DIFFERENT", report(scenario, found)) if found else ("same", "")


if __name__ == "__main__":
    sys.exit(main())
