"""Makes the test beds that methods see: tester ports without a target."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from p4mesh.methods.bed import Bed, Port

GIGABIT = 10**9


def make_bed(
    count: int = 4,
    rates_bps: int | Sequence[int] = GIGABIT,
    *,
    behind: str = "",
    ifg_bits: int = 96,
    padding: Collection[int] | None = None,
    clocks_ppm: Sequence[float] = (),
    topology: str = "fake",
    **more: Any,
) -> Bed:
    """A bed with the ports 1 to ``count``, or one for each of ``rates_bps``.

    ``behind`` names the node behind each port with one letter, ``padding`` the ports that pad short frames (all of
    them where it is not given), ``clocks_ppm`` the offset of each port's clock. ``more`` are further fields of the bed.
    """
    rates = [rates_bps] * count if isinstance(rates_bps, int) else rates_bps
    ports = tuple(
        Port(
            number,
            f"p{number}",
            rate_bps,
            ifg_bits,
            behind[number - 1] if behind else "",
            pads_short_frames=padding is None or number in padding,
            clock_offset_ppm=clocks_ppm[number - 1] if clocks_ppm else 0,
        )
        for number, rate_bps in enumerate(rates, 1)
    )
    return Bed(topology, ports, **more)


def two_switch_bed(**more: Any) -> Bed:
    """A bed on which every test can run: four ports on two switches, a short gap, frames of any size, BGP."""
    more = {"announces_routes": True, **more}
    return make_bed(behind="aabb", ifg_bits=88, padding=(), uplink_rate_bps=GIGABIT, **more)
