"""The vocabulary of results: key, title, unit, decimals and meaning of each column, declared once.

A field of a record that is a column is annotated with its entry::

    mfr_fps: Annotated[float | None, fields.MFR_FPS]

It has the name of the key. Rows, tables, CSV files and docs/RESULTS.md follow (:mod:`p4mesh.methods.results.record`).
A table that says more of a column names it anew: ``retitled(fields.LOSS_PCT, "Loss there")``. Units stand last in keys,
and a column has the unit of its key unless it names another one. ``avg_error_us`` is the error of ``avg_us``.
An entry says which of its numbers are better, or that they are settings, where its group does not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial


@dataclass(frozen=True)
class Column:
    """One column: ``key`` in rows and CSV (unit last), ``title`` for people, decimals to show."""

    key: str
    title: str
    unit: str = ""
    digits: int | None = None
    error: str = ""
    """Key of the column with the error of its numbers, where it is another one than that of the vocabulary."""


class Sense(Enum):
    """Which numbers of a column are better, or that they are no result."""

    HIGHER = "higher"
    LOWER = "lower"
    NEITHER = "neither"
    SETTING = "setting"
    """Asked for, or a property of the measurement: loads, samples, errors of other numbers."""


@dataclass(frozen=True)
class Quantity:
    """The meaning of a difference of two numbers of a column."""

    sense: Sense
    error: str = ""
    """Key of the column that has the error of the number; empty: none has."""
    resolution: str = ""
    """Parameter that is the resolution of the number, in its unit; empty: none is."""
    like: str = ""
    """Key of the column that has the same relative error; empty: none has."""
    share_of: str = ""
    """Key of the column with the number of frames that the number is a share of, in percent; empty: of none."""
    is_rate: bool = False
    """Whether it is a count of received frames over the transmission time: each port may have one more or less."""
    for_good: str = ""
    """Key of the column with the number of a longer trial, if the device forgives a burst; empty: none has it."""
    exact: str = ""
    """Why the number needs no error beside it; empty: it has one."""


COUNTED = "a count of the trials that the row is about, and of no other"
SEEN = "lowest or highest of the frames that were measured, and no estimate of others"
BOUND = "itself a bound, or an end of an interval"
SEARCHED = "its bracket and what its trials do not exclude stand in the table of searches, or beside it"
REPEATED = "a statistic of the runs that were made"
INTERVAL = "the ends of its interval stand beside it"
LEFT_OUT = "what the rate of the same trial leaves out, with the error of that rate"

QUANTITIES: dict[str, Quantity] = {}
"""The meaning of differences of a column, by its key."""
MEANINGS: dict[str, str] = {}
"""The meaning of the numbers of a column, by its key."""
LOSSES: set[str] = set()
"""Keys of the columns that say how much was lost: corrupted frames are among it, and stand beside it."""
BY_TOPIC: dict[str, list[Column]] = {}
"""The columns by what they are about, for docs/RESULTS.md."""


def retitled(column: Column, title: str, unit: str | None = None, digits: int | None = None) -> Column:
    """A column with another title, for a table in which its own would be misread."""
    return replace(
        column,
        title=title,
        unit=column.unit if unit is None else unit,
        digits=column.digits if digits is None else digits,
    )


_SENSES: list[Sense] = []
"""The sense of the columns of each group, of those that do not have another one."""


def quantity_of(key: str) -> Quantity:
    """Meaning of differences of a column, also of one for a frame size, in percent of a cap, or for the lowest or the
    highest of some ports, which have the highest error; none for others.
    """
    name = _without_size(key).replace("_of_cap_pct", "_pct")
    one = QUANTITIES.get(re.sub("_(low|high)$", "", name), Quantity(Sense.NEITHER))
    return QUANTITIES.get(name) or replace(one, error=f"{one.error}_high" if one.error else "")


def is_loss(key: str) -> bool:
    """Whether a column, also one for a frame size, says how much was lost."""
    return _without_size(key) in LOSSES


def _without_size(key: str) -> str:
    return re.sub(r"_[0-9]+B$", "", key)


def _group(about: str, sense: Sense) -> None:
    BY_TOPIC[about] = []
    _SENSES.append(sense)


def _spread(
    key: str,
    title: str,
    meaning: str,
    digits: int = 3,
    sense: Sense | None = None,
    error: str = "",
    exact: str = "",
) -> tuple[Column, ...]:
    """The columns of the lowest, the mean and the highest of some times; ``{}`` stands for which.

    ``error`` is the column of the error of the mean, ``exact`` why none of them has one.
    """
    return tuple(
        _column(
            key.format(which),
            title.format(which),
            f"{word} {meaning}",
            digits=digits,
            sense=sense,
            error=error if which == "avg" else "",
            exact=exact if exact or which == "avg" else SEEN,
        )
        for which, word in (("min", "lowest"), ("avg", "mean"), ("max", "highest"))
    )


def _of_messages(kind: str, meaning: str) -> tuple[Column, ...]:
    return _spread(f"{kind}_us_{{}}", f"{kind.upper()} {{}}", meaning, error="avg_error_us")


_UNITS: dict[str, tuple[str, int | None]] = {
    "fps": ("frames/s", 0),
    "frames": ("frames", None),
    "mbps": ("Mbit/s", 2),
    "ms": ("ms", 3),
    "pct": ("% of line", 4),
    "us": ("us", 3),
}
"""Unit and decimals of a column by the end of its key."""
_STATISTIC = re.compile(r"_(min|max|avg|mean|stddev|low|high)$")
"""Ends of keys that stand behind the unit."""
_ERROR = re.compile(r"_error(?=_|$)")
"""Part of the key of an error; the rest is the key of its result: ``avg_error_us`` is the error of ``avg_us``."""


def _unit_of(key: str) -> tuple[str, int | None]:
    """Unit and decimals of a column that declares no others; those of an error are the same with a sign."""
    unit, digits = _UNITS.get(_STATISTIC.sub("", key).rpartition("_")[2], ("", None))
    return f"+- {unit}" if "_error_" in key else unit, digits


def _column(
    key: str,
    title: str,
    meaning: str,
    unit: str | None = None,
    digits: int | None = None,
    *,
    sense: Sense | None = None,
    error: str = "",
    resolution: str = "",
    like: str = "",
    share_of: str = "",
    is_rate: bool = False,
    for_good: str = "",
    exact: str = "",
    loss: bool = False,
) -> Column:
    assert key not in MEANINGS, key
    if unit is None:
        unit, usual = _unit_of(key)
        digits = usual if digits is None else digits
    if loss:
        LOSSES.add(key)
    MEANINGS[key] = meaning
    QUANTITIES[key] = Quantity(sense or _SENSES[-1], error, resolution, like, share_of, is_rate, for_good, exact)
    result = _ERROR.sub("", key)
    if result != key and result in QUANTITIES and QUANTITIES[result].sense is not Sense.SETTING:
        QUANTITIES[result] = replace(QUANTITIES[result], error=key)
    column = Column(key, title, unit, digits)
    BY_TOPIC[next(reversed(BY_TOPIC))].append(column)
    return column


_higher, _lower = partial(_column, sense=Sense.HIGHER), partial(_column, sense=Sense.LOWER)
_neutral, _setting = partial(_column, sense=Sense.NEITHER), partial(_column, sense=Sense.SETTING)
_loss = partial(_column, sense=Sense.LOWER, loss=True)


def _error(key: str, of: str, meaning: str, digits: int = 3) -> Column:
    """The column of the error of another column, in microseconds."""
    return _setting(key, f"Error of {of}", f"{meaning}, 95 % confidence", digits=digits)


def _error_of_loss(key: str, of: str) -> Column:
    """The column of the error of a loss in percent, the larger side of its interval."""
    meaning = f"error of {of}, 95 % confidence, if frames are lost by themselves"
    return _setting(key, f"Error of {of}", meaning, "+- %", 4)


_group("Which trial", Sense.SETTING)
FRAME_SIZE_BYTES = _column("frame_size_bytes", "Frame size", "length of the test frames with FCS", "B")
MIX = _column("mix", "Mix", "mix of sizes that frames of this size belong to")
TRAFFIC_CLASS = _column("traffic_class", "Class", "class of a traffic file")
STREAM = _column("stream", "Stream", "stream that the frames belong to")
PART = _column("part", "Part", "part of the test that needed the trial")
RUN = _column("run", "Run", "number of the run among those of equal parameters")
RUNS = _column("runs", "Runs", "runs that the row sums up")
REPETITION = _column("repetition", "Repetition", "number of the repetition")
REPETITIONS = _column("repetitions", "Searches", "searches that the row sums up")
ITERATION = _column(
    "iteration", "Iteration", "number of the iteration of the whole test, or the statistic over all of them"
)
ITERATIONS = _column("iterations", "Iterations", "iterations of searches, each a learning and a test trial")
TRIAL = _column("trial", "Trial", "number of the trial")
TRIALS = _column("trials", "Trials", "trials that were needed")
UNIT = _column("unit", "Unit", "part of the test, as in the journal")
PORT = _column("port", "Port", "port of the tester")
PORTS = _column("ports", "Ports", "ports of the tester")
TX_PORT = _column("tx_port", "Tx port", "port that sends")
RX_PORT = _column("rx_port", "Rx port", "port that receives")
FROM_PORTS = _column("from_ports", "From ports", "ports that send in this direction")
TO_PORTS = _column("to_ports", "To ports", "ports that receive in this direction")
DEVICE = _column("device", "Device", "device that the port is linked to")
NETWORK = _column("network", "Network", "network that the frames go to or come from")
HOST = _column("host", "Host", "address in that network")
NEXT_HOP = _column("next_hop", "Next hop", "router that the network is reached by")
POSITION = _column("position", "Position", "place in a message, or of a filter")
SOURCE = _column("source", "Source", "source of the frames")
DESTINATION = _column("destination", "Destination", "destination of the frames")
PROTOCOL = _column("protocol", "Protocol", "protocol that a filter matches")
ACTION = _column("action", "Action", "what a filter does with what it matches")
METHOD = _column("method", "Method", "method by which the value was found")
MODE = _column("mode", "Mode", "mode of the measurement")
MOMENT = _column("moment", "Moment", "whether devices fail before or during the traffic")
FAILURES = _column("failures", "Failures", "devices that fail")
LINK = _column("link", "Link", "rate of the link", "Gbit/s")
AT = _column("at", "At", "place or load that the value belongs to")
SEARCH = _column("search", "Search", "what was searched")
NUMBER = _column("number", "n is", "which n the row is about")
PACKET_SIZE_BYTES = _column("packet_size_bytes", "Packet", "length of a packet without FCS", "B without FCS")

_group("Loads and rates", Sense.HIGHER)
LOAD_PCT = _setting("load_pct", "Load", "intended load (RFC 2285 3.5.1)")
RATE = _setting("rate", "Rate", "rate that was asked for, with its unit")
RATE_FPS = _setting("rate_fps", "Rate", "rate of one port or group")
OFFERED_PCT = _setting("offered_pct", "Offered", "offered load (RFC 2285 3.5.2)")
OFFERED_FPS = _setting("offered_fps", "Offered", "offered load of all ports that send")
OFFERED_L1_MBPS = _setting("offered_l1_mbps", "Offered (L1)", "offered load with preamble and gap")
FORWARDING_L2_TBPS = _column(
    "forwarding_l2_tbps", "Rx (L2)", "forwarding rate without preamble and gap", "Tbit/s", 3, like="forwarding_fps"
)
LINE_PCT = _column(
    "line_pct",
    "Line rate",
    "forwarding rate as a share of the line rate of the ports that receive",
    like="forwarding_fps",
)
FORWARDING_PCT = _column(
    "forwarding_pct",
    "Rx",
    "forwarding rate (RFC 2285 3.6.1) as a share of the line rate of the ports that send",
    like="forwarding_fps",
)
FORWARDING_FPS = _column(
    "forwarding_fps",
    "Rx",
    "forwarding rate (RFC 2285 3.6.1) of the ports that the row is about; each copy of a frame to many counts",
    is_rate=True,
)
FORWARDING_ERROR_FPS = _setting(
    "forwarding_error_fps",
    "Error of Rx",
    "a frame of each port that the rate is about, and what a transient, a queue and chance (95 %) leave open",
)
FORWARDING_L1_MBPS = _column(
    "forwarding_l1_mbps", "Rx (L1)", "forwarding rate with preamble and gap", like="forwarding_fps"
)
THEORETICAL_FPS = _setting("theoretical_fps", "Theoretical", "highest frame rate that the lines carry (RFC 2889 5.1.2)")
THEORETICAL_PCT = _setting("theoretical_pct", "Theoretical maximum", "load above which an output is over-subscribed")
UPLINK_MBPS = _setting("uplink_mbps", "Uplink (line rate)", "line rate of the link between the devices", digits=0)
SPLIT_PCT = _setting("split_pct", "Oload of source 1", "offered load of the source that sends to two ports", digits=3)
STEADY_PCT = _setting("steady_pct", "Oload of source 2", "offered load of the source that sends to one port", digits=3)
STAGGER_US = _setting("stagger_us", "Stagger", "start of each port behind the one before")
DURATION_MS = _setting("duration_ms", "Duration", "transmission time of the trial")

_group("Throughput and its search", Sense.HIGHER)
THROUGHPUT_PCT = _column("throughput_pct", "Throughput", "highest load without loss (RFC 1242 3.17)", exact=SEARCHED)
THROUGHPUT_ERROR_PCT = _setting(
    "throughput_error_pct",
    "Error of throughput",
    "error of a throughput that no search found, from first and last messages and from sampling, 95 % confidence",
)
THROUGHPUT_FPS = _column("throughput_fps", "Throughput", "throughput in frames of all ports", exact=SEARCHED)
THROUGHPUT_L1_MBPS = _column("throughput_l1_mbps", "L1", "throughput with preamble and gap", exact=SEARCHED)
THROUGHPUT_L2_MBPS = _column("throughput_l2_mbps", "L2", "throughput without preamble and gap", exact=SEARCHED)
UPPER_FPS = _column("upper_fps", "Fails at", "lowest rate tried that did not pass", digits=3, exact=BOUND)
UPPER_RATE_PCT = _column(
    "upper_rate_pct",
    "Fails at",
    "lowest learning rate that did not pass, of the base rate",
    "% of base",
    3,
    exact=BOUND,
)
UPPER_PCT = _column("upper_pct", "Fails at", "lowest load tried that did not pass", exact=BOUND)
LOWER_PCT = _column(
    "lower_pct",
    "Lower bound",
    "highest load tried that passed, less the excess that its trial does not exclude",
    exact=BOUND,
)
CARRIED_PCT = _higher(
    "carried_pct",
    "For good, no bucket",
    "throughput less the excess over what the device carries for any time that its trial does not exclude",
    exact=BOUND,
)
BUCKET_PCT = _higher(
    "bucket_pct",
    "For good, bucket of 1,000",
    "the least that a device carries for any time if it forgives each port 1000 frames, as policers do",
    exact=BOUND,
)
UPPER_FRAMES = _column("upper_frames", "Upper bound", "shortest burst tried that lost frames", exact=BOUND)
LOWER_FRAMES = _column("lower_frames", "Lower bound", "longest burst tried that lost none", exact=BOUND)
TRIED_PCT = _setting("tried_pct", "Last tried", "last load tried, where none passed")
AT_LEAST = _column("at_least", "At least", "whether the highest load that the search may try has passed")
CONDITIONAL_PCT = _column(
    "conditional_pct",
    "Conditional throughput",
    "throughput at the relevant lower bound (RFC 9971 6.8.2)",
    exact=SEARCHED,
)
REGULARITY = _column("regularity", "Regularity", "whether the goal has a lower bound (RFC 9971 6.6)")
GOAL = _setting("goal", "Goal", "number of the goal")
SEARCH_METHOD = _setting("search_method", "Search method", "how loads are chosen")
INITIAL_PCT = _setting("initial_pct", "Initial", "first load")
MINIMUM_PCT = _setting("minimum_pct", "Minimum", "lowest load of the search")
MAXIMUM_PCT = _setting("maximum_pct", "Maximum", "highest load of the search")
RESOLUTION_PCT = _setting("resolution_pct", "Resolution", "width at which the search stops")
STEP_PCT = _setting("step_pct", "Step", "step of linear searches")
BACKOFF_PCT = _setting("backoff_pct", "Back-off", "how far combo goes below a load that failed", "% of bracket", 2)
GRID = _setting("grid", "Loads", "loads that a bisection may try")
TRY_MAX_FIRST = _setting("try_max_first", "Maximum first", "whether the highest load is tried before all others")
ACCEPTABLE_LOSS_PCT = _setting("acceptable_loss_pct", "Acceptable loss", "loss that still passes", "%", 4)
THRESHOLD_PCT = _setting("threshold_pct", "Threshold", "a lower result is a FAIL")
EXCLUDED_LOSS_PPM = _setting(
    "excluded_loss_ppm",
    "Excludes loss above",
    "loss ratio that the deciding trial excludes with 95 % confidence",
    "ppm",
    3,
)
UNDELIVERED_PCT = _setting(
    "undelivered_pct", "Tester delivers no more than", "lowest load that the tester could not send"
)
VERIFY_TRIALS = _setting("verify_trials", "r", "trials at a lossy load (RFC 9004 6, r)", "trials")
VERIFY_OVERLOAD_FRAMES = _setting("verify_overload_frames", "z", "more loss than this is not verified (RFC 9004 6, z)")
INITIAL_DURATION_MS = _setting("initial_duration_ms", "Shortest trial", "shortest trial on the way (RFC 9971)")
FINAL_DURATION_MS = _setting("final_duration_ms", "Final trial", "length of the trials that decide (RFC 9971)")
DURATION_SUM_MS = _setting("duration_sum_ms", "Duration sum", "trials that decide, added up (RFC 9971)")
GOAL_LOSS_PCT = _setting("goal_loss_pct", "Loss ratio", "loss ratio of the goal (RFC 9971)", "%", 4)
EXCEED_PCT = _setting("exceed_pct", "Exceed ratio", "share of the time that may lose more (RFC 9971)", "%", 2)
WIDTH_PCT = _setting("width_pct", "Width", "relative width of the goal (RFC 9971)", "% of upper", 4)

_group("Forwarding rates under overload", Sense.HIGHER)
MFR_FPS = _column("mfr_fps", "MFR", "maximum forwarding rate (RFC 2285 3.6.3)", for_good="mfr_bucket_fps")
MFR_ERROR_FPS = _setting(
    "mfr_error_fps",
    "Error of MFR",
    "that of its forwarding rate, and what is forwarded at loads that may have filled a queue",
)
MFR_BUCKET_FPS = _column(
    "mfr_bucket_fps",
    "MFR, bucket of 1,000",
    "the least of the MFR that is for good if the device forgives each sender 1000 frames, as policers do",
    exact=BOUND,
)
MFR_OFFERED_PCT = _setting("mfr_offered_pct", "Oload at MFR", "offered load at the MFR")
FRMOL_FPS = _column(
    "frmol_fps", "FRMOL", "forwarding rate at maximum offered load (RFC 2285 3.6.2)", for_good="frmol_bucket_fps"
)
FRMOL_ERROR_FPS = _setting("frmol_error_fps", "Error of FRMOL", "that of the forwarding rate of its trial")
FRMOL_BUCKET_FPS = _column(
    "frmol_bucket_fps",
    "FRMOL, bucket of 1,000",
    "the least of the FRMOL that is for good if the device forgives each sender 1000 frames, as policers do",
    exact=BOUND,
)
FRMOL_OFFERED_PCT = _setting("frmol_offered_pct", "Oload at FRMOL", "maximum offered load (RFC 2285 3.5.3)")

_group("Frames", Sense.LOWER)
TX_FRAMES = _setting("tx_frames", "Tx", "frames sent")
RX_FRAMES = _neutral("rx_frames", "Rx", "frames received", exact=COUNTED)
RX_BYTES = _neutral("rx_bytes", "Rx", "bytes received", "bytes", exact=COUNTED)
EXPECTED_FRAMES = _setting("expected_frames", "Expected", "copies that should arrive")
MEAN_BYTES = _setting("mean_bytes", "Frame", "mean length of the frames", "B mean", 1)
LATE_FRAMES = _column(
    "late_frames", "Late", "received after the transmission, from queues of the device", exact=LEFT_OUT
)
EARLY_FRAMES = _column(
    "early_frames",
    "Early",
    "received at first beyond the rate of the rest, while a buffer or a bucket of the device filled",
    exact=LEFT_OUT,
)
LOST_FRAMES = _loss("lost_frames", "Lost", "frames that did not arrive", exact=COUNTED)
CORRUPTED_FRAMES = _column(
    "corrupted_frames",
    "Corrupted",
    "of the lost frames, those that came with a good FCS and signature, and another payload than was sent",
    exact=COUNTED,
)
SHARED_CORRUPTED_FRAMES = _column(
    "shared_corrupted_frames",
    "Corrupted there",
    "corrupted frames at the receivers of these frames, where others come, too: which ones they were is not known",
    exact=COUNTED,
)
DOUBTFUL_FRAMES = _column(
    "doubtful_frames",
    "Lost or late",
    "of the lost frames, those that may have come late: late frames that nothing tells from copies",
    exact=COUNTED,
)
NAMED_FRAMES = _setting("named_frames", "Lost, named", "lost frames that are named one by one")
FIRST_SEQUENCE = _setting("first_sequence", "First number", "number of the first lost frame in a row")
LAST_SEQUENCE = _setting("last_sequence", "Last number", "number of the last lost frame in a row")
FLOODED_FRAMES = _column("flooded_frames", "Flooded", "frames at ports that they do not belong to", exact=COUNTED)
MISDIRECTED_FRAMES = _column(
    "misdirected_frames", "Misdirected", "frames of a class at ports that it does not go to", exact=COUNTED
)
DUPLICATE_FRAMES = _column("duplicate_frames", "Duplicate", "frames that came more than once", exact=COUNTED)
REORDERED_FRAMES = _column(
    "reordered_frames", "Reordered", "frames that came behind a later one (RFC 4737)", exact=COUNTED
)
FOREIGN_FRAMES = _column("foreign_frames", "Foreign", "frames without a signature of the tester", exact=COUNTED)
MISINSERTED_FRAMES = _column("misinserted_frames", "Mis-inserted", "frames that the device made", exact=COUNTED)
LOSS_PCT = _loss(
    "loss_pct",
    "Loss",
    "lost of sent frames, or of expected copies",
    "%",
    4,
    share_of="tx_frames",
    for_good="bucket_loss_pct",
)
LOSS_ERROR_PCT = _error_of_loss("loss_error_pct", "loss")
LOSS_RATIO = _loss(
    "loss_ratio",
    "Loss ratio",
    "lost of expected copies",
    "of expected",
    share_of="expected_frames",
    error="loss_ratio_error",
    for_good="bucket_loss_ratio",
)
LOSS_RATIO_ERROR = _setting(
    "loss_ratio_error",
    "Error of loss ratio",
    "error of the loss ratio, 95 % confidence, with what a longer run may lose more",
    "+- of expected",
)
LOSS_RATIO_BELOW = _setting(
    "loss_ratio_below", "Below, 95 %", "bound of the loss ratio with 95 % confidence", "of expected"
)
BUCKET_LOSS_RATIO = _setting(
    "bucket_loss_ratio",
    "Bucket of 1,000",
    "the most that a run of any length loses if the device forgives each sender 1000 frames, as policers do",
    "of expected at most",
)
LOSS_LOW_PCT = _setting("loss_low_pct", "Loss, 95 %", "lower bound of the loss with 95 % confidence", "% at least", 4)
LOSS_HIGH_PCT = _setting("loss_high_pct", "Loss, 95 %", "upper bound of the loss with 95 % confidence", "% at most", 4)
BUCKET_LOSS_PCT = _setting(
    "bucket_loss_pct",
    "Bucket of 1,000",
    "the most that a trial of any length loses if the device forgives each sender 1000 frames, as policers do",
    "% at most",
    4,
)
TOTAL_TX_FRAMES = _setting("total_tx_frames", "Tx, all", "all frames sent, faulty ones included")
TOTAL_RX_FRAMES = _neutral("total_rx_frames", "Rx, all", "all frames received, faulty ones included", exact=COUNTED)
VALID_TX_FRAMES = _setting("valid_tx_frames", "Valid Tx", "frames without a fault sent")
VALID_RX_FRAMES = _neutral("valid_rx_frames", "Valid Rx", "frames without a fault received", exact=COUNTED)
VALID_LOSS_PCT = _loss(
    "valid_loss_pct", "Valid loss", "lost of the frames without a fault", "%", 4, for_good="bucket_loss_pct"
)
VALID_LOSS_ERROR_PCT = _error_of_loss("valid_loss_error_pct", "valid loss")
OVERSIZE_TX_FRAMES = _setting("oversize_tx_frames", "Oversize Tx", "frames sent that are too long")
OVERSIZE_RX_FRAMES = _neutral("oversize_rx_frames", "Oversize Rx", "frames received that are too long", exact=COUNTED)
OVERSIZE_HANDLING = _column("oversize_handling", "Oversize", "what the device does with frames that are too long")
UNDERSIZE_TX_FRAMES = _setting("undersize_tx_frames", "Undersize Tx", "frames sent that are too short")
UNDERSIZE_RX_FRAMES = _neutral(
    "undersize_rx_frames", "Undersize Rx", "frames received that are too short", exact=COUNTED
)
UNDERSIZE_HANDLING = _column("undersize_handling", "Undersize", "what the device does with frames that are too short")
BAD_FCS_TX_FRAMES = _setting("bad_fcs_tx_frames", "Bad FCS Tx", "frames sent with a wrong FCS")
BAD_FCS_RX_FRAMES = _neutral(
    "bad_fcs_rx_frames", "Bad FCS Rx", "frames received that were sent with a wrong FCS", exact=COUNTED
)
BAD_FCS_HANDLING = _column("bad_fcs_handling", "Bad FCS", "what the device does with frames with a wrong FCS")
DRIBBLE_HANDLING = _column("dribble_handling", "Dribble bits", "what the device does with frames with dribble bits")
ALIGNMENT_HANDLING = _column(
    "alignment_handling", "Alignment", "what the device does with frames with an alignment error"
)

_group("Queues", Sense.LOWER)
QUEUES = _column("queues", "Queues", "whether a queue of the device filled")
EXCESS_PPM = _column("excess_ppm", "Excess", "rate at which a queue fills, as a share of the load", "ppm", 1)
EXCESS_ERROR_PPM = _setting("excess_error_ppm", "Error", "error of that share", "+- ppm", 1)
EXCESS_FPS = _column("excess_fps", "Excess", "rate at which a queue fills", digits=1, like="excess_ppm")
OVERFLOW_S = _higher(
    "overflow_s",
    "1,000 frames full after",
    "time after which a queue of 1,000 frames is full",
    "s",
    3,
    like="excess_ppm",
)

_group("Latency and its variation", Sense.LOWER)
DEFINITION = _column("definition", "Definition", "definition of the latency (RFC 1242 3.8, RFC 8238 2)")
SAMPLES = _setting("samples", "Samples", "frames that were measured", "frames")
MIN_US = _column("min_us", "Min", "lowest latency", exact=SEEN)
AVG_US = _column("avg_us", "Avg", "mean latency")
AVG_ERROR_US = _error("avg_error_us", "avg", "largest error of the mean latency, from sampling and time stamps", 4)
MAX_US = _column("max_us", "Max", "highest latency", exact=SEEN)
SINGLE_ERROR_US = _setting(
    "single_error_us",
    "Error of min, max",
    "most that the latency of a frame has of the way through the sending kernel, of 99 % of the frames, and of cables",
    "us too high",
    3,
)
P50_US = _column("p50_us", "p50", "median of the latency")
P50_ERROR_US = _error("p50_error_us", "p50", "error of the median, from bins, sampling and time stamps")
P99_US = _column("p99_us", "p99", "latency that 99 % of the frames keep")
P99_ERROR_US = _error("p99_error_us", "p99", "error of p99, from bins, sampling and time stamps")
P99_9_US = _column("p99_9_us", "p99.9", "latency that 99.9 % of the frames keep")
P99_9_ERROR_US = _error("p99_9_error_us", "p99.9", "error of p99.9, from bins, sampling and time stamps")
DEPARTURE_ERROR_NS = _setting(
    "departure_error_ns", "Departures", "how far a frame may have left from its time", "+- ns", 1
)
CALIBRATED = _column("calibrated", "Calibrated", "whether the latency of the wires is subtracted")
KIND = _column("kind", "By", "whether ports are told apart by layer or role")
NAME = _column("name", "Receivers of", "layer or role of the receiving ports")
RECEIVERS = _setting("receivers", "Receivers", "ports of that layer or role", "ports")
LOW_US = _column("low_us", "Low", "lowest mean of a port", "us mean", 3, error="port_error_us")
HIGH_US = _column("high_us", "High", "highest mean of a port", "us mean", 3, error="port_error_us")
PORT_ERROR_US = _error(
    "port_error_us", "low, high", "largest error of the mean of a port, from sampling and time stamps"
)
INCREMENT_US = _column("increment_us", "Increment", "mean less that of the layer before")
INCREMENT_ERROR_US = _error("increment_error_us", "increment", "errors of the two means together")
FIFO_US = _column("fifo_us", "FIFO", "mean latency, first bit in to first bit out (RFC 1242 3.8)", error="avg_error_us")
LIFO_US = _column("lifo_us", "LIFO", "mean latency, last bit in to first bit out (RFC 1242 3.8)", error="avg_error_us")
LILO_US = _column("lilo_us", "LILO", "mean latency, last bit in to last bit out (RFC 8238 2.1)", error="avg_error_us")
FILO_US = _column("filo_us", "FILO", "mean latency, first bit in to last bit out (RFC 8238 2.1)", error="avg_error_us")
MIMO_US = _column(
    "mimo_us", "MIMO", "mean message-in message-out latency (ATM Forum BTD-TEST-TM)", error="avg_error_us"
)
LATENCY_RAW_US = _setting("latency_raw_us", "Raw latency", "mean latency as measured", "us avg", 4)
LATENCY_CALIBRATED_US = _column(
    "latency_calibrated_us", "Calibrated", "mean latency less that of the wire", "us avg", 4, error="wire_error_us"
)
WIRE_US = _setting("wire_us", "Wire, median", "latency of the wire", digits=4)
WIRE_ERROR_US = _setting("wire_error_us", "Error", "error of the latency of the wire", digits=4)
JITTER_MIN_US = _column("jitter_min_us", "Jitter min", "lowest jitter (RFC 4689 3.2.3)", exact=SEEN)
JITTER_AVG_US = _column("jitter_avg_us", "Jitter avg", "mean jitter (RFC 4689 3.2.3)")
JITTER_AVG_ERROR_US = _error(
    "jitter_avg_error_us", "jitter avg", "largest error of the mean jitter, from sampling and time stamps", 4
)
JITTER_MAX_US = _column("jitter_max_us", "Jitter max", "highest jitter (RFC 4689 3.2.3)", exact=SEEN)
RFC3550_AVG_US = _column("rfc3550_avg_us", "RFC 3550 avg", "mean of the smoothed jitter (RFC 3550 6.4.1)", digits=4)
RFC3550_AVG_ERROR_US = _error(
    "rfc3550_avg_error_us",
    "RFC 3550 avg",
    "largest error of the mean smoothed jitter, from sampling, start and time stamps",
    4,
)
RFC3550_MAX_US = _column(
    "rfc3550_max_us", "RFC 3550 max", "highest smoothed jitter (RFC 3550 6.4.1)", digits=4, exact=SEEN
)
PDV_P99_US = _column("pdv_p99_us", "PDV p99", "packet delay variation that 99 % of the frames keep (RFC 5481 4.2)")
PDV_P99_ERROR_US = _error("pdv_p99_error_us", "PDV p99", "error of PDV p99, from bins, sampling and time stamps")
PDV_P99_9_US = _column(
    "pdv_p99_9_us", "PDV p99.9", "packet delay variation that 99.9 % of the frames keep (RFC 5481 4.2)"
)
PDV_P99_9_ERROR_US = _error(
    "pdv_p99_9_error_us", "PDV p99.9", "error of PDV p99.9, from bins, sampling and time stamps"
)
PDV_MAX_US = _column("pdv_max_us", "PDV max", "highest packet delay variation (RFC 5481 4.2)", exact=SEEN)
IPDV_MIN_US = _neutral("ipdv_min_us", "IPDV min", "lowest inter-packet delay variation (RFC 5481 4.1)", exact=SEEN)
IPDV_P1_US = _neutral("ipdv_p1_us", "IPDV p1", "inter-packet delay variation that 1 % of the pairs stay below")
IPDV_P1_ERROR_US = _error("ipdv_p1_error_us", "IPDV p1", "error of IPDV p1, from bins, sampling and time stamps")
IPDV_AVG_US = _neutral("ipdv_avg_us", "IPDV mean", "mean inter-packet delay variation", digits=4)
IPDV_AVG_ERROR_US = _error(
    "ipdv_avg_error_us", "IPDV mean", "largest error of the mean variation, from sampling and time stamps", 4
)
IPDV_P99_US = _column("ipdv_p99_us", "IPDV p99", "inter-packet delay variation that 99 % of the pairs keep")
IPDV_P99_ERROR_US = _error("ipdv_p99_error_us", "IPDV p99", "error of IPDV p99, from bins, sampling and time stamps")
IPDV_MAX_US = _column("ipdv_max_us", "IPDV max", "highest inter-packet delay variation", exact=SEEN)
IPDV_SAMPLES = _setting("ipdv_samples", "IPDV samples", "pairs of frames that were measured", "pairs")
AVG_LOW_US = _column(
    "avg_low_us", "Avg, lowest pair", "mean latency of the fastest pair of ports", error="pair_error_us"
)
AVG_HIGH_US = _column(
    "avg_high_us", "Avg, highest pair", "mean latency of the slowest pair of ports", error="pair_error_us"
)
PAIR_ERROR_US = _error(
    "pair_error_us", "lowest, highest pair", "largest error of the mean of a pair, from sampling and time stamps"
)
AVG_US_MEAN = _column("avg_us_mean", "Avg, all frames", "mean latency of all frames", error="avg_error_us_high")
STDDEV_US = _column(
    "stddev_us", "Std dev of avg", "standard deviation of the means of the runs", digits=4, exact=REPEATED
)
RSD_PCT = _column("rsd_pct", "RSD of avg", "that deviation as a share of the mean", "%", 2, exact=REPEATED)
SPREAD_US = _column("spread_us", "Max - min", "highest less lowest latency", exact=SEEN)
SET_SIZE = _setting("set_size", "Latencies", "latencies that the row is made of")
DELTA_US = _spread("delta_{}_us", "Delta {}", "latency that failures add", 6, exact=INTERVAL)
DELTA_US_LOW = _spread(
    "delta_{}_us_low", "Delta {} from", "latency added, lower end with 95 % confidence", 6, exact=BOUND
)
DELTA_US_HIGH = _spread(
    "delta_{}_us_high", "Delta {} to", "latency added, upper end with 95 % confidence", 6, exact=BOUND
)
TESTER_US = _spread("tester_{}_us", "Tester {}", "latency of the tester itself, over a wire", 6, sense=Sense.SETTING)
TESTER_JITTER_US = _setting("tester_jitter_us", "Tester jitter", "jitter of the tester itself, over a wire", digits=6)
SIGNIFICANT = _column(
    "significant", "Significant", "whether a difference exceeds its confidence interval and the jitter of the tester"
)

_group("Messages", Sense.LOWER)
MESSAGES = _setting("messages", "Messages", "messages sent")
COMPLETE_MESSAGES = _higher(
    "complete_messages", "Complete", "messages of which every frame came", "messages", exact=COUNTED
)
DAMAGED_MESSAGES_MIN = _column(
    "damaged_messages_min", "Damaged", "messages that surely lost a frame", "messages, at least", exact=BOUND
)
DAMAGED_MESSAGES_MAX = _column(
    "damaged_messages_max", "Damaged", "messages that may have lost a frame", "at most", exact=BOUND
)
DIF_PCT = _column("dif_pct", "Dif", "mean MIMO less mean FIFO, of that FIFO", "%", 2)
DIF_ERROR_PCT = _setting("dif_error_pct", "Error of Dif", "error of Dif, from those of the two means", "+- %", 2)
FIFO_US_MIN, FIFO_US_AVG, FIFO_US_MAX = _of_messages("fifo", "time of a message, first bit to first bit")
LILO_US_MIN, LILO_US_AVG, LILO_US_MAX = _of_messages("lilo", "time of a message, last bit to last bit")
FILO_US_MIN, FILO_US_AVG, FILO_US_MAX = _of_messages("filo", "time of a message, first bit to last bit")
MIMO_US_MIN, MIMO_US_AVG, MIMO_US_MAX = _of_messages("mimo", "MIMO latency of a message (BTD-TEST-TM)")
INPUT_COUNT = _setting("input_count", "Inputs", "ports that send")
CONSERVED = _column("conserved", "Conserved", "whether the output carried its line rate")
CONSERVED_LOSS_RATIO = _setting(
    "conserved_loss_ratio", "1 - 1/load", "loss of an output that is busy all the time", "ratio", 6
)
FRAME_LOSS_RATIO = _loss("frame_loss_ratio", "Frame loss", "lost of sent frames", "ratio", 6, error="frame_loss_error")
FRAME_LOSS_ERROR = _setting(
    "frame_loss_error",
    "Error of frame loss",
    "error of the ratio, from first and last messages and from sampling, 95 % confidence",
    "+- ratio",
    6,
)
FRAME_JAIN = _higher(
    "frame_jain", "Jain index", "Jain's index of fairness of frame loss among the inputs", "frame loss", 4
)
FRAME_JAIN_ERROR = _setting(
    "frame_jain_error",
    "Error of Jain index",
    "error of index of frame loss, from late frames and sampling, 95 % confidence",
    "+- frame loss",
    4,
)
FRAME_MAX_OVER_MIN = _column("frame_max_over_min", "Max/min", "worst by best input by frame loss", "frame loss", 4)
FRAME_MAX_OVER_MIN_ERROR = _setting(
    "frame_max_over_min_error",
    "Error of max/min",
    "error of worst by best input by frame loss, from late frames and sampling, 95 % confidence",
    "+- frame loss",
    4,
)
MESSAGE_LOSS_RATIO_MIN = _column(
    "message_loss_ratio_min",
    "Message loss",
    "share of messages that surely lost a frame",
    "at least",
    6,
    error="message_loss_error",
)
MESSAGE_LOSS_RATIO_MAX = _column(
    "message_loss_ratio_max",
    "Message loss",
    "share of messages that may have lost a frame",
    "at most",
    6,
    error="message_loss_error",
)
MESSAGE_LOSS_ERROR = _setting(
    "message_loss_error",
    "Error of message loss",
    "largest error of the two ratios, from first and last messages and from sampling, 95 % confidence",
    "+-",
    6,
)
MESSAGE_JAIN = _higher(
    "message_jain", "Jain index", "Jain's index of fairness of message loss among the inputs", "message loss", 4
)
MESSAGE_JAIN_ERROR = _setting(
    "message_jain_error",
    "Error of Jain index",
    "error of index of message loss, from late frames and sampling, 95 % confidence",
    "+- message loss",
    4,
)
MESSAGE_MAX_OVER_MIN = _column(
    "message_max_over_min", "Max/min", "worst by best input by message loss", "message loss", 4
)
MESSAGE_MAX_OVER_MIN_ERROR = _setting(
    "message_max_over_min_error",
    "Error of max/min",
    "error of worst by best input by message loss, from late frames and sampling, 95 % confidence",
    "+- message loss",
    4,
)

_group("Back-to-back frames and recovery", Sense.LOWER)
BURST_FRAMES_AVG = _higher(
    "burst_frames_avg",
    "Burst avg",
    "mean longest burst without loss (RFC 9004 6.3)",
    digits=1,
    error="burst_error_frames",
)
BURST_ERROR_FRAMES = _setting(
    "burst_error_frames",
    "Error of burst",
    "step of the searches, and the sampling error of their mean with 95 % confidence",
    digits=1,
)
BURST_FRAMES_MIN = _higher(
    "burst_frames_min", "Burst min", "shortest of the longest bursts without loss", resolution="burst_step_frames"
)
BURST_FRAMES_MAX = _higher(
    "burst_frames_max", "Burst max", "longest burst without loss", resolution="burst_step_frames"
)
BURST_FRAMES_STDDEV = _column(
    "burst_frames_stddev", "Std dev", "standard deviation of the longest bursts", digits=2, exact=REPEATED
)
LIMIT_FRAMES = _setting("limit_frames", "Longest tried", "longest burst that may be tried")
STEPS = _setting("steps", "Bursts tried", "bursts that were tried", "frames")
IMPLIED_BUFFER_S = _higher(
    "implied_buffer_s",
    "Implied buffer",
    "time that the burst takes on the line (RFC 9004 6.4)",
    "s",
    9,
    error="implied_error_s",
)
IMPLIED_ERROR_S = _setting("implied_error_s", "Error of implied", "that of the burst", "+- s", 9)
CORRECTED_BUFFER_S = _higher(
    "corrected_buffer_s",
    "Corrected buffer",
    "buffer time less what the device forwarded meanwhile (RFC 9004 6.4)",
    "s",
    9,
    error="corrected_error_s",
)
CORRECTED_ERROR_S = _setting(
    "corrected_error_s",
    "Error of corrected",
    "those of the burst and of the throughput, which lies in its bracket",
    "+- s",
    9,
)
ACTUAL_BUFFER_S = _higher(
    "actual_buffer_s",
    "Actual buffer",
    "buffer time at the measured throughput (RFC 9004 6.4)",
    "s",
    9,
    error="actual_error_s",
)
ACTUAL_ERROR_S = _setting(
    "actual_error_s",
    "Error of actual",
    "those of the corrected buffer, and of the rate where it is the throughput",
    "+- s",
    9,
)
ACTUAL_FPS = _setting("actual_fps", "at rate", "rate that the correction uses")
OVERLOAD_FPS = _setting("overload_fps", "Overload", "rate that overloads the device (RFC 2544 26.5)")
OVERLOAD_LOST_FRAMES = _loss(
    "overload_lost_frames", "Lost in overload", "frames lost during the overload", exact=COUNTED
)
REDUCED_FPS = _setting("reduced_fps", "Reduced", "rate after the overload")
REDUCED_LOST_FRAMES = _loss("reduced_lost_frames", "Lost after it", "frames lost after the overload", exact=COUNTED)
RECOVERY_US = _column(
    "recovery_us", "Recovery", "time from the reduction to the last lost frame (RFC 2544 26.5)", error="resolution_us"
)
RECOVERY_US_AVG = _column("recovery_us_avg", "Recovery avg", "mean recovery time", error="resolution_us")
RECOVERY_US_MIN = _column("recovery_us_min", "Recovery min", "shortest recovery time", error="resolution_us")
RECOVERY_US_MAX = _column("recovery_us_max", "Recovery max", "longest recovery time", error="resolution_us")
RECOVERY_US_STDDEV = _column(
    "recovery_us_stddev", "Std dev", "standard deviation of the recovery times", exact=REPEATED
)
RESET_TYPE = _column("reset_type", "Reset", "kind of reset (RFC 6201)")
RESET_MS_AVG = _column(
    "reset_ms_avg", "Reset time avg", "mean time of reset (RFC 6201)", digits=6, error="resolution_ms"
)
RESET_MS_MIN = _column("reset_ms_min", "Reset time min", "shortest time of reset", digits=6, error="resolution_ms")
RESET_MS_MAX = _column("reset_ms_max", "Reset time max", "longest time of reset", digits=6, error="resolution_ms")
LOSS_MS = _column(
    "loss_ms", "By frame loss", "outage by lost frames: loss / rate (RFC 6201 3.1)", digits=6, error="resolution_ms"
)
LOSS_MS_AVG = _column("loss_ms_avg", "By frame loss avg", "mean outage by lost frames", digits=6, error="resolution_ms")
LOSS_MS_MIN = _column(
    "loss_ms_min", "By frame loss min", "shortest outage by lost frames", digits=6, error="resolution_ms"
)
LOSS_MS_MAX = _column(
    "loss_ms_max", "By frame loss max", "longest outage by lost frames", digits=6, error="resolution_ms"
)
STAMPS_MS = _column(
    "stamps_ms", "By time stamps", "outage by time stamps (RFC 6201 3.2)", digits=6, error="resolution_ms"
)
STAMPS_MS_AVG = _column(
    "stamps_ms_avg", "By time stamps avg", "mean outage by time stamps", digits=6, error="resolution_ms"
)
RESOLUTION_MS = _setting(
    "resolution_ms",
    "Resolution",
    "error of an outage: the distance of two frames, or what losses by chance and longer latencies leave unsure",
    digits=6,
)
LOST_FRAMES_AVG = _loss("lost_frames_avg", "Lost avg", "mean of the lost frames", digits=1, exact=REPEATED)
CORRUPTED_FRAMES_AVG = _column(
    "corrupted_frames_avg",
    "Corrupted avg",
    "mean of the corrupted frames among the lost ones",
    digits=1,
    exact=REPEATED,
)
LOST_FRAMES_MIN = _loss("lost_frames_min", "Lost min", "fewest lost frames", exact=SEEN)
LOST_FRAMES_MAX = _loss("lost_frames_max", "Lost max", "most lost frames", exact=SEEN)
RECOVERED = _column("recovered", "Recovered", "whether frames came again before the end of the trial")

_group("Congestion, pressure and addresses", Sense.NEITHER)
CONGESTED_TX_FRAMES = _setting("congested_tx_frames", "C Tx", "frames sent to the congested port")
CONGESTED_RX_FRAMES = _column("congested_rx_frames", "C Rx", "frames received at the congested port", exact=COUNTED)
CONGESTED_FPS = _higher(
    "congested_fps",
    "C FR",
    "forwarding rate of the congested port",
    error="block_error_fps",
    for_good="congested_bucket_fps",
)
CONGESTED_BUCKET_FPS = _higher(
    "congested_bucket_fps",
    "C FR, bucket of 1,000",
    "the least of that rate that is for good if the device forgives each source a burst of 1,000 frames",
    exact=BOUND,
)
CONGESTED_LOSS_PCT = _loss(
    "congested_loss_pct", "C loss", "loss of the congested port", "%", 4, for_good="congested_bucket_pct"
)
CONGESTED_LOSS_ERROR_PCT = _error_of_loss("congested_loss_error_pct", "C loss")
CONGESTED_BUCKET_PCT = _setting(
    "congested_bucket_pct",
    "C loss, bucket of 1,000",
    "the most that a trial of any length loses there if the device forgives each source a burst of 1,000 frames",
    "% at most",
    4,
)
CONGESTED_LATE_FRAMES = _column(
    "congested_late_frames", "C late", "frames that the congested port got after the transmission", exact=LEFT_OUT
)
UNCONGESTED_TX_FRAMES = _setting("uncongested_tx_frames", "U Tx", "frames sent to the uncongested port")
UNCONGESTED_RX_FRAMES = _column(
    "uncongested_rx_frames", "U Rx", "frames received at the uncongested port", exact=COUNTED
)
UNCONGESTED_FPS = _higher("uncongested_fps", "U FR", "forwarding rate of the uncongested port", error="block_error_fps")
BLOCK_ERROR_FPS = _setting(
    "block_error_fps",
    "Error of FR",
    "one frame of each port that the rate is about: its output may have begun or ended within one; and what may be "
    "lost by chance (95 %)",
)
UNCONGESTED_LOSS_PCT = _loss(
    "uncongested_loss_pct", "U loss", "loss of the uncongested port", "%", 4, for_good="uncongested_bucket_pct"
)
UNCONGESTED_LOSS_ERROR_PCT = _error_of_loss("uncongested_loss_error_pct", "U loss")
UNCONGESTED_BUCKET_PCT = _setting(
    "uncongested_bucket_pct",
    "U loss, bucket of 1,000",
    "the most that a trial of any length loses there if the device forgives source 1 a burst of 1,000 frames",
    "% at most",
    4,
)
ALONE_LOSS_PCT = _loss(
    "alone_loss_pct", "Loss of source 1 alone", "loss of the first source when it sends alone", "%", 4
)
ALONE_LOSS_ERROR_PCT = _error_of_loss("alone_loss_error_pct", "loss of source 1 alone")
HEAD_OF_LINE_BLOCKING = _column(
    "head_of_line_blocking", "HOL blocking", "whether the uncongested port loses frames (RFC 2889 5.5.4)"
)
BACK_PRESSURE = _column("back_pressure", "Back pressure", "whether the device holds senders back (RFC 2889 5.5.4)")
PAUSE_FRAMES = _column("pause_frames", "PAUSE", "PAUSE frames that the tester received", exact=COUNTED)
CLOCK_PPM = _setting("clock_ppm", "Device clock", "rate of the device's clock beside the tester's", "ppm", 1)
FINDING = _column("finding", "Finding", "what the forwarding rate tells")
MIN_RX_GAP_NS = _column("min_rx_gap_ns", "Min Rx gap", "smallest gap between frames that the device sent", "ns", 3)
MIN_RX_GAP_ERROR_NS = _setting(
    "min_rx_gap_error_ns",
    "Error of gap",
    "largest error of the smallest gap, from the resolution of the time stamps and the clock of the device",
    "+- ns",
    3,
)
SHORT_GAP = _column("short_gap", "Below 96 bits", "whether gaps below 96 bits were seen")
LIMIT_PCT = _setting("limit_pct", "Limit", "forwarding rate without forward pressure", digits=3)
ADDRESSES = _setting("addresses", "Addresses", "addresses that were learned in the trial", "n")
CAPACITY_MIN = _higher(
    "capacity_min",
    "Capacity, lowest",
    "lowest address caching capacity of the searches (RFC 2889 5.7)",
    "addresses",
    resolution="addresses_resolution",
)
CAPACITY_MAX = _higher(
    "capacity_max",
    "Capacity, highest",
    "highest address caching capacity of the searches",
    "addresses",
    resolution="addresses_resolution",
)
UPPER_ADDRESSES = _higher(
    "upper_addresses", "Fails at", "fewest addresses that did not pass", "addresses", resolution="addresses_resolution"
)
LEARNING_RATE_FPS = _setting("learning_rate_fps", "Learning rate", "rate of the learning frames", digits=2)
RATE_FPS_MIN = _higher(
    "rate_fps_min",
    "Learning rate, lowest",
    "lowest address learning rate of the searches (RFC 2889 5.8)",
    digits=3,
    like="rate_pct_min",
)
RATE_FPS_MAX = _higher(
    "rate_fps_max",
    "Learning rate, highest",
    "highest address learning rate of the searches",
    digits=3,
    like="rate_pct_max",
)
RATE_PCT_MIN = _higher(
    "rate_pct_min",
    "Learning rate, lowest",
    "lowest learning rate as a share of the base rate",
    "% of base",
    3,
    resolution="rate_resolution_pct",
)
RATE_PCT_MAX = _higher(
    "rate_pct_max",
    "Learning rate, highest",
    "highest learning rate as a share of the base rate",
    "% of base",
    3,
    resolution="rate_resolution_pct",
)
LEARNING_TX_FRAMES = _setting("learning_tx_frames", "L Tx", "learning frames sent")
LEARNING_RX_FRAMES = _column("learning_rx_frames", "L Rx correct", "learning frames at their port", exact=COUNTED)
LEARNING_FLOOD_FRAMES = _lower("learning_flood_frames", "L flood", "learning frames at the other port", exact=COUNTED)
MONITOR_FLOOD_FRAMES = _lower(
    "monitor_flood_frames", "M flood", "frames that were flooded to the monitoring port", exact=COUNTED
)
TEST_TX_FRAMES = _setting("test_tx_frames", "T Tx", "test frames sent")
TEST_FLOOD_FRAMES = _lower("test_flood_frames", "T flood", "test frames that were flooded", exact=COUNTED)
LOCAL_TRAFFIC = _column("local_traffic", "Local traffic", "whether ports of one device send to each other")

_group("Groups", Sense.NEITHER)
GROUP = _column("group", "Group", "multicast group")
GROUPS = _setting("groups", "Groups", "groups that receivers have joined")
MEMBERS = _setting("members", "Egress ports", "ports that receive a group")
CAPACITY_GROUPS = _higher(
    "capacity_groups", "Capacity", "groups that the device forwards (RFC 3918 7.1)", "groups", exact=SEARCHED
)
UPPER_GROUPS = _higher("upper_groups", "Fails at", "fewest groups that it does not forward", "groups", exact=BOUND)
SILENT_MEMBERSHIPS = _lower(
    "silent_memberships",
    "Without a frame",
    "joined groups of ports that received nothing",
    "memberships",
    exact=COUNTED,
)
BURDEN_PCT = _setting("burden_pct", "Burden", "load of the unicast frames beside the group")
DELAY_US = _lower("delay_us", "Delay", "group join or leave delay (RFC 3918 6)", error="resolution_us")
RESOLUTION_US = _setting(
    "resolution_us",
    "Resolution",
    "error of a time: the distance of two frames of a port or group, or the time itself where it is a bound",
)
MULTICAST_FPS = _higher("multicast_fps", "Multicast throughput", "throughput of multicast copies", "copies/s", 0)
MULTICAST_LOST_FRAMES = _loss(
    "multicast_lost_frames", "Multicast lost", "multicast copies that did not arrive", "copies", exact=COUNTED
)
MULTICAST_PCT = _setting("multicast_pct", "Multicast", "share of multicast frames", "% of frames", 2)
MULTICAST_TX_FRAMES = _setting("multicast_tx_frames", "Multicast Tx", "multicast frames sent")
MULTICAST_ERROR_FPS = _setting(
    "multicast_error_fps", "Error of multicast", "one copy of each egress port", "+- copies/s", 0
)
UNICAST_FPS = _higher("unicast_fps", "Unicast throughput", "throughput of unicast frames")
UNICAST_ERROR_FPS = _setting("unicast_error_fps", "Error of unicast", "one unicast frame of each egress port")
UNICAST_LOST_FRAMES = _loss("unicast_lost_frames", "Unicast lost", "unicast frames that did not arrive", exact=COUNTED)
UNICAST_TX_FRAMES = _setting("unicast_tx_frames", "Unicast Tx", "unicast frames sent")
OFFERED_SIZE_BYTES = _setting(
    "offered_size_bytes", "Offered frame size", "length of the frames that the tester sends", "B"
)
FORWARDED_SIZE_BYTES = _setting(
    "forwarded_size_bytes", "Forwarded frame size", "length of the frames that the device forwards", "B"
)
TUNNELS = _setting("tunnels", "Tunnels of the source", "tunnels that each source port uses")

_group("Conditions", Sense.SETTING)
ANSWERED = _column("answered", "Answered", "queries of the tester that the device answered", "queries")
ASKED = _column("asked", "Asked", "queries of the tester", "queries")
OPERATION = _column("operation", "Operation", "what the device does with the headers of the frames")
PREFIX_BITS = _column("prefix_bits", "Prefix", "length of the networks behind the device", "bits")
EXTENSION_HEADERS = _column("extension_headers", "Extension headers", "extension headers of the IPv6 frames")
IP_MIX = _column("ip_mix", "IPv4 : IPv6", "shares of IPv4 and IPv6 frames")
IP_VERSION = _column("ip_version", "IP version", "version of IP")

_group("Convergence", Sense.LOWER)
ROUTES = _setting("routes", "Routes", "routes that change")
CONVERGED_ROUTES = _higher("converged_routes", "Converged", "routes that traffic follows again", exact=COUNTED)
FIRST_ROUTE_MS = _column(
    "first_route_ms", "First route", "time until the first route has converged (RFC 6413 3.6)", error="resolution_ms"
)
LAST_ROUTE_MS = _column("last_route_ms", "Last route", "time until the last route has converged", error="resolution_ms")
AVERAGE_MS = _column("average_ms", "Average", "mean time of convergence", error="resolution_ms")
TIME_MS = _column("time_ms", "Time", "time of convergence of the route", error="resolution_ms")
LIMIT_ROUTES = _higher("limit_routes", "Limit", "routes that the device has room for", "routes", exact=SEARCHED)
REFUSED_NETWORKS = _column(
    "refused_networks", "Refused", "announced networks that the device refused", "networks", exact=COUNTED
)
REFUSING_TRIALS = _column("refusing_trials", "Trials that refused", "trials in which it refused some", exact=COUNTED)

_group("Times between frames", Sense.NEITHER)
MEASURED_AT = _setting("measured_at", "Side", "whether frames left the sender or came to the receiver")
TIMES = _setting("times", "Times", "times between frames of a flow that follow each other")
INDEPENDENT_TIMES = _setting(
    "independent_times",
    "Independent times",
    "those of them that are no copies of others, as senders in step and repeated rounds of arrivals make them",
)
BETWEEN_AVG_US = _column("between_avg_us", "Mean", "mean time between frames", digits=4)
BETWEEN_AVG_ERROR_US = _setting(
    "between_avg_error_us", "Error of the mean", "how far the mean of a longer trial may be, 95 % confidence", digits=4
)
VARIATION = _column("variation", "Variation", "standard deviation of the times over their mean", digits=4)
VARIATION_ERROR = _setting(
    "variation_error",
    "Error of the variation",
    "its error from bins, time stamps and sampling, 95 % confidence",
    "+-",
    4,
)
BETWEEN_P1_US = _column("between_p1_us", "Time p1", "time that 1 % of the times keep")
BETWEEN_P1_ERROR_US = _error("between_p1_error_us", "time p1", "error of p1 of the times, from bins and sampling")
BETWEEN_P50_US = _column("between_p50_us", "Time p50", "median of the times")
BETWEEN_P50_ERROR_US = _error("between_p50_error_us", "time p50", "error of the median time, from bins and sampling")
BETWEEN_P99_US = _column("between_p99_us", "Time p99", "time that 99 % of the times keep")
BETWEEN_P99_ERROR_US = _error("between_p99_error_us", "time p99", "error of p99 of the times, from bins and sampling")
BETWEEN_P99_9_US = _column("between_p99_9_us", "Time p99.9", "time that 99.9 % of the times keep")
BETWEEN_P99_9_ERROR_US = _error(
    "between_p99_9_error_us", "time p99.9", "error of p99.9 of the times, from bins and sampling"
)

_group("Verdict", Sense.SETTING)
STATE = _column("state", "Result", "verdict of the row")
VERDICT = _column("verdict", "Verdict", "verdict of the trial")
REASON = _column("reason", "Note", "why the verdict is what it is")
