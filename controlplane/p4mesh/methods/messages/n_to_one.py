"""Messages from n inputs to one output (ATM Forum 97-0178 3, methodology 9.3): throughput, loss and its fairness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import inf

from p4mesh import numerals
from p4mesh.errors import ParameterError
from p4mesh.methods.base import MethodOf, Session, TrialNote, Unit
from p4mesh.methods.bed import Bed
from p4mesh.methods.messages import parameters as options
from p4mesh.methods.messages.fairness import InputRow, LoadRow, LoadRows, load_row
from p4mesh.methods.options.parameters import ParameterSet, integer, shortened, show, text
from p4mesh.methods.results import fields
from p4mesh.methods.results.loss_interval import forgiven_text
from p4mesh.methods.results.outcome import Outcome
from p4mesh.quantities import number_text
from p4mesh.traffic.derived import with_independent_phases
from p4mesh.traffic.line_rate import NS_PER_S
from p4mesh.traffic.patterns import Message, Rotate
from p4mesh.trial.spec import TrialSpec

FULL = "full"
_DEFAULT_LOADS = "99.76,100.32,120,full"
_MIN_PORTS = 3


class NToOne(MethodOf[LoadRows]):
    """Several ports, by default all others, send messages to one."""

    name = "messages.n_to_one"
    title = "Messages from n inputs to one output"
    section = f"{options.SECTION} 3"
    part = "n to one"
    frame_sizes_bytes = (64,)
    parameters = (
        options.message_frames(106),
        options.messages(50),
        options.RECEIVER,
        integer(
            "inputs", 0, "ports", options.SECTION, "ports that send, the lowest numbers first; 0 = all others", (0, 511)
        ),
        replace(
            text(
                "loads_pct",
                options.SECTION,
                "total loads in % of the output's line, separated by commas; full = every input at line rate",
            ),
            default=_DEFAULT_LOADS,
            unit="% of line",
        ),
        options.PHASES,
        integer(
            "repeats",
            4,
            "trials",
            options.SECTION,
            "trials of each load, whose counts are added up; independent senders begin at other moments in each, as "
            "clocks that drift do in a long trial",
            (1, 1000),
        ),
        *options.phase_parameters(),
    )

    def check(self, bed: Bed, parameters: ParameterSet) -> None:
        """Refuse less than three ports, a receiver that there is not, and loads that no input can send."""
        bed.require_ports(self.name, _MIN_PORTS)
        bed.common_rate_bps(self.name)
        self._inputs(bed, parameters)
        self._loads(bed, parameters)

    def trials_expected(self, unit: Unit, parameters: ParameterSet) -> int:
        return len(parameters.text("loads_pct").split(",")) * _repeats(parameters)

    def run_unit(self, unit: Unit, bed: Bed, parameters: ParameterSet, session: Session) -> LoadRows:
        """Offer every total load of one frame size."""
        size, loads = unit.frame_size_bytes, self._loads(bed, parameters)
        repeats = range(_repeats(parameters))
        specs = {load: [self._spec(bed, parameters, size, load, repeat) for repeat in repeats] for load in loads}
        session.announce([spec for of_load in specs.values() for spec in of_load])
        slot = options.slot_ns(bed, parameters.integer(options.RECEIVER.name), size)
        rows, left, inputs = [], len(loads) * len(repeats), len(self._inputs(bed, parameters))
        for load in loads:
            trials = []
            for spec in specs[load]:
                left -= 1
                trials.append((spec, session.measure(spec, TrialNote(load / inputs, left))))
            rows.append(load_row(trials, size, load, slot))
        return LoadRows(rows=tuple(rows))

    def assemble(self, bed: Bed, parameters: ParameterSet, results: Mapping[Unit, LoadRows]) -> Outcome:
        """Throughput, losses and their fairness at each load."""
        rows = [row for unit in results.values() for row in unit.rows]
        note = (
            f"Senders: {parameters.text('phases')}. A message is damaged when it lost a frame. Where the data plane "
            "does not count messages, the losses of each position bound how many are, and fairness of message loss is "
            "that of the least numbers. Late: received after the transmission, from the output's queue; they count as "
            "lost, because a longer trial loses as many more, so that the mean loss is 1 - 1/load or more; so do early "
            "ones, which came at first beyond the rate of the rest. How many "
            "messages a longer trial damages lies between the two ratios. Errors are those of the first and the last "
            "messages, during which not all inputs send, of a queue that may fill, and of the trials, whose senders "
            "begin at other moments each, with 95 % confidence; of inputs and of fairness, also those of late frames, "
            "as nothing tells whose they were. "
        ) + forgiven_text(row.tx_frames / row.input_count / _repeats(parameters) for row in rows)
        keys = (fields.FRAME_SIZE_BYTES, fields.LOAD_PCT)
        return self.outcome(
            (row.status for row in rows),
            _about(rows),
            (
                LoadRow.table(
                    "loads",
                    "Loads",
                    rows,
                    note,
                    optional=(fields.EARLY_FRAMES,),
                    keys=keys,
                    headline=(fields.THROUGHPUT_PCT, fields.FRAME_LOSS_RATIO, fields.QUEUES),
                ),
                InputRow.table(
                    "inputs",
                    "Inputs",
                    [(row, item) for row in rows for item in row.inputs],
                    columns=(*LoadRow.columns()[:2], *InputRow.columns()),
                    optional=(fields.EARLY_FRAMES,),
                    keys=(*keys, fields.PORT),
                    detail=True,
                ),
            ),
            findings=(row.finding for row in rows if row.finding),
        )

    def _inputs(self, bed: Bed, parameters: ParameterSet) -> tuple[int, ...]:
        receiver = bed.require_port(options.RECEIVER.name, parameters.integer(options.RECEIVER.name))
        others = tuple(port for port in bed.port_numbers if port != receiver)
        wanted = parameters.integer("inputs")
        if wanted > len(others):
            raise ParameterError(
                f"{self.name}: inputs={wanted}: there are {len(others)} ports beside the receiver",
                hint=f"use 1 to {len(others)}, or 0 for all of them",
            )
        return others[:wanted] if wanted else others

    def _loads(self, bed: Bed, parameters: ParameterSet) -> tuple[Fraction, ...]:
        most = Fraction(100 * len(self._inputs(bed, parameters)))
        loads = []
        for word in parameters.text("loads_pct").split(","):
            try:
                load = most if word.strip() == FULL else numerals.decimal(word.strip())
            except ValueError:
                load = Fraction(0)
            if not 0 < load <= most:
                raise ParameterError(
                    f"--set loads_pct={shortened(parameters.text('loads_pct'))}: '{shortened(word)}' is not valid",
                    hint=f"numbers above 0, up to {show(most)} on this topology, or {FULL}, such as {_DEFAULT_LOADS}",
                )
            loads.append(load)
        return tuple(loads)

    def _spec(self, bed: Bed, parameters: ParameterSet, size: int, load_pct: Fraction, repeat: int) -> TrialSpec:
        inputs, receiver = self._inputs(bed, parameters), parameters.integer(options.RECEIVER.name)
        frames = parameters.integer("message_frames")
        slot = max(options.slot_ns(bed, port, size) for port in bed.port_numbers)
        rate_fps = load_pct / 100 * NS_PER_S / slot / len(inputs)
        stream = options.message_stream("inputs", parameters, size, Rotate(), inputs, (receiver,), rate_fps / frames)
        # Every position by itself: its losses bound the number of damaged messages.
        stream = replace(stream, pattern=Message(Rotate(), frames))
        if parameters.text("phases") == options.INDEPENDENT:
            stream = with_independent_phases(stream, repeat)
        spec = options.message_trial(parameters, f"{self.name} {size} B {number_text(load_pct)} %", (stream,))
        return replace(spec, watch_queues=True)


def _repeats(parameters: ParameterSet) -> int:
    """Trials of each load; in step, each is like the first."""
    return parameters.integer("repeats") if parameters.text("phases") == options.INDEPENDENT else 1


def _about(rows: Sequence[LoadRow]) -> str:
    """Loads without loss, of which a trial that was too short to tell says nothing about a longer one."""
    good = [row for row in rows if row.status.trusted]
    lossy = min((row.load_pct for row in good if row.lost_frames or row.fills), default=inf)
    told = min((row.load_pct for row in good if row.finding), default=inf)
    unseen = max((row.load_pct for row in good if row.load_pct < lossy), default=None)
    lossless = max((row.load_pct for row in good if row.load_pct < min(lossy, told)), default=None)
    words = []
    if lossless is not None:
        words.append(f"lossless up to {number_text(lossless)} % of the loads tried")
    if unseen is not None and unseen != lossless:
        words.append(f"no loss seen up to {number_text(unseen)} %, in trials too short to tell whether a queue fills")
    if good and unseen is None:
        words.append(f"loss or a queue that fills from {number_text(lossy)} %")
    if good:
        full = max(good, key=lambda row: row.load_pct)
        words.append(f"peak throughput {max(row.throughput_pct for row in good):.4f} %")
        words.append(f"at {number_text(full.load_pct)} % {full.throughput_pct:.4f} %")
    return ", ".join(words)
