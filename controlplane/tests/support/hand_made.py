"""Interfaces that a test makes by hand in a namespace of its own, as those of a machine."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from p4mesh.network.namespaces import entered

OFFLOAD = "tx-tcp-segmentation"


class Machine:
    """A namespace with veth pairs: ``a1`` and ``b1``, ``a2`` and ``b2``, ..., of four queues each."""

    def __init__(self, name: str) -> None:
        self.name = name

    def ip(self, *words: str) -> str:
        """Run ``ip`` in the namespace."""
        return subprocess.run(["ip", "-n", self.name, *words], check=True, capture_output=True, text=True).stdout

    def command(self, *words: str) -> list[str]:
        """A command line that runs in the namespace; the mounts stay those of the test."""
        return ["nsenter", f"--net=/run/netns/{self.name}", *words]

    def state(self, interface: str) -> tuple[bool, bool]:
        """Whether an interface is on, and whether an offload that falsifies frames is."""
        if shutil.which("ethtool") is None:
            pytest.skip("ethtool is not installed: apt-get install ethtool")
        flags = self.ip("-o", "link", "show", interface).partition("<")[2].partition(">")[0].split(",")
        shown = subprocess.run(
            ["ip", "netns", "exec", self.name, "ethtool", "-k", interface], check=True, capture_output=True, text=True
        )
        return "UP" in flags, f"{OFFLOAD}: on" in shown.stdout

    def interfaces(self) -> set[str]:
        """The names of all interfaces but the loopback."""
        lines = self.ip("-o", "link").splitlines()
        return {line.split(":")[1].split("@")[0].strip() for line in lines} - {"lo"}


@contextmanager
def machine(pairs: int) -> Iterator[Machine]:
    """Make a machine, with the calling thread in it; the first interface of each pair is on."""
    made = Machine(f"p4mesh-machine-{os.getpid()}")
    subprocess.run(["ip", "netns", "add", made.name], check=True)
    try:
        made.ip("link", "set", "lo", "up")
        for number in range(1, pairs + 1):
            queues = ("numrxqueues", "4", "numtxqueues", "4")
            peer = ("type", "veth", "peer", "name", f"b{number}")
            made.ip("link", "add", f"a{number}", *queues, *peer, *queues)
            made.ip("link", "set", f"a{number}", "up")
        with entered(made.name):
            yield made
    finally:
        subprocess.run(["ip", "netns", "delete", made.name], check=True)
