"""The results as text for the terminal and as the table of docs/BENCHMARKS.md."""

from __future__ import annotations

from typing import Any

_PATHS = {
    "transmit": "transmit path: seed pass to 18 copies",
    "receive": "receive path: classify and measure",
    "forward": "L3 forwarding program",
    "simulation": "complete simulation, wrs-18x1g full mesh, 64 bytes, 100 %",
}
_SENDERS = {
    "fastest": "P4Mesh (live), one core to send, one to receive",
    "bmv2": "P4Mesh on simple_switch_grpc (bmv2)",
    "trafgen": "trafgen",
    "tcpreplay": "tcpreplay",
    "testpmd": "dpdk-testpmd, af_packet",
    "iperf3": "iperf3, UDP",
}
_FLOOR_RATIO = 20
_FLOOR_FPS = 500_000


def rows(results: dict[str, Any]) -> list[tuple[str, str, str, str, str]]:
    """Return (name, engine, simple_switch, ratio, target) of each measurement."""
    table = []
    for name, what in _PATHS.items():
        engine, reference = _rate(results["engine"].get(name)), _rate(results["simple_switch"].get(name))
        ratio = engine / reference if engine and reference else 0.0
        target = f">= {_FLOOR_FPS:,} frames/s" if name == "simulation" else f">= {_FLOOR_RATIO} times"
        table.append((what, _number(engine), _number(reference), f"{ratio:.1f}" if ratio else "-", target))
    return table


def control_rows(results: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return (name, measured, target) of the control plane, the event queue and memory."""
    control = results["control"]
    table = []
    if "entries_per_s" in control.get("table_entries", {}):
        writes = control["table_entries"]
        rates = f"{writes['entries_per_s']:,}/s ({writes['entries_per_cpu_s']:,} per CPU second)"
        table.append(("table entries in batched writes", rates, ">= 100,000/s"))
    if "seconds" in control.get("flow_records", {}):
        flows = control["flow_records"]
        table.append((f"{flows['flows']:,} flows read in band", f"{flows['seconds']:.2f} s", "< 2 s"))
    if "cells_per_s" in control.get("counters", {}):
        table.append(("counter cells read", f"{control['counters']['cells_per_s']:,}/s", ">= 1,000,000/s"))
    for name, cost in control.get("event_queue", {}).items():
        pending = name.split("_")[3] if name.startswith("ns_per_event_") else name
        table.append((f"event queue, {pending} pending", f"{cost} ns/event", "< 40 ns"))
    if "seconds" in control.get("full_mesh", {}):
        mesh = control["full_mesh"]
        counts = "exact counts" if mesh["exact"] else "WRONG COUNTS"
        what = f"256 x 100G full mesh, 64 bytes, 99.994 %, 100 us: {mesh['frames']:,} frames, {mesh['flows']:,} flows"
        table.append(
            (what, f"{counts}, {mesh['seconds']} s, {mesh['peak_memory_mib']} MiB", "exact, < 60 s, < 4096 MiB")
        )
    if "seconds" in control.get("multicast", {}):
        groups = control["multicast"]
        counts = "exact counts" if groups["exact"] else "WRONG COUNTS"
        what = (
            f"1 to 255 x 100G, 4,095 groups, 64 bytes, 100 %, 100 us: {groups['frames']:,} frames, "
            f"{groups['memberships']:,} memberships"
        )
        measured = (
            f"{counts}, {groups['seconds']} s; joins, one frame and leaves {groups['joins_seconds']} s, "
            f"{groups['peak_memory_mib']} MiB"
        )
        table.append((what, measured, "exact, < 60 s, < 2048 MiB"))
    memory = results["engine"].get("simulation", {}).get("peak_memory_mib")
    if memory:
        table.append(("peak memory of the complete simulation, Python included", f"{memory} MiB", "-"))
    return table


def interface_rows(results: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """Return (name, frames/s, load of the machine, remarks) of frames over a veth pair."""
    live = results.get("live", {})
    table = []
    if "trials" in live.get("floor", {}):
        trials = live["floor"]["trials"]
        lost = ", ".join(str(trial["lost"]) for trial in trials)
        held = f"{live['floor']['held']} of {len(trials)} trials of 10 s held; lost: {lost}; {_errors(trials[0])}"
        table.append(("P4Mesh, the floor", f"{live['floor']['fps']:,}", f"{trials[0]['load']:.1f}", held))
    for key, name in _SENDERS.items():
        found = live.get(key, {})
        if not found:
            continue
        rate = f"{found['fps']:,}" if found.get("fps") else "-"
        load = f"{found['load']:.1f}" if "load" in found else "-"
        remark = found.get("missing") or found.get("failed") or "sent, not measured"
        if "rate_error_ppm" in found:
            remark = f"highest rate without loss; {_errors(found)}"
        table.append((name, rate, load, remark))
    return table


def _errors(found: dict[str, Any]) -> str:
    """Return how exact rate and departures were; a trial that sent too little has no errors."""
    if found.get("rate_error_ppm") is None:
        return "errors not measured"
    departures = f"departures {found['departure_error_ns'] / 1000:.1f} us off at most, as declared"
    return f"rate error {found['rate_error_ppm']:.1f} ppm, mean jitter {found['jitter_avg_us']:.1f} us, {departures}"


def text(results: dict[str, Any]) -> str:
    """Return the results for people."""
    lines = [f"{'frames/s on one core':<60} {'engine':>12} {'simple_switch':>14} {'ratio':>7}  target"]
    lines += [f"{what:<60} {a:>12} {b:>14} {ratio:>7}  {target}" for what, a, b, ratio, target in rows(results)]
    lines += [f"{what:<60} {measured:>35}  {target}" for what, measured, target in control_rows(results)]
    lines += [
        f"{name:<50} {rate:>12} frames/s, load {load}: {remark}" for name, rate, load, remark in interface_rows(results)
    ]
    return "\n".join(lines)


def markdown(results: dict[str, Any]) -> str:
    """Return docs/BENCHMARKS.md."""
    machine = "\n".join(f"| {name.replace('_', ' ')} | {value} |" for name, value in results["machine"].items())
    frames = "\n".join(f"| {' | '.join(row)} |" for row in rows(results))
    control = "\n".join(f"| {' | '.join(row)} |" for row in control_rows(results))
    interfaces = "\n".join(f"| {' | '.join(row)} |" for row in interface_rows(results))
    return f"""# Benchmarks

Written by `make bench ARGS=--write-table`; `make bench` prints the same table for your machine and
keeps all numbers in `runs/bench.json`.

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
frames come over simulated lines, and their events count. Both are measured in three turns; the best
of each counts.

| what | engine | simple_switch | ratio | target |
|---|---|---|---|---|
{frames}

## Control plane

Wall time on all cores, Python client and server in one process.

| what | measured | target |
|---|---|---|
{control}

## Linux interfaces

Frames of 64 bytes from one end of a veth pair to the other, as root. P4Mesh stamps and numbers every frame and measures
every one that arrives; the other programs do neither, and the receiving interface counts. The floor is
700,000 frames/s for 10 s without loss, 3 times of 3.

| what | frames/s | load | |
|---|---|---|---|
{interfaces}
"""


def _rate(result: dict[str, Any] | None) -> int:
    return int(result.get("frames_per_s", 0)) if result else 0


def _number(rate: int) -> str:
    return f"{rate:,}" if rate else "-"
