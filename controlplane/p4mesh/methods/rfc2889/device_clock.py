"""The transmit clock of a device, from the pace at which it sends frames of several sizes under overload.

A port that always has a frame to send starts one every ``8 (L + overhead) / (R (1 + offset))``: the time grows with the
length as the clock says, and its value at length 0 is the overhead. Frames of several sizes thus tell a fast clock,
which shortens all of them alike, from a short gap, which shortens small frames most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from p4mesh.traffic.imix import FrameSize

PPM = 1_000_000
SMALL_BYTES = 256
SMALL_SIZES_BYTES = (64, 128, SMALL_BYTES)
"""Small frames for the calibration; the others for headers that the first has no room for."""
OTHER_SIZES_BYTES = (512, 1518)
LONGEST_OFFSET_PPM = 1000
"""Ten times the tolerance of IEEE 802.3: a larger difference has another cause than a clock."""
_SIZES = 3
"""Two would always be in line."""
_SPAN = 4


@dataclass(frozen=True)
class Pace:
    """The mean distance of two frames at the receiver, in bytes at the nominal line rate."""

    frame_size_bytes: int
    slot_bytes: Fraction
    sender_slot_bytes: Fraction
    """The same at the sender."""


@dataclass(frozen=True)
class DeviceClock:
    """Estimate of the clock from the paces. Without ``offset_ppm`` there is none, and ``why`` gives the reason."""

    offset_ppm: Fraction | None
    overhead_bytes: Fraction | None = None
    """Preamble and gap, in bytes of the device's clock."""
    why: str = ""
    of_sender: bool = False
    """The device keeps up with the sender at every size: the measured pace is that of the sender."""


def calibration_sizes(sizes: Sequence[FrameSize], least_bytes: int) -> tuple[int, ...]:
    """The sizes that a calibration needs beside ``sizes``: none where these are small, large and three.

    Nor are there any where ``least_bytes``, the shortest frame, is no small one.
    """
    small = next((size for size in SMALL_SIZES_BYTES if size >= least_bytes), None)
    if small is None or _suffice(sizes):
        return ()
    return tuple(size for size in (small, *OTHER_SIZES_BYTES) if size not in sizes)


def measured_clock(paces: Sequence[Pace], tolerance_ppm: Fraction) -> DeviceClock:
    """The clock whose line through the smallest and the largest size meets all others within the tolerance."""
    own = [pace for pace in paces if pace.slot_bytes > pace.sender_slot_bytes * (1 + tolerance_ppm / PPM)]
    # Where the device keeps up with every size, no clock explains the pace of small frames.
    used = sorted(own or paces, key=lambda pace: pace.frame_size_bytes)
    if not _suffice([pace.frame_size_bytes for pace in used]):
        return DeviceClock(None, why="fewer than three sizes, small and large, at which the device sets the pace")
    first, last = used[0], used[-1]
    slope = (last.slot_bytes - first.slot_bytes) / (last.frame_size_bytes - first.frame_size_bytes)
    if slope <= 0:
        return DeviceClock(None, why="large frames do not take longer than small ones")
    offset_ppm = PPM * (1 / slope - 1)
    if abs(offset_ppm) > LONGEST_OFFSET_PPM:
        return DeviceClock(
            None, why=f"{float(offset_ppm):.0f} ppm between the smallest and the largest size do not come from a clock"
        )
    for pace in used[1:-1]:
        expected = first.slot_bytes + slope * (pace.frame_size_bytes - first.frame_size_bytes)
        if abs(expected - pace.slot_bytes) * PPM > tolerance_ppm * expected:
            sizes = f"{first.frame_size_bytes}, {pace.frame_size_bytes} and {last.frame_size_bytes} B"
            return DeviceClock(None, why=f"the paces at {sizes} are not in line")
    return DeviceClock(offset_ppm, first.slot_bytes / slope - first.frame_size_bytes, of_sender=not own)


def _suffice(sizes: Sequence[FrameSize]) -> bool:
    return len(sizes) >= _SIZES and min(sizes) <= SMALL_BYTES and max(sizes) >= _SPAN * min(sizes)
