"""Interfaces of this machine that a network uses: taken into its namespace, given back as they were.

What they were is written down before anything is changed, so that another command can undo it after a crash.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from ipaddress import ip_address
from pathlib import Path

from p4mesh.errors import TargetError
from p4mesh.network.machine import falsifying_offloads, switch_offloads_off, switch_offloads_on
from p4mesh.network.namespaces import NAMES, STATE, is_here
from p4mesh.network.netlink import Netlink, opened, set_kernel_value

_HERE = "/proc/thread-self/ns/net"
_MACHINE = "/proc/1/ns/net"
_RECORD = "interfaces.json"


@dataclass(frozen=True)
class Borrowed:
    """An interface as it was."""

    interface: str
    home: int
    """Number of the namespace that it comes from."""
    up: bool
    offloads: tuple[str, ...]
    """Those that were on and would falsify frames."""


def own_names(interfaces: Mapping[int, str]) -> dict[int, str]:
    """The own names of interfaces of the caller's namespace, which may be given by another name (altname).

    A name that is none stays as it is. Raises TargetError where two are those of one interface.
    """
    if not interfaces:
        return {}
    with opened(_HERE) as kernel:
        known = kernel.names()
    found: dict[int, str] = {}
    for port, given in interfaces.items():
        own = known.get(given, given)
        if own in found.values():
            raise TargetError(
                f"interface '{given}' is '{own}', which another port has", hint="name an interface for each port"
            )
        found[port] = own
    return found


def borrow(interfaces: Sequence[str], namespace: str) -> None:
    """Move interfaces of the caller's namespace into the one of a network, ready for test frames.

    Raises TargetError for those that do not exist or that something else uses.
    """
    if not interfaces:
        return
    home = Path(_HERE).stat().st_ino
    with opened(_HERE) as kernel:
        links = kernel.links()
        for interface in interfaces:
            _require_free(kernel, interface)
        found = [Borrowed(name, home, links[name]["on"], falsifying_offloads(name)) for name in interfaces]
        record = _record_of(namespace)
        record.parent.mkdir(parents=True, exist_ok=True)
        record.write_text(json.dumps([asdict(entry) for entry in found]), encoding="utf-8")
        for interface in interfaces:
            kernel.set(interface, net_ns_fd=namespace)
    with opened(namespace) as kernel:
        for interface in interfaces:
            set_kernel_value(f"net.ipv6.conf.{interface.replace('.', '/')}.disable_ipv6", 1)
            switch_offloads_off(interface)
            kernel.set(interface, state="up")


def give_back(namespace: str) -> tuple[str, ...]:
    """Put the interfaces of a network where they come from, as they were; the value is what could not be, and why.

    Those whose namespace is gone stay: the kernel takes hardware to the machine's own. The namespace of the network may
    be gone as well, with the last process of another mount namespace; then interfaces are where the kernel took them.
    Another process that does the same at the same time waits, and finds nothing left.
    """
    record = _record_of(namespace)
    try:
        file = record.open(encoding="utf-8")
    except FileNotFoundError:
        return ()
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(file.fileno()).st_nlink == 0:
            return ()
        entries = [Borrowed(**entry) for entry in json.loads(file.read())]
        away = namespace if is_here(namespace) else None
        lost = []
        for entry in entries:
            with _home_of(entry, or_machine=away is None) as home:
                if home is None:
                    lost.append(f"interface '{entry.interface}': the network namespace that it comes from is gone")
                elif not _give_back(entry, away, home):
                    lost.append(f"interface '{entry.interface}': it is gone")
        record.unlink()
    return tuple(lost)


def _give_back(entry: Borrowed, away: str | None, home: int) -> bool:
    if away is not None:
        with opened(away) as kernel:
            if entry.interface in kernel.links():
                kernel.set(entry.interface, state="down")
                kernel.set(entry.interface, net_ns_fd=home)
    with opened(f"/proc/self/fd/{home}") as kernel:
        if entry.interface not in kernel.links():
            return False
        # Also one that was on its way when the process died.
        switch_offloads_on(entry.interface, entry.offloads)
        kernel.set(entry.interface, state="up" if entry.up else "down")
    return True


@contextmanager
def _home_of(entry: Borrowed, *, or_machine: bool) -> Iterator[int | None]:
    """Yield a descriptor of the namespace that an interface comes from; None where it is gone.

    With ``or_machine`` the machine's own stands for one that is gone.
    """
    for path in _namespaces():
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            if os.fstat(descriptor).st_ino == entry.home:
                yield descriptor
                return
        finally:
            os.close(descriptor)
    if not or_machine:
        yield None
        return
    descriptor = os.open(_MACHINE, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _namespaces() -> Iterator[Path]:
    yield Path(_HERE)
    if NAMES.is_dir():
        yield from NAMES.iterdir()
    yield from (entry / "ns" / "net" for entry in Path("/proc").iterdir() if entry.name.isdecimal())


def _require_free(kernel: Netlink, interface: str) -> None:
    """Raise TargetError for an interface that carries something else than test frames."""
    index = kernel.index(interface)
    link = kernel.route.get_links(index)[0]
    master = link.get("master")
    if master is not None:
        name = kernel.route.get_links(master)[0].get("ifname")
        raise TargetError(
            f"interface '{interface}' belongs to '{name}'", hint=f"take it out: ip link set {interface} nomaster"
        )
    for address in kernel.route.get_addr(index=index):
        text = str(address.get("address"))
        if not (":" in text and ip_address(text).is_link_local):
            raise TargetError(
                f"interface '{interface}' has the address {text}, so that something may use it",
                hint=f"choose another one, or free it: ip address flush dev {interface}",
            )


def _record_of(namespace: str) -> Path:
    return STATE / namespace / _RECORD
