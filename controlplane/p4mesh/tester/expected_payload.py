"""Payload that ports expect in test frames, where they can look: the program sees no further than the signature."""

from __future__ import annotations

from p4mesh.layers.frame import TUNNEL_BYTES
from p4mesh.layers.vlan import Vlan
from p4mesh.target.base import CountedPayload
from p4mesh.tester.contract import Contract
from p4mesh.tester.frames import SIGNATURE_BYTES
from p4mesh.tester.plan import Plan
from p4mesh.traffic.stream import COUNTING

_TAG_BYTES = Vlan().header_bytes
_CHANGES_BYTES = (0, -_TAG_BYTES, _TAG_BYTES, -2 * _TAG_BYTES, 2 * _TAG_BYTES, -TUNNEL_BYTES, TUNNEL_BYTES)
"""Of the headers in front of a signature by a device: tags and tunnels that it adds or takes away."""


def expected_payload(plan: Plan, run: int, contract: Contract) -> CountedPayload:
    """Describe the frames of a plan: the beginning of their signatures, and the bytes that count up behind these.

    Without an offset nothing is expected: ports know one payload, and some stream has another one.
    """
    counts = all(stream.stream.payload == COUNTING for stream in plan.streams)
    headers = dict.fromkeys(stream.stream.frame.header_bytes for stream in plan.streams if counts)
    offsets = dict.fromkeys(length + change for change in _CHANGES_BYTES for length in headers)
    mark = contract["SIGNATURE_MAGIC"].to_bytes(2, "big") + bytes([run])
    return CountedPayload(tuple(offset for offset in offsets if offset >= 0), mark, SIGNATURE_BYTES)
