"""Totals and rates, and metrics of ports in the messages of the API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from snappi import otg_pb2 as pb2

from p4mesh.errors import OtgError
from p4mesh.otg.ports import Port
from p4mesh.tester.dataplane import PortTotals

_BITS_PER_KILOBYTE = 8000
_SHORTEST_PS = 10**11
"""Time between two readings in which a frame more or less changes a rate little."""


@dataclass(frozen=True)
class Totals:
    """Frames and bytes of a flow or of a port, sent and received, with FCS."""

    frames_tx: int = 0
    frames_rx: int = 0
    bytes_tx: int = 0
    bytes_rx: int = 0

    def __add__(self, other: Totals) -> Totals:
        return Totals(
            self.frames_tx + other.frames_tx,
            self.frames_rx + other.frames_rx,
            self.bytes_tx + other.bytes_tx,
            self.bytes_rx + other.bytes_rx,
        )

    def __sub__(self, other: Totals) -> Totals:
        return Totals(
            self.frames_tx - other.frames_tx,
            self.frames_rx - other.frames_rx,
            self.bytes_tx - other.bytes_tx,
            self.bytes_rx - other.bytes_rx,
        )


@dataclass(frozen=True)
class Rates:
    """Change of totals per second between two readings."""

    frames_tx: float = 0.0
    frames_rx: float = 0.0
    bytes_tx: float = 0.0
    bytes_rx: float = 0.0


@dataclass
class RateMeter:
    """Rates between the readings of one flow or port."""

    at_ps: int
    """Time of the last reading."""
    totals: Totals = Totals()
    rates: Rates = Rates()

    def take(self, totals: Totals, now_ps: int) -> Rates:
        """Rates since the reading before; the same ones where hardly any time has passed."""
        past_ps = now_ps - self.at_ps
        if past_ps >= _SHORTEST_PS:
            new = totals - self.totals
            per_s = 10**12 / past_ps
            counts = (new.frames_tx, new.frames_rx, new.bytes_tx, new.bytes_rx)
            self.rates = Rates(*(max(0, count) * per_s for count in counts))
            self.at_ps, self.totals = now_ps, totals
        return self.rates


def port_totals(totals: PortTotals) -> Totals:
    """Totals of a port."""
    return Totals(totals.frames_tx, totals.frames_rx, totals.bytes_tx, totals.bytes_rx)


def port_metric(port: Port, totals: Totals, rates: Rates, up: bool, sending: bool, capturing: bool) -> pb2.PortMetric:
    """The metric of one port."""
    kind = pb2.PortMetric
    return kind(
        name=port.name,
        location=port.location,
        link=kind.Link.up if up else kind.Link.down,
        capture=kind.Capture.started if capturing else kind.Capture.stopped,
        transmit=kind.Transmit.started if sending else kind.Transmit.stopped,
        frames_tx=totals.frames_tx,
        frames_rx=totals.frames_rx,
        bytes_tx=totals.bytes_tx,
        bytes_rx=totals.bytes_rx,
        frames_tx_rate=rates.frames_tx,
        frames_rx_rate=rates.frames_rx,
        bytes_tx_rate=rates.bytes_tx,
        bytes_rx_rate=rates.bytes_rx,
        speed=port.tester.rate_bps // _BITS_PER_KILOBYTE,
    )


def chosen(names: Sequence[str], known: Mapping[str, Any], what: str) -> list[str]:
    """The names that a request asks for, all known ones without any; raises OtgError for an unknown one."""
    if unknown := [name for name in names if name not in known]:
        raise OtgError(f"'{unknown[0]}' is no {what}", hint=f"valid: {', '.join(known) or 'none is configured'}")
    return list(names or known)


def columns_left(metric: Any, wanted: Sequence[str], key: str = "name") -> Any:
    """The metric with its key and the columns that a request asks for, all without any."""
    if wanted:
        for field_, _ in metric.ListFields():
            if field_.name not in (*wanted, key):
                metric.ClearField(field_.name)
    return metric
