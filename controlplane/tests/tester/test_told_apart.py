"""Flows whose frames are told apart: rules compute what they say they do, and have room or are refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from p4mesh.errors import ParameterError, UnsupportedError
from p4mesh.target.loop import LoopModel
from p4mesh.tester.contract import load_contract
from p4mesh.tester.plan import Limits, make_plan
from p4mesh.tester.reading import Reading
from p4mesh.tester.received_fields import RECEIVED_FIELDS, ReceivedBits, ToldApart
from p4mesh.tester.told_apart import with_numbers, with_told_apart
from p4mesh.traffic.patterns import Broadcast, FullMesh
from p4mesh.traffic.stream import Stream

CONTRACT = load_contract()
LIMITS = Limits.of(CONTRACT, 1000, LoopModel(10**11, 500_000), "sim")
RATES = dict.fromkeys((1, 2, 3), 10**9)
MESH = Stream("mesh", 128, Fraction(100), 10, FullMesh(), (1, 2, 3), (1, 2, 3))
TWELVE_BITS = (ReceivedBits("vlan", 4, 12),)
TWO = (ReceivedBits("vlan", 0, 3), ReceivedBits("vlan", 7, 9))
"""As many ranges and bits as there may be."""


@pytest.mark.parametrize("header", RECEIVED_FIELDS)
def test_a_rule_makes_the_number_of_its_bits_wherever_they_are(header: str) -> None:
    """Method: the action's shifts and masks against bits cut out of a text of zeros and ones."""
    width, room = sum(RECEIVED_FIELDS[header].values()), CONTRACT["RECEIVED_BITS"]
    content = int.from_bytes(bytes((7 * place + 3) % 256 for place in range(32)), "big") >> (256 - width)
    text = f"{content:0{width}b}"
    for first in range(width - 4):
        bits = ReceivedBits(header, first, 5), ReceivedBits(header, width - 1 - first, 1)
        apart = ToldApart(0, 0, 1, 0, 1000, bits)
        rules = list(apart.rules(room))
        assert len(rules) == apart.rules_count > 0
        for _, _, params in rules:
            assert max(params["shift_a"], params["shift_b"]) < 256
            moved = [(content << room) >> params[f"shift_{letter}"] & params[f"mask_{letter}"] for letter in "ab"]
            assert moved[0] | moved[1] == int(text[first : first + 5] + text[width - 1 - first], 2)


def test_frames_are_told_apart_by_the_outermost_header_of_a_kind_which_has_two_places() -> None:
    rules = list(ToldApart(0, 0, 1, 0, 1000, (ReceivedBits("ipv4", 8, 3),)).rules(CONTRACT["RECEIVED_BITS"]))
    assert [(action, keys) for keys, action, _ in rules] == [
        ("by_first_ipv4", {"has_first_ipv4": (1, 1)}),
        ("by_ipv4", {"has_first_ipv4": (0, 1), "has_ipv4": (1, 1)}),
    ]
    lower = 72 - 8 - 3 + CONTRACT["RECEIVED_BITS"]
    once = {"first_cell": 1000, "shift_a": lower, "mask_a": 0b111, "shift_b": 0, "mask_b": 0}
    assert [params for _, _, params in rules] == [once, once]


def test_each_flow_has_cells_of_its_own_behind_all_others() -> None:
    """Goal: only flows of the streams that are named, and none for a port that is not to receive its frames."""
    others = [replace(MESH, name="other"), replace(MESH, name="all", pattern=Broadcast())]
    plan = make_plan([MESH, *others], LIMITS, RATES)
    apart = with_told_apart(plan, {"mesh": (ReceivedBits("ipv4", 0, 6),), "all": TWO}, LIMITS).told_apart
    cells = [cell for it in apart for cell in it.cells]
    assert cells == list(range(plan.cells, plan.cells + 6 * 64 + 6 * 4096))
    wanted = [it for it in plan.flows if it.stream != 1 and it.expected]
    assert [(it.flow, it.rx_port) for it in apart] == [(it.sequence_cell, it.rx_port) for it in wanted]
    assert len(plan.flows) - len(wanted) == 6 + 3, "the second stream, and three senders of broadcasts"


def test_each_number_that_has_come_is_a_flow() -> None:
    plan = with_told_apart(make_plan([MESH], LIMITS, RATES), {"mesh": (ReceivedBits("ipv4", 0, 6),)}, LIMITS)
    first, second, *_ = plan.told_apart
    records = np.zeros(plan.cells, dtype=[("frames", np.int64)])
    records["frames"][[first.cells[3], first.cells[63], second.cells[0]]] = 1, 7, 2
    found = with_numbers(plan, Reading(records, {})).flows
    flow, following = plan.flows[:2]
    assert found == (
        *plan.flows,
        flow._replace(cell=first.first_cell + 3, part="3"),
        flow._replace(cell=first.first_cell + 63, part="63"),
        following._replace(cell=second.first_cell, part="0"),
    )
    plain = make_plan([MESH], LIMITS, RATES)
    assert with_numbers(plain, Reading(records, {})) is plain


def test_what_there_is_no_room_for_is_refused() -> None:
    plan = make_plan([MESH], LIMITS, RATES)
    with pytest.raises(UnsupportedError, match=r"needs 24.* cells of flows whose frames are told apart"):
        with_told_apart(plan, {"mesh": TWELVE_BITS}, replace(LIMITS, flows=20_000))
    with pytest.raises(UnsupportedError, match="not supported on sim: frames told apart"):
        with_told_apart(plan, {"mesh": TWELVE_BITS}, replace(LIMITS, received_field_rules=0))
    with pytest.raises(UnsupportedError, match="rules for them"):
        with_told_apart(plan, {"mesh": TWELVE_BITS}, replace(LIMITS, received_field_rules=5))
    too_much = [
        (*TWELVE_BITS, ReceivedBits("vlan", 0, 1)),
        (ReceivedBits("vlan", 0, 1), ReceivedBits("ethernet", 0, 1)),
        tuple(ReceivedBits("vlan", 4 * place, 1) for place in range(3)),
    ]
    for bits in too_much:
        with pytest.raises(ParameterError, match="told apart by too much"):
            with_told_apart(plan, {"mesh": bits}, LIMITS)
