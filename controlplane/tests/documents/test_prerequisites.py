"""The README, the build files and the check of prerequisites name the same oldest Rust and Python, which suffice."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
CARGO = (ROOT / "engine" / "Cargo.toml").read_text(encoding="utf-8")
PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def value(text: str, key: str) -> str:
    """The text value of a key of a TOML file."""
    found = re.search(rf'^{key} = "(.*)"$', text, re.MULTILINE)
    assert found is not None, key
    return found[1]


RUST = value(CARGO, "rust-version")
PYTHON = value(PYPROJECT, "requires-python").removeprefix(">=")


def version(text: str) -> tuple[int, ...]:
    """A version such as ``1.85`` or ``1.85.0`` as three numbers."""
    numbers = [int(part) for part in text.split(".")]
    return tuple(numbers + [0] * (3 - len(numbers)))


@pytest.fixture(scope="module")
def crates() -> list[dict[str, Any]]:
    """All crates of the lock file."""
    host = re.search(r"^host: (\S+)$", run("rustc", "-vV"), re.MULTILINE)
    assert host is not None
    metadata = json.loads(
        run(
            *("cargo", "metadata", "--offline", "--locked", "--format-version", "1"),
            *("--filter-platform", host[1], "--manifest-path", str(ROOT / "engine" / "Cargo.toml")),
        )
    )
    found: list[dict[str, Any]] = metadata["packages"]
    assert len(found) > 50
    return found


def test_every_locked_crate_builds_with_the_oldest_rust(crates: list[dict[str, Any]]) -> None:
    minimums = {f"{crate['name']} {crate['version']}": crate["rust_version"] for crate in crates}
    too_new = {name: minimum for name, minimum in minimums.items() if minimum and version(minimum) > version(RUST)}
    assert not too_new


def test_crates_that_name_no_rust_have_an_older_edition(crates: list[dict[str, Any]]) -> None:
    """Edition 2024 has grown since Rust 1.85 (let chains came with 1.88): a crate of it must name its Rust."""
    unknown = [crate for crate in crates if not crate["rust_version"] and int(crate["edition"]) > 2021]
    assert not [f"{crate['name']} {crate['version']}" for crate in unknown]


def test_cargo_keeps_the_lock_file_to_the_oldest_rust() -> None:
    assert value(CARGO, "resolver") == "3"


def test_the_readme_names_the_oldest_versions() -> None:
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert f"Rust {RUST} or later" in text
    assert f"Python {PYTHON} or later" in text


def test_the_linters_assume_the_oldest_python() -> None:
    assert value(PYPROJECT, "python_version") == PYTHON
    assert value(PYPROJECT, "target-version") == "py" + PYTHON.replace(".", "")


@pytest.mark.parametrize(("program", "wanted"), [("cargo", f"Rust {RUST}"), ("python3", f"Python {PYTHON}")])
def test_the_check_of_prerequisites_refuses_older_versions(program: str, wanted: str, tmp_path: Path) -> None:
    for tool in ("dirname", "sed", "cut", "sort", "head", "cc", "cargo", "python3"):
        (tmp_path / tool).symlink_to(shutil.which(tool) or tool)
    old = tmp_path / program
    old.unlink()
    old.write_text("#!/bin/sh\n[ $1 = -c ] && exit 1\necho 'tool 1.2.3'\n", encoding="utf-8")
    old.chmod(0o755)
    shell = shutil.which("sh") or "sh"
    done = subprocess.run(
        [shell, str(ROOT / "scripts" / "check_prerequisites.sh")],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 3
    assert f"{wanted} or later" in done.stderr


def run(*command: str) -> str:
    """The output of a command."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
