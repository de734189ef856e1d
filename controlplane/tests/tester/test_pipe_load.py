"""Frames that the pipes of a chip have to pass: closed forms for 32 ports of 100 Gbit/s, 16 of them in each pipe."""

from __future__ import annotations

import re
from contextlib import nullcontext
from fractions import Fraction

import pytest

from p4mesh.errors import LoopOverloadError, UnsupportedError
from p4mesh.target.capabilities import Pipes
from p4mesh.target.chips import TOFINO_1
from p4mesh.target.loop import LoopModel
from p4mesh.target.tofino import TofinoTarget
from p4mesh.tester.contract import load_contract
from p4mesh.tester.pacing import LoopUse
from p4mesh.tester.pipe_load import require_pipe_rates
from p4mesh.tester.plan import Limits, make_plan
from p4mesh.tester.planning import Planner
from p4mesh.tester.tofino_contract import load_tofino_contract
from p4mesh.topology.loader import parse_topology
from p4mesh.traffic.line_rate import max_rate_fps
from p4mesh.traffic.patterns import FullMesh, Pairs, Pattern
from p4mesh.traffic.stream import Burst, Stream

LINE_BPS = 100 * 10**9
PORTS = tuple(range(1, 33))
RATES = dict.fromkeys(PORTS, LINE_BPS)
LIMITS = Limits.of(load_contract(), 1000, LoopModel(2 * LINE_BPS, 700_000), "tofino")
PIPE_OF = {port: int(port > 16) for port in PORTS}
SIZE = 64
LINE_FPS = Fraction(LINE_BPS, 8 * (SIZE + 20))
PASSES = 10**8
"""Passes of the loop per second, which come on top in pipe 0."""


def load(pipe_fps: int, pattern: Pattern, tx: tuple[int, ...], rx: tuple[int, ...], *bursts: Burst | None) -> None:
    """Ask for a stream per burst, each with 10 % of the line rate, on pipes that pass ``pipe_fps`` frames/s."""
    streams = [
        Stream(f"s{n}", SIZE, LINE_FPS / 10, 1000, pattern, tx, rx, burst=burst) for n, burst in enumerate(bursts)
    ]
    plan = make_plan(streams, LIMITS, RATES)
    seeds = sum(stream.seeds for stream in plan.streams)
    uses = [LoopUse(Fraction(seeds * 10**12, PASSES), Fraction(0), Fraction(0)) for _ in plan.streams]
    require_pipe_rates(plan, Pipes(PIPE_OF, pipe_fps), uses, RATES, "tofino")


@pytest.mark.parametrize(
    ("burst", "rate_fps", "when"),
    [
        (None, LINE_FPS / 10, ""),
        (Burst(1), LINE_FPS / 10, ""),
        (Burst(2), LINE_FPS, " while bursts are sent"),
        (Burst(100), LINE_FPS, " while bursts are sent"),
    ],
)
def test_a_pipe_passes_the_frames_of_its_ports_within_a_burst_and_the_loop(
    burst: Burst | None, rate_fps: Fraction, when: str
) -> None:
    """Goal: 16 ports at 10 % are 238 million frames/s, within bursts 2.38 thousand million."""
    needed = 16 * rate_fps + PASSES
    load(int(needed) + 10, FullMesh(), PORTS, PORTS, burst)
    with pytest.raises(UnsupportedError) as caught:
        load(int(needed) - 10, FullMesh(), PORTS, PORTS, burst)
    assert f"of pipe 0 would have to pass {float(needed):,.0f} frames/s{when}, it passes" in str(caught.value)
    assert ("no bursts" if when else "a lower load") in caught.value.hint


def test_bursts_of_one_port_count_in_the_pipes_of_that_port_and_of_its_receiver() -> None:
    """Goal: a port of pipe 1 sends to another of pipe 1; pipe 0 passes the loop alone."""
    needed = max(LINE_FPS, Fraction(PASSES))
    assert needed == LINE_FPS == max_rate_fps(SIZE, LINE_BPS)
    load(int(needed) + 10, Pairs(), (17,), (18,), Burst(100))
    with pytest.raises(UnsupportedError, match=r"of pipe 1 would have to pass 148,809,524 frames/s while bursts"):
        load(int(needed) - 10, Pairs(), (17,), (18,), Burst(100))


@pytest.mark.parametrize(("size", "longer"), [(64, 64), (128, 128), (128, 256)])
def test_a_port_passes_bursts_of_two_streams_at_its_line_rate(size: int, longer: int) -> None:
    """That of the shorter frames."""
    streams = [
        Stream(f"s{each}{place}", each, Fraction(10**6), 1000, Pairs(), (17,), (18,), burst=Burst(100))
        for place, each in enumerate((size, longer))
    ]
    needed = LINE_BPS / (8 * (size + 20))
    require(streams, int(needed) + 10)
    with pytest.raises(UnsupportedError):
        require(streams, int(needed) - 10)


def require(streams: list[Stream], pipe_fps: int) -> None:
    """Ask for streams on pipes that pass so many frames/s, with a pass of the loop per second."""
    wide = Limits.of(load_contract(), 1000, LoopModel(10 * LINE_BPS, 700_000), "tofino")
    plan = make_plan(streams, wide, RATES)
    uses = [LoopUse(Fraction(stream.seeds * 10**12), Fraction(0), Fraction(0)) for stream in plan.streams]
    require_pipe_rates(plan, Pipes(PIPE_OF, pipe_fps), uses, RATES, "tofino")


