"""Installs the wheel into a new environment and runs a test with it, where no compiler and no checkout can be found."""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_TOOLS = ("cargo", "rustc", "cc", "gcc", "clang", "maturin", "make")


def main(words: Sequence[str] | None = None) -> int:
    """Try the newest wheel of a directory that is for this machine, and return 0 if it works."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", nargs="?", default=str(ROOT / "dist"))
    parser.add_argument(
        "--sbom", type=Path, help="write the packages of the new environment there, with their licences"
    )
    arguments = parser.parse_args(words)
    found = Path(arguments.directory).glob(f"p4mesh-*_{platform.machine()}.whl")
    wheel = max(found, key=lambda path: path.stat().st_mtime)
    with tempfile.TemporaryDirectory(prefix="p4mesh-wheel-") as name:
        place = Path(name)
        subprocess.run([sys.executable, "-m", "venv", str(place / "venv")], check=True)
        binaries = place / "venv" / "bin"
        environment = {"PATH": str(binaries), "HOME": name}
        assert not any(shutil.which(tool, path=environment["PATH"]) for tool in _TOOLS)
        constraints = ROOT / "controlplane" / "constraints.txt"
        pip = [str(binaries / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        settings = {key: value for key, value in os.environ.items() if key.startswith(("PIP_", "HTTP", "http", "SSL_"))}
        command = [*pip, "--only-binary=:all:", "--constraint", str(constraints), str(wheel)]
        subprocess.run(command, cwd=place, env={**settings, **environment}, check=True)
        p4mesh = str(binaries / "p4mesh")
        test = [
            "run",
            "rfc2544.throughput",
            "--topology",
            "back-to-back",
            "--sizes",
            "64",
            "--set",
            "scaled_frames=2000",
        ]
        said = subprocess.run(
            [p4mesh, *test, "--json"], cwd=place, env=environment, check=True, stdout=subprocess.PIPE, text=True
        ).stdout
        state = json.loads(said)["state"]
        for device in ("p4-l2-4ports", "wrs-18x1g"):
            subprocess.run([p4mesh, "topology", "check", device], cwd=place, env=environment, check=True)
        if arguments.sbom:
            write_sbom(binaries / "python", arguments.sbom)
        print(f"{wheel.name}: installed without a compiler, ran {test[1]} on {test[3]}: {state}")
    return 0 if state == "MEASURED" else 1


def write_sbom(python: Path, path: Path) -> None:
    """Write the packages of an environment as CycloneDX; end where one of them names no licence."""
    command = [
        sys.executable,
        "-m",
        "cyclonedx_py",
        "environment",
        "--of",
        "JSON",
        "--output-file",
        str(path),
        str(python),
    ]
    subprocess.run(command, check=True)
    document = json.loads(path.read_text(encoding="utf-8"))
    for item in document["components"]:
        if not item.get("licenses"):
            # Metadata of before licence expressions: a name in words.
            item["licenses"] = [{"license": {"name": _licence_in_words(python, item["name"])}}]
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    components = document["components"]
    print(f"{path.name}: {len(components)} packages, each with its licence")


def _licence_in_words(python: Path, name: str) -> str:
    """Licence that the metadata of an installed package names; ends where it names none."""
    asked = "import importlib.metadata, sys; print(importlib.metadata.metadata(sys.argv[1])['License'] or '')"
    said = subprocess.run([str(python), "-c", asked, name], check=True, stdout=subprocess.PIPE, text=True).stdout
    words = said.strip().partition("\n")[0]
    if not words:
        sys.exit(f"error: no licence in the metadata of {name}")
    return words


if __name__ == "__main__":
    sys.exit(main())
