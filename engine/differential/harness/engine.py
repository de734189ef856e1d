"""The embedded engine as a switch of the harness: a tester node with a host on each of its ports."""

from __future__ import annotations

import json
from typing import Any

from harness.programs import CompiledProgram
from harness.scenario import Outputs
from harness.switch import CPU_PORT, PORTS, WAIT_S, HarnessError, Switch, known_ports
from p4mesh import _engine
from p4mesh.p4runtime import Client, PacketIn

_RATE_BPS = 100_000_000_000
_TICK_PS = 1_000_000
"""Time stamps in microseconds, as simple_switch has them."""
_SETTLE_PS = 1_000_000_000
"""Longer than any frame of the corpus stays in the switch, with all its rounds."""


class EngineSwitch(Switch):
    """Virtual time: all effects of a frame are over when that time has passed."""

    def start(self, program: CompiledProgram) -> None:
        """Build the network and load the program."""
        self._network: Any = _engine.SimNetwork(json.dumps(_network_config()))
        port = self._network.serve("127.0.0.1:0", 1)
        self.client = Client(f"127.0.0.1:{port}", 1, timeout_s=WAIT_S)
        self.client.__enter__()
        self.client.set_pipeline(program.p4info_path, program.json_path)
        self._packet_ins = 0
        # Time stamps are 0 in the first microsecond, which means "none" to programs.
        self._network.advance(_SETTLE_PS, 0)

    def stop(self) -> None:
        """End the server."""
        self.client.__exit__(None, None, None)
        self._network.stop()

    def frame(self, port: int, data: bytes) -> Outputs:
        """See the base class."""
        self._network.host_send(f"host{port}", 1, data)
        return self._settle()

    def packet_out(self, data: bytes, metadata: dict[str, int]) -> Outputs:
        """See the base class."""
        self.client.packet_out(data, **metadata)
        return self._settle()

    def packet_ins(self) -> list[PacketIn]:
        """See the base class."""
        expected = self._network.packet_ins_total - self._packet_ins
        taken = self.client.take_packet_ins(expected, timeout_s=WAIT_S)
        if len(taken) < expected:
            raise HarnessError(f"the engine sent {expected} packet-ins, {len(taken)} arrived")
        self._packet_ins += expected
        return taken

    def _settle(self) -> Outputs:
        self._network.advance(_SETTLE_PS, self.client.packet_outs_sent)
        outputs: Outputs = {}
        for port in PORTS:
            frames = [bytes(data) for _, _, data in self._network.host_take(f"host{port}")]
            if frames:
                outputs[port] = frames
        return known_ports(outputs)


def _network_config() -> dict[str, Any]:
    ports = [{"number": port, "rate_bps": _RATE_BPS, "pad_to_minimum": False} for port in PORTS]
    return {
        "tester": {
            "ports": ports,
            "loop": {"port": 509, "rate_bps": _RATE_BPS, "latency_ns": 500},
            "cpu_port": CPU_PORT,
            "clock_tick_ps": _TICK_PS,
        },
        "nodes": [
            {"name": f"host{port}", "device": "host", "ports": [{"number": 1, "rate_bps": _RATE_BPS}]} for port in PORTS
        ],
        "links": [
            {"from": {"node": "tester", "port": port}, "to": {"node": f"host{port}", "port": 1}, "latency_ns": 1}
            for port in PORTS
        ],
    }
