"""Start-up: the version and refusals of arguments come without the libraries that runs need."""

from __future__ import annotations

import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from p4mesh.cli.arguments import parser
from p4mesh.cli.main import COMMANDS, main
from p4mesh.errors import ParameterError
from p4mesh.methods.base import Method
from p4mesh.methods.names import NAMES
from p4mesh.methods.registry import TESTS, suites
from p4mesh.run.options import RunOptions
from p4mesh.run.published_parameters import check_settings, published_parameters
from p4mesh.run.single import run
from p4mesh.run.suite import plan_suite
from p4mesh.target.names import SIMULATED, TARGET_NAMES, WALL_CLOCK_TARGETS
from p4mesh.target.table import TARGETS

HEAVY = {"MLRsearch", "asyncio", "distributed", "finsy", "grpc", "jinja2", "multiprocessing", "numpy", "scapy"}
HEAVY |= {"junitparser", "pyarrow", "rich", "scipy", "typst", "vl_convert"}
YAML = {"jsonschema", "yaml"}
METHODS = {"p4mesh.methods.base", "p4mesh.methods.registry"}
LOADED = """
import sys
from p4mesh.cli.main import main
try:
    code = main(sys.argv[1:])
except SystemExit as end:
    code = end.code
print(code, *sorted(name for name in sys.modules if name.startswith("p4mesh.") or "." not in name))
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
        ((*TEST, "absent.yaml", "--set", "frames=1"), 2, HEAVY | YAML | METHODS),
        ((*TEST, "absent.yaml", "--set", "duration_ms=-1"), 2, HEAVY | YAML | METHODS),
        (("run", "rfc2889", "--topology", "absent.yaml", "--set", "frames=1"), 2, HEAVY | YAML | METHODS),
        ((*TEST, "absent.yaml"), 2, HEAVY | {"jsonschema"}),
        ((*TEST, "bad.yaml"), 2, HEAVY),
        ((*TEST, str(GOOD), "--set", "frames=1"), 2, HEAVY),
        ((*TEST, str(GOOD), "--ports", "99"), 2, HEAVY | METHODS | {"jsonschema"}),
        ((*TEST, str(GOOD), "--interfaces", "eth0"), 2, HEAVY | YAML | METHODS),
        ((*TEST, str(GOOD), "--calibration", "absent.json"), 2, HEAVY | YAML | METHODS),
        ((*TEST, str(GOOD), "--out", "bad.yaml"), 2, HEAVY | YAML | METHODS),
        ((*TEST, str(GOOD), "--out", "."), 2, HEAVY | YAML | METHODS),
        (("run", "absent.yaml"), 2, HEAVY | YAML | METHODS),
        (("run", "absent.yaml", "--out", "bad.yaml"), 2, HEAVY | YAML | METHODS),
        (("topology", "check", "bad.yaml"), 2, HEAVY),
        (("traffic", "absent.yaml", "--topology", str(GOOD)), 2, HEAVY | YAML | METHODS),
        (("traffic", "absent.yaml", "--topology", str(GOOD), "--out", "bad.yaml"), 2, HEAVY | YAML | METHODS),
        (("calibrate", "--topology", "bad.yaml", "--out", "wires.json"), 2, HEAVY | METHODS),
        (("net", "up", "bad.yaml"), 2, HEAVY | METHODS),
        (("tests", "rfc2889.fuly_meshed"), 2, HEAVY | YAML | METHODS),
        (("show", "absent"), 2, HEAVY | YAML | METHODS),
        (("report", "absent"), 2, HEAVY | YAML | METHODS),
        (("export", "absent", "--format", "json"), 2, HEAVY | YAML | METHODS),
        (("compare", "absent"), 2, HEAVY | YAML | METHODS),
        (("compare", "absent", "absent"), 2, HEAVY | YAML | METHODS),
        (("runs", "absent"), 2, HEAVY | YAML | METHODS),
        (("serve", ".", "--port", "65536"), 2, HEAVY | YAML | METHODS),
        (("serve", "absent"), 2, HEAVY | YAML | METHODS),
        (("init", "run.txt"), 2, HEAVY | YAML | METHODS),
        (("init", "--test", "rfc2889.fuly_meshed"), 2, HEAVY | YAML | METHODS),
        (("clab", "absent.clab.yml"), 2, HEAVY | YAML | METHODS),
        (("import-xena", "absent.x2889"), 2, HEAVY | YAML | METHODS),
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


def test_an_interrupt_cannot_come_between_msgspec_and_datetime() -> None:
    """Where the import of datetime by msgspec's own code ends early, msgspec crashes at its first class."""
    ask = "import sys, p4mesh.cli.entry; print('datetime' in sys.modules, 'msgspec' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    assert shown.stdout.split() == ["True", "False"]


def test_the_names_that_are_known_without_loading_are_those_that_load() -> None:
    assert [f"{suite}.{test}" for suite, tests in NAMES.items() for test in tests] == [test.name for test in TESTS]
    assert list(NAMES) == list(suites())
    assert list(TARGET_NAMES) == sorted(TARGETS)
    assert {SIMULATED, *WALL_CLOCK_TARGETS} == set(TARGETS)


@pytest.mark.parametrize("test", TESTS, ids=lambda test: test.name)
def test_the_parameters_that_are_known_without_loading_are_those_of_the_test(test: Method) -> None:
    declared = tuple(replace(parameter, real_time=None, is_command=False, role=0) for parameter in test.parameters)
    assert published_parameters(test.name) == declared


@pytest.mark.parametrize(
    ("test", "setting"),
    [("rfc2889.fully_meshed", "frames=1"), ("rfc2544.latency", "duration_ms=x"), ("rfc2889", "search_step_pct=0")],
)
def test_a_setting_is_refused_before_loading_with_the_words_of_the_run(test: str, setting: str) -> None:
    with pytest.raises(ParameterError) as early:
        check_settings(test, (setting,))
    options = RunOptions(test, GOOD, settings=(setting,))
    with pytest.raises(ParameterError) as late:
        plan_suite(options) if test in NAMES else run(options)
    assert (early.value.message, early.value.hint) == (late.value.message, late.value.hint)


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    shown = capsys.readouterr().out
    assert all(f"\n    {command}" in shown for command in COMMANDS)


def test_the_example_in_the_help_of_a_command_is_one_of_its_command_lines() -> None:
    (commands,) = (action.choices for action in parser()._actions if isinstance(action.choices, dict))
    assert set(commands) == set(COMMANDS)
    for name, command in commands.items():
        if name != "switch":  # its module has a parser of its own
            program, *words = shlex.split(command.epilog.removeprefix("Example: "))
            assert (program, words[0]) == ("p4mesh", name)
            assert parser().parse_args(words).command == name
