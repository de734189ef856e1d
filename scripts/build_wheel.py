"""Builds the wheel: the abi3 extension module, the Python package, and the files that come with it.

maturin packs what is in the package. So P4 programs, topologies and traffic files are copied into it for as long as
maturin runs.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from p4mesh.shipped import FOLDER

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "controlplane" / "p4mesh"
SHIPPED = ("p4src/compiled", "p4src/dut", "p4src/include", "p4src/shared", "p4src/tna", "p4src/v1model")
EXAMPLES = ("topologies", "traffic", "profiles")
_OUT = "dist"


def copy_shipped(package: Path) -> None:
    """Copy what an installed package needs of the checkout into ``package``."""
    for name in (*SHIPPED, *EXAMPLES):
        shutil.copytree(ROOT / name, package / FOLDER / name, ignore=shutil.ignore_patterns("__pycache__"))


@contextmanager
def complete_package() -> Iterator[None]:
    """Have everything in the package while the block runs."""
    shutil.rmtree(PACKAGE / FOLDER, ignore_errors=True)
    try:
        copy_shipped(PACKAGE)
        yield
    finally:
        shutil.rmtree(PACKAGE / FOLDER, ignore_errors=True)


def main(words: Sequence[str] | None = None) -> int:
    """Build the wheel and return the exit code of maturin."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default=str(ROOT / _OUT), metavar="DIR", help=f"default: {_OUT}")
    parser.add_argument("--target", metavar="TRIPLE", help="other processor, such as aarch64-unknown-linux-gnu; by zig")
    arguments = parser.parse_args(words)
    command = [sys.executable, "-m", "maturin", "build", "--release", "--locked", "--out", arguments.out]
    if arguments.target:
        command += ["--target", arguments.target, "--zig"]
    with complete_package():
        return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
