"""The BF Runtime client: subscription, tables by the names of bfrt.json, ports, and packets by the CPU port.

Owns: the messages, errors that name the table, what differs from P4Runtime (priorities, groups of nodes, registers of
every pipe). Refuses: knowing what a trial is.
"""

from p4mesh.bfruntime.client import BfClient
from p4mesh.bfruntime.cpu_port import CpuPort, FrameSocket, PacketSocket
from p4mesh.bfruntime.errors import (
    BfConnectError,
    BfProgramError,
    BfRefusedError,
    BfRuntimeError,
    BfSchemaError,
    BfTimeoutError,
)
from p4mesh.bfruntime.info import BfrtInfo, digest_of, tables_of_program
from p4mesh.bfruntime.ports import MacCounters, Ports, PortSettings, PortState, PortWatch
from p4mesh.bfruntime.traffic_manager import drop_counts, has_drop_counters

__all__ = [
    "BfClient",
    "BfConnectError",
    "BfProgramError",
    "BfRefusedError",
    "BfRuntimeError",
    "BfSchemaError",
    "BfTimeoutError",
    "BfrtInfo",
    "CpuPort",
    "FrameSocket",
    "MacCounters",
    "PacketSocket",
    "PortSettings",
    "PortState",
    "PortWatch",
    "Ports",
    "digest_of",
    "drop_counts",
    "has_drop_counters",
    "tables_of_program",
]
