"""The target ``tofino``: a switch with a Tofino, whose BF Runtime or P4Runtime server the topology names.

The switch runs already (docs/TOFINO.md). With BF Runtime its ports are set up here, and their links are watched.
P4Runtime does neither. Nothing here was tried on a chip.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction

from p4mesh.bfruntime import (
    BfClient,
    CpuPort,
    MacCounters,
    PacketSocket,
    Ports,
    PortSettings,
    PortWatch,
    drop_counts,
    has_drop_counters,
)
from p4mesh.errors import TopologyError, UnsupportedError
from p4mesh.quantities import number_text
from p4mesh.target.base import BadFcsRule, LinkState, MacCounts, ProgramPorts, Target, require_one_switch
from p4mesh.target.capabilities import Architecture, Capabilities, Pipes, Stamps
from p4mesh.target.chips import Chip, chip_with_pipes, pipe_of
from p4mesh.topology import Topology
from p4mesh.topology.keys import FrontPorts, TofinoSwitch
from p4mesh.topology.port_lists import numbers_in
from p4mesh.traffic.delay_variation import IPDV, RFC3550_JITTER
from p4mesh.traffic.port_clocks import EXPECTED_PPM, waiting_per_s
from p4mesh.traffic.stamps import StampKind

_SHORTEST_BYTES = 64
_HONOURS_PAUSE = "honours_pause"
_PROFILE_IPDV = "ipdv"
"""Profile of the program for a Tofino 2."""
_CONNECT_S = 10.0
_MOST_LOOPS = 8
"""Members of the program's value set ``loop_ports``."""
_DROPS_SHOWN_NS = 2_500_000_000
"""bf_switchd reads drops at ports every 2 s and answers with that, asked for the hardware or not; see
``traffic_mgr_cached_counters.h`` of Open P4 Studio."""
_LINK_UP_S = 10.0
"""Time that a port which has just been set up is given for its link."""
_BEYOND_THE_PARSER = (("routing", "destination", "fragment"),)
"""It takes 32 bytes of extension headers, of which the last one alone may have more than 8."""


def switch_of(topology: Topology) -> TofinoSwitch:
    """The switch of a topology; raise TopologyError or ParameterError for one that cannot be used."""
    switch = topology.tofino
    if switch is None:
        raise TopologyError(
            f"{topology.source}: target tofino needs tester.tofino, the switch", hint="docs/TOFINO.md has an example"
        )
    chip = chip_of(switch)
    if switch.profile == _PROFILE_IPDV and switch.chip != "tofino2":
        raise TopologyError(
            f"{topology.source}: profile {switch.profile} of tester.tofino is for chip tofino2, not {switch.chip}",
            hint="leave profile out",
        )
    for port in topology.tester_ports:
        if port.device_port is None:
            raise TopologyError(
                f"{topology.source}: target tofino needs the device port of tester port {port.number}",
                hint="give every group of tester.ports its device_ports",
            )
        if port.options.get(_HONOURS_PAUSE) and switch.api == "p4runtime":
            raise TopologyError(
                f"{topology.source}: tester port {port.number} honours_pause, and P4Runtime does not set ports",
                hint="leave honours_pause out, or use BF Runtime (tester.tofino.api)",
            )
        pipe_of(port.device_port, chip)
    taken = {port.device_port for port in topology.tester_ports}
    for loop in switch.front_loops:
        if loop.device_port in taken:
            raise TopologyError(
                f"{topology.source}: device port {loop.device_port} is in loopback and named before",
                hint="name each device port once, in tester.ports or in tester.tofino.front_loops",
            )
        taken.add(loop.device_port)
        if pipe_of(loop.device_port, chip):
            raise TopologyError(
                f"{topology.source}: front loop {loop.device_port} is not in pipe 0, where the clocks of streams are",
                hint="use front ports with device ports below 128",
            )
    for inner in switch.inner_loops:
        if inner not in chip.inner_loops:
            raise TopologyError(
                f"{topology.source}: port {inner} is no inner loop of {chip.name}",
                hint=f"valid for tester.tofino.inner_loops: {', '.join(map(str, chip.inner_loops)) or 'none'}",
            )
    if len(set(switch.inner_loops)) < len(switch.inner_loops):
        raise TopologyError(
            f"{topology.source}: a port is in tester.tofino.inner_loops twice", hint="name each port once"
        )
    if len(loops_of(switch)) > _MOST_LOOPS:
        raise TopologyError(
            f"{topology.source}: {len(loops_of(switch))} ports in loopback, the program has room for {_MOST_LOOPS}",
            hint="name fewer ports in tester.tofino.front_loops and inner_loops",
        )
    return switch


def loops_of(switch: TofinoSwitch) -> dict[int, int]:
    """Ports of the loop beside the recirculation port, by their numbers, with their rates."""
    inner = chip_of(switch).inner_loops
    return {port: inner[port] for port in switch.inner_loops} | {
        loop.device_port: loop.rate_bps for loop in switch.front_loops
    }


