"""``p4mesh init``: writes a run file with comments, and a topology beside it where none is named."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

from p4mesh.cli.new_files import write_new
from p4mesh.cli.output import say
from p4mesh.config_files.words import word_of
from p4mesh.errors import EXIT_OK, RunFileError
from p4mesh.methods.registry import find_test
from p4mesh.run.run_file_template import TOPOLOGY, run_file_text
from p4mesh.shipped import topology_file
from p4mesh.topology.loader import load_topology


def execute(arguments: argparse.Namespace, _: object = None) -> int:
    """Write the files; none that exists is touched. Raises RunFileError, or TopologyError for the topology."""
    path = Path(arguments.file)
    tests = [find_test(name) for name in arguments.tests or ["rfc2889.fully_meshed", "rfc2889.broadcast"]]
    texts = {}
    if arguments.topology is None:
        beside = path.with_name(f"{path.stem}-topology{path.suffix}")
        texts[beside] = TOPOLOGY
        topology = beside.name
    else:
        load_topology(arguments.topology)
        is_shipped = topology_file(arguments.topology) is not None
        topology = arguments.topology if is_shipped else os.path.relpath(arguments.topology, path.parent)
    texts[path] = run_file_text(word_of(path.stem, "run"), topology, tests)
    for file in texts:
        if file.exists():
            raise RunFileError(f"{file}: exists, and is left as it is", hint="name another file: p4mesh init FILE")
    for file, text in texts.items():
        write_new(file, text, RunFileError)
    if arguments.json:
        say(json.dumps({"files": [str(file) for file in texts]}, indent=1))
    else:
        say("\n".join([*(f"wrote {file}" for file in texts), f"run it with: p4mesh run {path}"]))
    return EXIT_OK
