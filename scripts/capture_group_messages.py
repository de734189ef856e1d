#!/usr/bin/env python3
"""Captures what the Linux kernel says of multicast groups, as a host: fixtures of the tests of IGMP and MLD.

Needs root. Makes a network namespace with one end of a pair of interfaces, joins and leaves groups there with every
version of both protocols, and writes the frames that come to the other end, without times.

    sudo python3 scripts/capture_group_messages.py controlplane/tests/fixtures/kernel_group_messages.json
"""

from __future__ import annotations

import ctypes
import json
import os
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

NAMESPACE, HOST, ROUTER = "p4m-capture", "p4mcap0", "p4mcap1"
MAC = "02:00:00:00:00:09"
ADDRESS = "198.18.1.2"
GROUP, SECOND, SENDER = "225.1.1.1", "225.1.1.2", "198.18.9.9"
GROUP_V6, SENDER_V6 = "ff1e::1:1", "2001:2::9"
IP_ADD_SOURCE_MEMBERSHIP, IP_DROP_SOURCE_MEMBERSHIP, IP_BLOCK_SOURCE, IP_UNBLOCK_SOURCE = 39, 40, 38, 37
MCAST_JOIN_SOURCE_GROUP, MCAST_LEAVE_SOURCE_GROUP, MCAST_BLOCK_SOURCE = 46, 47, 43
_NETWORK = 0x40000000
"""CLONE_NEWNET."""
_SILENCE_S = 2.5
"""Longer than the time to the repetition of a report (RFC 3376 8.11), and than that of duplicate address detection."""
_OWN_TYPES = {0x0800: lambda frame: frame[23] == 2, 0x86DD: lambda frame: frame[20] == 0 or frame[20] == 58}


def run(*command: str) -> None:
    """Run a command; raise when it fails."""
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


@contextmanager
def network() -> Iterator[socket.socket]:
    """Yield a raw socket on the router's end."""
    run("ip", "netns", "add", NAMESPACE)
    try:
        run("ip", "link", "add", ROUTER, "type", "veth", "peer", "name", HOST, "address", MAC, "netns", NAMESPACE)
        run("ip", "link", "set", ROUTER, "up")
        inside = ("ip", "-n", NAMESPACE)
        run(*inside, "address", "add", f"{ADDRESS}/24", "dev", HOST)
        run(*inside, "link", "set", HOST, "up")
        run(*inside, "route", "add", "224.0.0.0/4", "dev", HOST)
        listener = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        listener.bind((ROUTER, 0))
        yield listener
        listener.close()
    finally:
        subprocess.run(["ip", "link", "delete", ROUTER], check=False, stderr=subprocess.DEVNULL)
        run("ip", "netns", "delete", NAMESPACE)


def force(version: str) -> None:
    """Let the kernel speak one version: the sysctls force_igmp_version and force_mld_version."""
    number = version[-1]
    name = f"net/ipv4/conf/{HOST}/force_igmp_version"
    if version.startswith("mld"):
        name = f"net/ipv6/conf/{HOST}/force_mld_version"
    Path(f"/proc/sys/{name}").write_text(number, encoding="ascii")


def joined(family: int) -> socket.socket:
    """A socket inside the namespace."""
    return socket.socket(family, socket.SOCK_DGRAM)


def ipv4_actions(sock: socket.socket) -> list[tuple[str, Callable[[], None]]]:
    """Steps of a host with IPv4 groups, by name."""
    group, second, own, sender = (socket.inet_aton(text) for text in (GROUP, SECOND, ADDRESS, SENDER))

    def plain(option: int, which: bytes) -> Callable[[], None]:
        return lambda: sock.setsockopt(socket.IPPROTO_IP, option, which + own)

    def source(option: int) -> Callable[[], None]:
        return lambda: sock.setsockopt(socket.IPPROTO_IP, option, group + own + sender)

    return [
        ("join", plain(socket.IP_ADD_MEMBERSHIP, group)),
        ("join_second", plain(socket.IP_ADD_MEMBERSHIP, second)),
        ("block_sender", source(IP_BLOCK_SOURCE)),
        ("unblock_sender", source(IP_UNBLOCK_SOURCE)),
        ("leave", plain(socket.IP_DROP_MEMBERSHIP, group)),
        ("leave_second", plain(socket.IP_DROP_MEMBERSHIP, second)),
        ("join_sender", source(IP_ADD_SOURCE_MEMBERSHIP)),
        ("leave_sender", source(IP_DROP_SOURCE_MEMBERSHIP)),
    ]


