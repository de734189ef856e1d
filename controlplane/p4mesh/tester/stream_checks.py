"""Streams that contradict themselves, and rates that no port can send, refused before a trial."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from p4mesh.errors import ParameterError, UnsupportedError
from p4mesh.quantities import most_text, number_text
from p4mesh.tester.seed_layout import can_be_cut
from p4mesh.tester.sendable import require_sendable
from p4mesh.topology.model import TesterPort
from p4mesh.traffic.line_rate import NS_PER_S, PREAMBLE_BYTES, PS_PER_S, max_rate_fps
from p4mesh.traffic.stream import MAX_ADDRESSES_PER_PORT, MAX_MODIFIERS, Stream

_ROUNDING = Fraction(1, 10**9)
_STAMP_BITS = 48


@dataclass(frozen=True)
class _Use:
    """Share of a port's line that one stream takes, and the time for which it takes it."""

    stream: Stream
    limit_fps: Fraction
    first_ns: Fraction

    @property
    def share(self) -> Fraction:
        return self.stream.rate_fps / self.limit_fps

    def lasts_until(self, time_ns: Fraction) -> bool:
        """Whether the stream has begun at ``time_ns`` and still has a frame to send."""
        length_ns = (self.stream.frame_count - 1) * NS_PER_S / self.stream.rate_fps
        return self.first_ns <= time_ns and (time_ns == self.first_ns or time_ns < self.first_ns + length_ns)


def require_line_rates(streams: Sequence[Stream], tester_ports: Iterable[TesterPort]) -> None:
    """Raise ParameterError, with the limit, when the streams of a port need more than its line rate at a time."""
    ports = {port.number: port for port in tester_ports}
    uses: dict[int, list[_Use]] = {}
    for stream in streams:
        for place, number in enumerate(stream.tx_ports):
            port = ports[number]
            overhead_bytes = PREAMBLE_BYTES + Fraction(port.ifg_bits, 8)
            limit_fps = max_rate_fps(stream.mean_frame_bytes, max(port.rate_bps, port.own_rate_bps), overhead_bytes)
            first_ns = Fraction(stream.start_offset_ns[place] if stream.start_offset_ns else 0)
            uses.setdefault(number, []).append(_Use(stream, limit_fps, first_ns))
    for number, together in uses.items():
        if sum(use.share for use in together) > 1 + _ROUNDING:
            _require_room_on_the_line(number, together)


def _require_room_on_the_line(number: int, uses: Sequence[_Use]) -> None:
    # The line is busiest when one of the streams begins.
    for beginning in uses:
        busy = sum(use.share for use in uses if use.lasts_until(beginning.first_ns))
        if busy > 1 + _ROUNDING:
            raise ParameterError(
                f"stream '{beginning.stream.name}': port {number} needs {number_text(100 * busy)} % of its line rate",
                hint=f"the port sends at most {most_text(beginning.limit_fps)} frames/s of "
                f"{number_text(beginning.stream.mean_frame_bytes)} bytes",
            )


def require_frame_sizes(streams: Iterable[Stream], largest_bytes: int, target: str) -> None:
    """Raise UnsupportedError for frames that are longer than the target carries."""
    for stream in streams:
        longest = max(stream.frame_sizes_bytes)
        if longest > largest_bytes:
            raise UnsupportedError(
                f"not supported on {target}: stream '{stream.name}' has frames of {longest} bytes",
                hint=f"frame sizes up to {largest_bytes} B",
            )


def require_stamps(streams: Iterable[Stream], tick_ps: int) -> None:
    """Raise ParameterError for a stream that sends for longer than a time stamp holds: intervals are taken modulo it.

    ``tick_ps`` is the unit of the target's stamps.
    """
    holds_s = Fraction(tick_ps << _STAMP_BITS, PS_PER_S)
    for stream in streams:
        starts_s = Fraction(max(stream.start_offset_ns, default=0)) / NS_PER_S
        sends_s = starts_s + stream.frame_count / Fraction(stream.rate_fps)
        if sends_s >= holds_s:
            raise ParameterError(
                f"stream '{stream.name}' sends for {number_text(sends_s, 10)} s, a time stamp of {_STAMP_BITS} bits "
                "holds"
                f" {number_text(holds_s, 10)} s",
                hint="shorten the trial, repeat it instead, or give the tester longer ticks (tester.clock_tick_ps)",
            )


