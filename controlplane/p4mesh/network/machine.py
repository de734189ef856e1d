"""Facts of the machine for results: kernel, processors, interfaces with their drivers and offloads."""

from __future__ import annotations

import fcntl
import os
import platform
import socket
import struct
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
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
_SIOCETHTOOL = 0x8946
_ETHTOOL_GDRVINFO = 3
_DRIVER_BYTES = 196
_REQUEST_BYTES = 40
_THREADS = 2
"""Threads of the tester that stay busy where there are processors for them."""


def machine_facts() -> tuple[str, ...]:
    """Kernel, processors with their governor, and the load, a line each."""
    governor = _GOVERNOR.read_text(encoding="ascii").strip() if _GOVERNOR.is_file() else "none"
    load = os.getloadavg()[0]
    return (
        f"kernel: {platform.system()} {platform.release()}",
        f"processors: {len(os.sched_getaffinity(0))} of {os.cpu_count()}, governor {governor}, load {load:.2f}",
    )


def busy_threads(devices: int, processors: int, switches: int = 1) -> int:
    """Busy threads of each switch of the tester beside so many devices in user space.

    One runs the program and one sends, unless that leaves a device or a switch no processor: then one does both.
    """
    return _THREADS if processors >= _THREADS * switches + devices else 1


def shared_processors(devices: Sequence[str], processors: int, threads: int, switches: int = 1) -> Iterator[str]:
    """Yield a line where devices in user space have no processors beside those that the tester can use."""
    threads *= switches
    needed = _THREADS * switches + len(devices)
    if devices and processors < needed:
        busy = "a busy thread" if threads == 1 else f"{threads} busy threads"
        yield (
            f"shared processors: {', '.join(devices)} beside {busy} of the tester on {processors} processors: a rate "
            f"may be the machine's, not the device's; take {needed} processors or more, or measure a device on another "
            "machine"
        )


def port_facts(namespace: str, interfaces: Mapping[int, str], accesses: Mapping[int, str]) -> Iterator[str]:
    """Yield one line for all ports that are alike: access, driver, MTU and offloads that are on."""
    with opened(namespace) as kernel:
        links = kernel.links()
    alike: dict[str, list[int]] = {}
    with entered(namespace):
        for port, interface in interfaces.items():
            link = links[interface]
            on = ", ".join(falsifying_offloads(interface)) or "none that changes frames"
            driver = driver_of(interface) or link["kind"]
            text = f"{accesses.get(port, '')}, driver {driver}, MTU {link['mtu']}, offloads {on}"
            alike.setdefault(text, []).append(port)
    for text, ports in alike.items():
        yield f"ports {', '.join(map(str, ports))}: {text}"


def falsifying_offloads(interface: str) -> tuple[str, ...]:
    """Offloads of an interface that join, split or change frames and are on at present."""
    with _features(interface) as (_, features):
        return _active(features)


def switch_offloads_off(interface: str) -> tuple[str, ...]:
    """Switch off what joins, splits or changes frames of an interface; return what was on."""
    with _features(interface) as (tool, features):
        found = _active(features)
        _set(tool, features, found, on=False)
        return found


def switch_offloads_on(interface: str, names: Iterable[str]) -> None:
    """Switch on what was on before."""
    with _features(interface) as (tool, features):
        _set(tool, features, names, on=True)


def driver_of(interface: str) -> str:
    """Driver and firmware of an interface of the namespace that the thread is in; empty where none is told."""
    told = array("B", bytes(_DRIVER_BYTES))
    told[:4] = array("B", struct.pack("=I", _ETHTOOL_GDRVINFO))
    request = struct.pack("16sP", interface.encode(), told.buffer_info()[0]).ljust(_REQUEST_BYTES, b"\0")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as kernel:
        try:
            fcntl.ioctl(kernel, _SIOCETHTOOL, request)
        except OSError:
            return ""
    parts = struct.unpack_from("32s32s32s", told, 4)
    driver, version, firmware = (part.partition(b"\0")[0].decode() for part in parts)
    known = [f"{name} {text}" for name, text in (("", driver), ("version", version), ("firmware", firmware)) if text]
    return " ".join(known).strip()


def _set(tool: Any, features: Any, names: Iterable[str], on: bool) -> None:
    from pyroute2.ethtool.ioctl import NotSupportedError

    for name in names:
        features[name] = on
    # The answer when something else, such as an XDP program, keeps an offload as it is until it goes.
    with suppress(NotSupportedError):
        tool.set_features(features)


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
