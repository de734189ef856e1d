"""One iteration of the address tests (RFC 2889 5.7, 5.8): learn n addresses, then send to all of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from math import ceil

from p4mesh.errors import ParameterError
from p4mesh.layers import Modifiable, ethernet
from p4mesh.methods.base import Session, TrialNote
from p4mesh.methods.bed import Bed
from p4mesh.methods.options import shared
from p4mesh.methods.options.parameters import (
    Kind,
    Parameter,
    ParameterSet,
    boolean,
    choice,
    decimal,
    integer,
    port_number,
)
from p4mesh.methods.results.metrics import search_verdict
from p4mesh.methods.rfc2889.address_results import Iteration
from p4mesh.quantities import typed_text
from p4mesh.traffic.addresses import random_offsets
from p4mesh.traffic.line_rate import NS_PER_S
from p4mesh.traffic.patterns import Broadcast, Pairs
from p4mesh.traffic.rates import line_share
from p4mesh.traffic.stream import FieldModifier, Progression, Stream, ValueList
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import Learning, TrialSpec
from p4mesh.verdict import Verdict

MIN_PORTS = 3
INCREMENTING, RANDOM = "incrementing", "random"
TEST_PORT, BROADCAST = "test_port", "broadcast"
NATIVE, BASE = "native", "base"
SAME = "same"
FASTEST_FPS = ("0.1", "1000000")
_TARGETS = (TEST_PORT, BROADCAST)
_PIECES = 8
"""Trials that the test direction is cut into where it stops at a flooded frame."""
_GROUP_BIT = 1
_UNKNOWN = 10
"""Addresses that nobody has, to which T sends where no flood was seen: more than a device loses by chance."""
_UNMONITORED = (
    "frames to unknown addresses come to L and to no monitoring port, so nobody sees a flood: RFC 2889 5.7 asks for a "
    "monitoring port in the VLAN of L and T"
)


def address_parameters(section: str) -> tuple[Parameter, ...]:
    """The parameters of both address tests; ``section`` is the clause about their set-up."""
    return (
        port_number("learning_port", 1, section, "L: the port that the addresses are behind"),
        port_number("test_port", 2, section, "T: the port that sends to them; all others monitor"),
        Parameter(
            "mac_base", Kind.TEXT, "02:F4:BC", "", section, "first half of the addresses; port and counter follow"
        ),
        choice("address_order", INCREMENTING, section, "addresses behind L", (INCREMENTING, RANDOM)),
        choice(
            "test_port_mac", NATIVE, section, "address of T: that of its port, or with mac_base too", (NATIVE, BASE)
        ),
        choice(
            "learning_destination", TEST_PORT, section, "where L sends to: the address of T, or broadcasts", _TARGETS
        ),
        decimal(
            "test_rate_fps",
            SAME,
            "frames/s",
            section,
            "rate at which T sends; same = as learning",
            FASTEST_FPS,
            (SAME,),
        ),
        boolean("fast_stop", False, section, "T stops after the eighth of its frames in which one was flooded"),
        integer("repetitions", 3, "searches", section, "searches, each with its own address base", (1, 100)),
        *shared.FRAME_PARAMETERS,
        decimal("learning_wait_ms", "1000", "ms", section, "silence between learning and test", ("0", "600000")),
        decimal("settle_ms", "5000", "ms", "RFC 2544 23", "wait for residual frames", ("0", "600000")),
    )


@dataclass(frozen=True)
class AddressPorts:
    """Learning port and sending port; every other port monitors."""

    learning: int
    test: int


def ports_of(test: str, bed: Bed, parameters: ParameterSet) -> AddressPorts:
    """The learning and the sending port; raises ParameterError when they are the same or not in the topology."""
    bed.require_ports(test, MIN_PORTS)
    roles = AddressPorts(parameters.integer("learning_port"), parameters.integer("test_port"))
    if roles.learning == roles.test or not {roles.learning, roles.test} <= set(bed.port_numbers):
        raise ParameterError(
            f"learning_port={roles.learning}, test_port={roles.test}: two different ports are needed",
            hint=f"ports are {bed.port_numbers[0]} to {bed.port_numbers[-1]}",
        )
    return roles


def mac_base_of(parameters: ParameterSet) -> bytes:
    """The first three bytes of all addresses; raises ParameterError for anything but a unicast prefix."""
    text = parameters.text("mac_base")
    try:
        base = bytes.fromhex(text.replace(":", "").replace("-", ""))
    except ValueError:
        base = b""
    if len(base) != 3 or base[0] & _GROUP_BIT:
        raise ParameterError(
            f"--set mac_base={text}: not valid",
            hint="mac_base is three bytes of a unicast address, such as 02:F4:BC",
        )
    return base


@dataclass(frozen=True)
class AddressTrial:
    """The settings that all iterations of one search share."""

    frame_size_bytes: int
    repetition: int
    ports: AddressPorts
    bed: Bed
    parameters: ParameterSet

    def judge(
        self, subject: str, addresses: int, rate_fps: Fraction, session: Session, remaining: int
    ) -> tuple[Verdict, Iteration]:
        """Learn ``addresses`` at ``rate_fps`` and send to each once; FAIL on any flood or loss.

        The verdict is that for the search, the one in the row that on the device.
        """
        spec = self._learn(addresses, rate_fps)
        learned = session.measure(spec, TrialNote(self._load_pct(spec), remaining + 1))
        tested = self._send_to_all(addresses, rate_fps, learned, session, remaining)
        verdict = _verdict(learned, tested, addresses)
        undelivered = next((part for part in (learned, *tested) if part.undelivered), learned)
        return search_verdict(undelivered, verdict), Iteration(
            search=subject,
            frame_size_bytes=self.frame_size_bytes,
            repetition=self.repetition,
            addresses=addresses,
            learning_rate_fps=float(rate_fps),
            learning_tx_frames=learned.tx_frames,
            test_tx_frames=sum(part.tx_frames for part in tested),
            learning_rx_frames=sum(part.rx_frames - part.duplicate_frames for part in tested),
            learning_flood_frames=_flooded(tested, {self.ports.learning}),
            test_flood_frames=_flooded(tested, {self.ports.test}),
            monitor_flood_frames=_monitored(tested, self.ports),
            held_addresses=_held(tested, self.ports),
            lost_frames=sum(part.lost_frames for part in (learned, *tested)),
            verdict=verdict,
            reason=next((part.reason for part in (learned, *tested) if part.reason), ""),
        )

    def unmonitored(self, rate_fps: Fraction, session: Session) -> str:
        """The reason why floods would not be seen; empty where a monitoring port gets frames to unknown addresses.

        A device that drops such frames has none to be seen.
        """
        spec = self._send(0, _UNKNOWN, rate_fps)
        stream = replace(spec.streams[0], destination_mac=self._mac(self.ports.test, 1))
        label = f"test {self.frame_size_bytes} B {_UNKNOWN} unknown addresses"
        result = session.measure(replace(spec, label=label, streams=(stream,)), TrialNote(self._load_pct(spec), 0))
        if not result.status.trusted:
            return result.reason
        return _UNMONITORED if result.rx_frames and not _monitored([result], self.ports) else ""

    def _send_to_all(
        self, addresses: int, rate_fps: Fraction, learned: TrialResult, session: Session, remaining: int
    ) -> list[TrialResult]:
        """Send to every address once, in pieces where the test is to stop early."""
        size = ceil(addresses / _PIECES) if self.parameters.flag("fast_stop") else addresses
        tested: list[TrialResult] = []
        for first in range(0, addresses, size):
            count = min(size, addresses - first)
            spec = self._send(first, count, rate_fps)
            judge = partial(_verdict_with, learned, tuple(tested), first + count)
            tested.append(session.measure(spec, TrialNote(self._load_pct(spec), remaining, judge)))
            if _verdict(learned, tested, first + count) is not Verdict.PASS:
                break
        return tested

    def _load_pct(self, spec: TrialSpec) -> Fraction:
        (stream,) = spec.streams
        return 100 * line_share(stream.rate_fps, self.frame_size_bytes, self.bed.rate_bps(stream.tx_ports[0]))

    def _mac(self, port: int, counter: int) -> bytes:
        """Base, port and counter; every repetition has 16 port numbers of its own."""
        place = (port + 16 * (self.repetition - 1)) & 0xFF
        return mac_base_of(self.parameters) + bytes([place]) + counter.to_bytes(2, "big")

    @property
    def _sender_mac(self) -> bytes | None:
        """The address of T, None for the one that its port has anyway."""
        return self._mac(self.ports.test, 0) if self.parameters.text("test_port_mac") == BASE else None

    def _modifier(self, field: Modifiable, first: int, count: int) -> tuple[bytes, FieldModifier]:
        """The first of ``count`` addresses behind L, and the modifier that makes the others of it; their counter
        starts at 1.
        """
        if self.parameters.text("address_order") == INCREMENTING:
            return self._mac(self.ports.learning, 1 + first), FieldModifier(field, Progression(count))
        offsets = random_offsets(first + count, self.repetition)[first:]
        return self._mac(self.ports.learning, 1), FieldModifier(field, ValueList(offsets))

    def _learn(self, addresses: int, rate_fps: Fraction) -> TrialSpec:
        to_test_port = self.parameters.text("learning_destination") == TEST_PORT
        base, modifier = self._modifier(ethernet.SOURCE, 0, addresses)
        own = self._sender_mac
        stream = Stream(
            "learn",
            self.frame_size_bytes,
            rate_fps,
            addresses,
            Pairs() if to_test_port else Broadcast(),
            (self.ports.learning,),
            (self.ports.test,),
            shared.frame_of(self.parameters),
            modifiers=(modifier,),
            source_mac=base,
            destination_mac=own if to_test_port else None,
        )
        addressed = () if own is None else ((self.ports.test, own),)
        return TrialSpec(
            f"learn {self.frame_size_bytes} B {addresses} addresses at {typed_text(rate_fps)} frames/s",
            (stream,),
            _duration_ns(addresses, rate_fps),
            Learning(ports=(self.ports.test,), addresses=addressed, wait_ns=0, verify=False),
            shared.nanoseconds(self.parameters, "settle_ms"),
            shared.nanoseconds(self.parameters, "learning_wait_ms"),
        )

    def _send(self, first: int, count: int, learning_fps: Fraction) -> TrialSpec:
        rate_fps = _test_rate_fps(learning_fps, self.parameters)
        base, modifier = self._modifier(ethernet.DESTINATION, first, count)
        stream = Stream(
            "test",
            self.frame_size_bytes,
            rate_fps,
            count,
            Pairs(),
            (self.ports.test,),
            (self.ports.learning,),
            shared.frame_of(self.parameters),
            modifiers=(modifier,),
            source_mac=self._sender_mac,
            destination_mac=base,
        )
        return TrialSpec(
            f"test {self.frame_size_bytes} B {count} addresses from {first + 1}",
            (stream,),
            _duration_ns(count, rate_fps),
            Learning(enabled=False),
            shared.nanoseconds(self.parameters, "settle_ms"),
            0,
            continues=True,
        )


def age_s(addresses: int, rate_fps: Fraction, parameters: ParameterSet) -> Fraction:
    """Age in seconds that the oldest address has at least when T sends to it; all have it where T is as fast as L."""
    silence_ns = sum(shared.nanoseconds(parameters, name) for name in ("settle_ms", "learning_wait_ms"))
    later_s = addresses / _test_rate_fps(rate_fps, parameters) - addresses / rate_fps
    return Fraction(_duration_ns(addresses, rate_fps) + silence_ns, NS_PER_S) + max(Fraction(0), later_s)


def _test_rate_fps(learning_fps: Fraction, parameters: ParameterSet) -> Fraction:
    return learning_fps if parameters.is_word("test_rate_fps") else parameters.number("test_rate_fps")


def _duration_ns(frames: int, rate_fps: Fraction) -> int:
    """Time of one direction: whole seconds for all frames, and one more."""
    return (ceil(frames / rate_fps) + 1) * NS_PER_S


def _flooded(tested: Sequence[TrialResult], ports: Collection[int] | None = None) -> int:
    """The frames flooded to all ports, or to some."""
    return sum(port.flooded_frames for part in tested for port in part.ports if ports is None or port.port in ports)


def _monitored(tested: Sequence[TrialResult], ports: AddressPorts) -> int:
    """The flooded frames that monitoring ports got."""
    return _flooded(tested) - _flooded(tested, {ports.learning, ports.test})


def _held(tested: Sequence[TrialResult], ports: AddressPorts) -> int:
    """The addresses whose frames were not flooded: every monitoring port gets each flooded frame."""
    roles = (ports.learning, ports.test)
    return sum(
        part.tx_frames - max((port.flooded_frames for port in part.ports if port.port not in roles), default=0)
        for part in tested
    )


def _verdict_with(learned: TrialResult, before: tuple[TrialResult, ...], addresses: int, last: TrialResult) -> Verdict:
    return _verdict(learned, (*before, last), addresses)


def _verdict(learned: TrialResult, tested: Sequence[TrialResult], addresses: int) -> Verdict:
    """PASS where ``addresses`` frames came back to L and no frame was flooded."""
    for result in (learned, *tested):
        if result.status is Verdict.ABORT:
            return Verdict.ABORT
        if result.status is Verdict.INVALID:
            return Verdict.INVALID
    arrived = sum(part.rx_frames - part.duplicate_frames for part in tested)
    flooded = any(part.flooded_frames for part in tested)
    return Verdict.PASS if arrived == addresses and not flooded and learned.lost_frames == 0 else Verdict.FAIL
