"""The replication engines of a Tofino: departures wait for them in a FIFO, and those that find it full are lost.

Each pipe has an engine for the copies to its own ports, which departures without a copy there do not come to (so the
public model of the chip, ``queueing.cpp``). It is reckoned with one copy in each clock (an assumption: nothing public
says how fast it is). Seeds return by a port of their own and are not lost with the copies.

On average the engines are as fast as the pipes (:mod:`p4mesh.tester.pipe_load`). But the CPU port puts seeds into the
loop at times of its own: at worst those of a stream follow each other, and all that is due in a round departs at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

from p4mesh.errors import UnsupportedError
from p4mesh.target.capabilities import Pipes
from p4mesh.target.loop import LoopModel
from p4mesh.tester.pacing import slot_rate_fps
from p4mesh.tester.plan import Plan
from p4mesh.traffic.line_rate import PS_PER_S


def require_replication(plan: Plan, pipes: Pipes, loops: Sequence[LoopModel], tick_ps: int, target: str) -> None:
    """Raise UnsupportedError where the departures of a round of the loops may find the FIFO of an engine full."""
    for pipe in sorted(set(pipes.of_port.values())):
        arrivals = sorted(_arrivals(plan, pipes, loops, tick_ps, pipe))
        if (longest := longest_queue(arrivals, pipes.frames_per_s)) > pipes.replication_fifo:
            raise UnsupportedError(
                f"not supported on {target}: up to {longest} departures would wait for the replication engine of pipe "
                f"{pipe}, whose FIFO holds {pipes.replication_fifo}; copies of others are lost",
                hint="lower the rates, or use fewer loops, or fewer tester ports in each pipe",
            )


def longest_queue(arrivals: Iterable[tuple[Fraction, int]], clock_hz: int) -> int:
    """Departures that wait or are copied at most, of those that come one after the other: time in ps, and copies."""
    clock_ps = Fraction(PS_PER_S, clock_hz)
    ends, free_ps, longest = deque[Fraction](), Fraction(0), 0
    for time_ps, copies in arrivals:
        while ends and ends[0] <= time_ps:
            ends.popleft()
        free_ps = max(free_ps, time_ps) + copies * clock_ps
        ends.append(free_ps)
        longest = max(longest, len(ends))
    return longest


def _arrivals(
    plan: Plan, pipes: Pipes, loops: Sequence[LoopModel], tick_ps: int, pipe: int
) -> Iterator[tuple[Fraction, int]]:
    """Departures of a round at the engine of a pipe where all seeds of a loop follow each other: time and copies."""
    passed_ps = [Fraction(0)] * len(loops)
    for stream, use in zip(plan.streams, plan.loop_uses, strict=True):
        pass_ps = loops[stream.loop].pass_ps(stream.stream.frame_size_bytes)
        due = -int(-slot_rate_fps(stream.clock, tick_ps) * use.round_ps // PS_PER_S)
        copies = sum(pipes.of_port[transmitter.port] == pipe for transmitter in stream.transmitters)
        for _ in range(min(stream.seeds, due)):
            passed_ps[stream.loop] += pass_ps
            if copies:
                yield passed_ps[stream.loop], copies
