"""Findings that follow from the trials of any test."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from p4mesh.measurement.counts import Trend
from p4mesh.measurement.port_queues import PortQueue
from p4mesh.methods.names import NAMES
from p4mesh.quantities import ports_text, time_text
from p4mesh.run.job import Job
from p4mesh.store.codec import decode
from p4mesh.store.run_files import StoredTrial
from p4mesh.topology.device_keys import ROUTER
from p4mesh.traffic.line_rate import NS_PER_US
from p4mesh.traffic.patterns import Multicast
from p4mesh.traffic.stamps import KERNEL
from p4mesh.verdict import Verdict


def stray_findings(trials_of: Mapping[str, Sequence[StoredTrial]]) -> Iterator[str]:
    """Yield findings on frames that came back other than sent; ``trials_of`` are the trials by unit."""
    for unit, trials in trials_of.items():
        yield from _misdirection(unit, trials)
        yield from _damage(unit, trials)
        yield from _corruption(unit, trials)
        yield from _doubt(unit, trials)
        yield from _growth(unit, trials)
    yield from _transients([trial.result for trials in trials_of.values() for trial in trials])


def _misdirection(unit: str, trials: Sequence[StoredTrial]) -> tuple[str, ...]:
    """The finding on frames that came to the address of a port with the payload of another one, if there are."""
    counts = [trial.result.get("misdirected_frames", 0) for trial in trials]
    if not any(counts):
        return ()
    return (
        f"misdirected payload: {sum(counts):,} frames in {_some_of(counts)} trials of {unit} had the address of "
        "the port that they came to, and were made for another one; they count as lost",
    )


def _some_of(counts: Sequence[int]) -> str:
    return f"{sum(map(bool, counts)):,} of {len(counts):,}"


def _damage(unit: str, trials: Sequence[StoredTrial]) -> tuple[str, ...]:
    """The finding on test frames that came back damaged, if there are."""
    counts = [trial.result["damaged_frames"] for trial in trials]
    if not any(counts):
        return ()
    return (
        f"{sum(counts):,} damaged frames received in {_some_of(counts)} trials of {unit}: their signature does not fit "
        "its check; they count as lost",
    )


def _corruption(unit: str, trials: Sequence[StoredTrial]) -> tuple[str, ...]:
    """The finding on frames whose payload came back other than sent, if there are."""
    counts = [trial.result.get("corrupted_frames", 0) for trial in trials]
    if not any(counts):
        return ()
    return (
        f"{sum(counts):,} corrupted frames received in {_some_of(counts)} trials of {unit}: their FCS is good, their "
        "payload is not the one that was sent; they count as lost",
    )


def _doubt(unit: str, trials: Sequence[StoredTrial]) -> tuple[str, ...]:
    """The finding on late frames that may be copies, if there are: loss is a range then."""
    results = [trial.result for trial in trials if trial.result.get("doubtful_frames")]
    if not results:
        return ()
    worst = max(results, key=lambda result: int(result["doubtful_frames"]))
    doubtful, lost = worst["doubtful_frames"], worst["lost_frames"]
    return (
        f"loss is a range in {len(results):,} of {len(trials):,} trials of {unit}, with {lost - doubtful:,} to "
        f"{lost:,} frames lost where it is widest: {doubtful:,} frames came so late that nothing tells "
        "them from copies of earlier ones, which would hide losses. Tables and verdicts have the upper end",
    )


def _growth(unit: str, trials: Sequence[StoredTrial]) -> tuple[str, ...]:
    """The finding on latency that depends on the length of a trial, though no queue fills, if there is one."""
    results = [trial.result for trial in trials if trial.result.get("latency_growth_ns")]
    # Where the watch could not tell, queues that fill may be what grew.
    grown = [
        result["latency_growth_ns"]
        for result in results
        if (result.get("queues") or {}).get("trend") in (None, Trend.STEADY.value)
    ]
    if not grown:
        return ()
    return (
        f"latency grew by up to {time_text(max(grown))} in {len(grown):,} of {len(trials):,} trials of {unit}, whose "
        "queues were judged steady: averages and maxima depend on the length of the trial",
    )


def _transients(results: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the findings on devices that forwarded more at first than later, and on trials that end meanwhile."""
    found = [result["transient"] for result in results if result.get("transient")]
    over = [one for one in found if one["frames"]]
    if over:
        most = max(over, key=lambda one: int(one["frames"]))
        yield (
            f"more was forwarded at first than later, while a buffer or a bucket filled, in {len(over):,} of "
            f"{len(results):,} trials: up to {most['frames']:,} frames, in the first {time_text(most['ends_ns'])}; "
            "rates and losses are those of the rest"
        )
    ended = sum(not one["over"] and bool(one["ends_ns"]) for one in found)
    if ended:
        yield (
            f"less was forwarded at last than at first in {ended:,} of {len(results):,} trials, which end too soon to "
            "tell how much is forwarded for good (transient)"
        )
    unknown = sum(not one["ends_ns"] and not one["over"] for one in found)
    if unknown:
        yield (
            f"whether more was forwarded at first than later is not known of {unknown:,} of {len(results):,} trials: "
            "they lost frames, and their bursts, or streams that begin or end apart, take too long for the length of "
            "the trial"
        )


