"""Latency of messages without background traffic (ATM Forum 97-0178 2.1, methodology 9.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from p4mesh.methods.base import MethodOf, Session, TrialNote, Unit
from p4mesh.methods.bed import Bed
from p4mesh.methods.messages import parameters as options
from p4mesh.methods.messages.results import Measured, MessageRow, MessageRows, message_row
from p4mesh.methods.messages.tables import findings_of, mimo_by_layer, position_table, times_table
from p4mesh.methods.options.parameters import ParameterSet
from p4mesh.methods.results.latency import Definition, require_definition
from p4mesh.methods.results.outcome import Outcome
from p4mesh.traffic.patterns import Pairs
from p4mesh.trial.result import TrialResult

MEASURED = "measured"


class MessageLatency(MethodOf[MessageRows]):
    """Messages from one port to another, one after the other."""

    name = "messages.latency"
    title = "Latency of messages"
    section = f"{options.SECTION} 2.1"
    part = MEASURED
    frame_sizes_bytes = (64,)
    parameters = (
        options.message_frames(192),
        options.messages(20),
        options.MESSAGE_RATE,
        options.SENDER,
        options.RECEIVER,
        *options.phase_parameters(),
    )

    def check(self, bed: Bed, parameters: ParameterSet) -> None:
        """Refuse ports that there are not, messages that do not fit, and time stamps that are not those of a wire."""
        options.require_measured_ports(self.name, bed, parameters)
        require_definition(self.name, bed, Definition.MIMO)

    def latency_pairs(self, bed: Bed, parameters: ParameterSet) -> tuple[tuple[int, int], ...]:
        """The measured ports."""
        return (options.require_measured_ports(self.name, bed, parameters),)

    def trials_expected(self, unit: Unit, parameters: ParameterSet) -> int:
        return 1

    def run_unit(self, unit: Unit, bed: Bed, parameters: ParameterSet, session: Session) -> MessageRows:
        """Send the messages of one frame size."""
        size, frames = unit.frame_size_bytes, parameters.integer("message_frames")
        sender, receiver = options.require_measured_ports(self.name, bed, parameters)
        rate = parameters.number(options.MESSAGE_RATE.name)
        options.require_room(self.name, bed, sender, (size,), frames, rate)
        stream = options.message_stream(MEASURED, parameters, size, Pairs(), (sender,), (receiver,), rate)
        spec = replace(options.message_trial(parameters, f"{self.name} {size} B", (stream,)), watch_queues=True)
        load_pct = 100 * rate * frames * options.slot_ns(bed, sender, size) / 10**9
        result = session.measure(spec, TrialNote(load_pct, 0))
        return MessageRows(
            rows=(row_of(bed, result, (sender, receiver), size, frames, MEASURED, load_pct),),
            flooded_frames=result.flooded_frames,
        )

    def assemble(self, bed: Bed, parameters: ParameterSet, results: Mapping[Unit, MessageRows]) -> Outcome:
        """The times of messages and of their positions."""
        rows, frames = [row for unit in results.values() for row in unit.rows], parameters.integer("message_frames")
        _, receiver = options.require_measured_ports(self.name, bed, parameters)
        return self.outcome(
            (row.status for row in rows),
            f"messages of {frames} frames",
            (times_table(rows, bed, frames), *mimo_by_layer(rows, bed, receiver), position_table(rows)),
            findings=findings_of(rows),
        )


def row_of(
    bed: Bed, result: TrialResult, ports: tuple[int, int], size: int, frames: int, part: str, load_pct: Fraction
) -> MessageRow:
    """The row of the stream of measured messages from one port to another."""
    measured = Measured.of(result, MEASURED, bed, ports, size, frames)
    wire_ns = None
    if bed.calibration is not None:
        wire_ns = Fraction(bed.calibration.wire(measured.tx_port, measured.rx_port, size).median_ns)
    return message_row(measured, result, part, load_pct, wire_ns, bed.stamps.resolution_ns)
