#!/usr/bin/env python3
"""Compiles the programs of the corpus (needs p4c-bm2-ss) and records the hashes of their sources."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys

from harness.programs import COMPILED, SOURCES, source_names

from p4mesh.tester.contract import hash_of_sources, sources_of

COMPILER = "p4c-bm2-ss"


def compile_program(name: str) -> dict[str, object]:
    """Write NAME.json and NAME.p4info.txtpb; return the manifest entry."""
    source = f"{name}.p4"
    outputs = [COMPILED / f"{name}.json", COMPILED / f"{name}.p4info.txtpb"]
    subprocess.run(
        [COMPILER, "--p4v", "16", "-o", outputs[0], "--p4runtime-files", outputs[1], source],
        cwd=SOURCES, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    # Positions in the source are of no use here and double the size.
    program = json.loads(outputs[0].read_text())
    outputs[0].write_text(json.dumps(_without_source_info(program), separators=(",", ":")) + "\n")
    return {
        "source_sha256": hash_of_sources(sources_of(source, SOURCES), SOURCES),
        "output_sha256": {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in outputs},
    }


def _without_source_info(value: object) -> object:
    if isinstance(value, dict):
        return {key: _without_source_info(item) for key, item in value.items() if key != "source_info"}
    if isinstance(value, list):
        return [_without_source_info(item) for item in value]
    return value


def main() -> int:
    """Compile everything."""
    if shutil.which(COMPILER) is None:
        print(f"{COMPILER} is not installed: the committed outputs stay as they are", file=sys.stderr)
        return 3
    COMPILED.mkdir(exist_ok=True)
    manifest = {}
    for name in source_names():
        try:
            manifest[name] = compile_program(name)
        except subprocess.CalledProcessError as error:
            print(f"{name}.p4 does not compile:\n{error.stdout.decode()}", file=sys.stderr)
            return 1
    for path in COMPILED.iterdir():
        if path.name.split(".")[0] not in manifest and path.name != "manifest.json":
            path.unlink()
    (COMPILED / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
    print(f"compiled {len(manifest)} programs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
