"""Events of devices ``p4``: changes of their tables and links at set times, or as parts of a failure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from p4mesh.topology.model import Device, Topology


@dataclass(frozen=True)
class DeviceEvent:
    """Changes of one device at one time. Entries are as the topology file has them."""

    at_s: float | None
    """After the start; None for an event of a failure."""
    failure: int
    """Number of its failure; 0 for an event with a time."""
    after_s: float
    """From the beginning of the failure."""
    links_down: tuple[int, ...]
    links_up: tuple[int, ...]
    delete: tuple[dict[str, Any], ...]
    insert: tuple[dict[str, Any], ...]
    modify: tuple[dict[str, Any], ...]


def events_of(device: Device) -> tuple[DeviceEvent, ...]:
    """The events of a device, in the order of the file."""
    return tuple(
        DeviceEvent(
            event.get("at_s"),
            event.get("failure", 0),
            event.get("after_s", 0),
            *(tuple(event.get(key, ())) for key in ("links_down", "links_up", "delete", "insert", "modify")),
        )
        for event in device.model.get("events", ())
    )


def failures_of(topology: Topology) -> int:
    """How many failures the devices of a topology can have: the largest number of one."""
    return max((event.failure for device in topology.devices for event in events_of(device)), default=0)