def stamp_finding(trials: Sequence[StoredTrial]) -> tuple[str, ...]:
    """The finding on the time stamps of ports of Linux: their sources, and the worst error of departures."""
    stamped = [trial.result["stamps"] for trial in trials if trial.result.get("stamps")]
    if not stamped:
        return ()
    both = [[port for port in ports if port["departures"] == KERNEL] for ports in stamped]
    found = [port for ports in both for port in ports]
    arrivals = " and ".join(sorted({port["arrivals"] for ports in stamped for port in ports}))
    text = f"time stamps: arrivals by {arrivals}; departures by the program"
    if found:
        median_us, most_us = (
            max(port[key] for port in found) / NS_PER_US for key in ("error_median_ns", "error_p99_ns")
        )
        text += (
            f", in {sum(map(bool, both))} of {len(stamped)} trials by the kernel too: error of a latency at most "
            f"{median_us:.2f} us (median) and {most_us:.2f} us (99 %)"
        )
    if not all(both):
        text += "; without stamps of the kernel the error is not known"
    return (text,)


def port_queue_finding(trials: Sequence[StoredTrial]) -> tuple[str, ...]:
    """The finding on queues in front of the tester's own ports: the longest of all trials."""
    queues = [queue for trial in trials for queue in decode(tuple[PortQueue, ...], trial.result.get("port_queues", []))]
    if not queues:
        return ()
    ports = sorted({queue.port for queue in queues})
    longest = max(queues, key=lambda queue: queue.frames)
    return (
        f"port {longest.port} sent {longest.slower_ppm:.1f} ppm slower than its load, so that {longest.frames:,} "
        f"frames waited in the tester when the last of them was due (the longest queue, of port "
        f"{ports_text(ports)}): its clock is slower than that of departures, and a load that is less by as "
        "much has no queue",
    )


def way_hint(job: Job, trials: Sequence[StoredTrial]) -> tuple[str, ...]:
    """The advice where no frame came through a switch: in some directions, or in none because the device routes."""
    if not trials or any(trial.result["rx_frames"] for trial in trials):
        return ()
    if all(trial.result["status"] == Verdict.ABORT.value for trial in trials):
        # Without a link nothing was sent.
        return ()
    if job.parameters.values.get("routed") is True or any(stream.get("routed") for stream in trials[0].spec["streams"]):
        # Stations ask routers for the way; what does not come through is not a matter of the pattern.
        return ()
    if reason := next((trial.result["reason"] for trial in trials if trial.result.get("reached_ports")), ""):
        if not reason.startswith("learning"):
            # Groups that do not come are another matter than ways.
            return ()
        how = "; bidirectional=false measures one direction" if "bidirectional" in job.parameters.values else ""
        return (
            f"the device lets some directions through and others not, as where frames enter another VLAN on their way "
            f"back ({reason.partition(': ')[2]}){how}",
        )
    return _router_hint(job, trials)


def _router_hint(job: Job, trials: Sequence[StoredTrial]) -> tuple[str, ...]:
    """The advice where no frame came through, because the device routes and the frames were for a switch."""
    routed, test = job.parameters.values.get("routed"), job.method.name
    if routed is None and test.partition(".")[0] not in NAMES:
        return ()
    if Multicast.kind in _patterns(trials[0]):
        # Frames to groups are the same for switches and routers.
        return ()
    routers = [device.name for device in job.topology.devices if device.device == ROUTER]
    how = "set routed=true" if routed is False else f"{test} is for switches; use a test that has routed=true"
    if routers:
        return (f"no frame came through: device '{routers[0]}' is a router; {how}",)
    return (f"no frame came through: if the device routes, {how}",)


def _patterns(trial: StoredTrial) -> set[str]:
    """The kinds of the patterns of a trial; a pattern without fields is stored as its kind."""
    patterns = [stream["pattern"] for stream in trial.spec["streams"]]
    return {pattern if isinstance(pattern, str) else pattern["kind"] for pattern in patterns}
