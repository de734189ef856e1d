"""Flows whose frames are told apart: rules compute what they say they do, and have room or are refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from p4mesh.errors import ParameterError, UnsupportedError
from p4mesh.target.loop import LoopModel
from p4mesh.tester.contract import load_contract
from p4mesh.tester.plan import Limits, make_plan
from p4mesh.tester.received_fields import RECEIVED_FIELDS, ReceivedBits, ToldApart
from p4mesh.tester.told_apart import with_told_apart
from p4mesh.traffic.patterns import FullMesh
from p4mesh.traffic.stream import Stream

CONTRACT = load_contract()
LIMITS = Limits.of(CONTRACT, 1000, LoopModel(10**11, 500_000), "sim")
RATES = dict.fromkeys((1, 2, 3), 10**9)
MESH = Stream("mesh", 128, Fraction(100), 10, FullMesh(), (1, 2, 3), (1, 2, 3))
TWELVE_BITS = (ReceivedBits("vlan", 4, 12),)


@pytest.mark.parametrize("header", RECEIVED_FIELDS)
def test_a_rule_makes_the_number_of_its_bits_wherever_they_are(header: str) -> None:
    """Method: the action's shifts and masks against bits cut out of a text of zeros and ones."""
    width, room = sum(RECEIVED_FIELDS[header].values()), CONTRACT["RECEIVED_BITS"]
    content = int.from_bytes(bytes((7 * place + 3) % 256 for place in range(32)), "big") >> (256 - width)
    text = f"{content:0{width}b}"
    for first in range(width - 4):
        bits = ReceivedBits(header, first, 5), ReceivedBits(header, width - 1 - first, 1)
        for _, _, params in ToldApart(0, 0, 1, 0, 1000, bits).rules(room):
            assert max(params["shift_a"], params["shift_b"]) < 256
            moved = [(content << room) >> params[f"shift_{letter}"] & params[f"mask_{letter}"] for letter in "ab"]
            assert moved[0] | moved[1] == int(text[first : first + 5] + text[width - 1 - first], 2)


def test_each_flow_has_cells_of_its_own_behind_all_others() -> None:
    plan = make_plan([MESH], LIMITS, RATES)
    apart = with_told_apart(plan, {"mesh": (ReceivedBits("ipv4", 0, 6),)}, LIMITS).told_apart
    cells = [cell for it in apart for cell in it.cells]
    assert cells == list(range(plan.cells, plan.cells + 6 * 64))
    assert [(it.flow, it.rx_port) for it in apart] == [(it.sequence_cell, it.rx_port) for it in plan.flows]


def test_what_there_is_no_room_for_is_refused() -> None:
    plan = make_plan([MESH], LIMITS, RATES)
    with pytest.raises(UnsupportedError, match=r"needs 24.* cells of flows whose frames are told apart"):
        with_told_apart(plan, {"mesh": TWELVE_BITS}, replace(LIMITS, flows=20_000))
    with pytest.raises(UnsupportedError, match="not supported on sim: frames told apart"):
        with_told_apart(plan, {"mesh": TWELVE_BITS}, replace(LIMITS, received_field_rules=0))
    with pytest.raises(ParameterError, match="told apart by too much"):
        with_told_apart(plan, {"mesh": (*TWELVE_BITS, ReceivedBits("vlan", 0, 1))}, LIMITS)
