"""Completion in bash, zsh and fish: the script of each shell is loaded by that shell, and asked for words.

A shell that is not installed is left out.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from p4mesh.cli.main import COMMANDS, main

ROOT = Path(__file__).parents[3]
ASKED = {
    "bash": """
source <(p4mesh completion bash)
COMP_LINE={line}; COMP_POINT=${{#COMP_LINE}}; COMP_TYPE=9; COMP_KEY=9
COMP_WORDS=({line_words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_python_argcomplete p4mesh "${{COMP_WORDS[COMP_CWORD]}}"
printf '%s\\n' "${{COMPREPLY[@]}}"
""",
    "zsh": """
autoload -Uz compinit; compinit -u -d "$HOME/dump"
source <(p4mesh completion zsh)
words=({line_words}); CURRENT=${{#words}}; BUFFER={line}; CURSOR=${{#BUFFER}}
_describe() {{ local -a shown; shown=("${{(@P)2}}"); print -l -- "${{shown[@]}}" }}
_python_argcomplete p4mesh
""",
    "fish": """
p4mesh completion fish | source
complete --do-complete={line}
""",
}
OPTIONS = {"bash": ["--norc", "--noprofile"], "zsh": ["-f"], "fish": ["--no-config"]}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a few files, in which p4mesh is a command."""
    command = tmp_path / "bin" / "p4mesh"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m p4mesh "$@"\n')
    command.chmod(0o755)
    (tmp_path / "lab.yaml").write_text("")
    (tmp_path / "letter.txt").write_text("")
    (tmp_path / "runs").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def completed(shell: str, folder: Path, line: str) -> set[str]:
    """Words that a shell offers after ``line``."""
    path = shutil.which(shell)
    if path is None:
        pytest.skip(f"{shell} is not installed")
    words = [shlex.quote(word) for word in line.split(" ")]
    script = ASKED[shell].format(line=shlex.quote(line), line_words=" ".join(words))
    environment = {
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
        "HOME": str(folder),
        "TERM": "dumb",
        "PYTHONPATH": os.environ.get("PYTHONPATH", str(ROOT / "controlplane")),
    }
    done = subprocess.run(
        [path, *OPTIONS[shell], "-c", script], capture_output=True, text=True, env=environment, timeout=60, check=False
    )
    found = {line.split("\t")[0].split(":")[0].strip() for line in done.stdout.splitlines()}
    assert found - {""}, done.stderr
    return found - {""}


@pytest.mark.parametrize("shell", ASKED)
def test_a_shell_completes_commands_tests_parameters_and_values(shell: str, folder: Path) -> None:
    assert completed(shell, folder, "p4mesh ") >= set(COMMANDS)
    assert completed(shell, folder, "p4mesh run rfc2889.f") >= {"rfc2889.fully_meshed", "rfc2889.forward_pressure"}
    assert completed(shell, folder, "p4mesh run rfc2889.broadcast --set search_m") == {
        *("search_method=", "search_min_pct=", "search_max_pct="),
    }
    assert completed(shell, folder, "p4mesh run rfc2889.broadcast --target ") == {"sim", "live", "bmv2", "tofino"}


@pytest.mark.parametrize("shell", ["bash", "fish"])
def test_a_shell_completes_files(shell: str, folder: Path) -> None:
    found = completed(shell, folder, "p4mesh run rfc2889.broadcast --topology l")
    assert found == {"lab.yaml"}


def test_the_names_come_without_the_libraries_of_tests(folder: Path) -> None:
    loaded = "import sys; import p4mesh.cli.completion; print(*sys.modules)"
    shown = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "scipy", "scapy", "grpc", "rich"} & set(shown)


def test_the_script_is_in_the_json_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "fish", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["shell"] == "fish"
    assert "complete" in data["script"]
    assert main(["completion", "pwsh"]) == 2
    assert "choose from" in capsys.readouterr().err
