"""The replication engines of a Tofino: departures wait for them in a FIFO, and one that finds it full is lost whole.

Each pipe has an engine for the copies to its own ports. It is reckoned with one copy in each clock, one at least for
each departure, all of which come to every engine (assumptions: nothing public says how fast they are). The copy that
returns the seed to its loop is made in pipe 0 and lost with the others: a stream that loses a seed is slow for good.

On average the engines are as fast as the pipes (:mod:`p4mesh.tester.pipe_load`). But the CPU port puts seeds into the
loop at times of its own: at worst those of a stream follow each other, and all that is due in a round departs at once.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

from p4mesh.errors import UnsupportedError
from p4mesh.target.capabilities import Pipes
from p4mesh.target.loop import LoopModel
from p4mesh.tester.pacing import slot_rate_fps
from p4mesh.tester.plan import Plan, StreamPlan
from p4mesh.traffic.line_rate import PS_PER_S

_LOOP_PIPE = 0


def require_replication(plan: Plan, pipes: Pipes, loops: Sequence[LoopModel], tick_ps: int, target: str) -> None:
    """Raise UnsupportedError where the departures of a round of the loops may find the FIFO of an engine full."""
    for pipe in sorted({*pipes.of_port.values(), _LOOP_PIPE}):
        arrivals = sorted(_arrivals(plan, pipes, loops, tick_ps, pipe))
        if (longest := longest_queue(arrivals, pipes.frames_per_s)) > pipes.replication_fifo:
            raise UnsupportedError(
                f"not supported on {target}: up to {longest} departures would wait for the replication engine of pipe "
                f"{pipe}, whose FIFO holds {pipes.replication_fifo}; it deletes others with their seed",
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
        copies = _copies(stream, pipes, pipe)
        for _ in range(min(stream.seeds, due)):
            passed_ps[stream.loop] += pass_ps
            yield passed_ps[stream.loop], copies


def _copies(stream: StreamPlan, pipes: Pipes, pipe: int) -> int:
    of_pipes = Counter(pipes.of_port[transmitter.port] for transmitter in stream.transmitters)
    return max(1, of_pipes[pipe] + (pipe == _LOOP_PIPE))
