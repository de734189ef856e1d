"""Defines the workload: programs, entries and frames, the same for every switch."""

from __future__ import annotations

import random
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from p4mesh.p4runtime import Client, Entity
from p4mesh.target.loop import LoopModel
from p4mesh.tester.contract import Contract, load_contract
from p4mesh.tester.dataplane import DataPlane
from p4mesh.tester.frames import seed_payload
from p4mesh.tester.plan import Limits, Plan, make_plan
from p4mesh.tester.stations import station
from p4mesh.traffic.line_rate import max_rate_fps
from p4mesh.traffic.patterns import FullMesh
from p4mesh.traffic.stream import Stream

P4_DIRECTORY = Path(__file__).parent / "p4"
ROUTER = "l3_forward"
PORTS = 18
FRAME_BYTES = 64
RATE_BPS = 10**9
TICK_PS = 1_000_000
"""simple_switch counts microseconds, so the engine does too where both run."""
ROUTES = 1000
NEIGHBOURS = 8
RUN = 1
_FOR_EVER = 2**32 - 1
_SEED_OF_RANDOM = 1


@dataclass(frozen=True)
class TesterWorkload:
    """A full mesh of 18 ports at 64 bytes and 100 % load, programmed by hand."""

    contract: Contract
    plan: Plan

    def program(self, client: Client) -> DataPlane:
        """Install program and entries."""
        dataplane = DataPlane(client, self.contract)
        dataplane.load_program()
        dataplane.configure(self.plan, RUN)
        return dataplane

    def start(self, dataplane: DataPlane, seeds: int) -> None:
        """Put seeds into the loop and start them."""
        stream = self.plan.streams[0].stream
        payload = seed_payload(stream.frame, stream.frame_size_bytes)
        for number in range(seeds):
            dataplane.inject_seed(0, payload, number, seeds)
        dataplane.start(range(1), 100)

    def received_frames(self, count: int) -> list[bytes]:
        """``count`` test frames that port 1 expects, from all other ports in turn."""
        stream = self.plan.streams[0].stream
        headers = stream.frame.write(bytes(FRAME_BYTES - stream.frame.header_bytes - 4))[: stream.frame.header_bytes]
        flows = [flow for flow in self.plan.flows if flow.rx_port == 1]
        frames = []
        for number in range(count):
            flow = flows[number % len(flows)]
            source, destination = station(flow.tx_port), station(1)
            signature = (
                self.contract["SIGNATURE_MAGIC"].to_bytes(2, "big")
                + RUN.to_bytes(1, "big")
                + station(1).receiver_tag.to_bytes(1, "big")
                + flow.cell.to_bytes(2, "big")
                + (number // len(flows)).to_bytes(4, "big")
                + number.to_bytes(6, "big")
            )
            signature += _checksum(signature).to_bytes(2, "big")
            ipv4 = headers[14:26] + source.ipv4.packed + destination.ipv4.packed
            frame = destination.mac + source.mac + headers[12:14] + _with_checksum(ipv4) + headers[34:] + signature
            frames.append(frame.ljust(FRAME_BYTES - 4, b"\0"))
        return frames


def tester_workload() -> TesterWorkload:
    """The tester's workload with a plan that does not depend on the target."""
    contract = load_contract()
    ports = tuple(range(1, PORTS + 1))
    rate = max_rate_fps(FRAME_BYTES, RATE_BPS)
    stream = Stream("mesh", FRAME_BYTES, Fraction(rate), _FOR_EVER // 64, FullMesh(), ports, ports)
    limits = Limits.of(contract, TICK_PS, LoopModel(400_000_000_000, 500_000), "bench")
    return TesterWorkload(contract, make_plan((stream,), limits, dict.fromkeys(ports, RATE_BPS)))


def program_router(client: Client, *, neighbours: bool = True) -> None:
    """Install the router with its routes to neighbours on port 2; without neighbours it drops."""
    contract = load_contract(ROUTER, P4_DIRECTORY)
    client.set_pipeline(contract.p4info_path, contract.json_path)
    schema = client.schema
    entries: list[Entity] = [route(client, route_prefix(number), 24, number % NEIGHBOURS) for number in range(ROUTES)]
    for hop in range(NEIGHBOURS if neighbours else 0):
        params = {"port": 2, "mac": neighbour_mac(hop)}
        entries.append(schema.table_entry("neighbour", match={"next_hop": hop}, action="forward", params=params))
    for port in (1, 2):
        params = {"mac": own_mac(port)}
        entries.append(
            schema.table_entry("interface_address", match={"port": port}, action="own_address", params=params)
        )
    client.insert(entries)


def route_prefix(number: int) -> int:
    """The prefix of 24 bits of a route, such as 10.0.5.0 of route 5."""
    return 10 << 24 | number << 8


def neighbour_mac(hop: int) -> int:
    """The address of a neighbour."""
    return 0x020000000100 + hop


def own_mac(port: int) -> int:
    """The address of the router on a port."""
    return 0x020000000200 + port


def route(client: Client, prefix: int, bits: int, next_hop: int) -> Entity:
    """An entry of the routing table."""
    return client.schema.table_entry(
        "ipv4_route", match={"destination": (prefix, bits)}, action="route", params={"next_hop": next_hop}
    )


def routed_frames(count: int) -> list[bytes]:
    """UDP frames of 64 bytes to destinations behind random routes."""
    random_numbers = random.Random(_SEED_OF_RANDOM)
    frames = []
    for _ in range(count):
        destination = route_prefix(random_numbers.randrange(ROUTES)) | random_numbers.randrange(256)
        ipv4 = bytes.fromhex("4500002e000000004011000001010101") + destination.to_bytes(4, "big")
        frame = bytes.fromhex("0200000000010200000000020800") + _with_checksum(ipv4) + bytes(26)
        frames.append(frame)
    return frames


def _checksum(data: bytes) -> int:
    total = sum(int.from_bytes(data[at : at + 2], "big") for at in range(0, len(data), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def _with_checksum(ipv4: bytes) -> bytes:
    blank = ipv4[:10] + b"\0\0" + ipv4[12:]
    return blank[:10] + _checksum(blank).to_bytes(2, "big") + blank[12:]
