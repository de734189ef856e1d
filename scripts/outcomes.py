"""Runs every test on a small bed and compares what it wrote with what is on record.

The record is the oracle of a change that must not change results: equal results are equal bytes, so hashes tell.
``--record`` writes the hashes of the chosen tests anew, for a change that is wanted.

    python scripts/outcomes.py                            compares all tests
    python scripts/outcomes.py rfc2544 messages.latency   compares a suite and a test
    python scripts/outcomes.py --keep DIR rfc3918         leaves the run directories in DIR, to see what differs
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from p4mesh.methods.registry import TESTS

REPOSITORY = Path(__file__).resolve().parent.parent
RECORD = REPOSITORY / "controlplane" / "tests" / "fixtures" / "outcomes.json"
COMPARED = ("trials.jsonl", "*.csv")
"""Files of a run directory that hold what was measured; the report is made of them."""

SHORT = {"scaled_frames": "400", "learning_wait_ms": "1", "settle_ms": "1", "restabilise_ms": "1"}


@dataclass(frozen=True)
class Bed:
    """A test set-up of some seconds."""

    topology: str = "wrs-18x1g"
    sizes: str = "128,512"
    """Frame sizes in bytes with FCS."""
    ports: str | None = "1-4"
    settings: Mapping[str, str] = field(default_factory=dict)

    def arguments(self, test: str, parameters: Sequence[str]) -> list[str]:
        """The command line without its output directory; settings that a test does not have are left out."""
        wanted = {**{key: value for key, value in SHORT.items() if key in parameters}, **self.settings}
        chosen = ["--ports", self.ports] if self.ports else []
        settings = [part for key, value in wanted.items() for part in ("--set", f"{key}={value}")]
        return ["run", test, "--topology", self.topology, "--sizes", self.sizes, *chosen, *settings, "--jobs", "1"]


ROUTER = Bed("router-4x1g", ports=None, settings={"routed": "true"})
TUNNELS = Bed("p4-tunnels-4ports", ports=None)
BEDS: dict[str, Bed] = {
    "rfc2544": Bed(),
    "rfc2544.back_to_back": Bed("router-4x1g", ports="1-2", settings={"routed": "true"}),
    "rfc2544.reset": Bed("router-4x1g", sizes="128", ports="1-2", settings={"routed": "true"}),
    "rfc2889": Bed(),
    "rfc2889.multiple_devices": Bed("two-switches", ports=None),
    "rfc3918": Bed("nexus9508-32x100g"),
    # The burden, half of a line of 100 Gbit/s, is no longer than the delays that are looked for.
    "rfc3918.burdened_join_delay": Bed("nexus9508-32x100g", settings={"delay_limit_ms": "20"}),
    "rfc3918.encapsulation": TUNNELS,
    "rfc3918.decapsulation": TUNNELS,
    "rfc3918.reencapsulation": TUNNELS,
    "rfc5180": ROUTER,
    "rfc5180.reset": Bed("router-4x1g", sizes="128", ports="1-2", settings={"routed": "true"}),
    "rfc5695": Bed("p4-mpls-4ports", ports=None, settings={"operation": "push"}),
    "rfc5695.back_to_back": Bed(
        "p4-mpls-4ports", sizes="128", ports=None, settings={"operation": "push", "repetitions": "2"}
    ),
    "rfc5695.latency": Bed("p4-mpls-4ports", ports=None, settings={"operation": "swap"}),
    "rfc5695.system_recovery": Bed("p4-mpls-4ports", sizes="128", ports=None, settings={"operation": "push"}),
    "srv6": Bed("p4-srv6-2ports", sizes="164,512", ports=None, settings={"operation": "endpoint_lookup"}),
    "srv6.throughput": Bed("p4-srv6-2ports", sizes="164,512", ports=None),
    "messages": Bed("atm-8x155m", sizes="64", settings={"messages": "3", "message_frames": "20"}),
    "messages.background": Bed("atm-8x155m", sizes="64", ports=None, settings={"messages": "3", "load_step_pct": "45"}),
    "messages.n_to_one": Bed("atm-8x155m", sizes="64", settings={"messages": "3", "inputs": "3"}),
    "recirculation": Bed("p4-reroute", ports=None),
    "chassis": Bed("nexus9508-32x100g"),
    "convergence": Bed("router-4x1g-bgp", sizes="128", ports=None),
    "gsi": Bed("gsi-4-layers", ports=None),
    "gsi.mixed": Bed(
        "gsi-4-layers", sizes="90", ports=None, settings={"run_s": "0.4", "dm_rates_mbps": "100", "b2b_rates_mbps": "4"}
    ),
}
"""Beds of suites, and of tests that need another one."""


def main() -> int:
    """Compare or record; the exit code is 1 where something differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("tests", nargs="*", help="tests or suites; default: all")
    parser.add_argument("--record", action="store_true", help="write the hashes of these tests anew")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="leave the run directories in DIR")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="tests at the same time")
    arguments = parser.parse_args()
    chosen = [test for test in TESTS if not arguments.tests or {test.name, _suite(test.name)} & set(arguments.tests)]
    if not chosen:
        parser.error(f"no test or suite {' '.join(arguments.tests)}; 'p4mesh tests' lists them")
    with tempfile.TemporaryDirectory() as temporary, ThreadPoolExecutor(arguments.jobs) as pool:
        place = arguments.keep or Path(temporary)
        found = dict(
            zip((test.name for test in chosen), pool.map(lambda test: _measured(test, place), chosen), strict=True)
        )
    record = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    if arguments.record:
        record.update(found)
        RECORD.write_text(json.dumps(dict(sorted(record.items())), indent=1) + "\n")
        return 0
    differing = {name: outcome for name, outcome in found.items() if outcome != record.get(name)}
    for name, outcome in differing.items():
        expected = record.get(name, {})
        files = sorted(key for key in {*outcome, *expected} if outcome.get(key) != expected.get(key))
        print(f"{name} differs: {', '.join(files)}")
    print(f"{len(found) - len(differing)} of {len(found)} tests as recorded")
    return 1 if differing else 0


def _suite(name: str) -> str:
    return name.partition(".")[0]


def _measured(test: Any, place: Path) -> dict[str, str]:
    """The exit code of a test, and a hash of each file that it wrote."""
    bed = BEDS.get(test.name) or BEDS[_suite(test.name)]
    out = place / test.name
    begin = time.monotonic()
    command = [sys.executable, "-m", "p4mesh", *bed.arguments(test.name, _parameters(test)), "--out", str(out)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    print(f"{time.monotonic() - begin:6.1f} s  exit {ended.returncode}  {test.name}", file=sys.stderr, flush=True)
    if ended.returncode > 1:
        print(ended.stderr, file=sys.stderr)
    files = sorted(path for pattern in COMPARED for path in out.rglob(pattern))
    hashes = {str(path.relative_to(out)): hashlib.sha256(path.read_bytes()).hexdigest()[:16] for path in files}
    return {"exit": str(ended.returncode), **hashes}


def _parameters(test: Any) -> list[str]:
    return [parameter.name for parameter in test.parameters]


if __name__ == "__main__":
    sys.exit(main())
