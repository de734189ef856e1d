"""Makes networks whose frames a test sends and takes by hand: a tester, or one device, with a host at its ports."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from p4mesh import _engine

GIGABIT = 10**9
HOST = "host"
_LOOP_PORT = 509


class HostedNetwork:
    """Each port of the tester, or of ``device`` in its place, is cabled to the port of a host with the same number.

    Keys are those of the engine's document: ``tester`` of the tester, ``tester_port`` of its ports.
    """

    def __init__(
        self,
        ports: Iterable[int],
        rate_bps: int = GIGABIT,
        *,
        tester: Mapping[str, Any] | None = None,
        tester_port: Mapping[str, Any] | None = None,
        device: Mapping[str, Any] | None = None,
        latency_ns: float = 0,
    ) -> None:
        numbered = [{"number": port, "rate_bps": rate_bps} for port in ports]
        document = {
            "tester": {
                "ports": [] if device else [{**port, **(tester_port or {})} for port in numbered],
                "loop": {"port": _LOOP_PORT, "rate_bps": 10**11},
                **(tester or {}),
            },
            "nodes": [{"name": HOST, "device": "host", "ports": numbered}, *([device] if device else [])],
            "links": [
                {
                    "from": {"node": device["name"] if device else "tester", "port": port["number"]},
                    "to": {"node": HOST, "port": port["number"]},
                    "latency_ns": latency_ns,
                }
                for port in numbered
            ],
        }
        self.network = _engine.SimNetwork(json.dumps(document))

    def serve(self, device_id: int = 1) -> str:
        """Start a P4Runtime server for the tester; return its address."""
        return f"127.0.0.1:{self.network.serve('127.0.0.1:0', device_id)}"

    def send(self, port: int, frame: bytes) -> None:
        """Put a frame into a port."""
        self.network.host_send(HOST, port, frame)

    def received(self) -> list[tuple[int, bytes]]:
        """Take the frames that came out: (port, frame)."""
        return [(port, frame) for port, _, frame in self.network.host_take(HOST)]

    def drops(self, node: str) -> Counter[str]:
        """The drops at the ports of a node by cause."""
        ports = self.network.truth()["nodes"][node]["ports"].values()
        return sum((Counter(port["drops"]) for port in ports), Counter())
