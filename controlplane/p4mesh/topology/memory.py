"""Finds the state that devices keep from one trial to the next and that the learning phase does not restore."""

from __future__ import annotations

from p4mesh.topology.model import Device, Topology


def memory_of(topology: Topology) -> str:
    """The reason why a trial depends on those before it on the same devices; empty when it does not.

    A trial begins with the learning phase, at a whole second of simulated time, with random numbers of its own. Once
    its addresses are verified, a device is as a new one would be, apart from the state named here. Conservative: state
    that is not known to be forgotten counts as kept.
    """
    if any(link.outages for link in topology.links):
        return "link outages of the topology happen at times that count from the start of the devices"
    return next((reason for device in topology.devices if (reason := _memory(device))), "")


def memory_without_verification(topology: Topology) -> str:
    """The same for trials that do not verify learned addresses: an earlier trial may have taught some."""
    if any(link.bit_errors_per_1e15 for link in topology.links):
        return "links may damage learning frames"
    lossy = (device for device in topology.devices if _learns_by_chance(device))
    return memory_of(topology) or next((f"device '{device.name}' may not learn every address" for device in lossy), "")


def _memory(device: Device) -> str:
    if device.device == "p4":
        return f"the P4 program of device '{device.name}' may keep anything in its registers"
    if device.model.get("mac_table", {}).get("aging") == "broken":
        return f"the address table of device '{device.name}' keeps entries that have aged"
    return ""


def _learns_by_chance(device: Device) -> bool:
    return any(device.model.get(key) for key in ("loss_ppb", "impairments", "learning_path", "simultaneous_arrivals"))
