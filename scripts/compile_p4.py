#!/usr/bin/env python3
"""Compiles the P4 programs of the project and records the hashes of their sources (make p4)."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys

import describe_dataplane
import describe_devices

from p4mesh.tester.contract import P4SRC, constants_of, hash_of_sources, sources_of

COMPILED = P4SRC / "compiled"
COMPILER = "p4c-bm2-ss"
PROGRAMS = {
    "p4mesh": "v1model/p4mesh.p4",
    "p4mesh_payload": "v1model/p4mesh_payload.p4",
    "fast_reroute": "dut/fast_reroute.p4",
    "l2_switch": "dut/l2_switch.p4",
    "l3_router": "dut/l3_router.p4",
    "mpls_switch": "dut/mpls_switch.p4",
    "multicast_tunnels": "dut/multicast_tunnels.p4",
    "nat44": "dut/nat44.p4",
    "rewriter": "dut/rewriter.p4",
    "srv6_endpoint": "dut/srv6_endpoint.p4",
    "tutorial_router": "dut/tutorial_router.p4",
    "vxlan_gateway": "dut/vxlan_gateway.p4",
}

INSTALL_HINT = (
    f"{COMPILER} is not installed: the committed outputs in p4src/compiled stay as they are.\n"
    "hint: install p4c from p4lang's packages (README of github.com/p4lang/p4c), then run make p4 again"
)


def compile_program(name: str, main: str, compiler: str) -> dict[str, object]:
    """Writes NAME.json and NAME.p4info.txtpb; returns the manifest entry."""
    outputs = [COMPILED / f"{name}.json", COMPILED / f"{name}.p4info.txtpb"]
    subprocess.run(
        [COMPILER, "--p4v", "16", "-o", outputs[0].relative_to(P4SRC),
         "--p4runtime-files", outputs[1].relative_to(P4SRC), main],
        cwd=P4SRC, check=True,
    )  # fmt: skip
    program = json.loads(outputs[0].read_text())
    outputs[0].write_text(json.dumps(_without_places(program), separators=(",", ":")) + "\n")
    sources = sources_of(main)
    return {
        "main": main,
        "sources": sources,
        "source_sha256": hash_of_sources(sources),
        "compiler": compiler,
        "output_sha256": {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in outputs},
        "constants": constants_of(sources),
    }


def _without_places(value: object) -> object:
    """The program without its lines of source: each run sends it, and they are three quarters of it.

    Those of conditions stay, as the engine names conditions by them.
    """
    if isinstance(value, list):
        return [_without_places(item) for item in value]
    if not isinstance(value, dict):
        return value
    condition = "true_next" in value
    return {key: _without_places(item) for key, item in value.items() if condition or key != "source_info"}


def main() -> int:
    if shutil.which(COMPILER) is None:
        print(INSTALL_HINT, file=sys.stderr)
        return 3
    version = subprocess.run(
        [COMPILER, "--version"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True
    ).stdout
    compiler = " ".join(version.split())
    COMPILED.mkdir(exist_ok=True)
    manifest = {name: compile_program(name, source, compiler) for name, source in PROGRAMS.items()}
    (COMPILED / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")
    describe_dataplane.main()
    describe_devices.main()
    print(f"compiled {', '.join(PROGRAMS)} with {compiler}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
