"""Adds RFC 5180 to a test: IPv6 extension headers, IPv4 and IPv6 frames side by side, columns for both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from p4mesh.errors import ParameterError, UnsupportedError
from p4mesh.layers import ExtensionHeader, Frame, IPv6, Udp, Vlan
from p4mesh.methods.bed import Bed
from p4mesh.methods.conditions import advertised_networks
from p4mesh.methods.options.parameters import Parameter, ParameterSet, choice
from p4mesh.methods.options.shared import EXTENSION_HEADERS, FRAME_FORMATS, HOP_BY_HOP, frame_of
from p4mesh.methods.results import fields
from p4mesh.methods.results.outcome import Cell, Table
from p4mesh.traffic.stream import Stream

NO_MIX = "none"
_OTHER_FAMILY = "ipv4"
"""Family of the other frames in a mix, beside the IPv6 frames of ``frame_format``."""
IPV6_SHARES = {"90:10": Fraction(1, 10), "50:50": Fraction(1, 2), "10:90": Fraction(9, 10)}
"""Share of the IPv6 frames by ``ip_mix`` (RFC 5180 7)."""
THROUGHPUT_HEADERS = tuple(name for name in EXTENSION_HEADERS if name != HOP_BY_HOP)
"""Hop-by-hop options are not for throughput: they have a test of their own."""
PARAMETERS: tuple[Parameter, ...] = (
    choice(
        "extension_headers",
        "none",
        "RFC 5180 5.3",
        "of IPv6 frames, within the frame size; chain = routing, destination options, fragment",
        THROUGHPUT_HEADERS,
    ),
    choice(
        "ip_mix",
        NO_MIX,
        "RFC 5180 7",
        "IPv4 frames : IPv6 frames in percent, with frame_format=ipv6; none = all of frame_format",
        (NO_MIX, *IPV6_SHARES),
    ),
    advertised_networks.PARAMETER,
    advertised_networks.COUNT,
)
COLUMNS = (fields.EXTENSION_HEADERS, fields.IP_MIX, fields.PREFIX_BITS)


def check(test: str, bed: Bed, parameters: ParameterSet) -> None:
    """Refuse extension headers, mixes and networks without IPv6 frames, and networks without a meaning there."""
    headers, mix = parameters.text("extension_headers"), parameters.text("ip_mix")
    frame_format = parameters.text("frame_format")
    prefix = parameters.text(advertised_networks.NAME)
    for name, value in (("extension_headers", headers), ("ip_mix", mix), (advertised_networks.NAME, prefix)):
        if value != "none" and frame_format != "ipv6":
            raise ParameterError(
                f"{test}: {name}={value} with frame_format={frame_format}", hint="add --set frame_format=ipv6"
            )
    if _kinds(EXTENSION_HEADERS[headers]) in bed.unsupported_headers:
        possible = ", ".join(
            name for name in THROUGHPUT_HEADERS if _kinds(EXTENSION_HEADERS[name]) not in bed.unsupported_headers
        )
        raise UnsupportedError(
            f"{test}: extension_headers={headers} is not supported on {bed.target}, whose parser does not reach the "
            "signature behind them",
            hint=f"use one of {possible}",
        )
    advertised_networks.check(test, bed, parameters)


def frame_formats(parameters: ParameterSet) -> tuple[str, ...]:
    """The formats of the test frames: both families in a mix."""
    own = parameters.text("frame_format")
    return (own,) if parameters.text("ip_mix") == NO_MIX else (_OTHER_FAMILY, own)


def mixed(stream: Stream, mix: str) -> tuple[Stream, ...]:
    """A stream of IPv6 frames as its IPv4 and its IPv6 part, each evenly spaced; alone without a mix.

    Together they have rate and count of the stream. A stream of one frame stays IPv6.
    """
    if mix == NO_MIX:
        return (stream,)
    share = IPV6_SHARES[mix]
    count = max(1, int(stream.frame_count * share))
    if count == stream.frame_count:
        return (stream,)
    older = FRAME_FORMATS[_OTHER_FAMILY]
    return (
        replace(
            stream,
            name=f"{stream.name}-ipv4",
            rate_fps=stream.rate_fps * (1 - share),
            frame_count=stream.frame_count - count,
            frame=older.tagged(*stream.frame.vids),
        ),
        replace(stream, name=f"{stream.name}-ipv6", rate_fps=stream.rate_fps * share, frame_count=count),
    )


def protocol_text(frame: Frame, mix: str = NO_MIX) -> str:
    """The protocols of the test frames, such as ``IPv6/UDP with routing header``, or their stack: ``mpls/ipv4/tcp``."""
    if mix != NO_MIX:
        return f"IPv4/UDP : IPv6/UDP {mix}"
    behind = frame.layers[1:]
    kinds = [layer.kind for layer in behind if not isinstance(layer, Vlan | ExtensionHeader)]
    if not kinds:
        return "Ethernet"
    if frame.network is None or kinds != [frame.network.kind, Udp.kind]:
        return "/".join(layer.kind for layer in behind)
    headers = f" with {_headers_text(frame)} header" if frame.extensions else ""
    return f"IPv{frame.network.version}/UDP{headers}"


def with_columns(tables: Sequence[Table], parameters: ParameterSet) -> tuple[Table, ...]:
    """The tables of IPv6 frames with the columns of methodology 2.7 behind the frame size."""
    frame, mix = frame_of(parameters), parameters.text("ip_mix")
    if not isinstance(frame.network, IPv6):
        return tuple(tables)
    cells: dict[str, Cell] = {
        "extension_headers": _headers_text(frame) or "none",
        "ip_mix": "0:100" if mix == NO_MIX else mix,
        "prefix_bits": advertised_networks.prefix_bits(parameters) or advertised_networks.CONNECTED_PREFIX_BITS,
    }
    return tuple(
        replace(
            table,
            columns=(table.columns[0], *COLUMNS, *table.columns[1:]),
            rows=tuple({**row, **cells} for row in table.rows),
        )
        if not table.detail and table.columns[0].key == "frame_size_bytes"
        else table
        for table in tables
    )


def _headers_text(frame: Frame) -> str:
    return " + ".join(_kinds(frame.extensions))


def _kinds(headers: Sequence[ExtensionHeader]) -> tuple[str, ...]:
    return tuple(header.kind for header in headers)


def deviations(frame: Frame) -> tuple[str, ...]:
    """How headers of the frames differ from real ones, for the report."""
    sentences = {
        "ah": "An authentication header has an integrity value of 12 zeros and one sequence number: devices forward "
        "it, no host accepts it.",
        "esp": "An ESP header of 8 bytes stands in front of UDP in the clear (null encryption), without a trailer and "
        "with one sequence number: devices forward it, no host accepts it.",
    }
    return tuple(sentences[header.kind] for header in frame.extensions if header.kind in sentences)
