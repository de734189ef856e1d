"""One iteration of the address tests (RFC 2889 5.7, 5.8): learn n addresses, then send to all of them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from p4mesh.errors import ParameterError
from p4mesh.methods import shared_parameters as shared
from p4mesh.methods.base import Session, TrialNote, UnitResult
from p4mesh.methods.bed import TestBed
from p4mesh.methods.outcome import Column
from p4mesh.methods.parameters import Parameter, ParameterSet, choice, decimal, integer
from p4mesh.methods.search import Verdict
from p4mesh.traffic.addresses import random_offsets
from p4mesh.traffic.line_rate import NS_PER_S
from p4mesh.traffic.stream import FieldModifier, ModifiedField, PatternKind, Progression, Stream, ValueList
from p4mesh.trial.result import Status, TrialResult
from p4mesh.trial.spec import Learning, TrialSpec

MIN_PORTS = 3
_MAC_BASE = bytes.fromhex("02f4bc")
INCREMENTING, RANDOM = "incrementing", "random"
TEST_PORT, BROADCAST = "test_port", "broadcast"
_TARGETS = (TEST_PORT, BROADCAST)
_VERIFY_FPS = Fraction(1000)
_HUNDRED = Fraction(100)

ROW_COLUMNS = (
    Column("frame_size_bytes", "Frame size", "B"),
    Column("repetition", "Base"),
    Column("addresses", "Addresses", "n"),
    Column("learning_rate_fps", "Learning rate", "frames/s", 2),
    Column("learning_tx_frames", "L Tx", "frames"),
    Column("test_tx_frames", "T Tx", "frames"),
    Column("test_flood_frames", "T flood", "frames"),
    Column("learning_rx_frames", "L Rx correct", "frames"),
    Column("learning_flood_frames", "L flood", "frames"),
    Column("monitor_flood_frames", "M flood", "frames"),
    Column("verdict", "Result"),
)


def address_parameters(section: str) -> tuple[Parameter, ...]:
    """Return what both address tests need; ``section`` is the clause about their set-up."""
    return (
        integer("learning_port", 1, "port number", section, "L: the port that the addresses are behind", (1, 512)),
        integer("test_port", 2, "port number", section, "T: the port that sends to them; all others monitor", (1, 512)),
        choice("address_order", INCREMENTING, section, "addresses behind L", (INCREMENTING, RANDOM)),
        choice(
            "learning_destination", TEST_PORT, section, "where L sends to: the address of T, or broadcasts", _TARGETS
        ),
        integer("repetitions", 3, "searches", section, "searches, each with its own address base", (1, 100)),
        *shared.FRAME_PARAMETERS,
        decimal("learning_wait_ms", "2000", "ms", section, "silence between learning and test", ("0", "600000")),
        decimal("settle_ms", "2000", "ms", "RFC 2544 23", "wait for residual frames", ("0", "600000")),
    )


@dataclass(frozen=True)
class AddressPorts:
    """Who learns, who sends; every other port monitors."""

    learning: int
    test: int


def ports_of(test: str, bed: TestBed, parameters: ParameterSet) -> AddressPorts:
    """Return the roles; raises ParameterError when they are the same or not in the topology."""
    bed.require_ports(test, MIN_PORTS)
    roles = AddressPorts(parameters.integer("learning_port"), parameters.integer("test_port"))
    if roles.learning == roles.test or not {roles.learning, roles.test} <= set(bed.port_numbers):
        raise ParameterError(
            f"learning_port={roles.learning}, test_port={roles.test}: two different ports are needed",
            hint=f"ports are {bed.port_numbers[0]} to {bed.port_numbers[-1]}",
        )
    return roles


@dataclass(frozen=True)
class AddressTrial:
    """Everything that is the same for all iterations of one search."""

    frame_size_bytes: int
    repetition: int
    ports: AddressPorts
    parameters: ParameterSet

    def judge(self, addresses: int, rate_fps: Fraction, session: Session, remaining: int) -> tuple[Verdict, UnitResult]:
        """Learn ``addresses`` at ``rate_fps`` and send to each once; FAIL on any flood or loss."""
        learned = session.measure(self._learn(addresses, rate_fps), TrialNote(_HUNDRED, remaining + 1))
        note = TrialNote(_HUNDRED, remaining, lambda tested: _verdict(learned, tested))
        tested = session.measure(self._test(addresses), note)
        verdict = _verdict(learned, tested)
        counts = {port.port: port for port in tested.ports}
        flooded = {number: port.flooded_frames for number, port in counts.items()}
        return verdict, {
            "frame_size_bytes": self.frame_size_bytes,
            "repetition": self.repetition,
            "addresses": addresses,
            "learning_rate_fps": float(rate_fps),
            "learning_tx_frames": learned.tx_frames,
            "test_tx_frames": tested.tx_frames,
            "learning_rx_frames": tested.rx_frames - tested.duplicate_frames,
            "learning_flood_frames": flooded.get(self.ports.learning, 0),
            "test_flood_frames": flooded.get(self.ports.test, 0),
            "monitor_flood_frames": sum(
                count for port, count in flooded.items() if port not in (self.ports.learning, self.ports.test)
            ),
            "verdict": verdict.value,
            "reason": learned.reason or tested.reason,
        }

    @property
    def _base(self) -> bytes:
        """02:F4:BC, then port and repetition; the counter of the addresses is added from 1."""
        return _MAC_BASE + bytes([(self.ports.learning + 16 * (self.repetition - 1)) & 0xFF]) + b"\x00\x01"

    def _modifier(self, field: ModifiedField, addresses: int) -> FieldModifier:
        if self.parameters.text("address_order") == INCREMENTING:
            return FieldModifier(field, Progression(addresses))
        return FieldModifier(field, ValueList(random_offsets(addresses, self.repetition)))

    def _learn(self, addresses: int, rate_fps: Fraction) -> TrialSpec:
        stream = Stream(
            "learn",
            self.frame_size_bytes,
            rate_fps,
            addresses,
            PatternKind.PAIRS if self.parameters.text("learning_destination") == TEST_PORT else PatternKind.BROADCAST,
            (self.ports.learning,),
            (self.ports.test,),
            shared.template_of(self.parameters),
            modifiers=(self._modifier(ModifiedField.ETHERNET_SRC, addresses),),
            source_mac=self._base,
        )
        return TrialSpec(
            f"learn {self.frame_size_bytes} B {addresses} addresses at {float(rate_fps):g} frames/s",
            (stream,),
            _duration_ns(addresses, rate_fps),
            Learning(ports=(self.ports.test,), wait_ns=0, verify=False),
            shared.nanoseconds(self.parameters, "settle_ms"),
            shared.nanoseconds(self.parameters, "learning_wait_ms"),
        )

    def _test(self, addresses: int) -> TrialSpec:
        stream = Stream(
            "test",
            self.frame_size_bytes,
            _VERIFY_FPS,
            addresses,
            PatternKind.PAIRS,
            (self.ports.test,),
            (self.ports.learning,),
            shared.template_of(self.parameters),
            modifiers=(self._modifier(ModifiedField.ETHERNET_DST, addresses),),
            destination_mac=self._base,
        )
        return TrialSpec(
            f"test {self.frame_size_bytes} B {addresses} addresses",
            (stream,),
            _duration_ns(addresses, _VERIFY_FPS),
            Learning(enabled=False),
            shared.nanoseconds(self.parameters, "settle_ms"),
            0,
            continues=True,
        )


def _duration_ns(frames: int, rate_fps: Fraction) -> int:
    return int(frames * NS_PER_S / rate_fps) + 1


def _verdict(learned: TrialResult, tested: TrialResult) -> Verdict:
    for result in (learned, tested):
        if result.status is Status.ABORT:
            return Verdict.ABORT
        if result.status is Status.INVALID:
            return Verdict.INVALID
    complete = tested.lost_frames == 0 and tested.flooded_frames == 0
    return Verdict.PASS if complete and learned.lost_frames == 0 else Verdict.FAIL
