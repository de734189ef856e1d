"""Ports of the switch by the fixed tables ``$PORT`` and ``$PORT_STAT``: set-up, links, counters of the MAC."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from p4mesh.bfruntime.client import BfClient, values_of
from p4mesh.bfruntime.errors import BfRefusedError, BfRuntimeError
from p4mesh.bfruntime.schema import entry_of

_PORT, _STATISTICS, _KEY = "$PORT", "$PORT_STAT", "$DEV_PORT"
_SPEED, _FEC, _LANES, _ENABLED = "$SPEED", "$FEC", "$N_LANES", "$PORT_ENABLE"
_SENDS_PAUSE, _OBEYS_PAUSE = "$TX_PAUSE_FRAME_EN", "$RX_PAUSE_FRAME_EN"
"""Servers take both or none of them, and those of older SDEs may have none: no port obeys PAUSE frames there."""
_AUTONEGOTIATION, _LOOPBACK, _UP = "$AUTO_NEGOTIATION", "$LOOPBACK_MODE", "$PORT_UP"
FEC = {"none": "BF_FEC_TYP_NONE", "firecode": "BF_FEC_TYP_FIRECODE", "reed_solomon": "BF_FEC_TYP_REED_SOLOMON"}
_SAME = {"BF_FEC_TYP_FC": FEC["firecode"], "BF_FEC_TYP_RS": FEC["reed_solomon"]}
"""Second names of values: the server takes either, and answers with one of them whatever it was given."""
AUTONEGOTIATION = {"default": "PM_AN_DEFAULT", "on": "PM_AN_FORCE_ENABLE", "off": "PM_AN_FORCE_DISABLE"}
_NO_LOOPBACK, _NEAR_LOOPBACK = "BF_LPBK_NONE", "BF_LPBK_MAC_NEAR"
_GBPS = 1_000_000_000
_LANES_OF = {1: 1, 10: 1, 25: 1, 40: 4, 50: 2, 100: 4, 200: 4, 400: 8}
"""Lanes that a port of so many Gbit/s has where nothing else is said."""
_LOOK_S = 0.1
_KEPT, _DEPARTURE = "$TIMESTAMP_1588_VALID", "$TIMESTAMP_1588_VALUE"
"""Whether the MAC has kept the departure of a frame, and when that was, in nanoseconds of the clock of the pipes. Each
reading of the entry takes the oldest of those that are kept away."""
_KEPT_AT_MOST = 4
_CLOCK_NS = 1 << 48


@dataclass(frozen=True)
class PortSettings:
    """How a front port is to be set up."""

    device_port: int
    rate_bps: int
    fec: str = "none"
    """A key of :data:`FEC`."""
    autonegotiation: str = "default"
    """A key of :data:`AUTONEGOTIATION`."""
    lanes: int | None = None
    """None: as many as the rate usually has. A part of a broken-out connector has fewer than the connector."""
    loopback: bool = False
    honours_pause: bool = False
    """PAUSE frames that are received stop the port."""

    @property
    def values(self) -> dict[str, Any]:
        """Fields of ``$PORT``."""
        gbps = self.rate_bps // _GBPS
        return {
            _SPEED: f"BF_SPEED_{gbps}G",
            _FEC: FEC[self.fec],
            _LANES: self.lanes or _LANES_OF.get(gbps, 1),
            _AUTONEGOTIATION: AUTONEGOTIATION[self.autonegotiation],
            _LOOPBACK: _NEAR_LOOPBACK if self.loopback else _NO_LOOPBACK,
            _SENDS_PAUSE: False,
            _OBEYS_PAUSE: self.honours_pause,
            _ENABLED: True,
        }

    def differences(self, found: Mapping[str, Any]) -> list[str]:
        """Differences of the fields of ``$PORT`` of a port from :attr:`values`, in words."""
        return [
            f"{name} {found.get(name)}, not {value}"
            for name, value in self.values.items()
            if _SAME.get(str(found.get(name)), found.get(name, False)) != value
        ]


@dataclass(frozen=True)
class MacCounters:
    """Frames that the MAC of a port has counted since it was enabled: its registers are cleared when it is disabled."""

    sent_bad: int
    """Sent with an error, a bad FCS among them."""
    received_bad_fcs: int
    received_pause: int
    received_runts: int
    """Shorter than 64 bytes with a good FCS, and fragments with a bad one."""
    received_good: int
    """Without PAUSE frames, priority PAUSE among them, which the MAC may keep."""
    dropped_buffer_full: int
    """Received, and dropped in front of the parser, which has not taken them in time."""


@dataclass
class PortState:
    """Whether a port has a link, and how often it was lost."""

    up: bool
    losses: int = 0


class PortWatch:
    """States of ports, from notifications and from looks at the table. A notification comes by another thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._states: dict[int, PortState] = {}

    def on_port(self, port: int, up: bool) -> None:
        """Take the state of a port; going down is a loss, however it was noticed first."""
        with self._lock:
            state = self._states.setdefault(port, PortState(up))
            if state.up and not up:
                state.losses += 1
            state.up = up

    def states(self, ports: Iterable[int]) -> dict[int, PortState]:
        """Copies of the states of some ports, which have been seen."""
        with self._lock:
            return {port: PortState(self._states[port].up, self._states[port].losses) for port in ports}


