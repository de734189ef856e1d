"""Flows in columns are those of the plan, one by one."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from p4mesh.target.loop import LoopModel
from p4mesh.tester.contract import load_contract
from p4mesh.tester.flows import Flow, FlowColumns
from p4mesh.tester.plan import Limits, make_plan
from p4mesh.traffic.patterns import Broadcast, FullMesh
from p4mesh.traffic.stream import Stream

LIMITS = Limits.of(load_contract(), 1000, LoopModel(10**11, 500_000), "sim")


def test_flows_of_streams_follow_each_other() -> None:
    one = Stream("one", 64, Fraction(1000), 10, Broadcast(), (5,), (2, 5))
    two = replace(one, name="two", pattern=FullMesh(), tx_ports=(2, 5), rx_ports=(2, 5))
    plan = make_plan((one, two), LIMITS, dict.fromkeys((2, 5), 10**9))
    flows = (
        Flow(0, 0, 0, 5, 2),
        Flow(1, 0, 0, 5, 5, expected=False),
        Flow(2, 2, 1, 2, 5),
        Flow(3, 3, 1, 5, 2),
    )
    assert plan.flows == flows
    assert [[type(value) for value in flow] for flow in plan.flows] == [
        [type(value) for value in flow] for flow in flows
    ]


def test_no_blocks_are_no_flows() -> None:
    none = FlowColumns.joined([])
    assert none.flows == () and none.cell.dtype == np.int64 and none.expected.dtype == bool
