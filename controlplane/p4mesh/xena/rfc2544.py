"""The tests of Xena2544 and Valkyrie2544 as entries of a run file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from p4mesh.xena.document import Node
from p4mesh.xena.entries import (
    Entry,
    Parameters,
    Ports,
    counts_frames,
    duration,
    frames,
    goal,
    name_all,
    plain,
    repetitions_and_bookkeeping,
    search,
    time_ms,
)
from p4mesh.xena.options import latency_definition
from p4mesh.xena.ports import XenaPort

TESTS = ("Throughput", "Latency", "Loss", "Back2Back")
_LARGEST_STEP_PCT = 10
"""RFC 2544 26.3 allows no larger step of a sweep of loads."""
_MS_PER_S = 1000
_MOST_LEARNING_FRAMES = 100


@dataclass(frozen=True)
class _Traffic:
    """The ports in the order of the pattern, and the parameters that make it."""

    ports: list[int]
    parameters: Parameters
    problem: str = ""


def rfc2544_entries(options: Node, ports: Ports) -> list[Entry]:
    """The tests in the order of the standard; a type of test that is not known is left out with its keys."""
    traffic = _traffic(options.node("TopologyConfig"), ports)
    learning = _learning(options.node("LearningOptions"))
    tests = options.node("TestTypeOptionMap")
    rates = tests.node("Throughput").node("RateIterationOptions")
    found: list[Entry] = []
    for kind, (test, translate) in _KINDS.items():
        if not tests.has(kind):
            continue
        of_test = tests.node(kind)
        parameters = learning | ({} if kind == "Back2Back" else traffic.parameters)
        entry = Entry(test, "", of_test.flag("Enabled", True), traffic.ports, parameters, problem=traffic.problem)
        translate(of_test, rates, entry)
        repetitions_and_bookkeeping(of_test, entry, "repetitions" if kind == "Back2Back" else "iterations")
        found.append(entry)
    for kind, of_test in tests.items():
        if kind not in _KINDS:
            of_test.leave_out("no test of this type is known", changes=True)
    _leave_out_the_rest(options)
    name_all(found)
    return found


def _traffic(config: Node, ports: Ports) -> _Traffic:
    """The traffic: a mesh, pairs, or two blocks of ports whose members send to all of the other block."""
    kind = config.word("Topology", "MESH", ("mesh", "blocks", "pairs"))
    direction = config.word("Direction", "BIDIR", ("bidir", "east_west", "west_east"))
    every = sorted(ports.values(), key=lambda port: port.number)
    if kind == "mesh":
        return _Traffic([port.number for port in every], {"pattern": "mesh_streams"})
    both = {"bidirectional": direction == "bidir"}
    sides = ("WEST", "EAST") if direction == "west_east" else ("EAST", "WEST")
    first, second = ([port for port in every if port.group == side] for side in sides)
    if kind == "pairs":
        pairs = _pairs(ports, first, second)
        return _Traffic([port.number for pair in pairs for port in pair], {"pattern": "pairs", **both})
    numbers = [port.number for port in (*first, *second)]
    if len(first) == len(second) == 1:
        return _Traffic(numbers, {"pattern": "pairs", **both})
    if len(first) == 1:
        return _Traffic(numbers, {"pattern": "one_to_many", **both})
    if len(second) == 1:
        return _Traffic([*numbers[-1:], *numbers[:-1]], {"pattern": "many_to_one", **both})
    unequal = f"blocks of {len(first)} and {len(second)} ports: both have the same size, or one has one port"
    return _Traffic(numbers, {"pattern": "rotate", **both}, "" if len(first) == len(second) else unequal)


def _pairs(ports: Ports, first: list[XenaPort], second: list[XenaPort]) -> list[tuple[XenaPort, XenaPort]]:
    """The pairs that ports name as their peers, sender first; else the ports of the groups one by one."""
    found: list[tuple[XenaPort, XenaPort]] = []
    taken: set[int] = set()
    for port in ports.values():
        peer = ports.get(port.peer)
        if peer and not {port.number, peer.number} & taken:
            found.append((peer, port) if port in second or peer in first else (port, peer))
            taken |= {port.number, peer.number}
    return found or list(zip(first, second, strict=False))


def _learning(options: Node) -> Parameters:
    found: Parameters = {}
    mode = options.word("MacLearningMode", "EveryTrial", ("never", "once", "everytrial"))
    count = min(_MOST_LEARNING_FRAMES, max(1, round(options.number("MacLearningRetries", 1))))
    if mode == "never":
        found["learning_frames"] = 0
    elif count > 1:
        found["learning_frames"] = count
    if mode == "once":
        options.leave_out("addresses are learned before every trial", "MacLearningMode")
    if options.flag("UseFlowBasedLearningPreamble", False):
        options.not_used("UseFlowBasedLearningPreamble", "flows are not sent before a trial")
    options.leave_out(
        "routed tests ask for addresses before every trial",
        *("ArpRefreshEnabled", "ArpRefreshPeriod", "LearningRatePercent", "LearningDuration"),
    )
    options.leave_out("no preamble is sent", "FlowBasedLearningFrameCount", "FlowBasedLearningDelay")
    return found


def _throughput(options: Node, rates: Node, entry: Entry) -> None:
    per_port = rates.word("ResultScope", "CommonResult", ("commonresult", "persrcportresult")) == "persrcportresult"
    entry.parameters |= _search(rates) | goal(rates) | {"confirm_factor": 1}
    if per_port:
        entry.parameters["decision"] = "per_source_port"
    duration(options, entry)
    options.leave_out("reports have what every trial measured", "ReportPropertyOptions")


def _search(rates: Node) -> Parameters:
    found = search(rates)
    if loss_pct := rates.number("AcceptableLoss", 0):
        found["acceptable_loss_pct"] = plain(loss_pct)
    kind = rates.word("SearchType", "BinarySearch", ("binarysearch", "fastbinarysearch"))
    if kind == "fastbinarysearch" or rates.flag("FastBinarySearch", False):
        key = "SearchType" if kind == "fastbinarysearch" else "FastBinarySearch"
        rates.not_used(key, "the search halves the interval, whatever a trial lost")
    return found


def _latency(options: Node, rates: Node, entry: Entry) -> None:
    entry.parameters |= _search(rates) | latency_definition(options)
    entry.parameters |= {"confirm_factor": 1, "latency_factor": 1, "warm_up_pct": 0}
    duration(options, entry)
    sweep = options.node("RateSweepOptions")
    start, end = sweep.number("StartValue", 100), sweep.number("EndValue", 100)
    sweep.number("StepValue", 10)
    relative = options.flag("RateRelativeTputMaxRate", True)
    if start < end:
        entry.parameters["loads"] = "all"
        sweep.not_used("StartValue", "loads are 10, 50, 90 % of line rate and the throughput")
        sweep.leave_out("another sweep is used", "EndValue", "StepValue")
    elif end != 100:
        sweep.not_used("EndValue", "the load is the throughput")
    if not relative:
        options.not_used("RateRelativeTputMaxRate", "the highest load is the throughput (RFC 2544 26.2)")


def _loss(options: Node, _: Node, entry: Entry) -> None:
    sweep = options.node("RateSweepOptions")
    start, end = sweep.number("StartValue", 10), sweep.number("EndValue", 100)
    step = sweep.number("StepValue", 10)
    entry.parameters |= {"step_pct": plain(min(step, _LARGEST_STEP_PCT)), "full_sweep": True}
    if step > _LARGEST_STEP_PCT:
        sweep.not_used("StepValue", f"the step is {_LARGEST_STEP_PCT} %, the largest that RFC 2544 26.3 allows")
    if start > min(step, _LARGEST_STEP_PCT):
        sweep.leave_out("the sweep goes on to the lowest load", "StartValue")
    if end != 100:
        sweep.not_used("EndValue", "the sweep begins at 100 % (RFC 2544 26.3)")
    limit = options.number("AcceptableLoss", 0)
    if not options.flag("UsePassFailCriteria", False):
        options.leave_out("the test has no goal", "AcceptableLoss", "AcceptableLossType")
    elif options.word("AcceptableLossType", "Percent", ("percent", "frames")) == "percent":
        entry.parameters["sweep_loss_limit_pct"] = plain(limit)
    elif limit:
        options.not_used("AcceptableLoss", "a goal is a percentage")
    else:
        entry.parameters["sweep_loss_limit_pct"] = 0
    if options.flag("UseGapMonitor", False):
        options.not_used("UseGapMonitor", "gaps are not counted")
    options.leave_out("gaps are not counted", "GapMonitorStart", "GapMonitorStop")
    duration(options, entry)


def _back_to_back(options: Node, _: Node, entry: Entry) -> None:
    """Translate the longest burst, a number of frames or a time; the search of the throughput is the test's own."""
    entry.parameters["burst_step_frames"] = max(1, round(options.number("BurstResolution", 100)))
    if counts_frames(options):
        entry.parameters["burst_max_frames"] = frames(options)
        options.leave_out("the longest burst is a number of frames", "Duration", "DurationTimeUnit")
    else:
        entry.parameters["burst_limit_s"] = plain(time_ms(options) / _MS_PER_S)
        options.leave_out("the longest burst is a time", "DurationFrames", "DurationFrameUnit")
    sweep = options.node("RateSweepOptions")
    start, end = sweep.number("StartValue", 100), sweep.number("EndValue", 100)
    if start != 100 or end != 100:
        sweep.not_used("StartValue", "bursts have the smallest gap (RFC 2544 26.4)")
        sweep.leave_out("there is no sweep of rates", "EndValue", "StepValue")
    sweep.leave_out("there is no sweep of rates", "StepValue")
    options.leave_out("one result for both ports", "ResultScope")
    if len(entry.ports) > 2:
        entry.comments.append(f"bursts go from port {entry.ports[0]} to port {entry.ports[1]}: others take no part")
    entry.ports = entry.ports[:2]


def _leave_out_the_rest(options: Node) -> None:
    if options.flag("EnableSpeedReductSweep", False):
        options.not_used("EnableSpeedReductSweep", "every trial has the clocks of the topology")
    options.text("OuterLoopMode")
    options.leave_out("payload behind the signature is the tester's own", "PayloadDefinition")


_Translate = Callable[[Node, Node, Entry], None]
_KINDS: Mapping[str, tuple[str, _Translate]] = {
    "Throughput": ("rfc2544.throughput", _throughput),
    "Latency": ("rfc2544.latency", _latency),
    "Loss": ("rfc2544.frame_loss", _loss),
    "Back2Back": ("rfc2544.back_to_back", _back_to_back),
}
