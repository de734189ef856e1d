"""Time that the parsers of a Tofino take for stacks of headers: closed forms at 100 Gbit/s and 1.22 GHz."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import pytest
from support.frames import labelled

from p4mesh.errors import UnsupportedError
from p4mesh.layers import PLAIN, UDP_OVER_IPV4, UDP_OVER_IPV6, DestinationOptions, Encapsulation, Frame, HopByHop, Mpls
from p4mesh.target.capabilities import Pipes
from p4mesh.target.chips import TOFINO_1
from p4mesh.target.loop import LoopModel
from p4mesh.tester.contract import P4SRC, load_contract
from p4mesh.tester.parser_time import egress_parser_states, parser_states, require_parser_time, shortest_frame_bytes
from p4mesh.tester.plan import Limits, make_plan
from p4mesh.traffic.line_rate import max_rate_fps
from p4mesh.traffic.patterns import FullMesh, Pairs
from p4mesh.traffic.stream import Burst, Stream

LINE_BPS = 100 * 10**9
CLOCK_HZ = TOFINO_1.pipe_frames_per_s
PIPES = Pipes(dict.fromkeys((1, 2, 3, 4), 0), CLOCK_HZ)
PADDED = replace(PIPES, pads_in_egress=TOFINO_1.pads_in_egress)
"""Those of a Tofino 1."""
LIMITS = Limits.of(load_contract(), 1000, LoopModel(10 * LINE_BPS, 700_000), "tofino")
RATES = dict.fromkeys((1, 2, 3, 4), LINE_BPS)
TAGGED, QINQ = UDP_OVER_IPV4.tagged(10), UDP_OVER_IPV4.tagged(10, 20)
LONGEST = labelled(
    UDP_OVER_IPV6.tagged(10, 20).extended([HopByHop(), DestinationOptions(options=bytes(22))]), Mpls(16), Mpls(17)
)


def check(frame: Frame, size: int, share: Fraction | int, burst: Burst | None = None, pipes: Pipes = PIPES) -> None:
    """Plan two streams to port 3 with a share of the line rate each, and check the time of the parsers."""
    stream = Stream("", size, share * max_rate_fps(size, LINE_BPS), 1000, Pairs(), (), (3,), frame=frame, burst=burst)
    require_time([replace(stream, name=f"s{tx}", tx_ports=(tx,)) for tx in (1, 2)], pipes)


def require_time(streams: list[Stream], pipes: Pipes = PIPES) -> None:
    require_parser_time(make_plan(streams, LIMITS, RATES), pipes, RATES, "tofino")


@pytest.mark.parametrize(
    ("frame", "states", "shortest"),
    [
        (PLAIN, 5, 43),
        (PLAIN.tagged(10, 20), 7, 63),
        (UDP_OVER_IPV4, 7, 63),
        (TAGGED, 8, 73),
        (QINQ, 9, 84),
        (labelled(UDP_OVER_IPV4, Mpls(16)), 8, 73),
        (labelled(QINQ, Mpls(16), Mpls(17)), 11, 104),
        (UDP_OVER_IPV6, 8, 73),
        (UDP_OVER_IPV6.tagged(10), 9, 84),
        (UDP_OVER_IPV6.extended([HopByHop()]), 9, 84),
        (UDP_OVER_IPV6.extended([DestinationOptions(options=bytes(14))]), 9, 84),
        (UDP_OVER_IPV6.extended([HopByHop(), DestinationOptions(options=bytes(22))]), 12, 114),
        (UDP_OVER_IPV6.extended([Encapsulation()]), 9, 84),
        (UDP_OVER_IPV6.extended([HopByHop(), Encapsulation()]), 9, 84),
        (UDP_OVER_IPV6.tagged(10, 20).extended([DestinationOptions(options=bytes(30))]), 13, 125),
        (LONGEST, 16, 155),
    ],
)
def test_a_stack_of_headers_needs_a_frame_of_some_length(frame: Frame, states: int, shortest: int) -> None:
    """Goal: a clock is 10.25 bytes of 100 Gbit/s; preamble and shortest gap are 9 of them."""
    assert parser_states(frame) == states
    assert shortest_frame_bytes(states, CLOCK_HZ, LINE_BPS) == shortest
    check(frame, max(64, shortest), 1)


@pytest.mark.parametrize("frame", [PLAIN, TAGGED, UDP_OVER_IPV6.extended([HopByHop()]), LONGEST])
def test_egress_of_a_tofino_2_takes_as_many_states(frame: Frame) -> None:
    assert egress_parser_states(frame, Pipes({}, CLOCK_HZ)) == parser_states(frame)


@pytest.mark.parametrize(
    ("frame", "states"),
    [
        (PLAIN, 6),
        (PLAIN.tagged(10), 7),
        (PLAIN.tagged(10, 20), 7),
        (UDP_OVER_IPV4, 7),
        (QINQ, 9),
        (UDP_OVER_IPV6, 8),
        (UDP_OVER_IPV6.extended([HopByHop()]), 9),
        (UDP_OVER_IPV6.extended([DestinationOptions(options=bytes(14))]), 10),
        (UDP_OVER_IPV6.extended([HopByHop(), DestinationOptions()]), 11),
        (UDP_OVER_IPV6.extended([HopByHop(), Encapsulation()]), 10),
        (LONGEST, 17),
    ],
)
def test_egress_of_a_tofino_1_takes_more_for_extension_headers_and_for_short_frames(frame: Frame, states: int) -> None:
    """Goal: the paths of p4mesh.bfa, counted by hand: one state more than in ingress or none."""
    assert egress_parser_states(frame, PADDED) == states


def test_the_longest_paths_are_those_of_the_compiler() -> None:
    """Goal: less the states of padding, which no frame with so many headers passes."""
    parsers = json.loads((P4SRC / "compiled" / "tofino.json").read_text())["parsers"]
    states = {
        chip: {gress: path["longest_path"] - path["padding"] for gress, path in paths.items()}
        for chip, paths in parsers.items()
    }
    reckoned = parser_states(LONGEST)
    assert states["Tofino 2 with IPDV"] == {"ingress": reckoned, "egress": reckoned}
    assert states["Tofino 2"] == {"ingress": reckoned, "egress": reckoned - 1}
    assert states["Tofino 1"] == {"ingress": reckoned - 1, "egress": egress_parser_states(LONGEST, PADDED)}


def test_egress_refuses_what_ingress_would_take() -> None:
    """Goal: 32 bytes of extension headers take 16 states of the sender's parser, 155 bytes of the receiver's."""
    shortest = shortest_frame_bytes(17, CLOCK_HZ, LINE_BPS)
    assert (shortest_frame_bytes(16, CLOCK_HZ, LINE_BPS), shortest) == (155, 166)
    check(LONGEST, 155, 1)
    check(LONGEST, shortest, 1, pipes=PADDED)
    with pytest.raises(UnsupportedError, match=r"port 1 sends frames of stream 's1' with 165 bytes, .* take 17 states"):
        check(LONGEST, shortest - 1, 1, pipes=PADDED)


def test_seven_states_are_what_a_frame_of_64_bytes_has_time_for() -> None:
    assert shortest_frame_bytes(7, CLOCK_HZ, LINE_BPS) <= 64 < shortest_frame_bytes(8, CLOCK_HZ, LINE_BPS)


def test_a_frame_below_the_shortest_size_of_its_headers_is_refused_at_line_rate() -> None:
    check(TAGGED, 73, 1)
    with pytest.raises(UnsupportedError) as caught:
        check(TAGGED, 72, 1)
    assert str(caught.value) == (
        "not supported on tofino: port 1 sends frames of stream 's1' with 72 bytes, whose headers take 8 states of the "
        "parser; it has time for 98.8 % of them"
    )
    assert caught.value.hint == "use frames of 73 bytes or more at line rate, a lower load or fewer headers"


def test_below_line_rate_the_parser_has_the_time_between_frames() -> None:
    """Goal: 64 bytes with 8 states take 112 % of their time; two streams at 44 % pass, at 45 % port 3 gets too many."""
    check(TAGGED, 64, Fraction(44, 100))
    with pytest.raises(UnsupportedError, match="port 3 receives frames of stream 's1' with 64 bytes"):
        check(TAGGED, 64, Fraction(45, 100))


def test_a_burst_is_at_line_rate() -> None:
    check(TAGGED, 64, Fraction(1, 10))
    with pytest.raises(UnsupportedError, match="port 1 sends frames"):
        check(TAGGED, 64, Fraction(1, 10), Burst(2))


@pytest.mark.parametrize(("port", "place"), [(1, "port 1 sends"), (2, "port 3 receives")])
def test_streams_share_a_port_by_their_shares_of_its_line(port: int, place: str) -> None:
    """Goal: a clock is 10.246 bytes. 8 x 10.246 of 82 bytes all the time, and of 73 for 40 %: 145 % of 140 %."""
    bursts = Stream("bursts", 73, max_rate_fps(73, LINE_BPS) / 10, 1000, Pairs(), (port,), (3,), frame=TAGGED)
    short = Stream("short", 64, max_rate_fps(64, LINE_BPS) * 2 / 5, 1000, Pairs(), (1,), (3,), frame=TAGGED)
    require_time([bursts, short])
    with pytest.raises(UnsupportedError, match=f"{place} frames of stream 'short' with 64 bytes.* 96.6 % of them"):
        require_time([replace(bursts, burst=Burst(2)), short])


def test_a_receiver_gets_its_part_of_what_goes_to_receivers_in_turn() -> None:
    """Goal: 85 % of the line with 112 % of its time are 95 % for a sender, and for a receiver from three of them."""
    rate_fps = max_rate_fps(64, LINE_BPS) * 17 / 20
    require_time([Stream("turns", 64, rate_fps, 1000, FullMesh(), (1, 2, 3, 4), (1, 2, 3, 4), frame=TAGGED)])


def test_a_slow_port_has_time_for_every_stack() -> None:
    assert shortest_frame_bytes(16, CLOCK_HZ, 25 * 10**9) < 64
