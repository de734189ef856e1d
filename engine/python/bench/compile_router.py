"""Compiles p4/l3_forward.p4 and records the hashes of its sources (needs p4c-bm2-ss)."""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path

from p4mesh.tester.contract import constants_of, hash_of_sources, sources_of

P4_DIRECTORY = Path(__file__).parent / "p4"
ROUTER = "l3_forward"
_COMPILER = "p4c-bm2-ss"


def main() -> None:
    """Write compiled/l3_forward.json, its P4Info and the manifest."""
    compiled = P4_DIRECTORY / "compiled"
    compiled.mkdir(exist_ok=True)
    main_file = f"{ROUTER}.p4"
    outputs = [compiled / f"{ROUTER}.json", compiled / f"{ROUTER}.p4info.txtpb"]
    command = [_COMPILER, "--p4v", "16", "-o", str(outputs[0].relative_to(P4_DIRECTORY))]
    command += ["--p4runtime-files", str(outputs[1].relative_to(P4_DIRECTORY)), main_file]
    subprocess.run(command, cwd=P4_DIRECTORY, check=True)
    version = subprocess.run([_COMPILER, "--version"], capture_output=True, text=True, check=True).stdout
    sources = sources_of(main_file, P4_DIRECTORY)
    entry = {
        "main": main_file,
        "sources": sources,
        "source_sha256": hash_of_sources(sources, P4_DIRECTORY),
        "compiler": " ".join(version.split()),
        "output_sha256": {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in outputs},
        "constants": constants_of(sources, P4_DIRECTORY),
    }
    (compiled / "manifest.json").write_text(json.dumps({ROUTER: entry}, indent=2) + "\n")


if __name__ == "__main__":
    main()
