"""Frame sizes in turn: the entries of each stream's sizes, and the order in which a transmitter goes through them."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd, lcm

from p4mesh.errors import ParameterError
from p4mesh.tester.frames import FCS_BYTES, minimum_frame_bytes, payload_sums
from p4mesh.traffic.stream import Stream


@dataclass(frozen=True)
class FrameSize:
    """One size of the frames of a stream."""

    length_bytes: int
    """Length without FCS."""
    shorter_bytes: int
    """Difference to the seed."""
    payload_sum: int
    """Ones' complement sum of the payload behind the signature, for a checksum that covers it."""


@dataclass(frozen=True)
class SizeTurn:
    """The frame sizes of a transmitter."""

    first_entry: int
    last_step: int
    last_round_frame: int
    """Frames of a round less one: behind each round one step is left out; 0 = none."""


def frame_sizes_of(stream: Stream) -> list[FrameSize]:
    """Sizes in turn of a stream; none where all its frames are as long as their seeds.

    Raises ParameterError for a size that has no room for the headers and the signature.
    """
    sizes = stream.sizes_in_turn_bytes
    if not sizes:
        return []
    if min(sizes) < (minimum := minimum_frame_bytes(stream.frame)):
        raise ParameterError(
            f"stream '{stream.name}': a frame of {min(sizes)} bytes has no room for its headers and the signature",
            hint=f"use sizes of {minimum} bytes or more",
        )
    return [
        FrameSize(size - FCS_BYTES, stream.frame_size_bytes - size, total)
        for size, total in zip(sizes, payload_sums(stream.frame, sizes, stream.payload), strict=True)
    ]


def size_turn_of(stream: Stream, first_entry: int, positions: int) -> SizeTurn | None:
    """Order in which a transmitter with so many destinations goes through the sizes; None without sizes in turn.

    Frame n has size number ``(n + n // round) mod count``, and a round is the least common multiple of both numbers: in
    ``count * positions`` frames each destination gets every size once.
    """
    count = len(stream.sizes_in_turn_bytes)
    if not count:
        return None
    return SizeTurn(first_entry, count - 1, lcm(count, positions) - 1 if gcd(count, positions) > 1 else 0)
