"""The flows of a plan, in columns and one by one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import chain, compress
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]


class Flow(NamedTuple):
    """One cell of the measurement registers. A tuple, since a plan may have 65,536 of them."""

    cell: int
    sequence_cell: int
    """Cell that counts the frames sent, and flow number of the frames; frames to many have one for all receivers."""
    stream: int
    """Number of the stream in the trial."""
    tx_port: int
    rx_port: int
    expected: bool = True
    """False for the cell of a frame to many on a port that is not to receive it, such as its source."""
    part: str = ""
    """Name that distinguishes the flow from others of the same stream and ports; see ``Destination.part``."""


@dataclass(frozen=True, eq=False)
class FlowColumns:
    """Flows in columns that have the names of their fields, all in one order.

    A trial goes through its flows again and again, which takes far longer for objects than for columns.
    """

    cell: Array
    sequence_cell: Array
    stream: Array
    tx_port: Array
    rx_port: Array
    expected: Array
    part: tuple[str, ...]

    @classmethod
    def joined(cls, blocks: Iterable[FlowColumns]) -> FlowColumns:
        """Chains the flows of some blocks, one block after the other."""
        kept = [_NO_FLOWS, *blocks]
        arrays = (item.name for item in fields(cls) if item.name != "part")
        columns = {name: np.concatenate([getattr(block, name) for block in kept]) for name in arrays}
        return cls(**columns, part=tuple(chain.from_iterable(block.part for block in kept)))

    def some(self, rows: Array) -> FlowColumns:
        """Flows whose entry in ``rows``, a truth value for each of them, is true."""
        arrays = {item.name: getattr(self, item.name)[rows] for item in fields(self) if item.name != "part"}
        return FlowColumns(**arrays, part=tuple(compress(self.part, rows)))

    @cached_property
    def flows(self) -> tuple[Flow, ...]:
        """The flows one by one, made where somebody asks for them: most trials need none of these objects."""
        columns = (getattr(self, name) for name in Flow._fields)
        values = (column.tolist() if isinstance(column, np.ndarray) else column for column in columns)
        return tuple(map(Flow._make, zip(*values, strict=True)))


_NOTHING = np.zeros(0, dtype=np.int64)
_NO_FLOWS = FlowColumns(_NOTHING, _NOTHING, _NOTHING, _NOTHING, _NOTHING, np.zeros(0, dtype=bool), ())
