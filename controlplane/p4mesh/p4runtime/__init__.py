"""The P4Runtime client: the only gRPC code of the project.

Owns: arbitration, pipeline config, writes in batches, reads, packet I/O, and errors that name the
entity and the reason. Refuses: knowing what a trial is.
"""

from p4mesh.p4runtime.client import Client
from p4mesh.p4runtime.credentials import TlsCredentials
from p4mesh.p4runtime.errors import (
    ConnectError,
    Failure,
    NotPrimaryError,
    P4RuntimeError,
    PacketOutError,
    PipelineError,
    ReadError,
    SchemaError,
    WaitError,
    WriteError,
)
from p4mesh.p4runtime.info import load_p4info
from p4mesh.p4runtime.packet_ins import PacketColumns, PacketIn, columns_of
from p4mesh.p4runtime.schema import CounterData, MeterConfig, Schema
from p4mesh.p4runtime.stubs import Entity

__all__ = [
    "Client",
    "ConnectError",
    "CounterData",
    "Entity",
    "Failure",
    "MeterConfig",
    "NotPrimaryError",
    "P4RuntimeError",
    "PacketColumns",
    "PacketIn",
    "PacketOutError",
    "PipelineError",
    "ReadError",
    "Schema",
    "SchemaError",
    "TlsCredentials",
    "WaitError",
    "WriteError",
    "columns_of",
    "load_p4info",
]
