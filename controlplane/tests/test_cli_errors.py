"""Bad input: one message on stderr, the exit code of its kind, no traceback, nothing written.

Each case has a golden file in ``golden/cli``: the exit code, then the message word for word. Run with
``P4MESH_UPDATE_GOLDEN=1`` to write them anew, and read the difference before it is committed.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from p4mesh.cli import run_command
from p4mesh.cli.main import main
from p4mesh.cli.preparation import RunOptions
from p4mesh.errors import ProgramError

GOLDEN = Path(__file__).parent / "golden" / "cli"
GOOD = """\
name: pair
tester:
  ports:
    - {numbers: 1-2, rate_bps: 1000000000}
links:
  - {from: tester:1, to: tester:2}
"""
SWITCH = """\
name: switched
tester:
  ports:
    - {numbers: 1-2, rate_bps: 1000000000}
nodes:
  - name: dut
    device: ethernet_switch
    ports:
      - {numbers: 1-2, rate_bps: 1000000000}
links:
  - {from: tester:1-2, to: dut:1-2}
"""
RUN = ("run", "rfc2889.fully_meshed", "--topology", "good.yaml")

COMMANDS: dict[str, tuple[str, ...]] = {
    "no_command": (),
    "unknown_command": ("fly",),
    "unknown_test": ("run", "rfc2889.fuly_meshed", "--topology", "good.yaml"),
    "topology_not_given": ("run", "rfc2889.fully_meshed"),
    "topology_missing": ("run", "rfc2889.fully_meshed", "--topology", "absent.yaml"),
    "topology_is_a_directory": ("run", "rfc2889.fully_meshed", "--topology", "."),
    "set_unknown_key": (*RUN, "--set", "duration=5"),
    "set_without_equals": (*RUN, "--set", "duration_ms"),
    "set_twice": (*RUN, "--set", "duration_ms=5", "--set", "duration_ms=6"),
    "set_out_of_range": (*RUN, "--set", "sweep_step_pct=200"),
    "set_not_a_number": (*RUN, "--set", "duration_ms=fast"),
    "set_not_an_integer": (*RUN, "--set", "burst_frames=1.5"),
    "set_not_a_choice": (*RUN, "--set", "parts=latency"),
    "set_not_a_boolean": (*RUN, "--set", "learning_verify=maybe"),
    "set_sweep_backwards": (*RUN, "--set", "sweep_start_pct=50", "--set", "sweep_end_pct=20"),
    "set_search_out_of_order": (*RUN, "--set", "search_min_pct=60"),
    "sizes_too_small": (*RUN, "--sizes", "60"),
    "sizes_not_a_number": (*RUN, "--sizes", "64,big"),
    "sizes_twice": (*RUN, "--sizes", "64,64"),
    "jobs_zero": (*RUN, "--jobs", "0"),
    "show_not_a_run": ("show", "."),
}

TOPOLOGIES: dict[str, str] = {
    "not_yaml": "name: [unclosed\n",
    "empty": "",
    "a_list": "- 1\n",
    "unknown_key": GOOD.replace("rate_bps", "rate"),
    "near_key": GOOD.replace("links:", "link:"),
    "missing_key": GOOD.replace("name: pair\n", ""),
    "wrong_type": GOOD.replace("1000000000", "fast"),
    "out_of_range": GOOD.replace("1000000000", "5"),
    "duplicate_key": GOOD + "name: again\n",
    "bad_port_range": GOOD.replace("1-2", "2-1"),
    "port_twice": GOOD.replace("1-2", '"1-2,2"'),
    "port_gap": GOOD.replace("1-2", '"1,3"'),
    "unknown_node": GOOD.replace("to: tester:2", "to: dut:2"),
    "unknown_port": GOOD.replace("to: tester:2", "to: tester:3"),
    "linked_twice": GOOD.replace("to: tester:2", "to: tester:1"),
    "unlinked_port": GOOD.replace("1-2", "1-3"),
    "unequal_ends": SWITCH.replace("dut:1-2", "dut:1"),
    "unequal_rates": SWITCH.replace("dut\n", "dut\n").replace(
        "      - {numbers: 1-2, rate_bps: 1000000000}", "      - {numbers: 1-2, rate_bps: 100000000}"
    ),
    "unknown_device": SWITCH.replace("ethernet_switch", "toaster"),
    "reserved_name": SWITCH.replace("name: dut", "name: tester"),
    "look_ahead_without_cut_through": SWITCH.replace(
        "    ports:\n      -", "    look_ahead_bytes: 64\n    ports:\n      -"
    ),
}


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "good.yaml").write_text(GOOD)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def expect(name: str, arguments: tuple[str, ...], place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Run a command that must fail, and compare code and message with the golden file."""
    before = sorted(place.rglob("*"))
    code = main(arguments)
    shown = capsys.readouterr()
    text = f"exit {code}\n{shown.err}"
    golden = GOLDEN / f"{name}.txt"
    if os.environ.get("P4MESH_UPDATE_GOLDEN"):
        golden.write_text(text)
    assert text == golden.read_text()
    assert shown.out == ""
    assert code in (2, 3)
    assert "Traceback" not in shown.err
    assert sorted(place.rglob("*")) == before, "nothing is written"


