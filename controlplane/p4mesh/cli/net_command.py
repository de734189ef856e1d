"""``p4mesh net``: brings networks of topologies up and down, and removes what killed runs have left."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from p4mesh.cli.output import say
from p4mesh.errors import EXIT_OK
from p4mesh.network.removal import remove_abandoned
from p4mesh.network.session_priority import restore_abandoned
from p4mesh.network.standing import (
    StandingNetwork,
    bring_down,
    bring_up,
    interfaces_of,
    list_networks,
    remove_unfinished,
)
from p4mesh.topology.loader import load_topology


def up(arguments: argparse.Namespace, _: object = None) -> int:
    """Build the network of a topology; it stays until it is brought down."""
    network = bring_up(load_topology(arguments.file))
    say(json.dumps(asdict(network), indent=1) if arguments.json else _text(network))
    return EXIT_OK


def down(arguments: argparse.Namespace, _: object = None) -> int:
    """Remove the network of a topology."""
    network = bring_down(load_topology(arguments.file))
    say(json.dumps({"removed": network.name}, indent=1) if arguments.json else f"removed {network.name}")
    return EXIT_OK


def status(arguments: argparse.Namespace, _: object = None) -> int:
    """Show the networks that are up, with their interfaces."""
    networks = list_networks()
    if arguments.json:
        shown = [{**asdict(network), "interfaces": _interfaces(network)} for network in networks]
        say(json.dumps({"networks": shown}, indent=1))
        return EXIT_OK
    say("\n\n".join(_text(network) for network in networks) if networks else "no network is up")
    return EXIT_OK


def clean(arguments: argparse.Namespace, _: object = None) -> int:
    """Remove what dead processes have left; running processes and networks that are up keep theirs."""
    (removed, lost), (unfinished, more) = remove_abandoned(), remove_unfinished()
    removed, lost, sessions = removed + unfinished, lost + more, restore_abandoned()
    if arguments.json:
        say(json.dumps({"removed": removed, "lost": lost, "sessions": sessions}, indent=1))
        return EXIT_OK
    lines = [*(f"removed {name}" for name in removed), *(f"not given back: {text}" for text in lost)]
    lines += [f"session {number} has its priority back" for number in sessions]
    say("\n".join(lines or ["nothing to remove"]))
    return EXIT_OK


def _interfaces(network: StandingNetwork) -> dict[str, dict[str, bool]]:
    return {node: interfaces_of(namespace) for node, namespace in network.namespaces.items()}


def _text(network: StandingNetwork) -> str:
    lines = [f"{network.name} ({network.topology})"]
    for node, interfaces in _interfaces(network).items():
        shown = ", ".join(f"{name} {'up' if up else 'down'}" for name, up in interfaces.items())
        part = f" ({network.parts[node]})" if node in network.parts else ""
        lines.append(f"  {node}{part}: ip netns exec {network.namespaces[node]} ...: {shown}")
    return "\n".join(lines)