@pytest.mark.parametrize(
    ("frames", "begins_ns", "together"), [(1001, 99_999, True), (1001, 100_000, False), (1, 0, True)]
)
def test_streams_that_follow_each_other_do_not_add_up(frames: int, begins_ns: int, together: bool) -> None:
    """The last of 1,001 frames at 10 Mfps leaves after 100 us; one frame alone counts with its rate, too."""
    fps = 10**7
    first = Stream("first", SIZE, Fraction(fps), frames, Pairs(), (17,), (18,))
    second = Stream("second", SIZE, Fraction(fps), 5, Pairs(), (19,), (20,), start_offset_ns=(begins_ns,))
    require([first, second], 2 * fps)
    with pytest.raises(UnsupportedError) if together else nullcontext():
        require([first, second], 2 * fps - 10)
    with pytest.raises(UnsupportedError):
        require([first, second], fps - 10)


@pytest.mark.parametrize(("ports", "fits"), [(8, True), (9, False)])
def test_a_pipe_of_a_tofino_1_passes_eight_ports_of_64_bytes_at_line_rate(ports: int, fits: bool) -> None:
    """Goal: 1.22 GHz over 148.8 million frames/s are 8.2; the pipe is the second, without the loop."""
    chosen = tuple(range(17, 17 + ports))
    stream = Stream("s", SIZE, LINE_FPS, 1000, FullMesh(), chosen, chosen)
    plan = make_plan((stream,), LIMITS, RATES)
    uses = [LoopUse(Fraction(10**12), Fraction(0), Fraction(0))]
    pipes = Pipes(PIPE_OF, TOFINO_1.pipe_frames_per_s)
    with nullcontext() if fits else pytest.raises(UnsupportedError, match=r"of pipe 1 .* it passes 1,220,000,000"):
        require_pipe_rates(plan, pipes, uses, RATES, "tofino")


def planner_of(**keys: object) -> Planner:
    """A planner for 32 ports of a Tofino 1 with these keys beside its usual ones."""
    rows = ",".join(str(128 * (port > 16) + 4 * ((port - 1) % 16)) for port in PORTS)
    more = "".join(f", {name}: {value}" for name, value in keys.items())
    text = f"""
name: wedge
tester:
  tofino: {{chip: tofino1, api: bfrt, address: "[::1]:1", cpu_interface: bf_pci0{more}}}
  ports: [{{numbers: 1-32, device_ports: "{rows}", rate_bps: {LINE_BPS}}}]
nodes: [{{name: dut, device: ethernet_switch, ports: [{{numbers: 1-32, rate_bps: {LINE_BPS}}}]}}]
links: [{{from: "tester:1-32", to: "dut:1-32"}}]
"""
    topology = parse_topology("wedge.yaml", text)
    return Planner(load_tofino_contract(TOFINO_1, None), TofinoTarget.declare(topology), topology, {})


def test_a_refusal_for_the_loop_names_bursts_and_the_pipe() -> None:
    """Goal: 32 ports of 100 Gbit/s at 10 % of 64 bytes fit a Tofino 1 but for their bursts, for loop and pipe."""
    planner = planner_of()

    def refusal(rate_fps: Fraction, size: int, ports: int, burst: Burst | None) -> LoopOverloadError:
        chosen = PORTS[:ports]
        with pytest.raises(LoopOverloadError) as caught:
            planner.plan([Stream("s", size, rate_fps, 1000, FullMesh(), chosen, chosen, burst=burst)])
        return caught.value

    both = refusal(LINE_FPS / 10, SIZE, 32, Burst(100))
    assert "100.00 % of the recirculation port, of which 1 % are kept free, as bursts take a pass" in both.message
    assert re.search(
        r"; and (in|e)gress of pipe 0 would have to pass [\d,]+ frames/s while bursts are sent", both.message
    )
    assert "use no bursts or slower ports" in both.hint and "lower the rate" not in both.hint

    loop_alone = refusal(max_rate_fps(1518, LINE_BPS) / 10, 1518, 4, Burst(100))
    assert "as bursts take a pass" in loop_alone.message and "; and " not in loop_alone.message
    not_bursts = refusal(LINE_FPS, SIZE, 32, None)
    assert "bursts" not in not_bursts.message and "; and ingress of pipe 0" in not_bursts.message
    assert "lower the rate" in not_bursts.hint
    fits = planner.plan([Stream("s", SIZE, LINE_FPS / 10, 1000, FullMesh(), PORTS, PORTS)])
    assert fits.streams[0].seeds > 0


@pytest.mark.parametrize(
    ("latency_ms", "streams", "fits"), [(200, 1, True), (200, 2, False), (10, 90, True), (10, 110, False)]
)
def test_streams_of_a_slow_loop_start_while_they_are_held(latency_ms: int, streams: int, fits: bool) -> None:
    """Goal: four rounds and one for each stream take less than 2^30 - 2^24 ns, 1.057 s."""
    asked = [Stream(f"s{n}", SIZE, Fraction(3), 10, Pairs(), (1, 2), (1, 2)) for n in range(streams)]
    planner = planner_of(loop_latency_ns=1_000_000 * latency_ms)
    with (
        nullcontext()
        if fits
        else pytest.raises(LoopOverloadError, match=rf"{streams} streams take 1\.\d+ s to start.* for 1\.05696 s")
    ):
        planner.plan(asked)
