"""Messages about groups, held against those of the Linux kernel (scripts/capture_group_messages.py)."""

from __future__ import annotations

import json
from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

import pytest

from p4mesh.tester.responders.port_hosts import group_hosts, querier
from p4mesh.tester.stations import Station, station
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
    """A frame without padding: the kernel leaves it to the interface."""
    if frame[12:14] == b"\x08\x00":
        return frame[: 14 + int.from_bytes(frame[16:18], "big")]
    return frame[: 14 + 40 + int.from_bytes(frame[18:20], "big")]


def captured(version: str, action: str) -> list[bytes]:
    return [comparable(bytes.fromhex(frame)) for frame in FRAMES[version][action]]


def said(version: Version) -> dict[str, list[bytes]]:
    """The frames of our host for each action of the capture, one action 100 s after the other."""
    # The kernel repeats a report of the older versions at a random time in 10 s, and a leave never.
    times = 2 if version.has_records else 1
    hosts = group_hosts([HOST], version, joins_per_s=1000, robustness=times, seed=1).hosts
    first, second, sender = (ip_address(text) for text in GROUPS[version.ip_version])
    acts: dict[str, Callable[[int], None]] = {
        "join": lambda now: hosts.join(1, [first], now),
        "join_second": lambda now: hosts.join(1, [second], now),
        "block_sender": lambda now: hosts.join(1, [first], now, [sender]),
        "unblock_sender": lambda now: hosts.join(1, [first], now),
        "leave": lambda now: hosts.leave(1, [first], now),
        "leave_second": lambda now: hosts.leave(1, [second], now),
        "join_sender": lambda now: hosts.join(1, [first], now, [sender], exclude=False),
        "leave_sender": lambda now: hosts.leave(1, [first], now),
    }
    found: dict[str, list[bytes]] = {}
    now_ns = 0
    for action in FRAMES[version.value]:
        acts[action](now_ns)
        found[action] = []
        while (due_ns := hosts.next_event()) is not None:
            frames = [comparable(frame) for _, frame, _ in hosts.on_time(due_ns)]
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
        assert len(ours) == 1 <= len(kernel)


def asked_after(version: Version, frame: bytes) -> list[bytes]:
    """The questions of a querier that hears a frame, without its general query."""
    given = querier(station(2), version, 0, interval_ns=100 * SECOND_NS, robustness=1).hosts
    given.on_time(0)
    given.on_frame(2, frame, 1)
    return [question for _, question, _ in given.on_time(SECOND_NS)]


@pytest.mark.parametrize("version", FRAMES)
def test_we_understand_what_the_kernel_says(version: str) -> None:
    spoken = Version(version)
    first, _, sender = (ip_address(text) for text in GROUPS[spoken.ip_version])
    (join, *_), (leave, *_) = captured(version, "join"), captured(version, "leave")
    assert asked_after(spoken, join) == []
    (question,) = asked_after(spoken, leave)
    assert first.packed in question and sender.packed not in question
    if spoken.has_records:
        for action in ("block_sender", "leave_sender"):
            (question,) = asked_after(spoken, captured(version, action)[0])
            assert first.packed in question and sender.packed in question
        assert asked_after(spoken, captured(version, "join_sender")[0]) == []
        return
    other = group_hosts([station(3)], spoken, joins_per_s=1000, robustness=1, seed=1).hosts
    other.join(3, [first], 0)
    other.on_time(0)
    other.on_frame(3, asked_after(spoken, leave)[0], SECOND_NS)
    assert other.next_event() is not None
    other.on_frame(3, join, SECOND_NS)
    assert other.next_event() is None, "the kernel's report makes its own one needless"
