"""``p4mesh completion SHELL``: prints what makes a shell complete the commands of P4Mesh."""

from __future__ import annotations

import argparse
import json

from argcomplete.shell_integration import shellcode

from p4mesh.cli.output import say
from p4mesh.errors import EXIT_OK

PROGRAM = "p4mesh"


def execute(arguments: argparse.Namespace, _: object = None) -> int:
    """Print the script."""
    script = shellcode([PROGRAM], shell=arguments.shell)
    say(json.dumps({"shell": arguments.shell, "script": script}) if arguments.json else script.rstrip("\n"))
    return EXIT_OK