def ipv6_actions(sock: socket.socket) -> list[tuple[str, Callable[[], None]]]:
    """Steps of a host with IPv6 groups, by name."""
    index = socket.if_nametoindex(HOST)

    def storage(text: str) -> bytes:
        address = struct.pack("=HHI16sI", socket.AF_INET6, 0, 0, socket.inet_pton(socket.AF_INET6, text), 0)
        return address.ljust(128, b"\0")

    request = struct.pack("=16sI", socket.inet_pton(socket.AF_INET6, GROUP_V6), index)
    of_source = struct.pack("=I4x", index) + storage(GROUP_V6) + storage(SENDER_V6)

    def plain(option: int) -> Callable[[], None]:
        return lambda: sock.setsockopt(socket.IPPROTO_IPV6, option, request)

    def source(option: int) -> Callable[[], None]:
        return lambda: sock.setsockopt(socket.IPPROTO_IPV6, option, of_source)

    return [
        ("join", plain(socket.IPV6_JOIN_GROUP)),
        ("block_sender", source(MCAST_BLOCK_SOURCE)),
        ("leave", plain(socket.IPV6_LEAVE_GROUP)),
        ("join_sender", source(MCAST_JOIN_SOURCE_GROUP)),
        ("leave_sender", source(MCAST_LEAVE_SOURCE_GROUP)),
    ]


def messages(listener: socket.socket, seconds: float) -> list[str]:
    """The frames of both protocols that come in a time, as hexadecimal digits."""
    found: list[str] = []
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        listener.settimeout(left)
        try:
            frame, address = listener.recvfrom(2048)
        except TimeoutError:
            break
        ether_type = int.from_bytes(frame[12:14], "big")
        if address[2] != socket.PACKET_OUTGOING and ether_type in _OWN_TYPES and _OWN_TYPES[ether_type](frame):
            found.append(frame.hex())
    return found


def captured(listener: socket.socket) -> Iterator[tuple[str, dict[str, list[str]]]]:
    """Yield what the kernel says, by version and action."""
    for version in ("igmpv2", "igmpv3", "mldv1", "mldv2"):
        force(version)
        family = socket.AF_INET if version.startswith("igmp") else socket.AF_INET6
        actions = ipv4_actions if family == socket.AF_INET else ipv6_actions
        with joined(family) as sock:
            said: dict[str, list[str]] = {}
            for name, act in actions(sock):
                if version in ("igmpv2", "mldv1") and "sender" in name:
                    continue
                messages(listener, 0.1)
                act()
                said[name] = [frame for frame in messages(listener, _SILENCE_S) if _of_groups(frame)]
            yield version, said


def _of_groups(frame: str) -> bool:
    """Whether a message is about the groups of this file, and not about those that the kernel joins itself."""
    groups = (GROUP, SECOND)
    named = [socket.inet_aton(group).hex() for group in groups] + [socket.inet_pton(socket.AF_INET6, GROUP_V6).hex()]
    return any(group in frame for group in named)


def main() -> None:
    """Write the file that the argument names."""
    with network() as listener:
        namespace = os.open(f"/var/run/netns/{NAMESPACE}", os.O_RDONLY)
        messages(listener, _SILENCE_S)
        if ctypes.CDLL(None, use_errno=True).setns(namespace, _NETWORK):
            raise OSError(ctypes.get_errno(), "setns")
        found = dict(captured(listener))
    kernel = os.uname().release.split("-")[0]
    document = {"kernel": kernel, "mac": MAC, "ipv4": ADDRESS, "frames": found}
    Path(sys.argv[1]).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
