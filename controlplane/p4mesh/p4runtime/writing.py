"""Write requests: lists of updates split into batches and encoded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from p4mesh.p4runtime.stubs import Entity, p4r
from p4mesh.p4runtime.wire import delimited, varint

Update = tuple[str, Entity]
"""INSERT, MODIFY or DELETE, and the entity."""

_MAX_UPDATES = 4096
"""Updates per request: the answer to a batch that fails throughout has some 150 bytes for each."""
_MAX_BYTES = 1 << 20
"""Size of a request; servers of others accept 4 MiB by default."""

_TYPES = {name: bytes([1 << 3, p4r.Update.Type.Value(name)]) for name in ("INSERT", "MODIFY", "DELETE")}


class Requests:
    """Makes the write requests of one controller."""

    def __init__(self, device_id: int, election_id: int, role: str) -> None:
        self.election_id = p4r.Uint128(high=election_id >> 64, low=election_id & 0xFFFFFFFFFFFFFFFF)
        self._head = p4r.WriteRequest(device_id=device_id, role=role, election_id=self.election_id)

    def split(self, updates: Sequence[Update], atomicity: str) -> Iterator[tuple[int, Sequence[Update], bytes]]:
        """Yield (position of the first update, updates, encoded request).

        Only CONTINUE_ON_ERROR batches are split.
        """
        head = p4r.WriteRequest()
        head.CopyFrom(self._head)
        head.atomicity = p4r.WriteRequest.Atomicity.Value(atomicity)
        encoded_head = head.SerializeToString()
        whole = atomicity != "CONTINUE_ON_ERROR"
        parts = [encoded_head]
        size = first = 0
        for index, (kind, entity) in enumerate(updates):
            body = entity.SerializeToString()
            update = _TYPES[kind] + b"\x12" + varint(len(body)) + body
            if not whole and (index - first >= _MAX_UPDATES or size + len(update) > _MAX_BYTES) and index > first:
                yield first, updates[first:index], b"".join(parts)
                parts = [encoded_head]
                size, first = 0, index
            parts.append(delimited(4, update))
            # Tag and length of an update take 6 bytes at most.
            size += len(update) + 6
        if updates:
            yield first, updates[first:], b"".join(parts)