def chip_of(switch: TofinoSwitch) -> Chip:
    """The chip of a switch with the pipes, their rate and the loop latency that the topology gives it."""
    chip = chip_with_pipes(switch.chip, switch.pipes, ipdv=switch.profile == _PROFILE_IPDV)
    chip = replace(chip, pipe_frames_per_s=switch.pipe_frames_per_s or chip.pipe_frames_per_s)
    if switch.loop_latency_ns is None:
        return chip
    return replace(chip, latency_ps=round(switch.loop_latency_ns * 1000))


def port_settings_of(topology: Topology) -> list[PortSettings]:
    """How the front ports of a switch are to be set up: those of the tester, and those in loopback."""
    switch = switch_of(topology)
    wanted = [
        PortSettings(port.device_port, port.rate_bps, honours_pause=bool(port.options.get(_HONOURS_PAUSE)))
        for port in topology.tester_ports
        if port.device_port is not None
    ]
    wanted += [PortSettings(loop.device_port, loop.rate_bps, loopback=True) for loop in switch.front_loops]
    settings = {port: group for group in switch.port_settings or () for port in numbers_in(str(group.device_ports))}
    found = []
    for port in wanted:
        given = settings.get(port.device_port, FrontPorts(device_ports=port.device_port))
        found.append(replace(port, fec=given.fec, autonegotiation=given.autonegotiation, lanes=given.lanes))
    if unknown := sorted(settings.keys() - {one.device_port for one in found}):
        raise TopologyError(
            f"{topology.source}: port_settings of device port {unknown[0]}, which is no port of the tester",
            hint="name device ports of tester.ports or of tester.tofino.front_loops",
        )
    return found


class TofinoTarget(Target):
    """A switch that runs by itself; opening connects nothing and starts nothing."""

    name = "tofino"

    def __init__(self, topology: Topology) -> None:
        switch = switch_of(topology)
        super().__init__(
            topology, switch.address, device_id=switch.device, election_id=switch.election_id, tls=switch.tls
        )

    @classmethod
    def declare(cls, topology: Topology) -> Capabilities:
        """The capabilities of the program for Tofino on the switch of a topology (docs/LIMITATIONS.md)."""
        require_one_switch(cls.name, topology)
        switch = switch_of(topology)
        chip = chip_of(switch)
        headroom = Fraction(str(switch.loop_headroom_pct)) / 100
        return Capabilities(
            target=cls.name,
            setting="devices on the ports of a Tofino, real time",
            architecture=Architecture.TNA,
            real_time=True,
            stamps=Stamps(chip.tick_ps, StampKind.PARSER),
            pipes=Pipes(
                {p.number: pipe_of(p.device_port, chip) for p in topology.tester_ports if p.device_port is not None},
                chip.pipe_frames_per_s,
                pads_in_egress=chip.pads_in_egress,
            ),
            loop=replace(chip.loop(), headroom=headroom),
            other_loops=tuple(
                replace(chip.other_loop(rate_bps), headroom=headroom) for rate_bps in loops_of(switch).values()
            ),
            start_lead_ns=50_000_000,
            scheduling_jitter_ns=1_000_000,
            bad_fcs=switch.bad_fcs,
            stamps_controller_frames=switch.api == "bfrt" and switch.profile != _PROFILE_IPDV,
            captures_faults=switch.api == "bfrt",
            drops_shown_after_ns=_DROPS_SHOWN_NS if switch.api == "bfrt" else 0,
            counts_seeds=True,
            cuts_frames=False,
            tunnels=False,
            unmeasured=(RFC3550_JITTER,) if switch.profile == _PROFILE_IPDV else (IPDV, RFC3550_JITTER),
            unsupported_headers=_BEYOND_THE_PARSER,
        )

    @classmethod
    @contextmanager
    def open(cls, topology: Topology, ports: ProgramPorts) -> Iterator[TofinoTarget]:
        """The target; with BF Runtime, connected, and with its ports set up."""
        if switch_of(topology).api == "bfrt":
            with BfTofinoTarget.connected(topology) as target:
                target.ports.wait_for_links(target.ports.set_up(port_settings_of(topology)), _LINK_UP_S)
                yield target
        else:
            yield cls(topology)

    def wait(self, duration_ns: int | Fraction, packet_outs: int) -> None:
        """Sleep; the switch runs on the wall clock."""
        time.sleep(float(duration_ns) / 1e9)

    def links(self) -> dict[int, LinkState]:
        """Every link as up: P4Runtime does not tell, so a loss of link shows as loss of frames only."""
        return {port.number: LinkState(True, 0) for port in self.topology.tester_ports}

    def set_links(self, up: bool) -> None:
        """Raise: ports are set outside of P4Runtime."""
        raise UnsupportedError(
            f"toggle_link is not supported on {self.name}: P4Runtime does not set ports",
            hint="use another reset_between, such as one with a command, or BF Runtime (tester.tofino.api)",
        )

    def set_bad_fcs(self, rules: Mapping[int, Sequence[BadFcsRule]]) -> None:
        """Do nothing: a table entry of each transmitter says which frames the MAC damages."""
        if rules and not self.capabilities.bad_fcs:
            super().set_bad_fcs(rules)

    def facts(self) -> tuple[str, ...]:
        """Length that queues in front of ports may have, of which no stamp tells; none where the loops are slower."""
        loops = (self.capabilities.loop, *self.capabilities.other_loops)
        fastest_bps = max(loop.rate_bps * (1 - loop.headroom) for loop in loops)
        filled = [bps for bps in self.rate_bps_of.values() if fastest_bps >= bps * (1 - Fraction(EXPECTED_PPM, 10**6))]
        if not filled:
            return ()
        rate_bps = max(filled)
        return (
            f"departures by the clock of the chip: in front of a port of {number_text(rate_bps / 1e9)} Gbit/s whose "
            "own clock is "
            f"{EXPECTED_PPM} ppm slower, {waiting_per_s(_SHORTEST_BYTES, rate_bps):,} more frames of {_SHORTEST_BYTES} "
            f"bytes wait after each second at 100 % load, and none up to {100 - EXPECTED_PPM / 10_000:.3f} %",
        )

    def in_flight(self) -> int:
        """0: the switch does not tell; the settle time of the trial covers it."""
        return 0


