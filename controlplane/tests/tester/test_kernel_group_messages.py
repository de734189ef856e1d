"""Messages about groups, held against those of the Linux kernel (scripts/capture_group_messages.py)."""

from __future__ import annotations

import json
from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

import pytest

from p4mesh.tester.responders.group_hosts import ANY_SENDER, Filter, GroupHosts
from p4mesh.tester.responders.group_messages import Departure, OtherReport, departures, read
from p4mesh.tester.stations import Station
from p4mesh.traffic.memberships import Version

CAPTURE = json.loads(
    (Path(__file__).parents[1] / "fixtures" / "kernel_group_messages.json").read_text(encoding="utf-8")
)
FRAMES: dict[str, dict[str, list[str]]] = CAPTURE["frames"]
MAC = bytes.fromhex(CAPTURE["mac"].replace(":", ""))
HOST = Station(1, MAC, IPv4Address(CAPTURE["ipv4"]), IPv6Address("2001:2::2"))
GROUPS = {4: ("225.1.1.1", "225.1.1.2", "198.18.9.9"), 6: ("ff1e::1:1", "ff1e::1:2", "2001:2::9")}
LISTENED_NS = 2_500_000_000
SECOND_NS = 1_000_000_000
ALL = [(version, action) for version, actions in FRAMES.items() for action in actions]


def comparable(frame: bytes) -> bytes:
    """Return a frame without padding: the kernel leaves it to the interface."""
    if frame[12:14] == b"\x08\x00":
        return frame[: 14 + int.from_bytes(frame[16:18], "big")]
    return frame[: 14 + 40 + int.from_bytes(frame[18:20], "big")]


def captured(version: str, action: str) -> list[bytes]:
    return [comparable(bytes.fromhex(frame)) for frame in FRAMES[version][action]]


def said(version: Version) -> dict[str, list[bytes]]:
    """Return the frames of our host for each action of the capture, one action 100 s after the other."""
    hosts = GroupHosts({1: HOST}, version, joins_per_s=1000, random_up_to=lambda limit: limit)
    first, second, sender = (ip_address(text) for text in GROUPS[version.ip_version])
    without, alone = Filter(frozenset({sender})), Filter(frozenset({sender}), exclude=False)
    acts: dict[str, Callable[[int], None]] = {
        "join": lambda now: hosts.join(1, [first], now),
        "join_second": lambda now: hosts.join(1, [second], now),
        "block_sender": lambda now: hosts.join(1, [first], now, without),
        "unblock_sender": lambda now: hosts.join(1, [first], now, ANY_SENDER),
        "leave": lambda now: hosts.leave(1, [first], now),
        "leave_second": lambda now: hosts.leave(1, [second], now),
        "join_sender": lambda now: hosts.join(1, [first], now, alone),
        "leave_sender": lambda now: hosts.leave(1, [first], now),
    }
    found: dict[str, list[bytes]] = {}
    now_ns = 0
    for action in FRAMES[version.value]:
        acts[action](now_ns)
        found[action] = []
        while (due_ns := hosts.next_event()) is not None:
            frames = [comparable(out.frame) for out in hosts.on_time(due_ns)]
            if due_ns <= now_ns + LISTENED_NS:
                found[action] += frames
        now_ns += 100 * SECOND_NS
    return found


def test_the_capture_has_every_version_and_kind_of_change() -> None:
    assert set(FRAMES) == {version.value for version in Version}
    assert all(FRAMES[version][action] for version, action in ALL)
    assert {"join", "leave", "block_sender", "join_sender", "leave_sender"} <= set(FRAMES["igmpv3"])


@pytest.mark.parametrize(("version", "action"), ALL)
def test_our_host_says_byte_for_byte_what_the_kernel_says(version: str, action: str) -> None:
    """Addresses, Router Alert, time to live, type of service, records, checksums, and the frames in 2.5 s."""
    ours, kernel = said(Version(version))[action], captured(version, action)
    assert set(ours) == set(kernel)
    if Version(version).has_records:
        assert len(ours) == len(kernel) == 2, "each change is told twice"
    else:
        # The kernel repeats a report of the older versions at a random time in 10 s, and a leave never.
        assert len(ours) == 1 <= len(kernel)


@pytest.mark.parametrize("version", FRAMES)
def test_we_understand_what_the_kernel_says(version: str) -> None:
    first, _, sender = (ip_address(text) for text in GROUPS[Version(version).ip_version])
    (join, *_), (leave, *_) = captured(version, "join"), captured(version, "leave")
    assert departures(join) == () and departures(leave) == (Departure(first),)
    if not Version(version).has_records:
        assert read(join) == OtherReport(first)
        return
    for action, kept in (("block_sender", (sender,)), ("leave_sender", (sender,))):
        assert departures(captured(version, action)[0]) == (Departure(first, kept),)
    assert departures(captured(version, "join_sender")[0]) == ()
