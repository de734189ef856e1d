"""Corrupted frames stand beside losses, in each table that shows some.

Method: a device that changes one bit of 10 % of the frames and loses none.
"""

from __future__ import annotations

import pytest
from support.networks import parsed, switch
from support.runs import run_on_sim

from p4mesh.methods.base import Method
from p4mesh.methods.messages.n_to_one import NToOne
from p4mesh.methods.rfc2544.frame_loss import FrameLoss
from p4mesh.methods.rfc2889.broadcast import Broadcast
from p4mesh.methods.rfc2889.congestion_control import CongestionControl
from p4mesh.methods.rfc2889.forward_pressure import ForwardPressure
from p4mesh.methods.rfc2889.maximum_forwarding_rate import MaximumForwardingRate
from p4mesh.methods.rfc3918.mixed_class import MixedClass

CORRUPTING = parsed(
    switch("impairments: {corrupt_ppb: 100000000}", port="queue_frames: 5000", tester_port="ifg_bits: 88", seed=3)
)
QUICK = ("learning_frames=5", "learning_wait_ms=1", "settle_ms=1", "restabilise_ms=1", "scaled_frames=600")
LOSSES = ("lost_frames", "loss_pct", "frame_loss_ratio", "congested_loss_pct")


@pytest.mark.parametrize(
    ("test", "settings"),
    [
        (FrameLoss(), ()),
        (Broadcast(), ("search_min_pct=50",)),
        (CongestionControl(), ()),
        (ForwardPressure(), ("clock_calibration=false",)),
        (MaximumForwardingRate(), ("search_min_pct=50", "step_pct=50")),
        (NToOne(), ("messages=10", "loads_pct=60")),
        (MixedClass(), ("search_min_pct=50", "groups=2")),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_corrupted_frames_stand_beside_losses(test: Method, settings: tuple[str, ...]) -> None:
    known = {parameter.name for parameter in test.parameters}
    quick = [setting for setting in QUICK if setting.partition("=")[0] in known]
    _, outcome, trials = run_on_sim(test, CORRUPTING, (512,), *quick, *settings)
    shown = [table for table in outcome.tables if any(column.key in LOSSES for column in table.columns)]
    assert shown
    counted = {result.corrupted_frames for _, result in trials}
    counted.add(sum(result.corrupted_frames for _, result in trials))
    for table in shown:
        found = [row["corrupted_frames"] for row in table.rows if row.get("corrupted_frames")]
        assert found and set(found) <= counted, table.name
