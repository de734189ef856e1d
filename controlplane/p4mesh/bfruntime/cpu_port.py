"""Packet I/O by the switch's CPU port, which is a network interface of the machine that runs bf_switchd."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Mapping
from pathlib import Path
from queue import Empty, Queue
from types import TracebackType
from typing import Protocol

from p4mesh.bfruntime.errors import BfConnectError, BfRuntimeError, BfSchemaError
from p4mesh.p4runtime import PacketIn
from p4mesh.p4runtime.info import Info
from p4mesh.p4runtime.values import Value, encode

_LONGEST_FRAME_BYTES = 16_384
_SHORTEST_FRAME_BYTES = 60
"""A shorter one gets zeros at its end on the way over PCIe."""
_RECEIVE_BYTES = 64 << 20
_LOOK_S = 0.2
# <linux/if_packet.h>, <asm-generic/socket.h>
_SOL_PACKET, _PACKET_ADD_MEMBERSHIP, _PACKET_STATISTICS, _PACKET_AUXDATA = 263, 1, 6, 8
_TAKEN_AND_DROPPED = struct.Struct("=II")
_MEMBERSHIP_PROMISCUOUS = 1
_ETH_P_ALL = 3
_OUTGOING = 4
_SO_RCVBUFFORCE = 33
_AUXDATA = struct.Struct("=IIIHHHH")
_TAG_VALID, _TPID_VALID = 0x10, 0x40
_VLAN = 0x8100
_INTERFACES = Path("/sys/class/net")
_COUNTERS = ("rx_dropped", "rx_errors")
"""Counters of an interface; the driver of the CPU port adds up its receive rings in them (``bf_kpkt_get_stats``)."""


class FrameSocket(Protocol):
    """Sends and receives whole frames without FCS."""

    def send(self, frame: bytes) -> None:
        """Send a frame."""

    def receive(self, timeout_s: float) -> bytes | None:
        """The next frame; None when none comes in time."""

    def lost(self) -> dict[str, int]:
        """Received frames that did not get here since the start, by the counters that have moved."""

    def close(self) -> None:
        """Give the interface back."""


class PacketSocket:
    """Frames of a network interface by an AF_PACKET socket; raises BfConnectError for one that cannot be opened."""

    def __init__(self, interface: str) -> None:
        self._interface = interface
        self._dropped_here = 0
        try:
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        except PermissionError:
            raise BfConnectError(
                f"no permission for raw sockets on CPU interface {interface}",
                hint="run as root, or give the Python interpreter CAP_NET_RAW",
            ) from None
        try:
            # Bytes 12 and 13 of a frame are not an EtherType here; the kernel may take them for one and a tag out.
            self._socket.setsockopt(_SOL_PACKET, _PACKET_AUXDATA, 1)
            index = socket.if_nametoindex(interface)
            membership = struct.pack("iHH8s", index, _MEMBERSHIP_PROMISCUOUS, 0, b"")
            self._socket.setsockopt(_SOL_PACKET, _PACKET_ADD_MEMBERSHIP, membership)
            self._make_room()
            self._socket.bind((interface, _ETH_P_ALL))
        except OSError as error:
            self._socket.close()
            raise BfConnectError(
                f"CPU interface {interface}: {error.strerror or error}",
                hint="name the interface of the switch's CPU port (tester.tofino.cpu_interface), and set it up",
            ) from None
        self._before = self._counted()

    def _make_room(self) -> None:
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _RECEIVE_BYTES)
        except PermissionError:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BYTES)

    def send(self, frame: bytes) -> None:
        """Send a frame."""
        try:
            self._socket.send(frame)
        except OSError as error:
            raise BfRuntimeError(f"the CPU interface takes no frame of {len(frame)} bytes: {error.strerror}") from None

    def receive(self, timeout_s: float) -> bytes | None:
        """The next frame that comes in; None when none does."""
        self._socket.settimeout(timeout_s)
        try:
            frame, extra, _, sender = self._socket.recvmsg(_LONGEST_FRAME_BYTES, socket.CMSG_SPACE(_AUXDATA.size))
        except TimeoutError:
            return None
        if sender[2] == _OUTGOING:
            return None
        for level, kind, data in extra:
            if level == _SOL_PACKET and kind == _PACKET_AUXDATA:
                status, *_, tag, type_of_tag = _AUXDATA.unpack(data[: _AUXDATA.size])
                if status & _TAG_VALID:
                    ethertype = type_of_tag if status & _TPID_VALID else _VLAN
                    frame = frame[:12] + struct.pack("!HH", ethertype, tag) + frame[12:]
        return frame

    def lost(self) -> dict[str, int]:
        """Received frames that did not get here since the start, by the counters that have moved."""
        # Each look at the statistics of a socket resets them.
        looked = self._socket.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, _TAKEN_AND_DROPPED.size)
        self._dropped_here += _TAKEN_AND_DROPPED.unpack(looked)[1]
        moved = {
            f"{name} of {self._interface}": count - self._before[name]
            for name, count in self._counted().items()
            if count > self._before[name]
        }
        return moved | ({f"the socket on {self._interface}": self._dropped_here} if self._dropped_here else {})

    def _counted(self) -> dict[str, int]:
        statistics = _INTERFACES / self._interface / "statistics"
        return {name: int((statistics / name).read_text()) for name in _COUNTERS if (statistics / name).exists()}

    def close(self) -> None:
        """Give the interface back."""
        self._socket.close()


class _Header:
    """A header of packet I/O: fields of so many bits each, one after the other."""

    def __init__(self, info: Info, name: str) -> None:
        self._name = name
        self._fields = {field.name: field.bitwidth for field in info.headers[name].metadata}
        self.size_bytes = sum(self._fields.values()) // 8

    def encode(self, metadata: Mapping[str, Value]) -> bytes:
        if unknown := sorted(metadata.keys() - self._fields.keys()):
            raise BfSchemaError(f"{self._name} has no field {unknown[0]!r}", hint=f"valid: {', '.join(self._fields)}")
        number = 0
        for name, width_bits in self._fields.items():
            value = int.from_bytes(encode(metadata.get(name, 0), width_bits, f"{self._name} field {name!r}"), "big")
            number = number << width_bits | value
        return number.to_bytes(self.size_bytes, "big")

    def decode(self, frame: bytes) -> dict[str, int]:
        number, found = int.from_bytes(frame[: self.size_bytes], "big"), {}
        for name, width_bits in reversed(self._fields.items()):
            found[name] = number & ((1 << width_bits) - 1)
            number >>= width_bits
        return found


class CpuPort:
    """Frames with the headers of packet I/O; one thread receives, so that none is lost between two calls."""

    def __init__(self, frames: FrameSocket) -> None:
        self._frames = frames
        # Not SimpleQueue, as in p4mesh.p4runtime.stream.
        self._received: Queue[bytes] = Queue()
        self._ends = threading.Event()
        self._reader = threading.Thread(target=self._read, name="cpu-port", daemon=True)
        self._out: _Header | None = None
        self._in: _Header | None = None

    def __enter__(self) -> CpuPort:
        """Begin to receive."""
        self._reader.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Give the interface back."""
        self._ends.set()
        self._reader.join()
        self._frames.close()

    def use(self, info: Info) -> None:
        """Take the headers of a program; frames from before it are dropped."""
        self._out, self._in = _Header(info, "packet_out"), _Header(info, "packet_in")
        while not self._received.empty():
            self._received.get()

    def send(self, payload: bytes, metadata: Mapping[str, Value]) -> None:
        """Send a frame to the program, with zeros at its end where it is short."""
        assert self._out is not None, "headers are known before frames are sent"
        self._frames.send((self._out.encode(metadata) + payload).ljust(_SHORTEST_FRAME_BYTES, b"\0"))

    def take(self, timeout_s: float) -> PacketIn | None:
        """The next frame from the program; None when none comes in time."""
        assert self._in is not None, "headers are known before frames come"
        try:
            frame = self._received.get(timeout=timeout_s) if timeout_s > 0 else self._received.get_nowait()
        except Empty:
            return None
        return PacketIn(frame[self._in.size_bytes :], self._in.decode(frame))

    def lost(self) -> dict[str, int]:
        """Frames from the program that the CPU interface has lost since the start, by the counters that have moved."""
        return self._frames.lost()

    def _read(self) -> None:
        while not self._ends.is_set():
            frame = self._frames.receive(_LOOK_S)
            if frame is not None:
                self._received.put(frame)
