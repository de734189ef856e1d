"""Captures: frames that come to the ports, as the program of the tester hands them over, in files of pcap."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from p4mesh.errors import OtgError
from p4mesh.otg.elements import Element, refusal
from p4mesh.otg.ports import Port, port_of
from p4mesh.tester.fault_capture import ALL_KINDS, CapturedPacket
from p4mesh.tester.instrument import Tester
from p4mesh.traffic.line_rate import NS_PER_S

MOST_FRAMES = 10_000
"""Frames of each kind on all ports together: expected ones, those behind gaps, late ones, foreign ones and others."""
_MAGIC_NANOSECONDS = 0xA1B23C4D
_ETHERNET = 1
_LONGEST_BYTES = 65_535
_PCAP = struct.Struct("<IHHiIII")
_PACKET = struct.Struct("<IIII")


@dataclass(frozen=True)
class Capture:
    """The settings of one port."""

    format: str = "pcap"
    most_bytes: int = _LONGEST_BYTES
    """Bytes of a frame that are kept."""


def read_captures(elements: Sequence[Element], ports: Mapping[str, Port], warnings: list[str]) -> dict[str, Capture]:
    """Read the list ``captures``: settings by the name of the port; warn of what has no effect."""
    found: dict[str, Capture] = {}
    for element in elements:
        with element.whole():
            element.text("name")
            if element.flag("overwrite"):
                kept = f"a full capture keeps its first {MOST_FRAMES:,} frames of each kind"
                warnings.append(f"{element.at('overwrite')} has no effect: {kept}")
            if element.elements("filters"):
                raise refusal(element.at("filters"), "is not supported", "all frames")
            names = element.texts("port_names")
            size = element.integer("packet_size", _LONGEST_BYTES) or _LONGEST_BYTES
            for place, name in enumerate(names):
                path = f"{element.at('port_names')}[{place}]"
                port_of(path, name, ports)
                if name in found:
                    raise refusal(path, f"'{name}' has a capture already", "a port without one")
                found[name] = Capture(element.text("format", "pcap"), size)
    return found


@dataclass
class Captures:
    """The captures of a configuration. The program counts the frames of all ports; other ports' are dropped here."""

    tester: Tester
    ports: Mapping[str, Port] = field(default_factory=dict)
    settings: Mapping[str, Capture] = field(default_factory=dict)
    started: set[str] = field(default_factory=set)
    """Names of the ports on which a capture runs."""
    _kept: dict[str, list[CapturedPacket]] = field(default_factory=dict)

    def start(self, names: Sequence[str]) -> None:
        """Start captures of ports anew."""
        if not self.tester.target.capabilities.captures_faults:
            raise OtgError(f"captures are not supported on {self.tester.target.name}", hint="leave them out")
        self.take()
        if not self.started:
            self.tester.dataplane.faults.begin(MOST_FRAMES, ALL_KINDS)
        self.started.update(names)
        self._kept.update({name: [] for name in names})

    def stop(self, names: Sequence[str]) -> None:
        """End captures; their frames stay."""
        self.take()
        self.started.difference_update(names)
        if not self.started:
            self.tester.dataplane.faults.end()

    def take(self) -> None:
        """Take the frames that have come since the last call."""
        if not self.started:
            return
        by_number = {self.ports[name].number: name for name in self.started}
        for packet in self.tester.dataplane.faults.take():
            if name := by_number.get(packet.port):
                self._kept[name].append(packet)

    def file(self, name: str) -> bytes:
        """The frames of a port as a file; raises OtgError for a port without a capture."""
        if name not in self.settings:
            valid = ", ".join(self.settings) or "none is configured"
            raise OtgError(f"'{name}' has no capture", hint=f"valid: {valid}")
        self.take()
        setting, tick_ps = self.settings[name], self.tester.tick_ps
        packets = sorted(self._kept.get(name, ()), key=lambda packet: packet.ticks)
        stamped = [(packet.ticks * tick_ps // 1000, _with_fcs(packet.frame)) for packet in packets]
        return (_pcapng if setting.format == "pcapng" else _pcap)(stamped, setting.most_bytes)


def _with_fcs(frame: bytes) -> bytes:
    """The frame with its FCS, as the API captures it; the port has taken no frame with another one."""
    return frame + zlib.crc32(frame).to_bytes(4, "little")


def _pcap(packets: Sequence[tuple[int, bytes]], most_bytes: int) -> bytes:
    """File of (time in ns, frame) pairs, with nanoseconds (draft-ietf-opsawg-pcap)."""
    parts = [_PCAP.pack(_MAGIC_NANOSECONDS, 2, 4, 0, 0, _LONGEST_BYTES, _ETHERNET)]
    for time_ns, frame in packets:
        kept = frame[:most_bytes]
        parts += [_PACKET.pack(*divmod(time_ns, NS_PER_S), len(kept), len(frame)), kept]
    return b"".join(parts)


def _pcapng(packets: Sequence[tuple[int, bytes]], most_bytes: int) -> bytes:
    from pcapng import FileWriter, blocks  # only captures in this form need it

    section = blocks.SectionHeader(options={"shb_userappl": "P4Mesh"})
    options = {"if_tsresol": bytes([9])}
    section.new_member(blocks.InterfaceDescription, link_type=_ETHERNET, options=options)
    data = io.BytesIO()
    writer = FileWriter(data, section)
    for time_ns, frame in packets:
        writer.write_block(
            section.new_member(
                blocks.EnhancedPacket,
                interface_id=0,
                timestamp_high=time_ns >> 32,
                timestamp_low=time_ns & 0xFFFFFFFF,
                packet_len=len(frame),
                packet_data=frame[:most_bytes],
            )
        )
    return data.getvalue()