class BfTofinoTarget(TofinoTarget):
    """A switch with BF Runtime: the controller is connected, sets ports up, and hears of their links."""

    def __init__(self, topology: Topology, client: BfClient, ports: Ports) -> None:
        super().__init__(topology)
        self.client = client
        """Bound to the program of the switch."""
        self.ports = ports
        self.devices = {port.number: port.device_port for port in topology.tester_ports if port.device_port is not None}
        """Device port of each tester port."""
        switch = switch_of(topology)
        self._loops = (chip_of(switch).recirculation_port, *loops_of(switch))

    @classmethod
    @contextmanager
    def connected(cls, topology: Topology) -> Iterator[BfTofinoTarget]:
        """Connect to the switch, and change nothing; leaving ends the connection and leaves the ports as they are."""
        switch, watch = switch_of(topology), PortWatch()
        with (
            CpuPort(PacketSocket(switch.cpu_interface)) as cpu,
            BfClient(
                switch.address,
                switch.program,
                cpu,
                device_id=switch.device,
                connect_timeout_s=_CONNECT_S,
                timeout_s=switch.request_timeout_s,
                request_timeout_s=switch.request_timeout_s,
                on_port=watch.on_port,
            ) as client,
        ):
            yield cls(topology, client, Ports(client, watch))

    def links(self) -> dict[int, LinkState]:
        """The links by notifications and by the switch's table of ports, whichever tells of a loss first."""
        states = self.ports.links(list(self.devices.values()))
        return {number: LinkState(states[device].up, states[device].losses) for number, device in self.devices.items()}

    def set_links(self, up: bool) -> None:
        """Switch the tester ports on or off."""
        self.ports.enable(list(self.devices.values()), up)

    def set_link(self, port: int, up: bool) -> None:
        """Switch a tester port on or off."""
        self.ports.enable([self.devices[port]], up)

    def mac_counters(self, numbers: Sequence[int]) -> dict[int, MacCounters]:
        """Frames that the MACs of some tester ports have counted since their port was enabled."""
        found = self.ports.counters([self.devices[number] for number in numbers])
        return {number: found[self.devices[number]] for number in numbers}

    def mac_counts(self) -> dict[int, MacCounts]:
        """Counts of the MACs of the tester ports, as they show in results."""
        departures = self.ports.last_departures(list(self.devices.values()))
        return {
            number: MacCounts(
                mac.sent_bad,
                mac.received_bad_fcs,
                mac.received_pause,
                mac.received_runts,
                mac.received_good,
                mac.dropped_buffer_full,
                last_departure_ns=departures.get(self.devices[number]),
            )
            for number, mac in self.mac_counters(list(self.devices)).items()
        }

    def facts(self) -> tuple[str, ...]:
        """The facts of every switch, and one more where its SDE does not show what the traffic manager drops."""
        if has_drop_counters(self.client):
            return super().facts()
        unseen = "a bf_switchd without table tm.counter.pipe: frames that its traffic manager drops are not seen"
        return (*super().facts(), unseen)

    def drop_counts(self) -> dict[str, int]:
        """Drops of the traffic manager in the pipes and at the ports of the tester and of its loops."""
        if not has_drop_counters(self.client):
            return {}
        pipes = sorted({0, *self.capabilities.pipes.of_port.values()}) if self.capabilities.pipes else [0]
        return drop_counts(self.client, pipes, [*self.devices.values(), *self._loops])
