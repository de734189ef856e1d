"""``p4mesh net clean``: removes the network namespaces that runs have left which were killed."""

from __future__ import annotations

import argparse
import json

from p4mesh.cli.output import say
from p4mesh.errors import EXIT_OK
from p4mesh.topology.namespaces import remove_abandoned


def clean(arguments: argparse.Namespace, _: object = None) -> int:
    """Remove them; those of running processes stay."""
    removed = remove_abandoned()
    if arguments.json:
        say(json.dumps({"removed": list(removed)}, indent=1))
        return EXIT_OK
    say("\n".join(f"removed {name}" for name in removed) if removed else "nothing to remove")
    return EXIT_OK
