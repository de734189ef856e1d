"""``p4mesh net clean``: removes the network namespaces that runs have left which were killed."""

from __future__ import annotations

import argparse

from p4mesh.cli.output import say
from p4mesh.errors import EXIT_OK
from p4mesh.topology.namespaces import remove_abandoned


def clean(_: argparse.Namespace, __: object = None) -> int:
    """Remove them; those of running processes stay."""
    removed = remove_abandoned()
    say("\n".join(f"removed {name}" for name in removed) if removed else "nothing to remove")
    return EXIT_OK
