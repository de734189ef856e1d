"""The tester for v1model in virtual time, with the receivers and the histogram of the shared vectors."""

from __future__ import annotations

import json

from support.hosted_network import HostedNetwork
from support.measurement_vectors import FILE, PORTS

from p4mesh.p4runtime import Client
from p4mesh.tester.contract import Contract
from p4mesh.tester.dataplane import DataPlane

_RATE_BPS = 100_000_000_000


class SimulatedTester:
    """The tester in virtual time, with a host that sends on each port."""

    def __init__(self, contract: Contract, loop_latency_ns: int = 100) -> None:
        self.contract = contract
        self._vectors = json.loads(FILE.read_text())
        tester = {
            "loop": {"port": contract["PORT_LOOP"], "rate_bps": _RATE_BPS, "latency_ns": loop_latency_ns},
            "cpu_port": contract["PORT_CPU"],
            "clock_tick_ps": 1000,
        }
        self.hosted = HostedNetwork(PORTS, _RATE_BPS, tester=tester)
        self.network = self.hosted.network
        self.client = Client(self.hosted.serve(), 1).__enter__()
        self.dataplane = DataPlane(self.client, contract)
        self.dataplane.load_program()
        self._install()

    def close(self) -> None:
        """End the network."""
        self.client.__exit__(None, None, None)
        self.network.stop()

    def arrive(self, port: int, at_ticks: int, frame: bytes) -> None:
        """Let a frame arrive at a port at a time."""
        self.network.run_until(at_ticks * 1000, self.client.packet_outs_sent)
        self.hosted.send(port, frame)

    def wait(self, passes: int) -> None:
        """Let as much time pass as some passes take, and more."""
        self.network.advance(passes * 1_000_000, self.client.packet_outs_sent)

    def set_run(self, run: int) -> None:
        """Set the number of the run that frames must have."""
        self.client.modify([self.client.schema.default_entry("receive_run", "set_receive_run", {"run_id": run})])

    def bins(self) -> dict[int, int]:
        """The frames of each cell of the histogram in use."""
        first = self._vectors["histogram"]["first_cell"]
        cells = list(range(first, first + self.contract["HISTOGRAM_BINS"]))
        return {cell: data.packets for cell, data in self.client.read_counters("latency_histogram", cells)}

    def ipdv_bins(self, half: int) -> dict[int, int]:
        """The frames of each bin of IPDV, of increases (0) or decreases (1)."""
        bins = self.contract["HISTOGRAM_BINS"]
        first = 2 * self._vectors["histogram"]["first_cell"] + half * bins
        cells = list(range(first, first + bins))
        return {cell - first: data.packets for cell, data in self.client.read_counters("ipdv_histogram", cells)}

    def _install(self) -> None:
        entry = self.client.schema.table_entry
        for receiver in self._vectors["receivers"]:
            match = {"port": receiver["port"], "destination_mac": (receiver["destination_mac"], (1 << 48) - 1)}
            params = {name: receiver[name] for name in ("flow_offset", "receiver_tag")}
            self.client.insert([entry("receiver", match=match, action="expected", params=params, priority=1)])
        for source in self._vectors["messages"]:
            last = source["first_flow"] + source["frames"] - 1
            params = {"message_source": source["source"], "first_flow": source["first_flow"], "last_flow": last}
            params["message_frames"] = source["frames"]
            for flow in range(source["first_flow"], last + 1):
                match = {"flow": (flow, 0xFFFF)}
                self.client.insert([entry("message", match=match, action="part_of_message", params=params, priority=1)])
        use = self._vectors["histogram"]
        match = {"port": use["port"], "flow": (0, 0)}
        params = {"first_cell": use["first_cell"], "finer_bits": 0}
        self.client.insert([entry("histogram", match=match, action="use_histogram", params=params, priority=1)])
