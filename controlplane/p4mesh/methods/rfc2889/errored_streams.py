"""The traffic of RFC 2889 5.9: valid frames, and beside them frames that a device must not or need not forward.

Two sets of streams: ``sizes`` has valid frames of one size, and frames with a bad FCS in a trial of their own; ``xena``
is the traffic of Xena testers, valid frames of all sizes in turn with an FCS error at an interval. Classes that are
sent together have equal shares of the L1 load.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

from p4mesh.errors import ParameterError
from p4mesh.layers import PLAIN
from p4mesh.methods.bed import Port
from p4mesh.methods.options import shared
from p4mesh.methods.options.parameters import Parameter, ParameterSet, choice, decimal, integer
from p4mesh.quantities import number_text, typed_text
from p4mesh.traffic.line_rate import NS_PER_S, STANDARD_OVERHEAD_BYTES, rate_at_pct, tx_frames
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import MOST_STREAMS, Stream
from p4mesh.trial.spec import TrialSpec

VALID, UNDERSIZE, OVERSIZE, BAD_FCS = "valid", "undersize", "oversize", "bad_fcs"
CLASSES = (VALID, OVERSIZE, UNDERSIZE, BAD_FCS)
UNDERSIZE_BYTES = 63
OVERSIZE_BYTES = 1519
ONE_SIZE, XENA = "sizes", "xena"
MOST_SIZES = MOST_STREAMS - 3
"""One stream for each size of valid frames, and one for each other class."""
_SIZES = 20
"""Their seeds fit into one round of a loop of 400 Gbit/s and 400 ns."""
_SCALED_ERRORS, _SPARE = 60, 10
"""In 30 s, one every 0.5 s; and at most every tenth valid frame."""
_MS_PER_S = Fraction(1000)
_SECTION = "RFC 2889 5.9.3"


def stream_parameters() -> tuple[Parameter, ...]:
    """Lengths and shares of valid and errored frames, and the interval of errors."""
    return (
        choice(
            "stream_set",
            ONE_SIZE,
            _SECTION,
            "valid frames of each frame size by itself; or as Xena testers send them, sizes from the smallest to the "
            "largest frame size in turn, a third of the load for each class, bad FCS at an interval",
            (ONE_SIZE, XENA),
        ),
        integer(
            "valid_sizes",
            _SIZES,
            "sizes",
            _SECTION,
            "stream_set=xena: sizes of valid frames, evenly spread; each takes a stream of the tester; more than the "
            "default may fill its loop, which takes long to simulate",
            (2, MOST_SIZES),
        ),
        decimal(
            "bad_fcs_interval_ms",
            shared.SCALED,
            "ms",
            _SECTION,
            f"stream_set=xena: from one frame with a bad FCS to the next; scaled = {_SCALED_ERRORS} in a trial, every "
            f"0.5 s in 30 s, but at most every {_SPARE}th valid frame",
            ("0.01", "300000"),
            (shared.SCALED,),
        ),
        integer("undersize_bytes", UNDERSIZE_BYTES, "B", _SECTION, "length of undersize frames", (36, 63)),
        integer("oversize_bytes", OVERSIZE_BYTES, "B", _SECTION, "length of oversize frames", (1519, 9216)),
    )


def class_of(stream: str) -> str:
    """The class of frames that a stream of this name sends."""
    return stream.partition("-")[0]


def sizes_between(smallest: int, largest: int, count: int) -> tuple[int, ...]:
    """``count`` sizes or, where these are fewer, all from smallest to largest; evenly spread and symmetric."""
    last = min(count, largest - smallest + 1) - 1
    if last < 1:
        return (smallest,)
    offsets = [(2 * (largest - smallest) * place + last) // (2 * last) for place in range(last + 1)]
    return tuple(
        smallest + offset if 2 * place <= last else largest - offsets[last - place]
        for place, offset in enumerate(offsets)
    )


@dataclass(frozen=True)
class ErroredTraffic:
    """The trials between one pair of ports, for any load."""

    sender: Port
    receiver: Port
    parameters: ParameterSet
    sizes: tuple[int, ...]
    """Lengths of the valid frames with FCS."""
    bad_fcs: bool
    """Whether the sender can send frames with a bad FCS."""

    @property
    def shown_sizes(self) -> int | str:
        """Name of the valid frames in tables."""
        return self.sizes[0] if len(self.sizes) == 1 else f"{self.sizes[0]}-{self.sizes[-1]}"

    @property
    def mean_bytes(self) -> Fraction:
        """Mean length of valid frames with FCS, of which equally many have each size."""
        return Fraction(sum(self.sizes), len(self.sizes))

    @property
    def duration_ns(self) -> int:
        """Transmission time of each trial."""
        return shared.duration_ns_of(self.parameters, round(self.mean_bytes), self.sender.own_rate_bps)

    def trials(self, load_pct: Fraction) -> tuple[TrialSpec, ...]:
        """All classes at a load in percent of line rate, and frames with a bad FCS in a trial of their own."""
        lengths = {name: self.parameters.integer(f"{name}_bytes") for name in (UNDERSIZE, OVERSIZE)}
        if self.parameters.text("stream_set") == XENA:
            share = load_pct / (1 + len(lengths))
            valid, bad = self._in_turn(share)
            others = self._sharing(lengths, share)
            return (self._trial("errored frames", load_pct, (*valid, *others, *bad)),)
        (size,) = self.sizes
        mixed = self._sharing({VALID: size, **lengths}, load_pct / 3)
        found = [self._trial("errored frames", load_pct, mixed)]
        if self.bad_fcs:
            halves = self._sharing({VALID: size, BAD_FCS: size}, load_pct / 2)
            found.append(self._trial("bad FCS", load_pct, halves))
        return tuple(found)

    def _errors_fps(self, slots_fps: Fraction) -> Fraction:
        """The rate of frames with a bad FCS that take the place of some of ``slots_fps`` valid ones.

        Raises ParameterError when they would be more than half.
        """
        if self.parameters.is_word("bad_fcs_interval_ms"):
            return min(Fraction(_SCALED_ERRORS * NS_PER_S, self.duration_ns), slots_fps / _SPARE)
        interval_ms = self.parameters.number("bad_fcs_interval_ms")
        if interval_ms * slots_fps < 2 * _MS_PER_S:
            raise ParameterError(
                f"bad_fcs_interval_ms={typed_text(interval_ms)}: there are {number_text(slots_fps, 4)} valid frames "
                "per second",
                hint=f"an interval of {number_text(2 * _MS_PER_S / slots_fps, 4)} ms or more, or a higher "
                "sweep_start_pct",
            )
        return _MS_PER_S / interval_ms

    def _sharing(self, lengths: Mapping[str, int], share_pct: Fraction) -> tuple[Stream, ...]:
        """A stream for each class, with the same share of the line."""
        return tuple(
            self._stream(name, length, rate_at_pct(share_pct, length, self.sender.own_rate_bps))
            for name, length in lengths.items()
        )

    def _in_turn(self, share_pct: Fraction) -> tuple[tuple[Stream, ...], tuple[Stream, ...]]:
        """The streams of valid frames, which leave in the order of their sizes, and that with a bad FCS.

        Frames with a bad FCS take the place of valid ones: both together have the share.
        """
        slot_bytes, bad_bytes = self.mean_bytes + STANDARD_OVERHEAD_BYTES, round(self.mean_bytes)
        fps = self.sender.own_rate_bps * share_pct / 100 / (8 * slot_bytes)
        bad: tuple[Stream, ...] = ()
        if self.bad_fcs:
            errors_fps = self._errors_fps(fps)
            bad = (self._stream(BAD_FCS, bad_bytes, errors_fps),)
            fps -= errors_fps * (bad_bytes + STANDARD_OVERHEAD_BYTES) / slot_bytes
        frames, kinds = max(1, tx_frames(self.duration_ns, fps)), len(self.sizes)
        valid = tuple(
            replace(
                self._stream(f"{VALID}-{size}", size, fps / kinds),
                frame_count=-((place - frames) // kinds),
                start_offset_ns=(round(place * NS_PER_S / fps),),
                may_be_filtered=place > 0,
            )
            for place, size in enumerate(self.sizes[:frames])
        )
        return valid, bad

    def _stream(self, name: str, length: int, fps: Fraction) -> Stream:
        count = max(1, tx_frames(self.duration_ns, fps))
        ports = (self.sender.number,), (self.receiver.number,)
        stream = Stream(name, length, fps, count, Pairs(), *ports, PLAIN)
        return replace(stream, bad_fcs=name == BAD_FCS, may_be_filtered=name != VALID)

    def _trial(self, label: str, load_pct: Fraction, streams: Sequence[Stream]) -> TrialSpec:
        name = f"{label} {self.shown_sizes} B {float(load_pct):.4f} %"
        spec = shared.trial_of(self.parameters, name, tuple(streams), self.duration_ns, per_flow=True)
        return replace(spec, watch_losses=True)


def about(traffic: Sequence[ErroredTraffic], parameters: ParameterSet) -> str:
    """The note of the table on the streams."""
    text = (
        f"Undersize frames have {parameters.integer('undersize_bytes')} bytes, oversize frames "
        f"{parameters.integer('oversize_bytes')}. "
    )
    if parameters.text("stream_set") == ONE_SIZE:
        return text + (
            "Each load is measured with oversize and undersize frames beside valid ones, and where the ports can send "
            "them with frames with a bad FCS beside valid ones: counts are sums of both."
        )
    (only,) = traffic
    steps = sorted({after - before for before, after in pairwise(only.sizes)})
    between = " or ".join(str(step) for step in steps) or "0"
    return text + (
        f"Valid frames have {len(only.sizes)} sizes in turn, {between} bytes apart; the three classes have a third of "
        "the load each, and frames with a bad FCS take the place of valid ones at an interval."
    )
