"""The model of the loop: ``sim`` does as it predicts, to the picosecond.

Method: a stream whose interval is one tick departs on every pass of each of its seeds. On a tester
with a clock of 1 ps, m passes of a seed take exactly m times the predicted round.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from support.networks import parsed, wire

from p4mesh.errors import ParameterError, UnsupportedError
from p4mesh.quantities import number_text
from p4mesh.target.chips import CHIPS, TOFINO_1, TOFINO_1_4_PIPES, TOFINO_2, Chip, pipe_of
from p4mesh.target.loop import LoopModel
from p4mesh.tester.contract import load_contract
from p4mesh.tester.frames import seed_payload
from p4mesh.tester.loop_model import predict
from p4mesh.tester.pacing import DepartureClock, first_fraction_q32, loop_use, rounding_ticks, seed_counts, shared_loops
from p4mesh.tester.plan import Limits, make_plan
from p4mesh.topology import Topology
from p4mesh.traffic.line_rate import max_rate_fps
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import Stream
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.spec import Learning, TrialSpec

ROUNDS = 7
START_LEAD_PS = 100_000_000
"""The starting frame has left the loop by then."""
LINE_RATES_BPS = tuple(giga * 10**9 for giga in (1, 10, 25, 40, 100, 400))
SIZES = (64, 512, 1518, 9216)
OWN_LOOP = TOFINO_1.loop()
FRONT_LOOP = TOFINO_2.other_loop(400_000_000_000)
LOOPS = (OWN_LOOP, FRONT_LOOP)
TOFINO_PAGE = Path(__file__).resolve().parents[3] / "docs" / "TOFINO.md"


def topology_of(loop: LoopModel, tick_ps: int = 1) -> Topology:
    tester = f"clock_tick_ps: {tick_ps}, loop: {{rate_bps: {loop.rate_bps}, latency_ns: {loop.latency_ps / 1000}}}"
    return parsed(wire(400 * 10**9, 100, tester=tester))


def measured_rounds_ps(loop: LoopModel, size: int, seeds: int) -> int:
    """The time of ROUNDS rounds: the difference of two runs, in which their starts cancel."""
    return _departing_ps(loop, size, seeds, 3 + ROUNDS) - _departing_ps(loop, size, seeds, 3)


def _departing_ps(loop: LoopModel, size: int, seeds: int, rounds: int) -> int:
    stream = Stream("loop", size, Fraction(10**6), rounds * seeds + 1, Pairs(), (1,), (2,))
    with open_measurer(topology_of(loop)) as measurer:
        limits = Limits.of(load_contract(), 1, loop, "sim")
        plan = make_plan([stream], limits, measurer.tester.target.rate_bps_of)
        (paced,) = plan.streams
        every_pass = DepartureClock(1, 0, stream.frame_count, 0, 1)
        plan = replace(plan, streams=(replace(paced, clock=every_pass, seeds=seeds),))
        dataplane, target = measurer.tester.dataplane, measurer.tester.target

        def wait(passes: int) -> None:
            target.wait(passes * 20_000, dataplane.packet_outs_sent)

        dataplane.configure(plan, 1)
        dataplane.clear(plan.cells, wait)
        payload = seed_payload(stream.frame, size)
        for number in range(seeds):
            dataplane.inject_seed(0, payload, number, seeds)
        wait(20)
        dataplane.start(range(1), START_LEAD_PS)
        wait(20)
        records = dataplane.read(plan.cells, wait)
        (transmitter,) = plan.streams[0].transmitters
        record = records[transmitter.id]
        assert int(record["departures"]) == stream.frame_count
        return int(record["last_departure"]) - int(record["first_departure"])


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("size", [64, 1518])
@pytest.mark.parametrize("seeds", [1, 3])
def test_prediction_and_simulation_agree_to_the_picosecond(loop: LoopModel, size: int, seeds: int) -> None:
    (use,) = loop_use([seeds], [size], loop, 1)
    assert measured_rounds_ps(loop, size, seeds) == ROUNDS * use.round_ps


def test_a_full_recirculation_port_goes_round_in_the_sum_of_its_frames() -> None:
    loop = LoopModel(10_000_000_000, 700_000)
    (use,) = loop_use([20], [512], loop, 1)
    assert use.round_ps == 20 * loop.pass_ps(512)
    assert measured_rounds_ps(loop, 512, 20) == ROUNDS * use.round_ps


def test_seeds_are_enough_and_their_error_is_the_distance_of_their_passes() -> None:
    for chip in CHIPS:
        for rate_bps in (10**9, 10**10, 4 * 10**10):
            for size in SIZES:
                rate = max_rate_fps(size, rate_bps)
                found = predict(rate, size, chip.loop(), chip.tick_ps, chip.name)
                assert found.seeds * 10**12 >= rate * found.round_ps
                assert (
                    found.departure_error_ps
                    == found.round_ps / found.seeds + rounding_ticks(found.seeds) * chip.tick_ps
                )
                assert found.port_share <= 1


@pytest.mark.parametrize(
    ("loop", "line_rate_gbps", "size", "load"),
    [
        (FRONT_LOOP, 200, 65, Fraction(68575, 100000)),
        (OWN_LOOP, 100, 64, Fraction(9, 10)),
        (OWN_LOOP, 50, 333, Fraction(79158, 100000)),
        (OWN_LOOP, Fraction(5, 2), 1519, Fraction(71334, 100000)),
    ],
)
def test_every_departure_is_as_near_to_its_ideal_time_as_predicted(
    loop: LoopModel, line_rate_gbps: Fraction, size: int, load: Fraction
) -> None:
    """Goal: the worst departure error holds from the first frame on. Method: one run per frame looked at, the last."""
    rate = load * max_rate_fps(size, int(line_rate_gbps * 10**9))
    found = predict(rate, size, loop, 1000, "tofino")
    for frames in (2, 12, 60, 177, 600, 3000):
        stream = Stream("paced", size, rate, frames, Pairs(), (1,), (2,))
        spec = TrialSpec("paced", (stream,), int(frames * 10**9 / rate) + 1, Learning(enabled=False))
        with open_measurer(topology_of(loop, tick_ps=1000)) as measurer:
            result = measurer.measure(spec)
        span_ps = (result.last_tx_ns - result.first_tx_ns) * 1000
        assert abs(span_ps - (frames - 1) * 10**12 / rate) <= found.departure_error_ps + 1000, frames


@pytest.mark.parametrize("seeds", [1, 2, 3, 10, 33, 53, 132, 177, 522])
@pytest.mark.parametrize("fraction", [Fraction(1, 3), Fraction(1, 2), Fraction(18, 25), Fraction(958, 1000)])
def test_seeds_round_fractions_by_few_ticks_together(seeds: int, fraction: Fraction) -> None:
    """Goal: the carries of all seeds follow the ideal clock. Method: each adds up its fraction, in turn."""
    sums = [Fraction(first_fraction_q32(number, seeds), 1 << 32) for number in range(seeds)]
    assert sorted(sums) == sorted(Fraction((place << 32) // seeds, 1 << 32) for place in range(seeds))
    carries = [int(begun < fraction) for begun in sums]
    early = Fraction(0)
    for departure in range(3 * seeds):
        seed = departure % seeds
        early += fraction - carries[seed]
        carries[seed], sums[seed] = divmod(sums[seed] + fraction, 1)
        assert abs(early) <= rounding_ticks(seeds)


def test_front_ports_in_loopback_carry_streams_of_their_own() -> None:
    """Goal: three streams of 60 % of 100 Gbit/s need three loops; each gets the one that is the least busy with it."""
    loops = (TOFINO_1.loop(), TOFINO_1.other_loop(10**11), TOFINO_1.other_loop(2 * 10**11))
    slots = [(Fraction(6, 10) * max_rate_fps(512, 10**11), 512)] * 3

    shares = shared_loops(slots, loops, "tofino")
    assert [loop for _, loop in shares] == [2, 0, 1], "30 % of the widest port first, then the two others"
    assert [seeds for seeds, _ in shares] == [seed_counts(slots[:1], loops[loop], "tofino")[0] for loop in (2, 0, 1)]
    with pytest.raises(UnsupportedError, match=r"the streams need 120\.0 % of the recirculation port"):
        shared_loops(slots, loops[:2], "tofino")


def test_the_stream_with_the_most_time_of_a_loop_comes_first_whatever_its_rate() -> None:
    """7 %, 74 % and 62 % of a loop: the first one goes to the last one's."""
    loops = (TOFINO_1.loop(), TOFINO_1.loop())
    slots = [(Fraction(10**7), 64), (Fraction(6 * 10**6), 1518), (Fraction(5 * 10**6), 1518)]
    assert [loop for _, loop in shared_loops(slots, loops, "tofino")] == [1, 0, 1]


