"""The part of a client that the data plane uses: the same for P4Runtime and BF Runtime."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

from p4mesh.p4runtime import CounterData, PacketColumns, PacketIn
from p4mesh.p4runtime.info import Info

Entity = Any
"""An entity of a schema, for the client of the same interface; equal entities have the same effect."""


class SwitchSchema(Protocol):
    """Builds entities by the names of the program."""

    info: Info
    """P4Info of the program."""

    def table_entry(
        self,
        table: str,
        match: Mapping[str, Any] | None = None,
        action: str | None = None,
        params: Mapping[str, Any] | None = None,
        *,
        priority: int = 0,
    ) -> Entity:
        """Entry of a table; of two that match, the one with the larger priority wins."""

    def default_entry(self, table: str, action: str, params: Mapping[str, Any] | None = None) -> Entity:
        """Default entry of a table, with a new action."""

    def multicast_group(
        self, group: int, replicas: Iterable[tuple[int, int]] = (), *, numeric_ports: bool = False
    ) -> Entity:
        """Multicast group of (port, instance) pairs."""

    def value_set(self, name: str, members: Iterable[Mapping[str, Any]] = ()) -> Entity:
        """Parser value set with all its members."""


class SwitchClient(Protocol):
    """The one controller of a switch."""

    packet_outs_sent: int
    packet_ins_taken: int
    timeout_s: float
    """Longest time that an answer may take."""

    @property
    def schema(self) -> SwitchSchema:
        """Builds entities of the program that :meth:`set_pipeline` has taken."""

    @property
    def is_connected(self) -> bool:
        """False once the server has gone."""

    def reconnect(self) -> None:
        """Connect again, after the server has gone and come back."""

    def set_pipeline(self, p4info_path: str | Path, json_path: str | Path, /) -> None:
        """Have the switch run the program, without entries and with cleared state."""

    def insert(self, entities: Iterable[Entity]) -> None:
        """Insert entities, in order."""

    def modify(self, entities: Iterable[Entity]) -> None:
        """Modify entities, in order."""

    def delete(self, entities: Iterable[Entity]) -> None:
        """Delete entities, in order."""

    def read_counters(self, name: str, indices: Iterable[int]) -> list[tuple[int, CounterData]]:
        """(index, value) of some cells of a counter."""

    def packet_counts(self, cells: Mapping[str, Iterable[int]]) -> Callable[[], list[int]]:
        """Prepare to read counter cells again and again: a call returns the packets of all of them, in their order."""

    def read_counter_array(self, name: str) -> tuple[array[int], array[int]]:
        """(packets, bytes) of all cells of a counter, in order of their index."""

    def packet_out(self, payload: bytes, **metadata: int) -> None:
        """Send a frame to the program."""

    def take_packet_ins(self, count: int, timeout_s: float | None = None) -> list[PacketIn]:
        """Takes the next packet-ins: ``count``, or fewer when none has come for ``timeout_s``."""

    def take_packet_columns(self, count: int, timeout_s: float | None = None) -> list[PacketColumns]:
        """Takes the next packet-ins in columns, in their order: as many as :meth:`take_packet_ins`."""

    def lost_packet_ins(self) -> dict[str, int]:
        """Packet-ins that were lost on their way since the start, by the counters that have moved."""
