"""The results as text for the terminal and as the table of docs/BENCHMARKS.md.

A target is a ratio to something that the same run measured on the same machine, never a number of one machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

_FRAMES, _CONTROL, _INTERFACES = "Frames", "Control plane", "Linux interfaces"
_PATHS = {
    "transmit": "transmit path: seed pass to 18 copies",
    "receive": "receive path: classify and measure",
    "forward": "L3 forwarding program",
}
_SIMULATION = "complete simulation, 18 x 1G full mesh, 64 bytes, 100 %, no loss"
_PEERS = {
    "trafgen": "trafgen",
    "tcpreplay": "tcpreplay",
    "testpmd": "dpdk-testpmd, af_packet",
    "iperf3": "iperf3, UDP",
}


@dataclass(frozen=True)
class Row:
    """One measurement beside another one of the same run."""

    part: str
    what: str
    measured: str
    beside: str = "-"
    ratio: float | None = None
    """How many times as good as the other one; None where that was not measured."""
    least: float | None = None
    """Target of the ratio; None for a row that has none."""
    fault: str = ""
    """Reason for which the row is missed whatever its ratio is."""

    @property
    def judged(self) -> bool:
        """Whether this run tells if the target is reached."""
        return bool(self.fault) or (self.ratio is not None and self.least is not None)

    @property
    def missed(self) -> bool:
        """Whether the row has a target that this run does not reach."""
        return bool(self.fault) or (self.ratio is not None and self.least is not None and self.ratio < self.least)

    @property
    def words(self) -> tuple[str, str, str, str, str]:
        """Cells of the row: what, measured, beside, ratio, target."""
        ratio = "-" if self.ratio is None else f"{self.ratio:.3g}"
        target = "-" if self.least is None else f">= {self.least:g}"
        return (self.what, self.measured, self.beside, ratio, f"{target} missed" if self.missed else target)


def rows(results: dict[str, Any]) -> list[Row]:
    """All that was measured, with its targets."""
    return [*_frames(results), *_control_plane(results), *_interfaces(results)]


def _frames(results: dict[str, Any]) -> Iterator[Row]:
    engine, peers = results["engine"], results["simple_switch"]
    for name, what in _PATHS.items():
        if fault := engine.get(name, {}).get("failed"):
            yield Row(_FRAMES, what, "-", fault=fault)
        elif rate := _fps(engine, name):
            yield _faster(_FRAMES, what, rate, "simple_switch", _fps(peers, name), least=20)
    if (rate := _fps(engine, "forward")) and (peer := _fps(results["swx"], "forward")):
        yield _faster(_FRAMES, _PATHS["forward"], rate, "SWX pipeline of DPDK, compiled", peer, least=2)
    if fault := engine.get("simulation", {}).get("failed"):
        yield Row(_FRAMES, _SIMULATION, "-", fault=fault)
    elif rate := _fps(engine, "simulation"):
        yield _faster(_FRAMES, _SIMULATION, rate, "L3 forwarding", _fps(engine, "forward"), least=0.3)
        memory = engine["simulation"]["peak_memory_mib"]
        yield Row(_FRAMES, "peak memory of the complete simulation, Python included", f"{memory} MiB")


def _control_plane(results: dict[str, Any]) -> Iterator[Row]:
    for name, rows_of in _ROWS_OF.items():
        found = results["control"].get(name, {})
        if "failed" in found:
            yield Row(_CONTROL, name, "-", fault=found["failed"])
        elif found:
            yield from rows_of(found, results)


def _entries(found: dict[str, Any], results: dict[str, Any]) -> Iterator[Row]:
    what, alone = "table entries in batched writes", found["encoded_per_s"]
    yield _faster(_CONTROL, what, found["entries_per_s"], "messages made", alone, least=0.4, unit="/s")


def _counters(found: dict[str, Any], results: dict[str, Any]) -> Iterator[Row]:
    what, alone = "counter cells read", found["decoded_per_s"]
    yield _faster(_CONTROL, what, found["cells_per_s"], "message decoded", alone, least=0.05, unit="/s")


def _flow_records(found: dict[str, Any], results: dict[str, Any]) -> Iterator[Row]:
    what, rate = f"{found['flows']:,} flows read in band", round(found["flows"] / found["seconds"])
    cells = results["control"].get("counters", {}).get("cells_per_s", 0)
    yield _faster(_CONTROL, what, rate, "counter cells", cells, least=0.1, unit="/s")


def _event_queue(found: dict[str, Any], results: dict[str, Any]) -> Iterator[Row]:
    for pending, cost in found.items():
        yield Row(
            _CONTROL,
            f"event queue, {int(pending):,} pending",
            f"{cost['queue_ns']} ns/event",
            f"binary heap: {cost['heap_ns']} ns/event",
            cost["heap_ns"] / cost["queue_ns"],
            least=0.8,
        )


def _full_mesh(found: dict[str, Any], results: dict[str, Any], ports: str = "256", least: float = 0.4) -> Iterator[Row]:
    what = f"{ports} x 100G full mesh, 64 bytes, 99.994 %, 100 us: {found['frames']:,} frames, {found['flows']:,} flows"
    yield _whole_trial(what, found, found["frames"], results, 4_096, least=least)


def _multicast(found: dict[str, Any], results: dict[str, Any]) -> Iterator[Row]:
    memberships = found["memberships"]
    what = f"1 to 255 x 100G, 4,095 groups, 64 bytes, 100 %, 100 us: {memberships:,} joins and leaves"
    yield _whole_trial(what, found, found["frames"] + 2 * memberships, results, 2_048, least=0.14)


_ROWS_OF: dict[str, Callable[[dict[str, Any], dict[str, Any]], Iterator[Row]]] = {
    "table_entries": _entries,
    "counters": _counters,
    "flow_records": _flow_records,
    "event_queue": _event_queue,
    "full_mesh": _full_mesh,
    "thousand_ports": partial(_full_mesh, ports="1,024", least=0.2),
    "multicast": _multicast,
}


def _whole_trial(
    what: str, found: dict[str, Any], frames: int, results: dict[str, Any], most_mib: int, least: float
) -> Row:
    """A trial of the largest network, all phases included, beside that of 18 ports."""
    simulation = results["engine"].get("simulation", {})
    per_frame = simulation["trial_seconds"] / simulation["frames"] if "trial_seconds" in simulation else None
    faults = [] if found["exact"] else ["wrong counts"]
    faults += [f"more than {most_mib:,} MiB"] if found["peak_memory_mib"] > most_mib else []
    return Row(
        _CONTROL,
        what,
        f"{found['cpu_seconds']} s ({found['seconds']} s on the wall), {found['peak_memory_mib']} MiB",
        f"18 ports, as many frames: {per_frame * frames:.1f} s" if per_frame else "-",
        per_frame * frames / found["cpu_seconds"] if per_frame else None,
        least,
        fault=", ".join(faults),
    )


def _interfaces(results: dict[str, Any]) -> Iterator[Row]:
    live = results["live"]
    fastest = max(_PEERS, key=lambda name: live.get(name, {}).get("fps", 0))
    peer, peer_fps = _PEERS[fastest], live.get(fastest, {}).get("fps", 0)
    if "trials" in live.get("floor", {}):
        trials, held, fps = live["floor"]["trials"], live["floor"]["held"], live["floor"]["fps"]
        lost = ", ".join(f"{trial['lost']:,}" for trial in trials)
        what = f"P4Mesh, 10 s at a fixed rate, {held} of {len(trials)} trials held, lost: {lost}; {_errors(trials[0])}"
        fault = "" if held == len(trials) else "a trial did not hold the rate"
        yield _faster(_INTERFACES, what, fps, peer, peer_fps, least=None, fault=fault)
    shown = {
        "fastest": ("P4Mesh (live), one core to send, one to receive", peer, peer_fps, 1.0),
        "pairs": (
            "P4Mesh (live), two pairs of ports at once, each on a switch of the tester with one core",
            "one of them alone",
            live.get("pairs", {}).get("alone_fps", 0),
            1.6,
        ),
        "bmv2": (
            "P4Mesh on simple_switch_grpc (bmv2)",
            "simple_switch, copies sent",
            _fps(results["simple_switch"], "transmit"),
            0.2,
        ),
    }
    for name, (what, other, other_fps, least) in shown.items():
        if fault := live.get(name, {}).get("failed"):
            yield Row(_INTERFACES, what, "-", fault=fault)
        elif missing := live.get(name, {}).get("missing"):
            yield Row(_INTERFACES, what, missing)
        elif found := live.get(name):
            what = f"{what}, highest rate without loss; {_errors(found)}"
            yield _faster(_INTERFACES, what, found["fps"], other, other_fps, least=least)
    for name, what in _PEERS.items():
        if found := live.get(name):
            rate = f"{found['fps']:,} frames/s" if found.get("fps") else found.get("missing") or found["failed"]
            yield Row(_INTERFACES, f"{what}, sent, not measured", rate)


def _faster(
    part: str,
    what: str,
    rate: int,
    other: str,
    other_rate: int,
    least: float | None,
    unit: str = " frames/s",
    fault: str = "",
) -> Row:
    """A rate beside another one; 0 where the other one was not measured."""
    if not other_rate:
        return Row(part, what, f"{rate:,}{unit}", least=least, fault=fault)
    return Row(part, what, f"{rate:,}{unit}", f"{other}: {other_rate:,}{unit}", rate / other_rate, least, fault)


def _errors(found: dict[str, Any]) -> str:
    """How exact rate and departures were; a trial that sent too little has no errors."""
    if found.get("rate_error_ppm") is None:
        return "errors not measured"
    departures = f"departures {found['departure_error_ns'] / 1000:.1f} us off at most, as declared"
    return f"rate error {found['rate_error_ppm']:.1f} ppm, mean jitter {found['jitter_avg_us']:.1f} us, {departures}"


def text(results: dict[str, Any], colour: bool) -> str:
    """The results for people; missed targets are red on a terminal."""
    lines, found = [], rows(results)
    for row in found:
        what, measured, beside, ratio, target = row.words
        line = f"{what}\n    {measured}; {beside}; ratio {ratio}, target {target}"
        line += f": {row.fault}" if row.fault else ""
        lines.append(f"\x1b[31m{line}\x1b[0m" if colour and row.missed else line)
    missed, judged = sum(row.missed for row in found), sum(row.judged for row in found)
    return "\n".join([*lines, f"{missed} of {judged} targets missed"])


def markdown(results: dict[str, Any]) -> str:
    """The page docs/BENCHMARKS.md."""
    machine = "\n".join(f"| {name.replace('_', ' ')} | {value} |" for name, value in results["machine"].items())
    return f"""# Benchmarks

