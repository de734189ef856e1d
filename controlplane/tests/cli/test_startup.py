"""Start-up: the version and refusals of arguments come without the libraries that runs need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from p4mesh.cli.main import main
from p4mesh.methods.names import NAMES
from p4mesh.methods.registry import TESTS, suites
from p4mesh.target.names import SIMULATED, TARGET_NAMES, WALL_CLOCK_TARGETS
from p4mesh.target.table import TARGETS

HEAVY = {"MLRsearch", "asyncio", "distributed", "finsy", "grpc", "jinja2", "multiprocessing", "numpy", "scapy"}
HEAVY |= {"junitparser", "pyarrow", "rich", "scipy", "typst", "vl_convert"}
YAML = {"jsonschema", "yaml"}
LOADED = """
import sys
from p4mesh.cli.main import main
try:
    code = main(sys.argv[1:])
except SystemExit as end:
    code = end.code
print(code, *sorted({name.partition(".")[0] for name in sys.modules}))
"""
GOOD = Path(__file__).parents[3] / "topologies" / "wrs-18x1g.yaml"
TEST = ("run", "rfc2889.fully_meshed", "--topology")


@pytest.mark.parametrize(
    ("arguments", "code", "unwanted"),
    [
        (("--version",), 0, HEAVY | YAML),
        (("fly",), 2, HEAVY | YAML),
        (("run",), 2, HEAVY | YAML),
        (("run", "rfc2889.fuly_meshed", "--topology", "x.yaml"), 2, HEAVY | YAML),
        ((*TEST, "x.yaml", "--jobs", "many"), 2, HEAVY | YAML),
        ((*TEST, "x.yaml", "--target", "hardware"), 2, HEAVY | YAML),
        ((*TEST, "x.yaml", "--jobs", "0"), 2, HEAVY | YAML),
        ((*TEST, "x.yaml", "--sizes", "60"), 2, HEAVY | YAML),
        ((*TEST, "x.yaml", "--workers", "here"), 2, HEAVY | YAML),
        ((*TEST, "absent.yaml", "--set", "frames=1"), 2, HEAVY | YAML),
        ((*TEST, "absent.yaml"), 2, HEAVY),
        ((*TEST, "bad.yaml"), 2, HEAVY),
        ((*TEST, str(GOOD), "--set", "frames=1"), 2, HEAVY),
        (("topology", "check", "bad.yaml"), 2, HEAVY),
    ],
)
def test_what_is_not_needed_is_not_loaded(
    arguments: tuple[str, ...], code: int, unwanted: set[str], tmp_path: Path
) -> None:
    (tmp_path / "bad.yaml").write_text("name: x\n")
    shown = subprocess.run(
        [sys.executable, "-c", LOADED, *arguments], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout.splitlines()[-1]
    ended, *modules = shown.split()
    assert int(ended) == code
    assert unwanted.isdisjoint(modules), unwanted.intersection(modules)


def test_the_names_that_are_known_without_loading_are_those_that_load() -> None:
    assert [f"{suite}.{test}" for suite, tests in NAMES.items() for test in tests] == [test.name for test in TESTS]
    assert list(NAMES) == list(suites())
    assert list(TARGET_NAMES) == sorted(TARGETS)
    assert {SIMULATED, *WALL_CLOCK_TARGETS} == set(TARGETS)


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    shown = capsys.readouterr().out
    assert all(command in shown for command in ("run", "calibrate", "tests", "show", "topology", "switch"))
