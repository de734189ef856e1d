"""``python -m p4mesh.mininet FILE``: the network of a topology with Mininet's prompt; it goes with the prompt."""

from __future__ import annotations

import sys

from p4mesh.errors import P4MeshError


def main(arguments: list[str]) -> int:
    """Start the network, let the user work, remove it; return the exit code."""
    if len(arguments) != 1:
        print("usage: python -m p4mesh.mininet FILE", file=sys.stderr)
        return 2
    try:
        from mininet.cli import CLI

        from p4mesh.mininet import network_of
        from p4mesh.topology.loader import load_topology

        net = network_of(load_topology(arguments[0]))
        try:
            net.start()
            CLI(net)
        finally:
            net.stop()
    except P4MeshError as error:
        print(error.render(), file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
