"""Facts of the machine for results: kernel, processors, interfaces with their drivers and offloads."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from p4mesh.network.namespaces import entered
from p4mesh.network.netlink import opened

_GOVERNOR = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
FALSIFYING = (
    *("tx-tcp-segmentation", "tx-tcp6-segmentation", "tx-generic-segmentation", "tx-udp-segmentation"),
    *("rx-gro", "rx-lro", "rx-vlan-hw-parse", "tx-vlan-hw-insert", "tx-vlan-stag-hw-insert"),
    *("tx-checksum-ip-generic", "tx-checksum-ipv4", "tx-checksum-ipv6"),
)
"""Offloads that join, split or change frames, keep a VLAN tag beside the frame, or leave checksums of the kernel's own
segments to hardware that a virtual cable does not have."""


def machine_facts() -> tuple[str, ...]:
    """Return kernel, processors with their governor, and the load, a line each."""
    governor = _GOVERNOR.read_text(encoding="ascii").strip() if _GOVERNOR.is_file() else "none"
    load = os.getloadavg()[0]
    return (
        f"kernel: {platform.system()} {platform.release()}",
        f"processors: {len(os.sched_getaffinity(0))} of {os.cpu_count()}, governor {governor}, load {load:.2f}",
    )


def port_facts(namespace: str, interfaces: Mapping[int, str], accesses: Mapping[int, str]) -> Iterator[str]:
    """Yield one line for all ports that are alike: access, driver, MTU and offloads that are on."""
    with opened(namespace) as kernel:
        links = kernel.links()
    alike: dict[str, list[int]] = {}
    with entered(namespace):
        for port, interface in interfaces.items():
            link = links[interface]
            on = ", ".join(_falsifying_offloads(interface)) or "none that changes frames"
            text = f"{accesses.get(port, '')}, driver {link['kind'] or 'hardware'}, MTU {link['mtu']}, offloads {on}"
            alike.setdefault(text, []).append(port)
    for text, ports in alike.items():
        yield f"ports {', '.join(map(str, ports))}: {text}"


def _falsifying_offloads(interface: str) -> tuple[str, ...]:
    with _features(interface) as (_, features):
        return _active(features)


def switch_offloads_off(interface: str) -> tuple[str, ...]:
    """Switch off what joins, splits or changes frames of an interface; return what was on."""
    with _features(interface) as (tool, features):
        found = _active(features)
        for name in found:
            features[name] = False
        if found:
            tool.set_features(features)
        return found


def _active(features: Any) -> tuple[str, ...]:
    active = {name for name, is_active, *_ in features if is_active}
    return tuple(name for name in FALSIFYING if name in active)


@contextmanager
def _features(interface: str) -> Iterator[tuple[Any, Any]]:
    """Yield the tool for an interface of the namespace that the thread is in, and its features."""
    from pyroute2.ethtool.ioctl import IoctlEthtool

    tool = IoctlEthtool(interface)
    try:
        yield tool, tool.get_features()
    finally:
        tool.close()
