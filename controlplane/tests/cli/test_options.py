"""Options of a run: what a command line says arrives in its field, else the default of the field does."""

from __future__ import annotations

from dataclasses import fields

import pytest

from p4mesh.cli.arguments import parser
from p4mesh.cli.run_arguments import options_of
from p4mesh.errors import UsageError
from p4mesh.run.options import ARGUMENT, RunOptions

RUN = ("run", "rfc2544.throughput")
TRAFFIC = ("traffic", "voice.yaml", "--topology", "t.yaml")
WIRES = ("calibrate", "--topology", "t.yaml", "--out", "wires.json")


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (RUN, RunOptions("rfc2544.throughput")),
        ((*RUN, "--set", "a=1", "--set", "b=2"), RunOptions("rfc2544.throughput", settings=("a=1", "b=2"))),
        ((*RUN, "--capture", "3", "--require-all"), RunOptions(RUN[1], capture_frames=3, require_all=True)),
        ((*RUN, "--note", "by=Ada", "--jobs", "2"), RunOptions(RUN[1], notes=("by=Ada",), jobs=2)),
        ((*TRAFFIC, "--target", "live"), RunOptions("voice.yaml", "t.yaml", target="live")),
        (WIRES, RunOptions("", "t.yaml", out="wires.json")),
        ((*WIRES, "--load-pct", "50"), RunOptions("", "t.yaml", out="wires.json", load_pct="50")),
    ],
)
def test_options_of_commands(words: tuple[str, ...], options: RunOptions) -> None:
    assert options_of(parser().parse_args(words)) == options


def test_a_list_of_one_command_line_does_not_reach_the_next() -> None:
    parser().parse_args([*RUN, "--set", "a=1"])
    assert options_of(parser().parse_args([*RUN])).settings == ()


@pytest.mark.parametrize(
    "flag", [item.metadata[ARGUMENT][0] for item in fields(RunOptions) if ARGUMENT in item.metadata]
)
def test_two_dashes_are_no_value_of_an_option(flag: str) -> None:
    """Python makes a list of them: an empty one, or one in the list of an option that can come several times."""
    with pytest.raises(UsageError, match=f"argument {flag}: '--' is no value"):
        parser().parse_args([*RUN, f"{flag}=--"])


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--out", ""), "argument --out: ''"),
        (("--out=",), "argument --out: ''"),
        (("",), "argument: ''"),
        (("--set=",), "argument --set: ''"),
    ],
)
def test_a_variable_of_the_shell_that_is_empty_is_no_value(words: tuple[str, ...], named: str) -> None:
    """As a path it would be the current directory."""
    with pytest.raises(UsageError, match=f"^{named} is no value$"):
        parser().parse_args([*RUN, *words])
