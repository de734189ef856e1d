"""Signals and closed pipes: an interrupt is one line at any moment, and a closed pipe ends the printing alone."""

from __future__ import annotations

import io
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.networks import switch
from support.processes import members

from p4mesh.cli.main import main
from p4mesh.cli.output import say, tell

COMMAND = f"{sys.executable} -m p4mesh"
MESH = ("rfc2889.fully_meshed", "--set", "scaled_frames=200", "--set", "sweep_step_pct=20")
PATIENCE_S = 120
_TERM_BIT = 1 << (signal.SIGTERM - 1)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "good.yaml").write_text(switch())
    (tmp_path / "lossy.yaml").write_text(switch("loss_ppb: 500000000"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_of(topology: str) -> str:
    """The command of a short run, for the shell."""
    settings = "--set scaled_frames=50 --set search_resolution_pct=20"
    return f"{COMMAND} run rfc2544.throughput --topology {topology}.yaml --sizes 64 --jobs 1 --out run {settings}"


def shell(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=PATIENCE_S)


@pytest.mark.parametrize(
    ("topology", "redirection", "code"),
    [
        ("lossy", "2>&1 | head -n 2 >/dev/null", 1),
        ("lossy", ">&- 2>&-", 1),
        ("good", "2>/dev/full | true", 0),
    ],
)
def test_output_that_nobody_reads_changes_nothing(topology: str, redirection: str, code: int, place: Path) -> None:
    done = shell(f"{run_of(topology)} {redirection}; exit ${{PIPESTATUS[0]}}")
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr and "BrokenPipe" not in done.stderr
    assert (place / "run" / "report.html").exists(), "the run went on"


@pytest.mark.parametrize("closed", ["stdout", "stderr"])
def test_a_command_without_one_of_its_outputs_writes_to_the_other(closed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Python has them where a shell has closed them: None."""
    other = io.StringIO()
    monkeypatch.setattr(sys, "stdout", other)
    monkeypatch.setattr(sys, "stderr", other)
    monkeypatch.setattr(sys, closed, None)
    say("results")
    tell("progress")
    assert other.getvalue() == ("progress\n" if closed == "stdout" else "results\n")


def test_results_that_cannot_be_written_are_an_environment_error(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = shell(f"{run_of('good')} > /dev/full")
    assert done.returncode == 3
    assert done.stderr.splitlines()[-2:] == [
        "error: standard output: No space left on device",
        " hint: make room on the disk, or name another place; p4mesh show DIR prints the results of a run again",
    ]
    assert main(["show", "run"]) == 0
    assert "Throughput" in capsys.readouterr().out


def started(*words: str) -> subprocess.Popen[str]:
    """Start a command in a group of its own; return once it has taken over its signals."""
    process = subprocess.Popen(
        [sys.executable, "-m", "p4mesh", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while process.poll() is None:
        status = Path(f"/proc/{process.pid}/status").read_text()
        caught = next((line for line in status.splitlines() if line.startswith("SigCgt:")), "SigCgt: 0")
        if int(caught.split()[1], 16) & _TERM_BIT:
            break
        time.sleep(0.001)
    return process


def test_the_console_script_ends_its_workers_without_a_word(place: Path) -> None:
    """Workers load the script of their parent, and are ended by SIGTERM."""
    script = place / "p4mesh"
    script.write_text("from p4mesh.cli.entry import entry\nif __name__ == '__main__':\n    entry()\n")
    sizes = ("--sizes", "64,128", "--jobs", "2", "--out", "run")
    shown = shell(f"{sys.executable} {script} run {' '.join((*MESH, '--topology good.yaml', *sizes))}")
    assert shown.returncode == 0, shown.stderr
    assert "2 processes" in shown.stderr and "interrupted" not in shown.stderr


@pytest.mark.parametrize(
    ("number", "whom"),
    [(signal.SIGINT, "group"), (signal.SIGTERM, "process"), (signal.SIGHUP, "group")],
    ids=["Ctrl-C", "SIGTERM", "SIGHUP"],
)
@pytest.mark.parametrize("part", range(4))
def test_an_interrupt_at_any_moment_is_one_line(number: signal.Signals, whom: str, part: int, place: Path) -> None:
    """At once, while modules load, while workers start, and during trials; the keyboard reaches every process."""
    chance = random.Random(f"{number} {whom} {part}")
    process = started("run", *MESH, "--topology", "good.yaml", "--jobs", "2", "--out", "run")
    while part == 3 and process.poll() is None and not (place / "run" / "trials.jsonl").exists():
        time.sleep(0.01)
    time.sleep(chance.uniform(*((0, 0), (0, 0.4), (0.4, 0.8), (0, 0.3))[part]))
    (os.killpg if whom == "group" else os.kill)(process.pid, number)
    errors = process.communicate(timeout=PATIENCE_S)[1].splitlines()
    told = [line for line in errors if not line.startswith(("[", "rfc2889"))]
    assert process.returncode == 128 + number, errors
    assert told in (
        ["interrupted; nothing was written"],
        ["interrupted; the same command with --out run resumes the run"],
    )
    end = time.monotonic() + PATIENCE_S
    while members(process.pid) and time.monotonic() < end:
        time.sleep(0.02)
    assert not members(process.pid), "no process is left"


IN_A_COMMAND = """
import os, signal
from p4mesh.cli import entry, main
class Dropped:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        os.getpid()
def dispatch(words, notice):
    {}
    return 0
main._dispatch = dispatch
entry.entry()
"""


@pytest.mark.parametrize(
    "statement",
    [
        "try: os.kill(os.getpid(), signal.SIGTERM)\n    finally: raise AttributeError('torn down twice')",
        "Dropped()",
        "import ctypes; ctypes.pythonapi.PyRun_SimpleString(b'import os; os.kill(os.getpid(), 15); os.getpid()')",
    ],
    ids=["fails in its end", "drops the interrupt", "shows the interrupt"],
)
def test_an_interrupted_command_has_no_other_result(statement: str) -> None:
    script = IN_A_COMMAND.format(statement)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 128 + signal.SIGTERM, done.stderr
    assert done.stderr == "interrupted; nothing was written\n"


IN_THE_TAKING_OVER = """
import os, signal, sys
from p4mesh.cli import entry
install = signal.signal
def install_and_interrupt(number, handler):
    old = install(number, handler)
    os.kill(os.getpid(), number)
    return old
signal.signal = install_and_interrupt
sys.argv = ["p4mesh", "tests"]
entry.entry()
"""


def test_an_interrupt_while_the_command_takes_over_its_signals_is_one_line() -> None:
    command = [sys.executable, "-c", IN_THE_TAKING_OVER]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode in (128 + signal.SIGINT, 128 + signal.SIGTERM, 128 + signal.SIGHUP), done.stderr
    assert (done.stdout, done.stderr) == ("", "interrupted; nothing was written\n")


def test_an_interrupt_names_the_directory_that_p4mesh_has_chosen(place: Path) -> None:
    process = started("run", *MESH, "--topology", "good.yaml", "--jobs", "1")
    assert process.stderr is not None
    while not process.stderr.readline().startswith("[  2/"):
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    line = process.communicate(timeout=PATIENCE_S)[1].splitlines()[-1]
    (directory,) = (place / "runs").iterdir()
    assert line == f"interrupted; the same command with --out runs/{directory.name} resumes the run"
    assert (directory / "trials.jsonl").exists()
