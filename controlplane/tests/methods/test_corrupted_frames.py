"""Corrupted frames stand beside losses, in each table that shows some.

Method: a device that changes one bit of 10 % of the frames and loses none, or no more than its reset costs.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from importlib import import_module
from pkgutil import walk_packages
from typing import get_type_hints

import pytest
from support.networks import parsed, switch
from support.runs import run_on_sim

from p4mesh import methods
from p4mesh.methods.base import Method
from p4mesh.methods.messages.latency import MessageLatency
from p4mesh.methods.messages.n_to_one import NToOne
from p4mesh.methods.results.fields import is_loss
from p4mesh.methods.results.outcome import Table
from p4mesh.methods.results.record import INLINE, Record, record_class
from p4mesh.methods.rfc2544.frame_loss import FrameLoss
from p4mesh.methods.rfc2544.system_recovery import SystemRecovery
from p4mesh.methods.rfc2544.throughput import Throughput
from p4mesh.methods.rfc2889.broadcast import Broadcast
from p4mesh.methods.rfc2889.congestion_control import CongestionControl
from p4mesh.methods.rfc2889.errored_frames import ErroredFrames
from p4mesh.methods.rfc2889.forward_pressure import ForwardPressure
from p4mesh.methods.rfc2889.maximum_forwarding_rate import MaximumForwardingRate
from p4mesh.methods.rfc3918.mixed_class import MixedClass
from p4mesh.methods.rfc6201.reset import Reset

CORRUPTING = "impairments: {corrupt_ppb: 100000000}"
SWITCH = parsed(
    switch(CORRUPTING, port="queue_frames: 5000", tester_port="ifg_bits: 88, pad_to_minimum: false", seed=3)
)
RESETTING = parsed(switch(CORRUPTING, "reset: {time_s: 0.002}", port="queue_frames: 20", seed=3))
QUICK = ("learning_frames=5", "learning_wait_ms=1", "settle_ms=1", "restabilise_ms=1", "scaled_frames=600")
CORRUPTED = ("corrupted_frames", "shared_corrupted_frames", "corrupted_frames_avg")


@pytest.mark.parametrize(
    ("test", "settings"),
    [
        (FrameLoss(), ()),
        (Broadcast(), ("search_min_pct=50",)),
        (CongestionControl(), ()),
        (ErroredFrames(), ()),
        (ForwardPressure(), ("clock_calibration=false",)),
        (MaximumForwardingRate(), ("search_min_pct=50", "step_pct=50")),
        (MessageLatency(), ("messages=10", "message_frames=20", "messages_per_s=1000")),
        (NToOne(), ("messages=10", "message_frames=20", "loads_pct=60")),
        (MixedClass(), ("search_min_pct=50", "groups=2")),
        (Reset(), ("load_pct=50", "resets=2", "before_ms=5", "sample_ms=1")),
        (SystemRecovery(), ("acceptable_loss_pct=50", "search_min_pct=50", "search_max_pct=80", "runs=2")),
        (Throughput(), ("decision=per_source_port", "search_min_pct=50")),
        (Throughput(), ("search_min_pct=50", "search_max_pct=60")),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_corrupted_frames_stand_beside_losses(test: Method, settings: tuple[str, ...]) -> None:
    known = {parameter.name for parameter in test.parameters}
    quick = [setting for setting in QUICK if setting.partition("=")[0] in known]
    network = RESETTING if test.name.endswith(".reset") else SWITCH
    _, outcome, trials = run_on_sim(test, network, (512,), *quick, *settings)
    counts = [result.corrupted_frames for _, result in trials]
    shown = [table for table in outcome.tables if any(map(is_loss, table_keys(table)))]
    assert shown
    for table in shown:
        found = [row[key] for row in table.rows for key in CORRUPTED if row.get(key)]
        assert found, table.name
        assert all(0 < float(frames) <= sum(counts) for frames in found if frames is not None), table.name


def test_a_search_that_fails_for_corrupted_frames_says_so() -> None:
    """It is no loss, though the search counts it as one; a bit in the headers in front makes a frame another one."""
    asked = ("scaled_frames=600", "search_min_pct=5", *QUICK[:4])
    known = {parameter.name for parameter in Throughput().parameters}
    quick = [setting for setting in asked if setting.partition("=")[0] in known]
    rare = parsed(switch("impairments: {corrupt_ppb: 20000000}", ports=2, seed=3))
    (found,) = [text for text in run_on_sim(Throughput(), rare, (512,), *quick)[1].findings if "loses about" in text]
    match = re.search(r"(\d+) of [\d,]+ frames, (\d+) of them received corrupted, 95 %", found)
    assert match is not None and 0.85 * int(match[1]) < int(match[2]) < int(match[1])


def table_keys(table: Table) -> set[str]:
    """The keys of the columns that have a value in some row."""
    return {key for row in table.rows for key, value in row.items() if value}


def test_records_with_a_loss_have_corrupted_frames() -> None:
    """Goal: no table can show a loss whose records do not know the corrupted frames among it."""
    for module in walk_packages(methods.__path__, "p4mesh.methods."):
        import_module(module.name)
    records = [record for record in subclasses(Record) if record.__module__.startswith("p4mesh.")]
    parts = {part for record in records for part in inline(record)}
    lossy = [record for record in records if any(is_loss(column.key) for column in record.columns())]
    assert len(lossy) > 10
    assert not [record.__name__ for record in lossy if record not in parts and not keys(record) & set(CORRUPTED)]


def subclasses(kind: type[Record]) -> Iterator[type[Record]]:
    for found in kind.__subclasses__():
        yield found
        yield from subclasses(found)


def inline(record: type[Record]) -> Iterator[type[Record]]:
    hints = get_type_hints(record)
    for item in dataclasses.fields(record):
        if INLINE.items() <= item.metadata.items():
            yield record_class(hints[item.name])


def keys(record: type[Record]) -> set[str]:
    return {item.name for item in dataclasses.fields(record)}.union(*map(keys, inline(record)))