class Ports:
    """Front ports of a connected switch."""

    def __init__(self, client: BfClient, watch: PortWatch) -> None:
        self._client = client
        self._watch = watch
        self._departures: dict[int, int] = {}

    def set_up(self, wanted: Sequence[PortSettings]) -> list[int]:
        """Set ports up; those that are as they should be are not touched. Return the ports that were."""
        known = {entry_port(entry): values_of(self._table, entry) for entry in self._client.read_all(_PORT)}
        touched = []
        for settings, values in [(one, self.fields_of(one)) for one in wanted]:
            port = settings.device_port
            if port in known:
                if not settings.differences(known[port]):
                    continue
                # Speed, FEC and lanes of a port are given when it is added.
                self._write("delete", port, {})
            self._write("insert", port, values)
            touched.append(port)
        return touched

    def fields_of(self, settings: PortSettings) -> dict[str, Any]:
        """Fields of ``$PORT`` that the switch has; raises BfRuntimeError where it cannot obey PAUSE frames."""
        absent = [name for name in (_SENDS_PAUSE, _OBEYS_PAUSE) if name not in self._table.data]
        if absent and settings.honours_pause:
            raise BfRuntimeError(
                f"device port {settings.device_port}: PAUSE frames cannot stop it, as table {_PORT} of this bf_switchd "
                f"has no {absent[-1]}",
                hint="leave honours_pause out, or use an SDE that has the field",
            )
        return {name: value for name, value in settings.values.items() if name not in absent}

    def wait_for_links(self, ports: Sequence[int], timeout_s: float) -> None:
        """Wait until ports have a link, at most so long; what is missing then, trials notice."""
        end = time.monotonic() + timeout_s
        while not all(state.up for state in self.links(ports).values()) and time.monotonic() < end:
            time.sleep(_LOOK_S)

    def links(self, ports: Sequence[int]) -> dict[int, PortState]:
        """The states of ports that are set up."""
        for port, values in self._read(_PORT, ports).items():
            self._watch.on_port(port, bool(values.get(_UP)))
        return self._watch.states(ports)

    def last_departures(self, ports: Sequence[int]) -> dict[int, int]:
        """Nanoseconds of the clock at which the last frame left of those whose departure was to be kept, by port.

        Ports that never kept one are missing. A MAC that keeps four, and gets more between two readings, loses some.
        """
        left = list(ports)
        for _ in range(_KEPT_AT_MOST + 1):
            found = self._read(_PORT, left)
            left = [port for port in left if found[port].get(_KEPT)]
            if not left:
                break
        return {port: self._departures[port] for port in ports if port in self._departures}

    def settings(self, ports: Sequence[int]) -> dict[int, dict[str, Any]]:
        """The fields of ``$PORT`` of ports; those that are not set up are missing."""
        every = {entry_port(entry): values_of(self._table, entry) for entry in self._client.read_all(_PORT)}
        return {port: every[port] for port in ports if port in every}

    def enable(self, ports: Sequence[int], enabled: bool) -> None:
        """Switch ports on or off."""
        for port in ports:
            self._write("modify", port, {_ENABLED: enabled})

    def counters(self, ports: Sequence[int]) -> dict[int, MacCounters]:
        """The counters of the MACs of ports, as they are now."""
        return {
            port: MacCounters(
                values.get("$FramesTransmittedwithError", 0),
                values.get("$FramesReceivedwithFCSError", 0),
                values.get("$FramesReceivedoftypePAUSE", 0),
                values.get("$FramesReceivedUndersized", 0) + values.get("$FragmentsReceived", 0),
                values.get("$FramesReceivedOK", 0)
                - values.get("$FramesReceivedoftypePAUSE", 0)
                - values.get("$PriorityPauseFrames", 0),
                values.get("$FramesDroppedBufferFull", 0),
            )
            for port, values in self._read(_STATISTICS, ports, from_hardware=True).items()
        }

    @property
    def _table(self) -> Any:
        return self._client.bfrt.table(_PORT)

    def _read(self, table: str, ports: Sequence[int], *, from_hardware: bool = False) -> dict[int, dict[str, Any]]:
        known = self._client.bfrt.table(table)
        entries = [entry_of(known, {_KEY: port}, None, {}) for port in ports]
        read = self._client.read(entries, from_hardware=from_hardware)
        found = {port: values_of(known, entry) for port, entry in zip(ports, read, strict=True)}
        self._departures |= {
            port: values[_DEPARTURE] % _CLOCK_NS for port, values in found.items() if values.get(_KEPT)
        }
        return found

    def _write(self, verb: str, port: int, values: dict[str, Any]) -> None:
        try:
            self._client.write_fixed(verb, _PORT, {_KEY: port}, values)
        except BfRefusedError as refused:
            raise BfRuntimeError(
                f"device port {port}: {refused.message}",
                hint="is it in the switch's port map, and do its speed, lanes and break-out exist there?",
            ) from None


def entry_port(entry: Any) -> int:
    """The device port in the key of an entry."""
    return int.from_bytes(entry.key.fields[0].exact.value, "big")
