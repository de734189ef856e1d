"""The programs of the corpus and their compiled forms."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from p4mesh.p4runtime import load_p4info
from p4mesh.p4runtime.stubs import p4i
from p4mesh.tester.contract import P4SRC, hash_of_sources, sources_of

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "programs"
COMPILED = ROOT / "compiled"
EXPECTATIONS = ROOT / "expectations"
TESTER = "p4mesh"
"""The tester program: its compiled form is the one in p4src/compiled."""


@dataclass(frozen=True)
class CompiledProgram:
    """BMv2 JSON and P4Info of one program."""

    name: str
    json_path: Path
    p4info_path: Path

    @property
    def info(self) -> p4i.P4Info:
        """The P4Info."""
        return load_p4info(self.p4info_path)

    @property
    def sha256(self) -> str:
        """Identify both files."""
        return hashlib.sha256(self.json_path.read_bytes() + self.p4info_path.read_bytes()).hexdigest()


def compiled(name: str) -> CompiledProgram:
    """A program of the corpus, or the tester program."""
    directory = P4SRC / "compiled" if name == TESTER else COMPILED
    return CompiledProgram(name, directory / f"{name}.json", directory / f"{name}.p4info.txtpb")


def source_names() -> list[str]:
    """The names of the programs of the corpus."""
    return sorted(path.stem for path in SOURCES.glob("*.p4"))


def stale_programs() -> list[str]:
    """The faults of the compiled files; empty when they are those of the sources."""
    try:
        manifest = json.loads((COMPILED / "manifest.json").read_text())
    except FileNotFoundError:
        return ["compiled/manifest.json is missing"]
    problems = []
    for name in sorted(set(source_names()) | set(manifest)):
        source = f"{name}.p4"
        if name not in manifest:
            problems.append(f"{name} is not compiled")
        elif not (SOURCES / source).exists():
            problems.append(f"{name} has no source any more")
        elif manifest[name]["source_sha256"] != hash_of_sources(sources_of(source, SOURCES), SOURCES):
            problems.append(f"{name} is older than its sources")
        else:
            for file, digest in manifest[name]["output_sha256"].items():
                path = COMPILED / file
                if not path.exists() or hashlib.sha256(path.read_bytes()).hexdigest() != digest:
                    problems.append(f"compiled/{file} is not the one of the manifest")
    return problems
