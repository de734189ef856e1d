"""Bytes of seeds and of learning frames. Built once per stream, never per frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from p4mesh.errors import ParameterError
from p4mesh.layers import PLAIN, Ethernet, Frame, IPv6, Vlan
from p4mesh.layers.checksum import ones_complement_sum
from p4mesh.layers.frame import TUNNEL_BYTES
from p4mesh.tester.invariant_crc import BALANCE_BYTES, balance_of_seed
from p4mesh.traffic.addresses import BROADCAST_MAC
from p4mesh.traffic.stream import COUNTING

SIGNATURE_BYTES = 18
FCS_BYTES = 4
_LEARNING_FRAME_BYTES = 60
"""Length of an untagged learning frame, without FCS."""


@lru_cache(maxsize=64)
def seed_payload(
    frame: Frame, frame_size_bytes: int, pattern: bytes = COUNTING, *, check_covers_payload: bool = False
) -> bytes:
    """Write a seed behind its loop header, which has the size of the signature.

    The loop header and these bytes are ``frame_size_bytes`` - 4 long: a seed is as long as the frames made from it. The
    payload is the ``pattern`` again and again, which counts up (methodology 0.2). Addresses of stations are zeros, but
    where segments are left the destination is the last one: the program makes checksums with it. The signature adds
    nothing to a checksum that covers it: its own check makes its sum zero, or that of signature and payload where it
    covers both. Tofino does not see a whole frame: it changes such a checksum by its changes to the headers.
    """
    rest = frame_size_bytes - minimum_frame_bytes(frame)
    if rest < 0:
        raise _too_short(frame, frame_size_bytes)
    payload, balance = _payload(rest + frame.trailer_bytes, pattern), b""
    summed = bytes(rest) if check_covers_payload else payload[:rest]
    in_front = bytes_before_signature(frame) - frame.header_bytes
    whole = _to_last_segment(frame).write(bytes(in_front + SIGNATURE_BYTES) + summed)
    headers = whole[: frame.header_bytes]
    for place, layer in enumerate(frame.layers):
        if layer.trailer_bytes:
            behind = sum(other.header_bytes for other in frame.layers[place + 1 :])
            constant = headers[frame.header_bytes - behind :]
            balance = balance_of_seed(constant, payload, SIGNATURE_BYTES, wrong=place in frame.bad_checksums)
    return headers + balance + payload


def _to_last_segment(frame: Frame) -> Frame:
    """Where segments are left, the station's packet in a seed has the last one as its destination, for checksums."""
    network = frame.network
    if not frame.path or not isinstance(network, IPv6):
        return frame
    place, final = frame.layers.index(network), frame.path[-1].final_destination
    return Frame((*frame.layers[:place], replace(network, destination=final), *frame.layers[place + 1 :]))


def payload_sums(frame: Frame, frame_sizes_bytes: Sequence[int], pattern: bytes = COUNTING) -> list[int]:
    """Sum the payload behind the signature of a frame of each size, in ones' complement."""
    in_front = bytes_before_signature(frame) + SIGNATURE_BYTES + FCS_BYTES
    return [ones_complement_sum(_payload(size - in_front, pattern)) for size in frame_sizes_bytes]


def _payload(length_bytes: int, pattern: bytes) -> bytes:
    return (pattern * -(-length_bytes // len(pattern)))[:length_bytes]


def learning_frame(source_mac: bytes, vids: tuple[int, ...] = ()) -> bytes:
    """Write a broadcast frame from which a bridge learns ``source_mac`` in a VLAN (methodology 0.3 b)."""
    frame = PLAIN.changed(Ethernet, destination=BROADCAST_MAC, source=source_mac).tagged(*vids)
    return frame.write(bytes(_LEARNING_FRAME_BYTES - PLAIN.header_bytes))


def minimum_frame_bytes(frame: Frame) -> int:
    """Length of the shortest frame with these headers that still carries a signature, FCS included."""
    return bytes_before_signature(frame) + SIGNATURE_BYTES + frame.trailer_bytes + FCS_BYTES


def bytes_before_signature(frame: Frame) -> int:
    """Length of the headers, and of the balance that makes the CRC of a trailer right."""
    return frame.header_bytes + (BALANCE_BYTES if frame.trailer_bytes else 0)


def _too_short(frame: Frame, frame_size_bytes: int) -> ParameterError:
    minimum = minimum_frame_bytes(frame)
    kind = f"IPv{frame.network.version}/UDP" if frame.network else "plain Ethernet"
    tagged = len(frame.all_of(Vlan))
    tags = f" with {tagged} VLAN tags" if tagged else ""
    tags += " in a GRE tunnel" if frame.tunnel else ""
    without = f" ({minimum - TUNNEL_BYTES} without the tunnel)" if frame.tunnel else ""
    return ParameterError(
        f"frame size {frame_size_bytes}: {kind}{tags} and the 18-byte signature need {minimum} bytes",
        hint=f"use {minimum} bytes or more{without}, or a shorter frame format",
    )
