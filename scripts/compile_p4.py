#!/usr/bin/env python3
"""Compiles the P4 programs of the project and records what they were compiled from.

`make p4` runs it. With --check it only compares the sources with the manifest.
The hash of a program covers its main file and everything that it includes, in p4src/.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

P4SRC = Path(__file__).resolve().parent.parent / "p4src"
COMPILED = P4SRC / "compiled"
MANIFEST = COMPILED / "manifest.json"
COMPILER = "p4c-bm2-ss"
PROGRAMS = {"p4mesh": "v1model/p4mesh.p4"}

INSTALL_HINT = (
    f"{COMPILER} is not installed: the committed outputs in p4src/compiled stay as they are.\n"
    "hint: install p4c from p4lang's packages (README of github.com/p4lang/p4c), then run make p4 again"
)


def sources_of(main: str) -> list[str]:
    """The main file and its includes, relative to p4src, in sorted order."""
    pending, found = [P4SRC / main], set()
    while pending:
        path = pending.pop()
        if path in found:
            continue
        found.add(path)
        for name in re.findall(r'^\s*#include\s+"([^"]+)"', path.read_text(), re.MULTILINE):
            pending.append((path.parent / name).resolve())
    return sorted(str(path.relative_to(P4SRC)) for path in found)


def hash_of(sources: list[str]) -> str:
    """SHA-256 over the names and contents of the sources."""
    digest = hashlib.sha256()
    for name in sources:
        digest.update(name.encode() + b"\0" + (P4SRC / name).read_bytes() + b"\0")
    return digest.hexdigest()


def compile_program(name: str, main: str) -> None:
    """Writes NAME.json and NAME.p4info.txtpb; p4c runs in p4src so that paths in them are relative."""
    subprocess.run(
        [COMPILER, "--p4v", "16", "-o", f"compiled/{name}.json",
         "--p4runtime-files", f"compiled/{name}.p4info.txtpb", main],
        cwd=P4SRC, check=True,
    )  # fmt: skip


def describe(name: str, main: str, compiler: str) -> dict[str, object]:
    outputs = [COMPILED / f"{name}.json", COMPILED / f"{name}.p4info.txtpb"]
    sources = sources_of(main)
    return {
        "main": main,
        "sources": sources,
        "source_sha256": hash_of(sources),
        "compiler": compiler,
        "output_sha256": {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in outputs},
    }


def stale_programs(manifest: dict[str, dict[str, object]]) -> list[str]:
    """Names of programs whose sources or outputs differ from the manifest."""
    stale = []
    for name, main in PROGRAMS.items():
        entry = manifest.get(name)
        if entry is None or describe(name, main, str(entry["compiler"])) != entry:
            stale.append(name)
    return stale


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare only, compile nothing")
    arguments = parser.parse_args()
    if arguments.check:
        stale = stale_programs(json.loads(MANIFEST.read_text()))
        if stale:
            print(f"p4src/compiled is stale for: {', '.join(stale)}\nhint: run make p4", file=sys.stderr)
            return 3
        return 0
    if shutil.which(COMPILER) is None:
        print(INSTALL_HINT, file=sys.stderr)
        return 3
    version = subprocess.run(
        [COMPILER, "--version"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True
    ).stdout
    compiler = " ".join(version.split())
    COMPILED.mkdir(exist_ok=True)
    for name, source in PROGRAMS.items():
        compile_program(name, source)
    manifest = {name: describe(name, source, compiler) for name, source in PROGRAMS.items()}
    MANIFEST.write_text(json.dumps(manifest, indent=2) + "\n")
    print(f"compiled {', '.join(PROGRAMS)} with {compiler}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
