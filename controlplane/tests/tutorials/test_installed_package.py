"""A wheel holds all that the package needs: it runs where there is no checkout and no compiler."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[3]


def build_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_wheel", ROOT / "scripts" / "build_wheel.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_an_installed_package_needs_no_checkout_and_no_compiler(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()  # pip install --target, within a project
    package = tmp_path / "site" / "p4mesh"
    shutil.copytree(ROOT / "controlplane" / "p4mesh", package, ignore=shutil.ignore_patterns("__pycache__", "shipped"))
    build_script().copy_shipped(package)
    words = ["run", "rfc2544.throughput", "--topology", "p4-l2-4ports", "--sizes", "64", "--set", "scaled_frames=200"]
    done = subprocess.run(
        [sys.executable, "-m", "p4mesh", *words, "--jobs", "1", "--json"],
        cwd=tmp_path,
        env={"PATH": "/nonexistent", "PYTHONPATH": str(tmp_path / "site")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout)["state"] == "MEASURED"


def test_the_container_and_make_use_the_wheel() -> None:
    lines = (ROOT / "Containerfile").read_text(encoding="utf-8").splitlines()
    (copied,) = (line for line in lines if line.startswith("COPY"))
    assert copied.split()[1] == "dist/p4mesh-*.whl"
    assert "scripts/try_wheel.py" in (ROOT / "Makefile").read_text(encoding="utf-8")
