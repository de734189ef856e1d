"""Checks of a Tofino switch that a topology names: server, program, CPU port, ports, links, loop, clock."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from pathlib import Path

from p4mesh.bfruntime import BfRuntimeError, digest_of
from p4mesh.doctor.finding import Asked, Finding, Health
from p4mesh.no_answer import why_no_answer
from p4mesh.target.tofino import BfTofinoTarget, TofinoTarget, port_settings_of, switch_of
from p4mesh.tester.contract import Contract
from p4mesh.tester.programs import contract_of
from p4mesh.topology import Topology

_WAIT_S = 5
_ANSWER_S = 1.0
_CLOCK_S = 0.5
_CLOCK_TOLERANCE = 0.02
"""Share of the time between two answers, which come by way of the CPU."""
_IPV6 = Path("/proc/sys/net/ipv6/conf")
_TICKS_PER_S = 1_000_000_000
_TIME_BITS = 48


def switch(asked: Asked) -> Iterator[Finding]:
    """Read the switch of the topology, and the program that is compiled for its chip."""
    if asked.topology is None:
        yield Finding("switch", Health.MISSING, "no topology named", "name one with --topology; docs/TOFINO.md")
        return
    chip = switch_of(asked.topology).chip
    contract = contract_of(TofinoTarget, asked.topology)
    yield Finding("switch", Health.OK, f"{chip}, compiled program with {contract['FLOWS']} flows")


def server(asked: Asked) -> Iterator[Finding]:
    """Connect to the server of the switch."""
    if asked.topology is None:
        return
    address = switch_of(asked.topology).address
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _WAIT_S).close()
    except OSError as error:
        mend = f"{why_no_answer(address)}; docs/TOFINO.md"
        yield Finding("server of the switch", Health.MISSING, f"{address}: {error.strerror or error}", mend)
    else:
        yield Finding("server of the switch", Health.OK, f"{address} takes connections")


def bf_runtime(asked: Asked) -> Iterator[Finding]:
    """Bind to the program of the switch, and look at what it has; nothing is written."""
    if asked.topology is None:
        return
    api = switch_of(asked.topology).api
    if api != "bfrt":
        yield Finding(
            "program, ports, links, loop, clock",
            Health.LIMITED,
            f"{api} does not tell of them",
            "look at the switch itself, or use BF Runtime (tester.tofino.api)",
        )
        return
    contract = contract_of(TofinoTarget, asked.topology)
    with BfTofinoTarget.connected(asked.topology) as target:
        yield _program(target, contract)
        yield _cpu_interface(asked.topology)
        yield from _ports(target, asked.topology)
        yield _drops(target)
        yield _links(target)
        target.client.use_program(contract.p4info_path)
        yield from _loop_and_clock(target, contract)


def _program(target: BfTofinoTarget, contract: Contract) -> Finding:
    """Compare the program on the switch with ours."""
    ours = contract.device_config_path.read_bytes()
    target.client.require(ours)
    name = target.client.program
    digest = digest_of(target.client.bfrt_json)
    if digest == digest_of(ours):
        return Finding("program", Health.OK, f"{name}: bfrt.json as compiled here, SHA-256 {digest[:16]}")
    return Finding(
        "program",
        Health.LIMITED,
        f"{name}: bfrt.json of SHA-256 {digest[:16]}, not that of this release; all its tables and fields are there",
        "build p4src/tna of this release, unless another compiler has made the difference",
    )


def _cpu_interface(topology: Topology) -> Finding:
    """Look whether Linux sends frames of its own on the CPU interface; that it can be opened has been seen."""
    interface = switch_of(topology).cpu_interface
    setting = _IPV6 / interface / "disable_ipv6"
    if setting.exists() and setting.read_text().strip() == "0":
        return Finding(
            "CPU interface",
            Health.LIMITED,
            f"{interface} is open; Linux sends frames of IPv6 on it, which count as bad requests",
            f"sysctl net.ipv6.conf.{interface}.disable_ipv6=1",
        )
    return Finding("CPU interface", Health.OK, f"{interface} is open")


def _ports(target: BfTofinoTarget, topology: Topology) -> Iterator[Finding]:
    """Compare the set-up of front ports with the topology; a run mends what differs."""
    wanted = port_settings_of(topology)
    try:
        for settings in wanted:
            target.ports.fields_of(settings)
    except BfRuntimeError as impossible:
        yield Finding("ports", Health.MISSING, impossible.message, impossible.hint)
        return
    known = target.ports.settings([settings.device_port for settings in wanted])
    absent = [settings.device_port for settings in wanted if settings.device_port not in known]
    differs = [
        f"{settings.device_port} ({', '.join(settings.differences(known[settings.device_port]))})"
        for settings in wanted
        if settings.device_port in known and settings.differences(known[settings.device_port])
    ]
    found = f"{len(wanted) - len(absent) - len(differs)} of {len(wanted)} are set up as the topology has them"
    if absent:
        found += f"; not set up: device port {', '.join(map(str, absent))}"
    if differs:
        found += f"; different: device port {', '.join(differs)}"
    health = Health.LIMITED if absent or differs else Health.OK
    yield Finding("ports", health, found, "a run sets them up" if health is Health.LIMITED else "")
    here = [number for number, device in target.devices.items() if device in known]
    counted = target.mac_counters(here)
    bad = {number: mac for number, mac in counted.items() if mac.received_bad_fcs or mac.received_runts}
    pause = sum(mac.received_pause for mac in counted.values())
    if bad:
        told = ", ".join(f"port {n}: {m.received_bad_fcs} bad FCS, {m.received_runts} runts" for n, m in bad.items())
        yield Finding("MACs", Health.LIMITED, f"{told}; {pause} PAUSE frames", "look at cables, optics and FEC")
    else:
        yield Finding("MACs", Health.OK, f"no bad FCS and no runts since the ports were enabled; {pause} PAUSE frames")


def _drops(target: BfTofinoTarget) -> Finding:
    """Look what the traffic manager has dropped; a trial in which it drops anything is INVALID."""
    counts = target.drop_counts()
    if not counts:
        return Finding(
            "traffic manager",
            Health.LIMITED,
            "bf_switchd has no table tm.counter.pipe: what is dropped in the switch is not seen",
            "use an SDE that has the table",
        )
    dropped = ", ".join(f"{frames} by {name}" for name, frames in sorted(counts.items()) if frames)
    if dropped:
        hint = "other programs may have caused it; docs/TOFINO.md says what each counter means"
        return Finding("traffic manager", Health.LIMITED, f"has dropped {dropped} since its start", hint)
    return Finding("traffic manager", Health.OK, "has dropped nothing since its start")


def _links(target: BfTofinoTarget) -> Finding:
    """Look which ports have a link."""
    known = target.ports.settings(list(target.devices.values()))
    dark = [number for number, device in target.devices.items() if not known.get(device, {}).get("$PORT_UP")]
    if dark:
        return Finding(
            "links",
            Health.LIMITED,
            f"no link on port {', '.join(map(str, dark))}",
            "a run sets ports up; else look at cables, and at rate, FEC and autonegotiation of the other side",
        )
    return Finding("links", Health.OK, f"all {len(target.devices)} ports have one")


def _loop_and_clock(target: BfTofinoTarget, contract: Contract) -> Iterator[Finding]:
    """Send a frame round the loop twice; it brings the time of the chip."""
    began, first = time.monotonic(), _time_of_chip(target, contract)
    if first is None:
        yield Finding(
            "loop",
            Health.MISSING,
            f"a frame to the CPU port has not come back from the loop (port {contract['PORT_LOOP']})",
            "is the CPU interface that of the switch, is it up, is the recirculation port enabled, and is the chip's "
            "number of pipes right?",
        )
        return
    yield Finding("loop", Health.OK, f"a frame went through CPU port and loop (port {contract['PORT_LOOP']}) and back")
    time.sleep(_CLOCK_S)
    again, second = time.monotonic(), _time_of_chip(target, contract)
    if second is None:
        yield Finding("clock", Health.MISSING, "the second frame was lost", "look at the counters of the CPU port")
        return
    ticks = (second - first) % (1 << _TIME_BITS)
    rate = ticks / (again - began) / _TICKS_PER_S
    found = f"{ticks} ticks in {again - began:.3f} s"
    if abs(rate - 1) <= _CLOCK_TOLERANCE:
        yield Finding("clock", Health.OK, f"{found}: nanoseconds")
    else:
        yield Finding("clock", Health.MISSING, f"{found}, not nanoseconds", "is this the chip of the topology?")


def _time_of_chip(target: BfTofinoTarget, contract: Contract) -> int | None:
    """The time in a record of cell 0, which is read and not cleared; None when none comes."""
    client = target.client
    client.packet_out(b"", kind=contract["KIND_READ"], value=0, count=1)
    end = time.monotonic() + _ANSWER_S
    while (left_s := end - time.monotonic()) > 0:
        for packet in client.take_packet_ins(1, left_s):
            if packet.metadata["kind"] == contract["KIND_READ"]:
                return packet.metadata["time"]
    return None