def check_stream(stream: Stream) -> None:
    """Raise ParameterError when no tester could send the stream."""
    if stream.frame_count < 1:
        raise ParameterError(
            f"stream '{stream.name}': no frame fits into the trial at {number_text(stream.rate_fps, 3)} frames/s",
            hint="lengthen the trial or raise the rate",
        )
    stream.pattern.check(stream)
    require_sendable(stream.name, stream.frame)
    if not stream.tx_ports or not stream.rx_ports:
        raise ParameterError(f"stream '{stream.name}' has no port", hint="name transmit and receive ports")
    if len(stream.modifiers) > MAX_MODIFIERS:
        raise ParameterError(
            f"stream '{stream.name}' has {len(stream.modifiers)} field modifiers", hint=f"use at most {MAX_MODIFIERS}"
        )
    for modifier in stream.modifiers:
        if not stream.frame.has(modifier.field):
            kinds = ", ".join(layer.kind for layer in stream.frame.layers)
            raise ParameterError(
                f"stream '{stream.name}': there is no {modifier.field.name} to change in frames of {kinds}",
                hint="change a field that the frames have, or use another frame format",
            )
    if stream.addresses_per_port != 1:
        _check_addresses(stream)
    if (stream.source_mac and len(stream.tx_ports) > 1) or (stream.destination_mac and len(stream.rx_ports) > 1):
        raise ParameterError(
            f"stream '{stream.name}' gives one address to several ports",
            hint="source_mac needs one transmit port, destination_mac one receive port",
        )
    if stream.routed and (stream.frame.network is None or (stream.pattern.to_many and stream.frame.tunnel is None)):
        raise ParameterError(
            f"stream '{stream.name}': only unicast IPv4 and IPv6 frames can be routed",
            hint="use an IP frame format and a unicast pattern",
        )
    if (stream.frame.tunnel and stream.pattern.to_many) or stream.received_in_tunnel:
        _check_tunnels(stream)
    if stream.sizes_in_turn_bytes:
        _check_sizes_in_turn(stream)
    if stream.arrivals and (stream.burst or any(stream.as_sent().start_offset_ns)):
        raise ParameterError(
            f"stream '{stream.name}' has arrivals beside bursts, messages or ports that start later",
            hint="let all of its ports begin together, without bursts",
        )
    if (stream.advertised_prefix_bits or stream.advertised_networks) and not stream.routed:
        raise ParameterError(
            f"stream '{stream.name}': only a router reaches networks behind the receivers",
            hint="send the stream routed, or leave the networks out",
        )


def _check_sizes_in_turn(stream: Stream) -> None:
    if stream.frame_size_bytes != max(stream.sizes_in_turn_bytes):
        raise ParameterError(
            f"stream '{stream.name}': {stream.frame_size_bytes} bytes are not the largest of its sizes in turn",
            hint=f"use {max(stream.sizes_in_turn_bytes)} bytes",
        )
    if stream.burst or not can_be_cut(stream.frame):
        kinds = ", ".join(layer.kind for layer in stream.frame.layers)
        raise ParameterError(
            f"stream '{stream.name}' has sizes in turn in {'bursts' if stream.burst else f'frames of {kinds}'}",
            hint="give it one frame size",
        )


def _check_tunnels(stream: Stream) -> None:
    frame = stream.frame
    if not stream.pattern.to_many or frame.network is None or frame.vids:
        raise ParameterError(
            f"stream '{stream.name}': only untagged IP frames to many can be in a tunnel",
            hint="use an IP frame format without a VLAN tag, and multicast",
        )
    if frame.tunnel and not stream.routed:
        raise ParameterError(
            f"stream '{stream.name}': frames in a tunnel need a router at its other end",
            hint="send the stream routed: to the device as to a router",
        )


def _check_addresses(stream: Stream) -> None:
    count = stream.addresses_per_port
    if count.bit_count() != 1 or not 1 <= count <= MAX_ADDRESSES_PER_PORT:
        raise ParameterError(
            f"stream '{stream.name}' has {count} addresses per port",
            hint=f"use a power of two, at most {MAX_ADDRESSES_PER_PORT}",
        )
    if stream.modifiers or stream.source_mac or stream.destination_mac or stream.routed or stream.pattern.to_many:
        raise ParameterError(
            f"stream '{stream.name}' has {count} addresses per port beside modifiers, addresses of its own, "
            "a router or a pattern to many",
            hint="several addresses per port need a plain unicast stream: they take both modifiers",
        )