def test_one_loop_shares_nothing() -> None:
    slots = [(max_rate_fps(64, 10**10), 64), (max_rate_fps(1518, 10**10), 1518)]
    seeds = seed_counts(slots, TOFINO_1.loop(), "tofino")
    assert shared_loops(slots, [TOFINO_1.loop()], "tofino") == [(count, 0) for count in seeds]


def test_pipe_of_a_port() -> None:
    assert [pipe_of(port, TOFINO_2) for port in (8, 71, 136, 455)] == [0, 0, 1, 3]
    assert pipe_of(256, TOFINO_1_4_PIPES) == 2
    with pytest.raises(ParameterError, match="port 256 is in pipe 2: tofino has 2 pipes"):
        pipe_of(256, TOFINO_1)


def prediction_rows(loop: LoopModel, chip: Chip) -> list[str]:
    """Lines of a Markdown table: one stream at line rate in a loop of a chip."""
    lines = [
        "| line rate | frame | seeds | recirculation port | rate step | worst departure error |",
        "|---|---|---|---|---|---|",
    ]
    for rate_bps in LINE_RATES_BPS:
        for size in SIZES:
            start = f"| {rate_bps // 10**9}G | {size} "
            try:
                found = predict(max_rate_fps(size, rate_bps), size, loop, chip.tick_ps, chip.name)
            except UnsupportedError:
                lines.append(start + "| - | more than 100 % | - | - |")
                continue
            lines.append(
                start + f"| {found.seeds} | {float(100 * found.port_share):.1f} % "
                f"| {number_text(found.rate_step_ppb, 1)} ppb | {float(found.departure_error_ps / 1000):.1f} ns |"
            )
    return lines


@pytest.mark.parametrize("loop", LOOPS)
def test_the_page_on_tofino_has_the_predictions_of_the_model(loop: LoopModel) -> None:
    table = "\n".join(prediction_rows(loop, TOFINO_2))
    assert table in TOFINO_PAGE.read_text(), f"docs/TOFINO.md, {loop}: replace the table by\n{table}"


def test_every_chip_has_a_recirculation_port_of_100_gbit() -> None:
    """Goal: bf_switchd adds port 6 of pipe 0 of a Tofino 2 with this rate, not with that of its front ports."""
    assert {chip.loop().rate_bps for chip in CHIPS} == {OWN_LOOP.rate_bps} == {100 * 10**9}
