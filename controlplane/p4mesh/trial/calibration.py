"""Holds the latency over wires: the tester's own part of every latency (RFC 8238 4.3).

A wire joins two tester ports without a device. Its latency, per ordered pair of ports, line rates and frame size, is
shown beside latencies of devices and subtracted only where a table says so. Where MACs keep when a frame leaves, the
time from its stamp to there stands for the wires of a transmit port to all receivers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Annotated

from msgspec import Meta

from p4mesh.errors import CalibrationError
from p4mesh.quantities import number_text
from p4mesh.traffic.imix import FrameSize
from p4mesh.traffic.line_rate import LARGEST_FRAME_BYTES, SMALLEST_FRAME_BYTES

_MOST_NS = 10**12
_Words = Annotated[str, Meta(max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")]
_Port = Annotated[int, Meta(ge=1, le=512)]
_Rate = Annotated[int, Meta(ge=1, le=10**13)]
_Latency = Annotated[float, Meta(ge=0, le=_MOST_NS)]


@dataclass(frozen=True)
class CalibrationRun:
    """One measurement of wires: where and when."""

    topology: _Words
    topology_sha256: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
    target: _Words
    resolution_ns: Annotated[float, Meta(gt=0, le=_MOST_NS)]
    date_utc: _Words
    version: _Words


@dataclass(frozen=True)
class Wire:
    """Latency over one wire in one direction, first bit sent to first bit received, for one frame size."""

    tx_port: _Port
    rx_port: _Port | None
    """None: no wire; the latency is that from the transmit stamp to the first bit, as the MAC has kept it."""
    tx_rate_bps: _Rate
    rx_rate_bps: _Rate | None
    frame_size_bytes: Annotated[int, Meta(ge=SMALLEST_FRAME_BYTES, le=LARGEST_FRAME_BYTES)]
    median_ns: _Latency
    median_error_ns: _Latency
    """Half the bin of the histogram that the median was read from, or the spread of the times of the MAC; 0 when all
    frames took the same time."""
    min_ns: _Latency
    max_ns: _Latency
    samples: Annotated[int, Meta(ge=1, le=2**63 - 1)]
    run: Annotated[int, Meta(ge=0, le=2**63 - 1)]
    """Place in the list of measurements."""

    @property
    def place(self) -> tuple[int, int, int]:
        """Key of a wire: transmit port, receive port or 0, frame size."""
        return self.tx_port, self.rx_port or 0, self.frame_size_bytes

    def __str__(self) -> str:
        """Name of the wire in messages."""
        ports = f"ports {self.tx_port} -> {self.rx_port}" if self.rx_port else f"port {self.tx_port}"
        return f"{ports}, {self.frame_size_bytes} B"


@dataclass(frozen=True)
class Calibration:
    """All wires that were measured with one tester."""

    runs: tuple[CalibrationRun, ...]
    wires: tuple[Wire, ...]

    @cached_property
    def _by_place(self) -> dict[tuple[int, int, FrameSize], Wire]:
        return {wire.place: wire for wire in self.wires}

    def wire(self, tx_port: int, rx_port: int, frame_size_bytes: FrameSize) -> Wire:
        """A measured wire, or the transmit port alone; raises KeyError where :meth:`require` has confirmed neither."""
        found = self._by_place.get((tx_port, rx_port, frame_size_bytes))
        return found or self._by_place[tx_port, 0, frame_size_bytes]

    def require(
        self,
        source: str,
        target: str,
        pairs: Iterable[tuple[int, int]],
        rate_bps_of: dict[int, int],
        frame_sizes_bytes: Iterable[int],
    ) -> None:
        """Raise CalibrationError unless every pair of ports was measured at its rates, with every frame size."""
        measured_on = {run.target for run in self.runs}
        if measured_on != {target}:
            raise CalibrationError(
                f"{source}: measured on {', '.join(sorted(measured_on))}, the run is on {target}",
                hint=f"measure wires with: p4mesh calibrate --target {target}",
            )
        sizes = tuple(frame_sizes_bytes)
        by_pair: dict[tuple[int, int | None], list[Wire]] = {}
        for wire in self.wires:
            by_pair.setdefault((wire.tx_port, wire.rx_port), []).append(wire)
        for tx_port, rx_port in pairs:
            known = [*by_pair.get((tx_port, rx_port), ()), *by_pair.get((tx_port, None), ())]
            if not known:
                raise CalibrationError(
                    f"{source}: no wire from port {tx_port} to port {rx_port} was measured",
                    hint="cable the two ports to each other and append with: p4mesh calibrate --out FILE",
                )
            rates = rate_bps_of[tx_port], rate_bps_of[rx_port]
            for wire in known:
                if (wire.tx_rate_bps, wire.rx_rate_bps or rates[1]) != rates:
                    raise CalibrationError(
                        f"{source}: {wire} was measured at {wire.tx_rate_bps} -> {wire.rx_rate_bps or rates[1]} bit/s, "
                        f"the run is at {rates[0]} -> {rates[1]} bit/s",
                        hint="measure the wire at the rates of the run, into another file",
                    )
            missing = [size for size in sizes if size not in {wire.frame_size_bytes for wire in known}]
            if missing:
                raise CalibrationError(
                    f"{source}: ports {tx_port} -> {rx_port} were not measured with "
                    f"{', '.join(map(str, missing))} B frames",
                    hint=f"append with: p4mesh calibrate --sizes {','.join(map(str, missing))} --out FILE, or "
                    f"run with --sizes {','.join(str(wire.frame_size_bytes) for wire in known)}",
                )

    def joined(self, other: Calibration, source: str) -> Calibration:
        """Adds the wires of another measurement; raises CalibrationError when the two contradict each other."""
        if {run.target for run in self.runs} != {run.target for run in other.runs}:
            raise CalibrationError(
                f"{source}: measured on {self.runs[0].target}, not on {other.runs[0].target}",
                hint="one file is for one target; name another file",
            )
        rates = {port: rate for wire in self.wires for port, rate in _rates(wire)}
        added = []
        for wire in other.wires:
            for port, rate in _rates(wire):
                if rates.setdefault(port, rate) != rate:
                    raise CalibrationError(
                        f"{source}: port {port} was measured at {rates[port]} bit/s, now at {rate} bit/s",
                        hint="one file is for one speed of each port; name another file",
                    )
            before = self._by_place.get(wire.place)
            if before is None:
                added.append(replace(wire, run=wire.run + len(self.runs)))
            elif not _agree(before, wire, self.runs[before.run]):
                raise CalibrationError(
                    f"{source}: {wire} took {number_text(before.median_ns)} ns before, now "
                    f"{number_text(wire.median_ns)} ns",
                    hint="the two contradict each other: a cable or a setting has changed; name another file",
                )
        if not added:
            return self
        wires = sorted((*self.wires, *added), key=lambda wire: wire.place)
        return Calibration((*self.runs, *other.runs), tuple(wires))


def _rates(wire: Wire) -> list[tuple[int, int]]:
    both = (wire.tx_port, wire.tx_rate_bps), (wire.rx_port, wire.rx_rate_bps)
    return [(port, rate) for port, rate in both if port is not None and rate is not None]


def _agree(before: Wire, now: Wire, run: CalibrationRun) -> bool:
    """Whether two medians differ by no more than their errors and the resolution of the time stamps."""
    allowed = Fraction(before.median_error_ns) + Fraction(now.median_error_ns) + Fraction(run.resolution_ns)
    return abs(Fraction(before.median_ns) - Fraction(now.median_ns)) <= allowed
