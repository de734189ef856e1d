"""Pipes of a Tofino that run the sources of the tester: frames in, frames out, and time in ticks.

Both gresses are interpreted with their parsers and deparsers (p4_interpreter.py, p4_frames.py). Between them is a
traffic manager without queues: a frame is in egress ``EGRESS_TICKS`` after its arrival, and what leaves by a port of
the loop arrives again ``round_ticks`` after it. A packet-out is padded on its way over PCIe, as on the chip. Nothing of
the chip's limits, clocks and memories is here.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

from support.p4_frames import Deparser, Frame, Parser, TooShort
from support.p4_interpreter import Control, Entries, Program, Struct, number_of
from support.p4_preprocessor import Preprocessor
from support.p4_syntax import parse, parse_expression

from p4mesh.tester.contract import P4SRC

CHIPS = {"tofino1": 1, "tofino2": 2}
PROFILES = {"tofino2_ipdv": 2}
"""Other programs for these chips, which differ in ingress alone."""
EGRESS_TICKS = 40
ROUND_TICKS = 120
_SHORTEST_PACKET_OUT_BYTES = 60
_FCS_BYTES = 4
_NO_PORT = 0x1FF
_PORTS_PER_PIPE = 128
_ARCHITECTURE = """
const bit<32> PORT_METADATA_SIZE = 64;
header ingress_intrinsic_metadata_t { bit<9> ingress_port; bit<48> ingress_mac_tstamp; }
struct ingress_intrinsic_metadata_from_parser_t { bit<48> global_tstamp; }
struct ingress_intrinsic_metadata_for_deparser_t { bit<3> drop_ctl; MirrorType_t mirror_type; }
struct ingress_intrinsic_metadata_for_tm_t { bit<9> ucast_egress_port; bit<16> mcast_grp_a; bit<5> qid; }
header egress_intrinsic_metadata_t { bit<9> egress_port; bit<16> egress_rid; }
struct egress_intrinsic_metadata_from_parser_t { bit<48> global_tstamp; }
struct egress_intrinsic_metadata_for_deparser_t { bit<3> drop_ctl; }
struct egress_intrinsic_metadata_for_output_port_t { bit<1> capture_tstamp_on_tx; }
typedef bit<5> QueueId_t;
typedef bit<3> MirrorType_t;
typedef bit<10> MirrorId_t;
"""
"""Metadata of tna.p4 that the program uses."""


@cache
def program_of(chip: str, p4src: Path = P4SRC) -> Program:
    """The sources for a chip or a profile."""
    defines = {"__TARGET_TOFINO__": (CHIPS | PROFILES)[chip], "PIPES": 2, "IPDV": int(chip in PROFILES)}
    preprocessor = Preprocessor(defines, lambda text: number_of(parse_expression(text)))
    tree = parse(_ARCHITECTURE + preprocessor.text_of(p4src / "tna" / "p4mesh.p4"))
    return Program(tree, fills_containers=chip == "tofino1")


@dataclass(frozen=True)
class Sent:
    """A frame that has left a port, without FCS."""

    port: int
    at: int
    """When it was in the egress parser."""
    frame: bytes
    departure_kept: bool = False
    """Whether the MAC was asked to keep when it leaves."""


class _Gress:
    """The parser, the control and the deparser of one direction."""

    def __init__(self, program: Program, name: str, entries: Entries, value_sets: Mapping[str, Any]) -> None:
        self.program = program
        self.parser = Parser(program, f"{name}Parser", value_sets)
        self.control = Control(program, program.tree.controls[name], entries)
        self.deparser = Deparser(program, f"{name}Deparser")
        self.metadata = [kind[0] for _, kind, _ in program.tree.controls[name].parameters[3:]]

    def run(self, intrinsic: Struct, gap_bits: int, frame: bytes, time: int) -> tuple[dict[str, Struct], bytes]:
        """The metadata of the architecture by their types, and the frame as it leaves."""
        self.program.frame_bytes = len(frame) + _FCS_BYTES
        arrived = Frame(intrinsic.joined() << gap_bits, intrinsic.width + gap_bits, frame)
        headers, local, standard = self.parser.parse(arrived)
        signature = getattr(headers, "signature_", None)
        if self.program.fills_containers and signature is not None and signature.is_valid:
            front = signature.values()
            local.set("cell", front["run"] << 24 | front["receiver"] << 16 | front["flow"])
        others = {kind: self.program.struct(kind) for kind in self.metadata}
        for kind, struct in others.items():
            if kind.endswith("_from_parser_t"):
                struct.set("global_tstamp", time)
            elif kind.endswith("_for_tm_t"):
                struct.set("ucast_egress_port", _NO_PORT)
        self.control.apply(headers, local, standard, *others.values())
        verdict = next(struct for kind, struct in others.items() if kind.endswith("_for_deparser_t"))
        return others, self.deparser.deparse(headers, local, verdict) + arrived.rest()


class TnaPipe:
    """Pipe 0, or some of them. Entries are those of the controller; they and the groups may change between frames."""

    def __init__(
        self,
        program: Program,
        entries: Entries,
        *,
        front_loops: Sequence[int] = (),
        round_ticks: int = ROUND_TICKS,
        pipes: int = 1,
    ) -> None:
        self.program = program
        constants = program.constants
        self.cpu, self.loop = constants["PORT_CPU"], constants["PORT_LOOP"]
        self.groups: dict[int, list[tuple[int, int]]] = {constants["GROUP_READ"]: [(self.cpu, 1), (self.loop, 0)]}
        """(port, replication id) of each copy."""
        self.now = 0
        self.sent: list[Sent] = []
        """Frames that have left a port outside of the loop."""
        self.to_controller: list[bytes] = []
        """Frames that have left the CPU port."""
        self.mirrors: dict[int, tuple[int, int]] = {}
        """Port, and bytes at most, of the copies of each mirror session."""
        self.dropped_by_parsers = 0
        self.loop_ports = [(port, _NO_PORT) for port in front_loops]
        """Members of the value set, and their masks."""
        self.round_ticks = round_ticks
        sets = {"loop_ports": self.loop_ports}
        self._ingress = [_Gress(program, "TesterIngress", entries, sets) for _ in range(pipes)]
        self._egress = [_Gress(program, "TesterEgress", entries, {}) for _ in range(pipes)]
        self._gap_bits = constants["PORT_METADATA_SIZE"]
        self._arrivals: list[tuple[int, int, int, bytes]] = []
        self._order = count()

    def arrive(self, port: int, at: int, frame: bytes) -> None:
        """Let a frame without FCS arrive at a port."""
        heapq.heappush(self._arrivals, (at, next(self._order), port, frame))

    def packet_out(self, payload: bytes = b"", **fields: int) -> None:
        """Hand a frame to the program now, with a header whose other fields are 0."""
        header = self.program.struct("packet_out_t")
        for name, value in fields.items():
            header.set(name, value)
        head = header.joined().to_bytes(header.width // 8, "big")
        self.arrive(self.cpu, self.now, (head + payload).ljust(_SHORTEST_PACKET_OUT_BYTES, b"\0"))

    def run(self, until: int) -> None:
        """Let time pass."""
        while self._arrivals and self._arrivals[0][0] <= until:
            at, _, port, frame = heapq.heappop(self._arrivals)
            self.now = at
            self._enter(port, frame)
        self.now = max(self.now, until)

    def read(self, first: int, cells: int = 1, *, clear: bool = False, silent: bool = False) -> list[bytes]:
        """The reports of a reading frame, behind their packet-in headers."""
        constants = self.program.constants
        flags = constants["FLAG_CLEAR"] * clear | constants["FLAG_SILENT"] * silent
        self.to_controller.clear()
        self.packet_out(kind=constants["KIND_READ"], value=first, count=cells, flags=flags)
        self.run(self.now + (3 * cells + 2) * (self.round_ticks + EGRESS_TICKS))
        head = self.program.structs["packet_in_t"].width
        return [frame[head // 8 :] for frame in self.to_controller]

    def counter(self, name: str) -> dict[int, int]:
        """The frames of each cell of a counter, by its name such as ``TesterEgress.transmit_reason``."""
        total: dict[int, int] = {}
        for pipe in range(len(self._ingress)):
            for cell, frames in self.cells_of(name, pipe).items():
                total[cell] = total.get(cell, 0) + frames
        return total

    def cells_of(self, name: str, pipe: int = 0) -> Any:
        """A counter or a register of a pipe."""
        gress, *path = name.split(".")
        found: Any = {"TesterIngress": self._ingress, "TesterEgress": self._egress}[gress][pipe].control
        for part in path:
            found = found.instances[part]
        return found

    def skip_to(self, time: int) -> None:
        """Let whole rounds pass in which no seed departs, up to a time: idle passes change nothing but their time."""
        rounds = (time - self.now) // (self.round_ticks + EGRESS_TICKS) - 1
        if rounds <= 0:
            return
        later = rounds * (self.round_ticks + EGRESS_TICKS)
        stamp = slice(4, 10)
        for place, (at, order, port, frame) in enumerate(self._arrivals):
            assert frame[0] == self.program.constants["KIND_SEED"], "seeds alone are idle"
            left = int.from_bytes(frame[stamp], "big") + later
            frame = frame[: stamp.start] + left.to_bytes(6, "big") + frame[stamp.stop :]
            self._arrivals[place] = (at + later, order, port, frame)
        self.now += later

    def seeds(self) -> int:
        """The number of seeds in the loops."""
        return sum(frame[0] == self.program.constants["KIND_SEED"] for _, _, _, frame in self._arrivals)

    def is_idle(self) -> bool:
        """Whether nothing but seeds is on its way."""
        return self.seeds() == len(self._arrivals)

    # The way of a frame

    def _enter(self, port: int, frame: bytes) -> None:
        intrinsic = self.program.struct("ingress_intrinsic_metadata_t")
        intrinsic.set("ingress_port", port)
        intrinsic.set("ingress_mac_tstamp", self.now)
        gress = self._ingress[port // _PORTS_PER_PIPE % len(self._ingress)]
        try:
            others, left = gress.run(intrinsic, self._gap_bits, frame, self.now)
        except TooShort:
            self.dropped_by_parsers += 1
            return
        for session, head in gress.deparser.take_copies():
            if session in self.mirrors:
                out, most_bytes = self.mirrors[session]
                self._leave(out, 0, head + frame[: most_bytes - len(head)])
        if others["ingress_intrinsic_metadata_for_deparser_t"].values()["drop_ctl"]:
            return
        manager = others["ingress_intrinsic_metadata_for_tm_t"].values()
        if manager["ucast_egress_port"] != _NO_PORT:
            self._leave(manager["ucast_egress_port"], 0, left)
        for out, replica in self.groups.get(manager["mcast_grp_a"], ()):
            self._leave(out, replica, left)

    def _leave(self, port: int, replica: int, frame: bytes) -> None:
        intrinsic = self.program.struct("egress_intrinsic_metadata_t")
        intrinsic.set("egress_port", port)
        intrinsic.set("egress_rid", replica)
        at = self.now + EGRESS_TICKS
        try:
            others, left = self._egress[port // _PORTS_PER_PIPE % len(self._egress)].run(intrinsic, 0, frame, at)
        except TooShort:
            self.dropped_by_parsers += 1
            return
        if others["egress_intrinsic_metadata_for_deparser_t"].values()["drop_ctl"]:
            return
        if port % _PORTS_PER_PIPE == self.loop or any(port == member for member, _ in self.loop_ports):
            self.arrive(port, at + self.round_ticks, left)
        elif port == self.cpu:
            self.to_controller.append(left)
        else:
            kept = others["egress_intrinsic_metadata_for_output_port_t"].values()["capture_tstamp_on_tx"]
            self.sent.append(Sent(port, at, left, bool(kept)))