Written by `make bench ARGS=--write-table`; `make bench` prints the same rows for your machine and
keeps all numbers in `runs/bench.json`. A target is a ratio to something that the same run measured, so
that it holds on any machine; a run that misses one says so and ends with exit code 1.

| machine | |
|---|---|
{machine}

## Frames

Frames per second of processor time on one core; simple_switch_grpc (optimised build) has the same
JSON, entries and frames in the same run. It runs in its pcap mode, so that neither sockets nor the
kernel count, and the processor time of all its threads is divided by the frames that it finished.
Its egress queues hold 64 packets, so it gets no more work than it can finish: two seeds for the
transmit path (its best number of 1, 2, 4 and 16); for the forwarding program the cost of the threads
that see all frames, and of those of egress for each frame that it sends, are added up. The engine's
frames come over simulated lines, and their events count. All are measured in three turns; the best
of each counts. The SWX pipeline of DPDK, which p4c targets as well, has the forwarding program by hand with the same
entries, compiled by its own code generator and gcc; 2,000 frames come from memory again and again, and go to
nothing. A frame of the complete simulation passes the tester twice and a switch once.

{_table(results, _FRAMES)}

## Control plane

Processor time of all cores, Python client and server in one process. Beside the rates stand what the client
alone does for them: making and encoding the messages of writes, decoding that of a reading. Flows are
read in band by frames that pass the program. Trials of the largest network count with all their phases and
the start of the program, beside the time that a trial of 18 ports takes for as many frames.

{_table(results, _CONTROL)}

## Linux interfaces

Frames of 64 bytes from one end of a veth pair to the other, as root. P4Mesh stamps and numbers every frame and measures
every one that arrives; the other programs do neither, and the receiving interface counts. P4Mesh stands beside the
fastest of them.

{_table(results, _INTERFACES)}
"""


def _table(results: dict[str, Any], part: str) -> str:
    lines = [f"| {' | '.join(row.words)} |" for row in rows(results) if row.part == part]
    return "\n".join(["| what | measured | beside it | ratio | target |", "|---|---|---|---|---|", *lines])


def _fps(group: dict[str, Any], name: str) -> int:
    return int(group.get(name, {}).get("frames_per_s", 0))
