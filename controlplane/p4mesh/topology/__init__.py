"""Owns the YAML model of a test set-up: tester ports, devices under test, links; and its validation.

Refuses: running anything. :mod:`p4mesh.topology.engine_config` lays a topology out for the
embedded engine.
"""

from p4mesh.topology.loader import load_topology
from p4mesh.topology.model import (
    TESTER,
    Device,
    DevicePort,
    Link,
    Loop,
    PortRef,
    TesterPort,
    Topology,
)

__all__ = [
    "TESTER",
    "Device",
    "DevicePort",
    "Link",
    "Loop",
    "PortRef",
    "TesterPort",
    "Topology",
    "load_topology",
]
