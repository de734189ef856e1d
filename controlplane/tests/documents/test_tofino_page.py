"""docs/TOFINO.md: its figures are those of the code, and other documents say the same of what has run where."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.frames import labelled

from p4mesh.layers import PLAIN, UDP_OVER_IPV4, UDP_OVER_IPV6, DestinationOptions, Encapsulation, Frame, HopByHop, Mpls
from p4mesh.target.capabilities import Pipes
from p4mesh.target.chips import TOFINO_1, TOFINO_2
from p4mesh.tester.parser_time import egress_parser_states, parser_states, shortest_frame_bytes
from p4mesh.traffic.line_rate import max_rate_fps

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "TOFINO.md").read_text()
HAS_RUN = "It has run on no chip: on the models of a Tofino 1 and a Tofino 2 RFC 2889 5.1 is measured at 3 frames/s"


@pytest.mark.parametrize("name", ["README.md", "docs/LIMITATIONS.md", "docs/TOFINO.md"])
def test_documents_agree_on_where_the_program_has_run(name: str) -> None:
    assert HAS_RUN in " ".join((ROOT / name).read_text().split())


@pytest.mark.parametrize(
    ("row", "frames"),
    [
        ("Ethernet with up to two tags, or UDP over IPv4", [PLAIN.tagged(1, 2), UDP_OVER_IPV4]),
        (
            "UDP over IPv4 behind a tag or a label, or over IPv6",
            [UDP_OVER_IPV4.tagged(1), labelled(UDP_OVER_IPV4, Mpls(16)), UDP_OVER_IPV6],
        ),
        (
            "UDP over IPv6 behind a tag or a label, or with an extension header of 8 bytes or ESP",
            [
                *(UDP_OVER_IPV6.tagged(1), labelled(UDP_OVER_IPV6, Mpls(16))),
                *(UDP_OVER_IPV6.extended([header]) for header in (HopByHop(), Encapsulation())),
            ],
        ),
        (
            "UDP over IPv6 with an extension header of 16 bytes",
            [UDP_OVER_IPV6.extended([DestinationOptions(options=bytes(14))])],
        ),
        (
            "UDP over IPv6 behind two tags or two labels",
            [UDP_OVER_IPV6.tagged(1, 2), labelled(UDP_OVER_IPV6, Mpls(16), Mpls(17))],
        ),
        (
            "IPv6 behind two tags and two labels, with two extension headers of 32 bytes together",
            [
                labelled(
                    UDP_OVER_IPV6.tagged(1, 2).extended([HopByHop(), DestinationOptions(options=bytes(22))]),
                    *(Mpls(16), Mpls(17)),
                )
            ],
        ),
    ],
)
def test_shortest_frames_of_the_page_are_those_that_are_refused_below(row: str, frames: list[Frame]) -> None:
    found = re.search(rf"\| {row} \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|", PAGE)
    assert found is not None
    for frame in frames:
        states, shortest = [parser_states(frame)], []
        for chip in (TOFINO_1, TOFINO_2):
            pipes = Pipes({}, chip.pipe_frames_per_s, pads_in_egress=chip.pads_in_egress)
            states.append(egress_parser_states(frame, pipes))
            most = max(states[0], states[-1])
            shortest.append(max(64, shortest_frame_bytes(most, pipes.frames_per_s, pipes.parser_bps)))
        assert [*states[:2], *shortest] == [int(number) for number in found.groups()]


@pytest.mark.parametrize("size", [64, 128, 256, 512, 1518])
def test_ports_at_line_rate_of_the_page_are_those_that_a_pipe_passes(size: int) -> None:
    """Goal: a frame per clock; in pipe 0 the passes of one stream of the same size take the place of a port."""
    found = re.search(rf"\| {size} \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|", PAGE)
    assert found is not None
    most = [
        int(chip.pipe_frames_per_s / max_rate_fps(size, gbps * 10**9))
        for chip, gbps in ((TOFINO_1, 100), (TOFINO_2, 400))
    ]
    assert [int(number) for number in found.groups()] == [number for ports in most for number in (ports - 1, ports)]


def test_inner_loops_and_the_fifo_of_the_page_are_those_of_the_chip() -> None:
    assert f"FIFO of {Pipes({}, 1).replication_fifo}" in PAGE
    rates = {port: bps // 10**9 for port, bps in TOFINO_2.inner_loops.items()}
    assert rates == {1: 50, 2: 100, 4: 100} and "2 and 4 of pipe 0 with 100 Gbit/s,\n   and port 1 with 50" in PAGE
