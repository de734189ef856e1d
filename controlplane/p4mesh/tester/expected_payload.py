"""Payload that ports expect in test frames, where they can look: the program sees no further than the signature."""

from __future__ import annotations

from p4mesh.layers.ethernet import Ethernet
from p4mesh.layers.frame import TUNNEL_BYTES
from p4mesh.layers.gtpu import Gtpu
from p4mesh.layers.ipv4 import IPv4
from p4mesh.layers.ipv6 import IPv6
from p4mesh.layers.ipv6_routing import SegmentRouting
from p4mesh.layers.udp import Udp
from p4mesh.layers.vlan import Vlan
from p4mesh.layers.vxlan import Vxlan
from p4mesh.target.base import CountedPayload
from p4mesh.tester.contract import Contract
from p4mesh.tester.frames import SIGNATURE_BYTES, bytes_before_signature
from p4mesh.tester.plan import Plan
from p4mesh.traffic.stream import COUNTING

_TAG, _IPV4, _IPV6, _UDP = (layer().header_bytes for layer in (Vlan, IPv4, IPv6, Udp))
_SEGMENT_LISTS = tuple(SegmentRouting(segments=bytes(16 * segments)).header_bytes for segments in range(1, 6))
_VXLAN = _UDP + Vxlan().header_bytes + Ethernet().header_bytes
_TUNNELS = (
    *(_TAG, 2 * _TAG, TUNNEL_BYTES, _IPV4, _IPV6),
    *(_IPV4 + _VXLAN, _IPV6 + _VXLAN, _IPV4 + _UDP + Gtpu().header_bytes),
    *(_IPV6 + segments for segments in _SEGMENT_LISTS),
)
"""Headers that a device adds or takes away: tags, labels, GRE, IP in IP, VXLAN, Geneve, GTP-U, lists of segments."""
_CHANGES_BYTES = (*_TUNNELS, *(-tunnel for tunnel in _TUNNELS), *(-segments for segments in _SEGMENT_LISTS[:3]))
"""Changes of the length of the headers in front of a signature.

The second last end point takes the list alone (RFC 8986 4.16.1). No two changes differ by 2 bytes, so that a checksum
of UDP, of which some have the value of a mark, is never where a signature may begin.
"""


def expected_payload(plan: Plan, run: int, contract: Contract) -> CountedPayload:
    """Describe the frames of a plan: the beginning of their signatures, and the bytes that count up behind these.

    Without an offset nothing is expected: ports know one payload, and some stream has another one. The usual places
    come first. Of the others the one in front does, so that a number in a signature is not taken for a mark.
    """
    counts = all(stream.stream.payload == COUNTING for stream in plan.streams)
    headers = dict.fromkeys(bytes_before_signature(stream.stream.frame) for stream in plan.streams if counts)
    others = sorted({length + change for change in _CHANGES_BYTES for length in headers} - headers.keys())
    mark = contract["SIGNATURE_MAGIC"].to_bytes(2, "big") + bytes([run])
    offsets = (*headers, *(offset for offset in others if offset >= Ethernet().header_bytes))
    return CountedPayload(offsets, mark, SIGNATURE_BYTES)
