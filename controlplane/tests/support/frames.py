"""Headers of test frames, and what independent readers are given of them."""

from __future__ import annotations

from p4mesh.layers import PLAIN, UDP_OVER_IPV4, UDP_OVER_IPV6, Frame, Mpls, ServiceTag, Udp

FORMATS: dict[int | None, Frame] = {None: PLAIN, 4: UDP_OVER_IPV4, 6: UDP_OVER_IPV6}
"""By IP version."""


def headers_of(frame: Frame, frame_size_bytes: int) -> bytes:
    """Write the headers of a frame with zeros for the addresses of stations and for the checksum of UDP."""
    payload = bytes(frame_size_bytes - frame.header_bytes - 4)
    return frame.changed(Udp, checksum=0).write(payload)[: frame.header_bytes]


def labelled(frame: Frame, *labels: Mpls) -> Frame:
    """Put labels in front of the IP header of a frame."""
    place = next(place for place, layer in enumerate(frame.layers) if layer is frame.network)
    return Frame((*frame.layers[:place], *labels, *frame.layers[place:]))


def behind_service_tag(frame: Frame, vid: int = 8) -> Frame:
    """Put the tag of a provider in front of those of a frame (802.1ad)."""
    return Frame((frame.layers[0], ServiceTag(vid=vid), *frame.layers[1:]))


def ip_version_of(frame: Frame) -> int | None:
    """IP version of the innermost header; None without one."""
    return frame.network.version if frame.network else None
