"""The vocabulary of results: key, title, unit, decimals and meaning of each column, declared once.

A field of a record that is a column is annotated with its entry::

    mfr_fps: Annotated[float | None, fields.MFR_FPS]

It has the name of the key. Rows, tables, CSV files and docs/RESULTS.md follow (:mod:`p4mesh.methods.results.record`).
A table that says more of a column names it anew: ``retitled(fields.LOSS_PCT, "Loss there")``. Units stand last in keys.
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


QUANTITIES: dict[str, Quantity] = {}
"""The meaning of differences of a column, by its key."""
MEANINGS: dict[str, str] = {}
"""The meaning of the numbers of a column, by its key."""
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
    """Meaning of differences of a column, also of one for a frame size or in percent of a cap; none for others."""
    of_line = re.sub(r"_[0-9]+B$", "", key).replace("_of_cap_pct", "_pct")
    return QUANTITIES.get(of_line, Quantity(Sense.NEITHER))


def _group(about: str, sense: Sense) -> None:
    BY_TOPIC[about] = []
    _SENSES.append(sense)


def _spread(key: str, title: str, meaning: str, digits: int = 3, sense: Sense | None = None) -> tuple[Column, ...]:
    """The columns of the lowest, the mean and the highest of some times in microseconds; ``{}`` stands for which."""
    return tuple(
        _column(key.format(which), title.format(which), "us", digits, meaning=f"{word} {meaning}", sense=sense)
        for which, word in (("min", "lowest"), ("avg", "mean"), ("max", "highest"))
    )


def _column(
    key: str,
    title: str,
    unit: str = "",
    digits: int | None = None,
    *,
    meaning: str,
    sense: Sense | None = None,
    error: str = "",
    resolution: str = "",
) -> Column:
    assert key not in MEANINGS, key
    MEANINGS[key] = meaning
    QUANTITIES[key] = Quantity(sense or _SENSES[-1], error, resolution)
    column = Column(key, title, unit, digits)
    BY_TOPIC[next(reversed(BY_TOPIC))].append(column)
    return column


_higher, _lower = partial(_column, sense=Sense.HIGHER), partial(_column, sense=Sense.LOWER)
_neutral, _setting = partial(_column, sense=Sense.NEITHER), partial(_column, sense=Sense.SETTING)

_group("Which trial", Sense.SETTING)
FRAME_SIZE_BYTES = _column("frame_size_bytes", "Frame size", "B", meaning="length of the test frames with FCS")
TRAFFIC_CLASS = _column("traffic_class", "Class", meaning="class of a traffic file")
STREAM = _column("stream", "Stream", meaning="stream that the frames belong to")
PART = _column("part", "Part", meaning="part of the test that needed the trial")
RUN = _column("run", "Run", meaning="number of the run among those of equal parameters")
RUNS = _column("runs", "Runs", meaning="runs that the row sums up")
REPETITION = _column("repetition", "Repetition", meaning="number of the repetition")
REPETITIONS = _column("repetitions", "Searches", meaning="searches that the row sums up")
ITERATION = _column(
    "iteration", "Iteration", meaning="number of the iteration of the whole test, or the statistic over all of them"
)
ITERATIONS = _column("iterations", "Iterations", meaning="iterations of searches, each a learning and a test trial")
TRIAL = _column("trial", "Trial", meaning="number of the trial")
TRIALS = _column("trials", "Trials", meaning="trials that were needed")
UNIT = _column("unit", "Unit", meaning="part of the test, as in the journal")
PORT = _column("port", "Port", meaning="port of the tester")
PORTS = _column("ports", "Ports", meaning="ports of the tester")
TX_PORT = _column("tx_port", "Tx port", meaning="port that sends")
RX_PORT = _column("rx_port", "Rx port", meaning="port that receives")
FROM_PORTS = _column("from_ports", "From ports", meaning="ports that send in this direction")
TO_PORTS = _column("to_ports", "To ports", meaning="ports that receive in this direction")
DEVICE = _column("device", "Device", meaning="device that the port is linked to")
NETWORK = _column("network", "Network", meaning="network that the frames go to or come from")
HOST = _column("host", "Host", meaning="address in that network")
NEXT_HOP = _column("next_hop", "Next hop", meaning="router that the network is reached by")
POSITION = _column("position", "Position", meaning="place in a message, or of a filter")
SOURCE = _column("source", "Source", meaning="source of the frames")
DESTINATION = _column("destination", "Destination", meaning="destination of the frames")
PROTOCOL = _column("protocol", "Protocol", meaning="protocol that a filter matches")
ACTION = _column("action", "Action", meaning="what a filter does with what it matches")
METHOD = _column("method", "Method", meaning="method by which the value was found")
MODE = _column("mode", "Mode", meaning="mode of the measurement")
MOMENT = _column("moment", "Moment", meaning="whether devices fail before or during the traffic")
FAILURES = _column("failures", "Failures", meaning="devices that fail")
LINK = _column("link", "Link", "Gbit/s", meaning="rate of the link")
AT = _column("at", "At", meaning="place or load that the value belongs to")
SEARCH = _column("search", "Search", meaning="what was searched")
NUMBER = _column("number", "n is", meaning="which n the row is about")
PACKET_SIZE_BYTES = _column("packet_size_bytes", "Packet", "B without FCS", meaning="length of a packet without FCS")

_group("Loads and rates", Sense.HIGHER)
LOAD_PCT = _setting("load_pct", "Load", "% of line", 4, meaning="intended load (RFC 2285 3.5.1)")
RATE = _setting("rate", "Rate", meaning="rate that was asked for, with its unit")
RATE_FPS = _setting("rate_fps", "Rate", "frames/s", 0, meaning="rate of one port or group")
OFFERED_PCT = _setting("offered_pct", "Offered", "% of line", 4, meaning="offered load (RFC 2285 3.5.2)")
OFFERED_FPS = _setting("offered_fps", "Offered", "frames/s", 0, meaning="offered load of all ports that send")
OFFERED_L1_MBPS = _setting("offered_l1_mbps", "Offered (L1)", "Mbit/s", 2, meaning="offered load with preamble and gap")
FORWARDING_L2_TBPS = _column(
    "forwarding_l2_tbps", "Rx (L2)", "Tbit/s", 3, meaning="forwarding rate without preamble and gap"
)
LINE_PCT = _column(
    "line_pct",
    "Line rate",
    "% of line",
    4,
    meaning="forwarding rate as a share of the line rate of the ports that receive",
)
FORWARDING_PCT = _column(
    "forwarding_pct",
    "Rx",
    "% of line",
    4,
    meaning="forwarding rate (RFC 2285 3.6.1) as a share of the line rate of the ports that send",
)
FORWARDING_FPS = _column(
    "forwarding_fps",
    "Rx",
    "frames/s",
    0,
    meaning="forwarding rate (RFC 2285 3.6.1) of the ports that the row is about; each copy of a frame to many counts",
)
FORWARDING_L1_MBPS = _column(
    "forwarding_l1_mbps", "Rx (L1)", "Mbit/s", 2, meaning="forwarding rate with preamble and gap"
)
THEORETICAL_FPS = _setting(
    "theoretical_fps", "Theoretical", "frames/s", 0, meaning="highest frame rate that the lines carry (RFC 2889 5.1.2)"
)
THEORETICAL_PCT = _setting(
    "theoretical_pct", "Theoretical maximum", "% of line", 4, meaning="load above which an output is over-subscribed"
)
UPLINK_MBPS = _setting(
    "uplink_mbps", "Uplink (line rate)", "Mbit/s", 0, meaning="line rate of the link between the devices"
)
SPLIT_PCT = _setting(
    "split_pct", "Oload of source 1", "% of line", 3, meaning="offered load of the source that sends to two ports"
)
STEADY_PCT = _setting(
    "steady_pct", "Oload of source 2", "% of line", 3, meaning="offered load of the source that sends to one port"
)
STAGGER_US = _setting("stagger_us", "Stagger", "us", 3, meaning="start of each port behind the one before")
DURATION_MS = _setting("duration_ms", "Duration", "ms", 3, meaning="transmission time of the trial")

_group("Throughput and its search", Sense.HIGHER)
THROUGHPUT_PCT = _column(
    "throughput_pct", "Throughput", "% of line", 4, meaning="highest load without loss (RFC 1242 3.17)"
)
THROUGHPUT_FPS = _column("throughput_fps", "Throughput", "frames/s", 0, meaning="throughput in frames of all ports")
THROUGHPUT_L1_MBPS = _column("throughput_l1_mbps", "L1", "Mbit/s", 2, meaning="throughput with preamble and gap")
THROUGHPUT_L2_MBPS = _column("throughput_l2_mbps", "L2", "Mbit/s", 2, meaning="throughput without preamble and gap")
UPPER_FPS = _column("upper_fps", "Fails at", "frames/s", 3, meaning="lowest rate tried that did not pass")
UPPER_RATE_PCT = _column(
    "upper_rate_pct", "Fails at", "% of base", 3, meaning="lowest learning rate that did not pass, of the base rate"
)
UPPER_PCT = _column("upper_pct", "Fails at", "% of line", 4, meaning="lowest load tried that did not pass")
LOWER_PCT = _column(
    "lower_pct",
    "Lower bound",
    "% of line",
    4,
    meaning="highest load tried that passed, less the excess that its trial does not exclude",
)
CARRIED_PCT = _higher(
    "carried_pct",
    "For good",
    "% of line",
    4,
    meaning="throughput less the excess over what the device carries for any time that its trial does not exclude",
)
BUCKET_PCT = _higher(
    "bucket_pct",
    "Bucket of 1000",
    "% of line",
    4,
    meaning="the least that a device carries for any time if it forgives each port 1000 frames, as policers do",
)
UPPER_FRAMES = _column("upper_frames", "Upper bound", "frames", meaning="shortest burst tried that lost frames")
LOWER_FRAMES = _column("lower_frames", "Lower bound", "frames", meaning="longest burst tried that lost none")
TRIED_PCT = _setting("tried_pct", "Last tried", "% of line", 4, meaning="last load tried, where none passed")
AT_LEAST = _column("at_least", "At least", meaning="whether the highest load that the search may try has passed")
CONDITIONAL_PCT = _column(
    "conditional_pct",
    "Conditional throughput",
    "% of line",
    4,
    meaning="throughput at the relevant lower bound (RFC 9971 6.8.2)",
)
REGULARITY = _column("regularity", "Regularity", meaning="whether the goal has a lower bound (RFC 9971 6.6)")
GOAL = _setting("goal", "Goal", meaning="number of the goal")
SEARCH_METHOD = _setting("search_method", "Search method", meaning="how loads are chosen")
INITIAL_PCT = _setting("initial_pct", "Initial", "% of line", 4, meaning="first load")
MINIMUM_PCT = _setting("minimum_pct", "Minimum", "% of line", 4, meaning="lowest load of the search")
MAXIMUM_PCT = _setting("maximum_pct", "Maximum", "% of line", 4, meaning="highest load of the search")
RESOLUTION_PCT = _setting("resolution_pct", "Resolution", "% of line", 4, meaning="width at which the search stops")
STEP_PCT = _setting("step_pct", "Step", "% of line", 4, meaning="step of linear searches")
BACKOFF_PCT = _setting(
    "backoff_pct", "Back-off", "% of bracket", 2, meaning="how far combo goes below a load that failed"
)
GRID = _setting("grid", "Loads", meaning="loads that a bisection may try")
TRY_MAX_FIRST = _setting(
    "try_max_first", "Maximum first", meaning="whether the highest load is tried before all others"
)
ACCEPTABLE_LOSS_PCT = _setting("acceptable_loss_pct", "Acceptable loss", "%", 4, meaning="loss that still passes")
THRESHOLD_PCT = _setting("threshold_pct", "Threshold", "% of line", 4, meaning="a lower result is a FAIL")
EXCLUDED_LOSS_PPM = _setting(
    "excluded_loss_ppm",
    "Excludes loss above",
    "ppm",
    3,
    meaning="loss ratio that the deciding trial excludes with 95 % confidence",
)
UNDELIVERED_PCT = _setting(
    "undelivered_pct",
    "Tester delivers no more than",
    "% of line",
    4,
    meaning="lowest load that the tester could not send",
)
VERIFY_TRIALS = _setting("verify_trials", "r", "trials", meaning="trials at a lossy load (RFC 9004 6, r)")
VERIFY_OVERLOAD_FRAMES = _setting(
    "verify_overload_frames", "z", "frames", meaning="more loss than this is not verified (RFC 9004 6, z)"
)
INITIAL_DURATION_MS = _setting(
    "initial_duration_ms", "Shortest trial", "ms", 3, meaning="shortest trial on the way (RFC 9971)"
)
FINAL_DURATION_MS = _setting(
    "final_duration_ms", "Final trial", "ms", 3, meaning="length of the trials that decide (RFC 9971)"
)
DURATION_SUM_MS = _setting(
    "duration_sum_ms", "Duration sum", "ms", 3, meaning="trials that decide, added up (RFC 9971)"
)
GOAL_LOSS_PCT = _setting("goal_loss_pct", "Loss ratio", "%", 4, meaning="loss ratio of the goal (RFC 9971)")
EXCEED_PCT = _setting("exceed_pct", "Exceed ratio", "%", 2, meaning="share of the time that may lose more (RFC 9971)")
WIDTH_PCT = _setting("width_pct", "Width", "% of upper", 4, meaning="relative width of the goal (RFC 9971)")

_group("Forwarding rates under overload", Sense.HIGHER)
MFR_FPS = _column("mfr_fps", "MFR", "frames/s", 0, meaning="maximum forwarding rate (RFC 2285 3.6.3)")
MFR_OFFERED_PCT = _setting("mfr_offered_pct", "Oload at MFR", "% of line", 4, meaning="offered load at the MFR")
FRMOL_FPS = _column(
    "frmol_fps", "FRMOL", "frames/s", 0, meaning="forwarding rate at maximum offered load (RFC 2285 3.6.2)"
)
FRMOL_OFFERED_PCT = _setting(
    "frmol_offered_pct", "Oload at FRMOL", "% of line", 4, meaning="maximum offered load (RFC 2285 3.5.3)"
)

_group("Frames", Sense.LOWER)
TX_FRAMES = _setting("tx_frames", "Tx", "frames", meaning="frames sent")
RX_FRAMES = _neutral("rx_frames", "Rx", "frames", meaning="frames received")
RX_BYTES = _neutral("rx_bytes", "Rx", "bytes", meaning="bytes received")
EXPECTED_FRAMES = _setting("expected_frames", "Expected", "frames", meaning="copies that should arrive")
MEAN_BYTES = _setting("mean_bytes", "Frame", "B mean", 1, meaning="mean length of the frames")
LATE_FRAMES = _column(
    "late_frames", "Late", "frames", meaning="received after the transmission, from queues of the device"
)
LOST_FRAMES = _column("lost_frames", "Lost", "frames", meaning="frames that did not arrive")
CORRUPTED_FRAMES = _column(
    "corrupted_frames",
    "Corrupted",
    "frames",
    meaning="of the lost frames, those that came with a good FCS and signature, and another payload than was sent",
)
DOUBTFUL_FRAMES = _column(
    "doubtful_frames",
    "Lost or late",
    "frames",
    meaning="of the lost frames, those that may have come late: late frames that nothing tells from copies",
)
NAMED_FRAMES = _setting("named_frames", "Lost, named", "frames", meaning="lost frames that are named one by one")
FIRST_SEQUENCE = _setting("first_sequence", "First number", meaning="number of the first lost frame in a row")
LAST_SEQUENCE = _setting("last_sequence", "Last number", meaning="number of the last lost frame in a row")
FLOODED_FRAMES = _column("flooded_frames", "Flooded", "frames", meaning="frames at ports that they do not belong to")
MISDIRECTED_FRAMES = _column(
    "misdirected_frames", "Misdirected", "frames", meaning="frames of a class at ports that it does not go to"
)
DUPLICATE_FRAMES = _column("duplicate_frames", "Duplicate", "frames", meaning="frames that came more than once")
REORDERED_FRAMES = _column(
    "reordered_frames", "Reordered", "frames", meaning="frames that came behind a later one (RFC 4737)"
)
FOREIGN_FRAMES = _column("foreign_frames", "Foreign", "frames", meaning="frames without a signature of the tester")
MISINSERTED_FRAMES = _column("misinserted_frames", "Mis-inserted", "frames", meaning="frames that the device made")
LOSS_PCT = _column("loss_pct", "Loss", "%", 4, meaning="lost of sent frames, or of expected copies")
LOSS_RATIO = _column("loss_ratio", "Loss ratio", "of expected", meaning="lost of expected copies")
LOSS_RATIO_BELOW = _setting(
    "loss_ratio_below", "Below, 95 %", "of expected", meaning="bound of the loss ratio with 95 % confidence"
)
LOSS_LOW_PCT = _setting(
    "loss_low_pct", "Loss, 95 %", "% at least", 4, meaning="lower bound of the loss with 95 % confidence"
)
LOSS_HIGH_PCT = _setting(
    "loss_high_pct", "Loss, 95 %", "% at most", 4, meaning="upper bound of the loss with 95 % confidence"
)
TOTAL_TX_FRAMES = _setting("total_tx_frames", "Tx, all", "frames", meaning="all frames sent, faulty ones included")
TOTAL_RX_FRAMES = _neutral("total_rx_frames", "Rx, all", "frames", meaning="all frames received, faulty ones included")
VALID_TX_FRAMES = _setting("valid_tx_frames", "Valid Tx", "frames", meaning="frames without a fault sent")
VALID_RX_FRAMES = _neutral("valid_rx_frames", "Valid Rx", "frames", meaning="frames without a fault received")
VALID_LOSS_PCT = _column("valid_loss_pct", "Valid loss", "%", 4, meaning="lost of the frames without a fault")
OVERSIZE_TX_FRAMES = _setting("oversize_tx_frames", "Oversize Tx", "frames", meaning="frames sent that are too long")
OVERSIZE_RX_FRAMES = _neutral(
    "oversize_rx_frames", "Oversize Rx", "frames", meaning="frames received that are too long"
)
OVERSIZE_HANDLING = _column(
    "oversize_handling", "Oversize", meaning="what the device does with frames that are too long"
)
UNDERSIZE_TX_FRAMES = _setting(
    "undersize_tx_frames", "Undersize Tx", "frames", meaning="frames sent that are too short"
)
UNDERSIZE_RX_FRAMES = _neutral(
    "undersize_rx_frames", "Undersize Rx", "frames", meaning="frames received that are too short"
)
UNDERSIZE_HANDLING = _column(
    "undersize_handling", "Undersize", meaning="what the device does with frames that are too short"
)
BAD_FCS_TX_FRAMES = _setting("bad_fcs_tx_frames", "Bad FCS Tx", "frames", meaning="frames sent with a wrong FCS")
BAD_FCS_RX_FRAMES = _neutral(
    "bad_fcs_rx_frames", "Bad FCS Rx", "frames", meaning="frames received that were sent with a wrong FCS"
)
BAD_FCS_HANDLING = _column("bad_fcs_handling", "Bad FCS", meaning="what the device does with frames with a wrong FCS")
DRIBBLE_HANDLING = _column(
    "dribble_handling", "Dribble bits", meaning="what the device does with frames with dribble bits"
)
ALIGNMENT_HANDLING = _column(
    "alignment_handling", "Alignment", meaning="what the device does with frames with an alignment error"
)

_group("Queues", Sense.LOWER)
QUEUES = _column("queues", "Queues", meaning="whether a queue of the device filled")
EXCESS_PPM = _column(
    "excess_ppm",
    "Excess",
    "ppm",
    1,
    meaning="rate at which a queue fills, as a share of the load",
    error="excess_error_ppm",
)
EXCESS_ERROR_PPM = _setting("excess_error_ppm", "Error", "+- ppm", 1, meaning="error of that share")
EXCESS_FPS = _column("excess_fps", "Excess", "frames/s", 1, meaning="rate at which a queue fills")
OVERFLOW_S = _higher(
    "overflow_s", "1,000 frames full after", "s", 3, meaning="time after which a queue of 1,000 frames is full"
)

_group("Latency and its variation", Sense.LOWER)
DEFINITION = _column("definition", "Definition", meaning="definition of the latency (RFC 1242 3.8, RFC 8238 2)")
SAMPLES = _setting("samples", "Samples", "frames", meaning="frames that were measured")
MIN_US = _column("min_us", "Min", "us", 3, meaning="lowest latency")
AVG_US = _column("avg_us", "Avg", "us", 3, meaning="mean latency")
AVG_ERROR_US = _setting(
    "avg_error_us", "Error of avg", "+- us", 4, meaning="largest sampling error of the mean latency, 95 % confidence"
)
MAX_US = _column("max_us", "Max", "us", 3, meaning="highest latency")
P50_US = _column("p50_us", "p50", "us", 3, meaning="median of the latency", error="percentile_error_us")
P99_US = _column("p99_us", "p99", "us", 3, meaning="latency that 99 % of the frames keep", error="percentile_error_us")
P99_9_US = _column(
    "p99_9_us", "p99.9", "us", 3, meaning="latency that 99.9 % of the frames keep", error="percentile_error_us"
)
PERCENTILE_ERROR_US = _setting(
    "percentile_error_us", "Error of p", "+- us", 3, meaning="error of the percentiles, from the width of the bins"
)
DEPARTURE_ERROR_NS = _setting(
    "departure_error_ns", "Departures", "+- ns", 1, meaning="how far a frame may have left from its time"
)
CALIBRATED = _column("calibrated", "Calibrated", meaning="whether the latency of the wires is subtracted")
KIND = _column("kind", "By", meaning="whether ports are told apart by layer or role")
NAME = _column("name", "Receivers of", meaning="layer or role of the receiving ports")
RECEIVERS = _setting("receivers", "Receivers", "ports", meaning="ports of that layer or role")
LOW_US = _column("low_us", "Low", "us mean", 3, meaning="lowest mean of a port")
HIGH_US = _column("high_us", "High", "us mean", 3, meaning="highest mean of a port")
INCREMENT_US = _column("increment_us", "Increment", "us", 3, meaning="mean less that of the layer before")
FIFO_US = _column("fifo_us", "FIFO", "us", 3, meaning="mean latency, first bit in to first bit out (RFC 1242 3.8)")
LIFO_US = _column("lifo_us", "LIFO", "us", 3, meaning="mean latency, last bit in to first bit out (RFC 1242 3.8)")
LILO_US = _column("lilo_us", "LILO", "us", 3, meaning="mean latency, last bit in to last bit out (RFC 8238 2.1)")
FILO_US = _column("filo_us", "FILO", "us", 3, meaning="mean latency, first bit in to last bit out (RFC 8238 2.1)")
MIMO_US = _column("mimo_us", "MIMO", "us", 3, meaning="mean message-in message-out latency (ATM Forum BTD-TEST-TM)")
LATENCY_RAW_US = _setting("latency_raw_us", "Raw latency", "us avg", 4, meaning="mean latency as measured")
LATENCY_CALIBRATED_US = _column(
    "latency_calibrated_us", "Calibrated", "us avg", 4, meaning="mean latency less that of the wire"
)
WIRE_US = _setting("wire_us", "Wire, median", "us", 4, meaning="latency of the wire")
WIRE_ERROR_US = _setting("wire_error_us", "Error", "+- us", 4, meaning="error of the latency of the wire")
JITTER_MIN_US = _column("jitter_min_us", "Jitter min", "us", 3, meaning="lowest jitter (RFC 4689 3.2.3)")
JITTER_AVG_US = _column("jitter_avg_us", "Jitter avg", "us", 3, meaning="mean jitter (RFC 4689 3.2.3)")
JITTER_MAX_US = _column("jitter_max_us", "Jitter max", "us", 3, meaning="highest jitter (RFC 4689 3.2.3)")
RFC3550_AVG_US = _column(
    "rfc3550_avg_us", "RFC 3550 avg", "us", 4, meaning="mean of the smoothed jitter (RFC 3550 6.4.1)"
)
RFC3550_MAX_US = _column("rfc3550_max_us", "RFC 3550 max", "us", 4, meaning="highest smoothed jitter (RFC 3550 6.4.1)")
PDV_P99_US = _column(
    "pdv_p99_us", "PDV p99", "us", 3, meaning="packet delay variation that 99 % of the frames keep (RFC 5481 4.2)"
)
PDV_P99_9_US = _column(
    "pdv_p99_9_us", "PDV p99.9", "us", 3, meaning="packet delay variation that 99.9 % of the frames keep (RFC 5481 4.2)"
)
PDV_MAX_US = _column("pdv_max_us", "PDV max", "us", 3, meaning="highest packet delay variation (RFC 5481 4.2)")
IPDV_MIN_US = _neutral("ipdv_min_us", "IPDV min", "us", 3, meaning="lowest inter-packet delay variation (RFC 5481 4.1)")
IPDV_P1_US = _neutral(
    "ipdv_p1_us", "IPDV p1", "us", 3, meaning="inter-packet delay variation that 1 % of the pairs stay below"
)
IPDV_AVG_US = _neutral("ipdv_avg_us", "IPDV mean", "us", 4, meaning="mean inter-packet delay variation")
IPDV_P99_US = _column(
    "ipdv_p99_us", "IPDV p99", "us", 3, meaning="inter-packet delay variation that 99 % of the pairs keep"
)
IPDV_MAX_US = _column("ipdv_max_us", "IPDV max", "us", 3, meaning="highest inter-packet delay variation")
IPDV_SAMPLES = _setting("ipdv_samples", "IPDV samples", "pairs", meaning="pairs of frames that were measured")
AVG_LOW_US = _column("avg_low_us", "Avg, lowest pair", "us", 3, meaning="mean latency of the fastest pair of ports")
AVG_HIGH_US = _column("avg_high_us", "Avg, highest pair", "us", 3, meaning="mean latency of the slowest pair of ports")
AVG_US_MEAN = _column("avg_us_mean", "Avg, all frames", "us", 3, meaning="mean latency of all frames")
STDDEV_US = _column("stddev_us", "Std dev of avg", "us", 4, meaning="standard deviation of the means of the runs")
RSD_PCT = _column("rsd_pct", "RSD of avg", "%", 2, meaning="that deviation as a share of the mean")
SPREAD_US = _column("spread_us", "Max - min", "us", 3, meaning="highest less lowest latency")
SET_SIZE = _setting("set_size", "Latencies", meaning="latencies that the row is made of")
DELTA_US = _spread("delta_{}_us", "Delta {}", "latency that failures add", 6)
DELTA_US_LOW = _spread("delta_{}_us_low", "Delta {} from", "latency added, lower end with 95 % confidence", 6)
DELTA_US_HIGH = _spread("delta_{}_us_high", "Delta {} to", "latency added, upper end with 95 % confidence", 6)
TESTER_US = _spread("tester_{}_us", "Tester {}", "latency of the tester itself, over a wire", 6, sense=Sense.SETTING)
TESTER_JITTER_US = _setting(
    "tester_jitter_us", "Tester jitter", "us", 6, meaning="jitter of the tester itself, over a wire"
)
SIGNIFICANT = _column(
    "significant",
    "Significant",
    meaning="whether a difference exceeds its confidence interval and the jitter of the tester",
)

_group("Messages", Sense.LOWER)
MESSAGES = _setting("messages", "Messages", meaning="messages sent")
COMPLETE_MESSAGES = _higher("complete_messages", "Complete", "messages", meaning="messages of which every frame came")
DAMAGED_MESSAGES_MIN = _column(
    "damaged_messages_min", "Damaged", "messages, at least", meaning="messages that surely lost a frame"
)
DAMAGED_MESSAGES_MAX = _column(
    "damaged_messages_max", "Damaged", "at most", meaning="messages that may have lost a frame"
)
DIF_PCT = _column("dif_pct", "Dif", "%", 2, meaning="difference to the latency without background")
FIFO_US_MIN, FIFO_US_AVG, FIFO_US_MAX = _spread("fifo_us_{}", "FIFO {}", "time of a message, first bit to first bit")
LILO_US_MIN, LILO_US_AVG, LILO_US_MAX = _spread("lilo_us_{}", "LILO {}", "time of a message, last bit to last bit")
FILO_US_MIN, FILO_US_AVG, FILO_US_MAX = _spread("filo_us_{}", "FILO {}", "time of a message, first bit to last bit")
MIMO_US_MIN, MIMO_US_AVG, MIMO_US_MAX = _spread("mimo_us_{}", "MIMO {}", "MIMO latency of a message (BTD-TEST-TM)")
INPUT_COUNT = _setting("input_count", "Inputs", meaning="ports that send")
CONSERVED = _column("conserved", "Conserved", meaning="whether the output carried its line rate")
CONSERVED_LOSS_RATIO = _setting(
    "conserved_loss_ratio", "1 - 1/load", "ratio", 6, meaning="loss of an output that is busy all the time"
)
FRAME_LOSS_RATIO = _column("frame_loss_ratio", "Frame loss", "ratio", 6, meaning="lost of sent frames")
FRAME_JAIN = _higher(
    "frame_jain", "Jain index", "frame loss", 4, meaning="Jain's index of fairness of frame loss among the inputs"
)
FRAME_MAX_OVER_MIN = _column(
    "frame_max_over_min", "Max/min", "frame loss", 4, meaning="worst by best input by frame loss"
)
MESSAGE_LOSS_RATIO_MIN = _column(
    "message_loss_ratio_min", "Message loss", "at least", 6, meaning="share of messages that surely lost a frame"
)
MESSAGE_LOSS_RATIO_MAX = _column(
    "message_loss_ratio_max", "Message loss", "at most", 6, meaning="share of messages that may have lost a frame"
)
MESSAGE_JAIN = _higher(
    "message_jain", "Jain index", "message loss", 4, meaning="Jain's index of fairness of message loss among the inputs"
)
MESSAGE_MAX_OVER_MIN = _column(
    "message_max_over_min", "Max/min", "message loss", 4, meaning="worst by best input by message loss"
)

_group("Back-to-back frames and recovery", Sense.LOWER)
BURST_FRAMES_AVG = _higher(
    "burst_frames_avg",
    "Burst avg",
    "frames",
    1,
    meaning="mean longest burst without loss (RFC 9004 6.3)",
    resolution="burst_step_frames",
)
BURST_FRAMES_MIN = _higher(
    "burst_frames_min",
    "Burst min",
    "frames",
    meaning="shortest of the longest bursts without loss",
    resolution="burst_step_frames",
)
BURST_FRAMES_MAX = _higher(
    "burst_frames_max", "Burst max", "frames", meaning="longest burst without loss", resolution="burst_step_frames"
)
BURST_FRAMES_STDDEV = _column(
    "burst_frames_stddev", "Std dev", "frames", 2, meaning="standard deviation of the longest bursts"
)
LIMIT_FRAMES = _setting("limit_frames", "Longest tried", "frames", meaning="longest burst that may be tried")
STEPS = _setting("steps", "Bursts tried", "frames", meaning="bursts that were tried")
IMPLIED_BUFFER_S = _higher(
    "implied_buffer_s", "Implied buffer", "s", 9, meaning="time that the burst takes on the line (RFC 9004 6.4)"
)
CORRECTED_BUFFER_S = _higher(
    "corrected_buffer_s",
    "Corrected buffer",
    "s",
    9,
    meaning="buffer time less what the device forwarded meanwhile (RFC 9004 6.4)",
)
ACTUAL_BUFFER_S = _higher(
    "actual_buffer_s", "Actual buffer", "s", 9, meaning="buffer time at the measured throughput (RFC 9004 6.4)"
)
ACTUAL_FPS = _setting("actual_fps", "at rate", "frames/s", 0, meaning="rate that the correction uses")
OVERLOAD_FPS = _setting(
    "overload_fps", "Overload", "frames/s", 0, meaning="rate that overloads the device (RFC 2544 26.5)"
)
OVERLOAD_LOST_FRAMES = _column(
    "overload_lost_frames", "Lost in overload", "frames", meaning="frames lost during the overload"
)
REDUCED_FPS = _setting("reduced_fps", "Reduced", "frames/s", 0, meaning="rate after the overload")
REDUCED_LOST_FRAMES = _column(
    "reduced_lost_frames", "Lost after it", "frames", meaning="frames lost after the overload"
)
RECOVERY_US = _column(
    "recovery_us", "Recovery", "us", 3, meaning="time from the reduction to the last lost frame (RFC 2544 26.5)"
)
RECOVERY_US_AVG = _column("recovery_us_avg", "Recovery avg", "us", 3, meaning="mean recovery time")
RECOVERY_US_MIN = _column("recovery_us_min", "Recovery min", "us", 3, meaning="shortest recovery time")
RECOVERY_US_MAX = _column("recovery_us_max", "Recovery max", "us", 3, meaning="longest recovery time")
RECOVERY_US_STDDEV = _column(
    "recovery_us_stddev", "Std dev", "us", 3, meaning="standard deviation of the recovery times"
)
RESET_TYPE = _column("reset_type", "Reset", meaning="kind of reset (RFC 6201)")
RESET_MS_AVG = _column("reset_ms_avg", "Reset time avg", "ms", 6, meaning="mean time of reset (RFC 6201)")
RESET_MS_MIN = _column("reset_ms_min", "Reset time min", "ms", 6, meaning="shortest time of reset")
RESET_MS_MAX = _column("reset_ms_max", "Reset time max", "ms", 6, meaning="longest time of reset")
LOSS_MS = _column(
    "loss_ms",
    "By frame loss",
    "ms",
    6,
    meaning="outage by lost frames: loss / rate (RFC 6201 3.1)",
    error="resolution_ms",
)
LOSS_MS_AVG = _column(
    "loss_ms_avg", "By frame loss avg", "ms", 6, meaning="mean outage by lost frames", error="resolution_ms"
)
LOSS_MS_MIN = _column(
    "loss_ms_min", "By frame loss min", "ms", 6, meaning="shortest outage by lost frames", error="resolution_ms"
)
LOSS_MS_MAX = _column(
    "loss_ms_max", "By frame loss max", "ms", 6, meaning="longest outage by lost frames", error="resolution_ms"
)
STAMPS_MS = _column(
    "stamps_ms", "By time stamps", "ms", 6, meaning="outage by time stamps (RFC 6201 3.2)", error="resolution_ms"
)
STAMPS_MS_AVG = _column(
    "stamps_ms_avg", "By time stamps avg", "ms", 6, meaning="mean outage by time stamps", error="resolution_ms"
)
RESOLUTION_MS = _setting(
    "resolution_ms", "Resolution", "ms", 6, meaning="resolution of an outage: the distance of two frames"
)
LOST_FRAMES_AVG = _column("lost_frames_avg", "Lost avg", "frames", 1, meaning="mean of the lost frames")
LOST_FRAMES_MIN = _column("lost_frames_min", "Lost min", "frames", meaning="fewest lost frames")
LOST_FRAMES_MAX = _column("lost_frames_max", "Lost max", "frames", meaning="most lost frames")
RECOVERED = _column("recovered", "Recovered", meaning="whether frames came again before the end of the trial")

_group("Congestion, pressure and addresses", Sense.NEITHER)
CONGESTED_TX_FRAMES = _setting("congested_tx_frames", "C Tx", "frames", meaning="frames sent to the congested port")
CONGESTED_RX_FRAMES = _column("congested_rx_frames", "C Rx", "frames", meaning="frames received at the congested port")
CONGESTED_FPS = _higher("congested_fps", "C FR", "frames/s", 0, meaning="forwarding rate of the congested port")
CONGESTED_LOSS_PCT = _lower("congested_loss_pct", "C loss", "%", 4, meaning="loss of the congested port")
CONGESTED_LATE_FRAMES = _column(
    "congested_late_frames", "C late", "frames", meaning="frames that the congested port got after the transmission"
)
UNCONGESTED_TX_FRAMES = _setting(
    "uncongested_tx_frames", "U Tx", "frames", meaning="frames sent to the uncongested port"
)
UNCONGESTED_RX_FRAMES = _column(
    "uncongested_rx_frames", "U Rx", "frames", meaning="frames received at the uncongested port"
)
UNCONGESTED_FPS = _higher("uncongested_fps", "U FR", "frames/s", 0, meaning="forwarding rate of the uncongested port")
UNCONGESTED_LOSS_PCT = _lower("uncongested_loss_pct", "U loss", "%", 4, meaning="loss of the uncongested port")
ALONE_LOSS_PCT = _lower(
    "alone_loss_pct", "Loss of source 1 alone", "%", 4, meaning="loss of the first source when it sends alone"
)
HEAD_OF_LINE_BLOCKING = _column(
    "head_of_line_blocking", "HOL blocking", meaning="whether the uncongested port loses frames (RFC 2889 5.5.4)"
)
BACK_PRESSURE = _column(
    "back_pressure", "Back pressure", meaning="whether the device holds senders back (RFC 2889 5.5.4)"
)
PAUSE_FRAMES = _column("pause_frames", "PAUSE", "frames", meaning="PAUSE frames that the tester received")
CLOCK_PPM = _setting("clock_ppm", "Device clock", "ppm", 1, meaning="rate of the device's clock beside the tester's")
FINDING = _column("finding", "Finding", meaning="what the forwarding rate tells")
MIN_RX_GAP_NS = _column(
    "min_rx_gap_ns", "Min Rx gap", "ns", 3, meaning="smallest gap between frames that the device sent"
)
SHORT_GAP = _column("short_gap", "Below 96 bits", meaning="whether gaps below 96 bits were seen")
LIMIT_PCT = _setting("limit_pct", "Limit", "% of line", 3, meaning="forwarding rate without forward pressure")
ADDRESSES = _setting("addresses", "Addresses", "n", meaning="addresses that were learned in the trial")
CAPACITY_MIN = _higher(
    "capacity_min",
    "Capacity, lowest",
    "addresses",
    meaning="lowest address caching capacity of the searches (RFC 2889 5.7)",
    resolution="addresses_resolution",
)
CAPACITY_MAX = _higher(
    "capacity_max",
    "Capacity, highest",
    "addresses",
    meaning="highest address caching capacity of the searches",
    resolution="addresses_resolution",
)
UPPER_ADDRESSES = _higher(
    "upper_addresses",
    "Fails at",
    "addresses",
    meaning="fewest addresses that did not pass",
    resolution="addresses_resolution",
)
LEARNING_RATE_FPS = _setting("learning_rate_fps", "Learning rate", "frames/s", 2, meaning="rate of the learning frames")
RATE_FPS_MIN = _higher(
    "rate_fps_min",
    "Learning rate, lowest",
    "frames/s",
    3,
    meaning="lowest address learning rate of the searches (RFC 2889 5.8)",
)
RATE_FPS_MAX = _higher(
    "rate_fps_max", "Learning rate, highest", "frames/s", 3, meaning="highest address learning rate of the searches"
)
RATE_PCT_MIN = _higher(
    "rate_pct_min",
    "Learning rate, lowest",
    "% of base",
    3,
    meaning="lowest learning rate as a share of the base rate",
    resolution="rate_resolution_pct",
)
RATE_PCT_MAX = _higher(
    "rate_pct_max",
    "Learning rate, highest",
    "% of base",
    3,
    meaning="highest learning rate as a share of the base rate",
    resolution="rate_resolution_pct",
)
LEARNING_TX_FRAMES = _setting("learning_tx_frames", "L Tx", "frames", meaning="learning frames sent")
LEARNING_RX_FRAMES = _column("learning_rx_frames", "L Rx correct", "frames", meaning="learning frames at their port")
LEARNING_FLOOD_FRAMES = _lower(
    "learning_flood_frames", "L flood", "frames", meaning="learning frames at the other port"
)
MONITOR_FLOOD_FRAMES = _lower(
    "monitor_flood_frames", "M flood", "frames", meaning="frames that were flooded to the monitoring port"
)
TEST_TX_FRAMES = _setting("test_tx_frames", "T Tx", "frames", meaning="test frames sent")
TEST_FLOOD_FRAMES = _lower("test_flood_frames", "T flood", "frames", meaning="test frames that were flooded")
LOCAL_TRAFFIC = _column("local_traffic", "Local traffic", meaning="whether ports of one device send to each other")

_group("Groups", Sense.NEITHER)
GROUP = _column("group", "Group", meaning="multicast group")
GROUPS = _setting("groups", "Groups", meaning="groups that receivers have joined")
MEMBERS = _setting("members", "Egress ports", meaning="ports that receive a group")
CAPACITY_GROUPS = _higher(
    "capacity_groups", "Capacity", "groups", meaning="groups that the device forwards (RFC 3918 7.1)"
)
UPPER_GROUPS = _higher("upper_groups", "Fails at", "groups", meaning="fewest groups that it does not forward")
SILENT_MEMBERSHIPS = _lower(
    "silent_memberships", "Without a frame", "memberships", meaning="joined groups of ports that received nothing"
)
BURDEN_PCT = _setting("burden_pct", "Burden", "% of line", 4, meaning="load of the unicast frames beside the group")
DELAY_US = _lower("delay_us", "Delay", "us", 3, meaning="group join or leave delay (RFC 3918 6)", error="resolution_us")
RESOLUTION_US = _setting(
    "resolution_us", "Resolution", "us", 3, meaning="resolution of a delay: the distance of two frames of the group"
)
MULTICAST_FPS = _higher(
    "multicast_fps", "Multicast throughput", "copies/s", 0, meaning="throughput of multicast copies"
)
MULTICAST_LOST_FRAMES = _lower(
    "multicast_lost_frames", "Multicast lost", "copies", meaning="multicast copies that did not arrive"
)
MULTICAST_PCT = _setting("multicast_pct", "Multicast", "% of frames", 2, meaning="share of multicast frames")
MULTICAST_TX_FRAMES = _setting("multicast_tx_frames", "Multicast Tx", "frames", meaning="multicast frames sent")
UNICAST_FPS = _higher("unicast_fps", "Unicast throughput", "frames/s", 0, meaning="throughput of unicast frames")
UNICAST_LOST_FRAMES = _lower(
    "unicast_lost_frames", "Unicast lost", "frames", meaning="unicast frames that did not arrive"
)
UNICAST_TX_FRAMES = _setting("unicast_tx_frames", "Unicast Tx", "frames", meaning="unicast frames sent")
OFFERED_SIZE_BYTES = _setting(
    "offered_size_bytes", "Offered frame size", "B", meaning="length of the frames that the tester sends"
)
FORWARDED_SIZE_BYTES = _setting(
    "forwarded_size_bytes", "Forwarded frame size", "B", meaning="length of the frames that the device forwards"
)
TUNNELS = _setting("tunnels", "Tunnels of the source", meaning="tunnels that each source port uses")

_group("Conditions", Sense.SETTING)
ANSWERED = _column("answered", "Answered", "queries", meaning="queries of the tester that the device answered")
ASKED = _column("asked", "Asked", "queries", meaning="queries of the tester")
PREFIX_BITS = _column("prefix_bits", "Prefix", "bits", meaning="length of the networks behind the device")
EXTENSION_HEADERS = _column("extension_headers", "Extension headers", meaning="extension headers of the IPv6 frames")
IP_MIX = _column("ip_mix", "IPv4 : IPv6", meaning="shares of IPv4 and IPv6 frames")
IP_VERSION = _column("ip_version", "IP version", meaning="version of IP")

_group("Convergence", Sense.LOWER)
ROUTES = _setting("routes", "Routes", meaning="routes that change")
CONVERGED_ROUTES = _higher("converged_routes", "Converged", meaning="routes that traffic follows again")
FIRST_ROUTE_MS = _column(
    "first_route_ms", "First route", "ms", 3, meaning="time until the first route has converged (RFC 6413 3.6)"
)
LAST_ROUTE_MS = _column("last_route_ms", "Last route", "ms", 3, meaning="time until the last route has converged")
AVERAGE_MS = _column("average_ms", "Average", "ms", 3, meaning="mean time of convergence")
TIME_MS = _column("time_ms", "Time", "ms", 3, meaning="time of convergence of the route")
LIMIT_ROUTES = _higher("limit_routes", "Limit", "routes", meaning="routes that the device has room for")
REFUSED_NETWORKS = _column(
    "refused_networks", "Refused", "networks", meaning="announced networks that the device refused"
)
REFUSING_TRIALS = _column("refusing_trials", "Trials that refused", meaning="trials in which it refused some")

_group("Verdict", Sense.SETTING)
STATE = _column("state", "Result", meaning="verdict of the row")
VERDICT = _column("verdict", "Verdict", meaning="verdict of the trial")
REASON = _column("reason", "Note", meaning="why the verdict is what it is")
