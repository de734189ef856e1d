"""A containerlab file wired as containerlab does it: a network namespace for each node, veth pairs moved into them.

Nodes of kind linux execute their commands there. Nothing else of a lab is needed: no image, no container.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml


def ip(*words: str) -> None:
    """Run ``ip`` of the machine."""
    subprocess.run(["ip", *words], check=True, capture_output=True)


class WiredLab:
    """The namespaces of a lab file, which has links of the brief form between its nodes."""

    def __init__(self, file: Path) -> None:
        self._lab: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
        self._nodes: dict[str, dict[str, Any]] = self._lab["topology"]["nodes"]
        self._folder = file.parent

    def namespace(self, node: str) -> str:
        """The network namespace of a node, named as its container."""
        return f"clab-{self._lab['name']}-{node}"

    def command(self, node: str, *words: str) -> list[str]:
        """The command line that runs words in the namespace of a node."""
        return ["ip", "netns", "exec", self.namespace(node), *words]

    def start_containers(self) -> None:
        """Make the namespaces, without links: containers are started before they have any."""
        for node in self._nodes:
            ip("netns", "add", self.namespace(node))
            ip("-n", self.namespace(node), "link", "set", "lo", "up")

    def wire(self) -> None:
        """Make the links, each end with the name of its interface, and execute the commands of the nodes."""
        for number, link in enumerate(self._lab["topology"]["links"]):
            made = [f"clab{number}{side}" for side in "az"]
            ip("link", "add", made[0], "type", "veth", "peer", "name", made[1])
            for name, end in zip(made, link["endpoints"], strict=True):
                node, interface = end.split(":")
                ip("link", "set", name, "netns", self.namespace(node), "name", interface, "mtu", "9500")
                ip("-n", self.namespace(node), "link", "set", interface, "up")
        for node, entry in self._nodes.items():
            for command in entry.get("exec", ()):
                subprocess.run(self.command(node, *shlex.split(command)), check=True, capture_output=True)

    def tester_process(self, name: str, node: dict[str, Any], *more: str) -> subprocess.Popen[str]:
        """Start the command of the tester's node as its container would, with the P4Mesh of these tests."""
        (bind,) = node["binds"]
        source, _, inside = bind.partition(":")
        work = self._folder / "work"
        work.mkdir(exist_ok=True)
        mounted = work / Path(inside).name
        if not mounted.exists():
            mounted.symlink_to(self._folder / source)
        flag, script = shlex.split(node["cmd"].replace("/opt/p4mesh/bin/p4mesh", f"{sys.executable} -m p4mesh"))
        words = self.command(name, node["entrypoint"], flag, " ".join([script, *more]))
        return subprocess.Popen(words, cwd=work, stdout=subprocess.PIPE, text=True)

    def remove(self) -> None:
        """Remove the namespaces, and with them the links."""
        for node in self._nodes:
            subprocess.run(["ip", "netns", "del", self.namespace(node)], check=False, capture_output=True)


@contextmanager
def container_lab(file: Path) -> Iterator[WiredLab]:
    """Yield a lab whose containers are there, and remove it afterwards."""
    lab = WiredLab(file)
    lab.remove()
    try:
        lab.start_containers()
        yield lab
    finally:
        lab.remove()