@pytest.mark.parametrize("name", COMMANDS)
def test_wrong_commands(name: str, workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expect(name, COMMANDS[name], workplace, capsys)


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_wrong_topologies(name: str, workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (workplace / "bad.yaml").write_text(TOPOLOGIES[name])
    expect(f"topology_{name}", ("topology", "check", "bad.yaml"), workplace, capsys)


def test_a_topology_with_too_few_ports(workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = SWITCH.replace("numbers: 1-2, rate_bps: 1000000000}\nnodes", "numbers: 1, rate_bps: 1000000000}\nnodes")
    (workplace / "one.yaml").write_text(one.replace("tester:1-2, to: dut:1-2", "tester:1, to: dut:1"))
    expect("too_few_ports", ("run", "rfc2889.fully_meshed", "--topology", "one.yaml"), workplace, capsys)


def test_an_output_directory_with_other_files(workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (workplace / "thesis").mkdir()
    (workplace / "thesis" / "chapter1.tex").write_text("text")
    expect("out_not_a_run", (*RUN, "--out", "thesis"), workplace, capsys)


def test_an_output_that_is_a_file(workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expect("out_is_a_file", (*RUN, "--out", "good.yaml"), workplace, capsys)


def test_an_output_directory_with_another_run(workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = RunOptions(RUN[1], RUN[3], "64", (), "mine", workers=1, opener="fakes:open_wire")
    assert run_command.run(arguments) == 0
    capsys.readouterr()
    expect("out_other_run", (*RUN, "--sizes", "128", "--out", "mine"), workplace, capsys)


def test_a_stale_program_stops_the_run_before_anything_is_written(
    workplace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = RunOptions(RUN[1], RUN[3], "64", (), "mine", workers=1, opener="fakes:open_stale")
    with pytest.raises(ProgramError) as raised:
        run_command.run(arguments)
    assert raised.value.exit_code == 3
    assert sorted(item.name for item in workplace.iterdir()) == ["good.yaml"]


def test_a_bug_is_exit_4_with_a_traceback_only_on_debug(
    workplace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(_: object) -> None:
        raise ZeroDivisionError("boom")

    monkeypatch.setattr(run_command, "load_topology", broken)
    assert main(RUN) == 4
    shown = capsys.readouterr().err
    assert shown.startswith("error: internal error: ZeroDivisionError: boom")
    assert "Traceback" not in shown
    with pytest.raises(ZeroDivisionError):
        main((*RUN, "--debug"))


def test_every_golden_file_has_a_case() -> None:
    cases = {*COMMANDS, *(f"topology_{name}" for name in TOPOLOGIES)}
    cases |= {"too_few_ports", "out_not_a_run", "out_is_a_file", "out_other_run"}
    assert {path.stem for path in GOLDEN.glob("*.txt")} == cases
