"""Latency of messages with background traffic on all other inputs (ATM Forum 97-0178 2.2, methodology 9.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from p4mesh.errors import ParameterError, TopologyError
from p4mesh.layers import Vlan
from p4mesh.layers.network import NetworkLayer
from p4mesh.methods.base import MethodOf, Session, TrialNote, Unit
from p4mesh.methods.bed import Bed
from p4mesh.methods.messages import parameters as options
from p4mesh.methods.messages.latency import MEASURED, row_of
from p4mesh.methods.messages.results import MessageRows
from p4mesh.methods.messages.tables import findings_of, mimo_by_layer, position_table, times_table
from p4mesh.methods.options import shared
from p4mesh.methods.options.parameters import ParameterSet, choice, decimal, integer
from p4mesh.methods.results.latency import Definition, require_definition
from p4mesh.methods.results.outcome import Figure, Outcome, Series
from p4mesh.methods.sweeps import sweep_loads
from p4mesh.quantities import number_text, typed_text
from p4mesh.traffic.derived import with_independent_phases
from p4mesh.traffic.imix import FrameSize
from p4mesh.traffic.line_rate import NS_PER_S
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import Burst, Stream
from p4mesh.trial.spec import TrialSpec

_MIN_PORTS = 3
_OTHERS, _ALL = "other_outputs", "all_outputs"


class MessageBackground(MethodOf[MessageRows]):
    """Measured messages beside bursts from every other port, the reverse direction of the measured ports included."""

    name = "messages.background"
    title = "Latency of messages with background traffic"
    section = f"{options.SECTION} 2.2"
    frame_sizes_bytes = (64,)
    parameters = (
        options.message_frames(192),
        options.messages(20),
        replace(options.MESSAGE_RATE, default=Fraction(100)),
        options.SENDER,
        options.RECEIVER,
        integer("background_frames", 192, "frames", options.SECTION, "frames of a background burst", (1, 65_535)),
        integer(
            "background_priority",
            0,
            "",
            options.SECTION,
            "priority of background frames, in their VLAN tag and as DSCP class; measured ones have 0",
            (0, 7),
        ),
        choice(
            "background_receivers",
            _OTHERS,
            options.SECTION,
            "ports that get background: all but the measured receiver, so that only what the inputs share is loaded, "
            "or all but the measured sender, so that the measured output is loaded, too",
            (_OTHERS, _ALL),
        ),
        options.PHASES,
        decimal("load_start_pct", "10", "% of MBL", options.SECTION, "first background load", ("0.1", "100")),
        decimal("load_end_pct", "100", "% of MBL", options.SECTION, "last background load", ("0.1", "100")),
        decimal("load_step_pct", "10", "% of MBL", options.SECTION, "step of the background load", ("0.1", "100")),
        integer("repeats", 2, "trials", options.SECTION, "trials of each load", (1, 100)),
        decimal("stabilise_ms", "10", "ms", options.SECTION, "background before the first message", ("0", "60000")),
        *options.phase_parameters(),
    )

    def check(self, bed: Bed, parameters: ParameterSet) -> None:
        """Refuse less than three ports, ports that there are not, and time stamps that are not those of a wire."""
        bed.require_ports(self.name, _MIN_PORTS)
        options.require_measured_ports(self.name, bed, parameters)
        require_definition(self.name, bed, Definition.MIMO)
        _loads(parameters)
        if bed.mixed_rates:
            raise TopologyError(
                f"{self.name} needs tester ports of one line rate, topology '{bed.topology}' has several",
                hint="give every entry of tester.ports the same rate_bps",
            )

    def latency_pairs(self, bed: Bed, parameters: ParameterSet) -> tuple[tuple[int, int], ...]:
        """The measured ports."""
        return (options.require_measured_ports(self.name, bed, parameters),)

    def units(self, parameters: ParameterSet, sizes: Sequence[FrameSize]) -> tuple[Unit, ...]:
        """A unit per frame size and repetition."""
        repeats = parameters.integer("repeats")
        return tuple(Unit(size, f"repeat {number}") for size in sizes for number in range(1, repeats + 1))

    def trials_expected(self, unit: Unit, parameters: ParameterSet) -> int:
        return len(_loads(parameters))

    def run_unit(self, unit: Unit, bed: Bed, parameters: ParameterSet, session: Session) -> MessageRows:
        """Send the messages of one frame size at every background load."""
        size, frames = unit.frame_size_bytes, parameters.integer("message_frames")
        loads = _loads(parameters)
        repeat = int(unit.part.rpartition(" ")[2])
        ports = options.require_measured_ports(self.name, bed, parameters)
        specs = [self._spec(bed, parameters, size, load, repeat) for load in loads]
        session.announce(specs)
        rows, flooded = [], 0
        for number, (load, spec) in enumerate(zip(loads, specs, strict=True), 1):
            result = session.measure(spec, TrialNote(load, len(loads) - number))
            rows.append(row_of(bed, result, ports, size, frames, unit.part, load))
            flooded += result.flooded_frames
        return MessageRows(rows=tuple(rows), flooded_frames=flooded)

    def _spec(self, bed: Bed, parameters: ParameterSet, size: int, load_pct: Fraction, repeat: int) -> TrialSpec:
        sender, receiver = options.require_measured_ports(self.name, bed, parameters)
        frames, rate = parameters.integer("message_frames"), parameters.number(options.MESSAGE_RATE.name)
        options.require_room(self.name, bed, sender, (size,), frames, rate)
        before_ns = shared.nanoseconds(parameters, "stabilise_ms")
        measured = options.message_stream(MEASURED, parameters, size, Pairs(), (sender,), (receiver,), rate)
        measured = replace(measured, start_offset_ns=(before_ns,)) if before_ns else measured
        length_ns = before_ns + int(measured.frame_count * NS_PER_S / measured.rate_fps)
        background = _background(bed, parameters, size, load_pct, length_ns)
        if parameters.text(options.PHASES.name) == options.INDEPENDENT:
            background = with_independent_phases(background, repeat)
        spec = options.message_trial(
            parameters, f"{self.name} {size} B {number_text(load_pct)} %", (measured, background)
        )
        return replace(spec, duration_ns=length_ns - before_ns, watch_queues=True)

    def assemble(self, bed: Bed, parameters: ParameterSet, results: Mapping[Unit, MessageRows]) -> Outcome:
        """The times of messages at each load."""
        rows, frames = [row for unit in results.values() for row in unit.rows], parameters.integer("message_frames")
        _, receiver = options.require_measured_ports(self.name, bed, parameters)
        lines = tuple(
            Series(
                f"{unit.frame_size_bytes} B, {unit.part}, {kind.upper()}",
                tuple(
                    (row.load_pct, average)
                    for row in found.rows
                    if (average := getattr(row.times[0], f"{kind}_us_avg")) is not None
                ),
            )
            for unit, found in results.items()
            for kind in ("fifo", "mimo")
        )
        figure = Figure("messages", "Average time of messages over background load", "% of MBL", "us", lines, x_max=100)
        return self.outcome(
            (row.status for row in rows),
            f"messages of {frames} frames",
            (times_table(rows, bed, frames), *mimo_by_layer(rows, bed, receiver), position_table(rows, detail=True)),
            figures=(figure,),
            findings=findings_of(rows),
            deviations=(
                "Maximum background load (MBL): every port but the measured sender at line rate, so that no output "
                f"gets more than one background stream. {_NOTES[parameters.text('background_receivers')]} Background "
                f"senders: {parameters.text(options.PHASES.name)}.",
            ),
        )


def _loads(parameters: ParameterSet) -> tuple[Fraction, ...]:
    names = ("load_start_pct", "load_end_pct", "load_step_pct")
    start, end, step = (parameters.number(name) for name in names)
    if start > end:
        raise ParameterError(
            f"load_start_pct={typed_text(start)} is above load_end_pct={typed_text(end)}", hint="loads rise"
        )
    return sweep_loads(start, end, step)


_NOTES = {
    _OTHERS: "The measured receiver sends to the next port, that one to the next, and the last one to the measured "
    "sender: the measured output gets none.",
    _ALL: "Each sends to the next one of them: the measured output gets one.",
}


def _background(bed: Bed, parameters: ParameterSet, size: int, load_pct: Fraction, length_ns: int) -> Stream:
    """Bursts from every port but the measured sender."""
    sender, receiver = parameters.integer(options.SENDER.name), parameters.integer(options.RECEIVER.name)
    senders = (receiver, *(port for port in bed.port_numbers if port not in (sender, receiver)))
    last = sender if parameters.text("background_receivers") == _OTHERS else receiver
    receivers = (*senders[1:], last)
    slot = max(options.slot_ns(bed, port, size) for port in senders)
    rate_fps = load_pct / 100 * NS_PER_S / slot
    burst = parameters.integer("background_frames")
    priority = parameters.integer("background_priority")
    frame = shared.frame_of(parameters).changed(NetworkLayer, dscp=8 * priority).changed(Vlan, priority=priority)
    return Stream(
        "background",
        size,
        rate_fps,
        max(1, int(rate_fps * length_ns / NS_PER_S)),
        Pairs(),
        senders,
        receivers,
        frame,
        burst=Burst(burst) if burst > 1 else None,
    )
