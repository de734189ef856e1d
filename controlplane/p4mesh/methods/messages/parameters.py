"""Parameters of the message tests, and the streams and trials that they ask for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from p4mesh.errors import ParameterError
from p4mesh.methods.bed import Bed
from p4mesh.methods.options import shared
from p4mesh.methods.options.parameters import Parameter, ParameterSet, choice, decimal, integer, port_number
from p4mesh.quantities import most_text, number_text
from p4mesh.traffic.line_rate import NS_PER_S, PREAMBLE_BYTES
from p4mesh.traffic.patterns import Message, Pattern, PositionClass
from p4mesh.traffic.stream import Burst, Stream
from p4mesh.trial.spec import TrialSpec

MAX_MESSAGE_FRAMES = 2004
SECTION = "ATM Forum 97-0178"


def message_frames(default: int) -> Parameter:
    """Declare the number of frames of a message."""
    return integer(
        "message_frames", default, "frames", SECTION, "frames of a message, back to back", (1, MAX_MESSAGE_FRAMES)
    )


def messages(default: int) -> Parameter:
    """Declare the number of messages of a trial."""
    return integer("messages", default, "messages", SECTION, "messages of each measured sender", (1, 1_000_000))


MESSAGE_RATE = decimal(
    "messages_per_s", "4.63", "1/s", SECTION, "messages of the measured sender per second", ("0.001", "1000000")
)
SENDER = port_number("sender", 1, SECTION, "port that sends the measured messages")
RECEIVER = port_number("receiver", 2, SECTION, "port that receives the measured messages")

INDEPENDENT, IN_STEP = "independent", "in_step"
PHASES = choice(
    "phases",
    INDEPENDENT,
    SECTION,
    "start of each sender of several: a moment of its own within one message or burst, or all in step, which lets tail "
    "drop meet the same ones in every round",
    (INDEPENDENT, IN_STEP),
)


def phase_parameters() -> tuple[Parameter, ...]:
    """Parameters of the frame format and of the phases around a transmission."""
    return (
        shared.DEPARTURE_ERROR,
        *shared.FRAME_PARAMETERS,
        *shared.phase_parameters(SECTION),
    )


def slot_ns(bed: Bed, port: int, frame_size_bytes: int) -> Fraction:
    """The time from one frame of a message to the next, by the line of its sender."""
    found = next(item for item in bed.ports if item.number == port)
    overhead_bytes = PREAMBLE_BYTES + Fraction(found.ifg_bits, 8)
    return 8 * (frame_size_bytes + overhead_bytes) * NS_PER_S / Fraction(found.own_rate_bps)


def require_measured_ports(test: str, bed: Bed, parameters: ParameterSet) -> tuple[int, int]:
    """Sender and receiver of the measured messages; raise ParameterError for ports that there are not."""
    sender, receiver = (bed.require_port(one.name, parameters.integer(one.name)) for one in (SENDER, RECEIVER))
    if sender == receiver:
        raise ParameterError(f"{test}: port {sender} would send to itself", hint="name another receiver")
    return sender, receiver


def require_room(test: str, bed: Bed, port: int, sizes: Sequence[int], frames: int, messages_per_s: Fraction) -> None:
    """Raise ParameterError when a message is not over before the next one begins."""
    longest = frames * slot_ns(bed, port, max(sizes))
    if longest * messages_per_s > NS_PER_S:
        raise ParameterError(
            f"{test}: a message of {frames:,} frames of {max(sizes)} B takes {number_text(longest / 1000)} us of the "
            f"line of port {port}, and {number_text(messages_per_s)} a second leave "
            f"{number_text(10**6 / messages_per_s)} us",
            hint=f"at most {most_text(NS_PER_S / longest, 6)} messages a second, or shorter ones",
        )


def position_classes(frames: int) -> tuple[PositionClass, ...]:
    """First, second, middle, last but one and last position, and the ranges between them."""
    middle = frames // 2 + 1
    single = sorted({position for position in (1, 2, middle, frames - 1, frames) if 1 <= position <= frames})
    classes: list[PositionClass] = []
    for before, position in zip([0, *single], single, strict=False):
        if position - before > 1:
            classes.append(PositionClass(before + 1, position - 1))
        classes.append(PositionClass(position, position))
    return tuple(classes)


def message_stream(
    name: str,
    parameters: ParameterSet,
    frame_size_bytes: int,
    order: Pattern,
    tx_ports: tuple[int, ...],
    rx_ports: tuple[int, ...],
    messages_per_s: Fraction,
) -> Stream:
    frames, count = parameters.integer("message_frames"), parameters.integer("messages")
    return Stream(
        name,
        frame_size_bytes,
        messages_per_s * frames,
        count * frames,
        Message(order, frames, position_classes(frames)),
        tx_ports,
        rx_ports,
        shared.frame_of(parameters),
        burst=Burst(frames) if frames > 1 else None,
    )


def message_trial(parameters: ParameterSet, label: str, streams: tuple[Stream, ...]) -> TrialSpec:
    """The trial of streams that begin together."""
    length_ns = max(int(stream.frame_count * NS_PER_S / stream.rate_fps) for stream in streams)
    spec = shared.trial_of(parameters, label, streams, length_ns, per_flow=True)
    return replace(spec, departure_error_ns=shared.departure_error_ns(parameters))
