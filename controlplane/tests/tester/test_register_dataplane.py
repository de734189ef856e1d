"""Records put together from registers: every register of the programs for both chips is read or cleared."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from p4mesh.bfruntime import BfrtInfo
from p4mesh.errors import TargetError
from p4mesh.p4runtime import CounterData
from p4mesh.target.chips import TOFINO_1, TOFINO_2, TOFINO_2_IPDV, Chip
from p4mesh.tester.contract import P4SRC, load_contract
from p4mesh.tester.dataplane import SwitchPorts
from p4mesh.tester.halves import records_of_halves
from p4mesh.tester.records import READ_TICKS
from p4mesh.tester.register_dataplane import IPDV_WORDS, WORDS, RegisterDataPlane, with_signed_ipdv
from p4mesh.tester.tofino_contract import TofinoContract, load_tofino_contract

CHIPS = (TOFINO_1, TOFINO_2, TOFINO_2_IPDV)
NOT_OF_A_TRIAL = {"clock_cells", "slot_cells", "window_cells", "taken_cells"}
"""Streams set theirs when they start; windows are cleared once in 255 runs; captured frames have the trial's number."""


class Registers:
    """Stands for a BF Runtime client: the low word of cell n of a register is n + 100 in pipe 0, + 200 in pipe 1.

    Cell n of the counter of bytes has n + 1000, of all pipes.
    """

    def __init__(self, chip: Chip) -> None:
        self.bfrt = BfrtInfo((P4SRC / "compiled" / f"p4mesh.{chip.p4info}.bfrt.json").read_bytes())
        self.cleared: list[str] = []
        self.synchronised: list[str] = []

    def reset(self, names: list[str]) -> None:
        self.cleared += [self.bfrt.table(name).name for name in names]

    def sync(self, names: list[str]) -> None:
        self.synchronised += [self.bfrt.table(name).name for name in names]

    def read_registers(self, name: str, cells: list[int]) -> dict[str, Any]:
        table = self.bfrt.table(name)
        assert max(cells) < table.size and table.name in self.synchronised
        fields = [one.name.rpartition(".")[2] for one in table.data_by_id.values()]
        low = np.array([[cell + 100 for cell in cells], [cell + 200 for cell in cells]], dtype=np.uint64)
        return {field: low * np.uint64(field != "high") for field in fields}

    def read_counters(self, name: str, cells: list[int]) -> list[tuple[int, CounterData]]:
        assert max(cells) < self.bfrt.table(name).size
        return [(cell, CounterData(0, cell + 1000)) for cell in cells]


def plane_of(chip: Chip, ports: dict[int, int]) -> tuple[RegisterDataPlane, Registers, TofinoContract]:
    contract = load_tofino_contract(chip, None)
    registers = Registers(chip)
    plane = RegisterDataPlane(registers, contract, SwitchPorts(ports))  # type: ignore[arg-type]
    ticks = np.array([(7,)], dtype=[(READ_TICKS, "u8")])
    plane._reader = SimpleNamespace(read=lambda wanted, _: {(range(1),): ticks}[tuple(wanted)])  # type: ignore[assignment]
    return plane, registers, contract


@pytest.mark.parametrize("chip", CHIPS, ids=lambda chip: chip.program)
def test_every_register_is_cleared_before_a_trial_but_those_of_streams_and_windows(chip: Chip) -> None:
    plane, registers, _ = plane_of(chip, {1: 8})
    every = {table.name for table in registers.bfrt.tables.values() if table.kind == "Register"}
    plane.clear(10, lambda passes: None)
    if chip is TOFINO_2_IPDV:
        messages = {name for name in every if ".messages." in name}
        assert len(messages) == 13 and not messages & set(registers.cleared), "trials without messages leave them alone"
        plane.clear_messages(1, lambda passes: None)
    assert {name.rpartition(".")[2] for name in every - set(registers.cleared)} == NOT_OF_A_TRIAL
    assert len(registers.cleared) == len(set(registers.cleared))
    plane.clear_windows(10, lambda passes: None)
    assert {name.rpartition(".")[2] for name in every - set(registers.cleared)} == NOT_OF_A_TRIAL - {"window_cells"}


@pytest.mark.parametrize("chip", CHIPS, ids=lambda chip: chip.program)
def test_records_have_the_fields_that_reading_frames_bring(chip: Chip) -> None:
    plane, _, contract = plane_of(chip, {1: 8})
    found = plane.read_some([range(3)], lambda passes: None)
    names = set(records_of_halves([], contract).dtype.names or ())
    more = set(IPDV_WORDS) if chip is TOFINO_2_IPDV else set()
    assert set(found.dtype.names or ()) == names | more | {READ_TICKS, "bytes"}
    assert set(WORDS) | {"cell", "spacing_min_inverted"} == names
    assert found[READ_TICKS].tolist() == [7, 7, 7]
    assert found["bytes"].tolist() == [1000, 1001, 1002]


def test_cells_beyond_the_first_bank_are_those_of_the_second_register() -> None:
    """Goal: on Tofino 2 flow 32,768 is cell 0 of the upper bank; transmitters end at 16,384 and read as 0."""
    plane, _, _ = plane_of(TOFINO_2, {1: 8})
    found = plane.read_some([range(5, 6), range(32768, 32770)], lambda passes: None)
    assert found["cell"].tolist() == [5, 32768, 32769]
    assert found["duplicates"].tolist() == [105, 100, 101]
    assert found["departures"].tolist() == [(105 << 32) + 105, 0, 0]
    assert plane.read_some([range(32769, 32770)], lambda passes: None)["duplicates"].tolist() == [101]


def test_bytes_are_those_of_the_pipe_that_has_received_frames() -> None:
    """Goal: one frame of flow 0 in pipe 0, and one of flow 2 in pipe 1; flow 1 has none, and no bytes."""
    plane, registers, _ = plane_of(TOFINO_1, {1: 8, 2: 132})
    frames = np.array([[1, 0, 0], [0, 0, 1]], dtype=np.uint64)

    def read_registers(name: str, cells: list[int]) -> dict[str, Any]:
        fields = [one.name.rpartition(".")[2] for one in registers.bfrt.table(name).data_by_id.values()]
        return {field: frames * np.uint64(name == "cells.frames_cells" and field != "high") for field in fields}

    registers.read_registers = read_registers  # type: ignore[method-assign]
    of_pipes = plane._of_pipes([range(3)], lambda passes: None)
    assert [of_pipes[pipe]["frames"].tolist() for pipe in (0, 1)] == [[1, 0, 0], [0, 0, 1]]
    assert [of_pipes[pipe]["bytes"].tolist() for pipe in (0, 1)] == [[1000, 0, 0], [0, 0, 1002]]


def test_a_switch_without_the_registers_of_a_pipe_is_told_apart() -> None:
    plane, _, _ = plane_of(TOFINO_2, {1: 8, 2: 2 * 128 + 8})
    with pytest.raises(TargetError, match="registers of 2 pipes, tester ports are in pipe 2"):
        plane.read_some([range(3)], lambda passes: None)


@pytest.mark.parametrize("values", [(-3, -4, 5), (*(2**30,) * 8, 1), (*(-(2**30),) * 8, -1), (0,)])
def test_sums_of_ipdv_are_signed_and_flows_whose_differences_may_have_wrapped_have_none(
    values: tuple[int, ...],
) -> None:
    """Goal: the sum of the samples, in ticks, and a flow with a latency of 2^31 ticks, whose IPDV is left out."""
    samples = [value + (1 << 31) for value in values]
    form = [
        (name, ">u8" if name in {"ipdv_count", "ipdv_sum_high"} else ">u4") for name in ("latency_max", *IPDV_WORDS)
    ]
    records = np.zeros(2, dtype=form)
    records["latency_max"] = [2**31 - 1, 2**31]
    records["ipdv_count"] = len(samples)
    records["ipdv_sum_high"], records["ipdv_sum_low"] = sum(samples) >> 32, sum(samples) & 0xFFFFFFFF
    with_signed_ipdv(records)
    assert records["ipdv_count"].tolist() == [len(samples), 0]
    high, low = records["ipdv_sum_high"].astype(np.int64)[0], int(records["ipdv_sum_low"][0])
    assert (high << 32) + low == sum(values)


def test_histograms_of_ipdv_are_read_where_no_difference_may_have_wrapped() -> None:
    """Goal: sizes up to 5 ticks; no bin where a flow had a latency of 2^31 ticks, or the program measures no IPDV."""
    form = [
        (name, ">u8" if name in {"ipdv_count", "ipdv_sum_high"} else ">u4") for name in ("latency_max", *IPDV_WORDS)
    ]
    records = np.zeros(2, dtype=form)
    records["latency_max"], records["ipdv_count"] = 2**31 - 1, 1
    records["ipdv_min_inverted"], records["ipdv_max"] = 2**32 - 1 - (2**31 - 3), 2**31 + 5
    plane, _, _ = plane_of(TOFINO_2_IPDV, {1: 8})
    assert plane._ipdv_bins(records, 0) == range(6)
    assert [plane._ipdv_cells(3, half, 2048)[:2] for half in (0, 1)] == [
        ("ipdv_increases", 6144),
        ("ipdv_decreases", 6144),
    ]
    assert plane_of(TOFINO_2, {1: 8})[0]._ipdv_bins(records, 0) == range(0)
    records["latency_max"][1] = 2**31
    assert plane._ipdv_bins(records, 0) == range(0)


def test_the_distance_of_frames_is_read_at_the_device_port_in_its_pipe() -> None:
    plane, _, _ = plane_of(TOFINO_1, {1: 8, 2: 132})
    plane._pipes = [0]
    found = plane.read(4, lambda passes: None)
    assert found["spacing_min_inverted"].tolist() == [0, 108, 332, 0]
    assert plane.read(2, lambda passes: None)["spacing_min_inverted"].tolist() == [0, 108]


@pytest.mark.parametrize("chip", CHIPS, ids=lambda chip: chip.program)
def test_the_committed_tables_are_those_of_p4info(chip: Chip) -> None:
    """Goal: bfrt.json and P4Info were made of one program: the same tables, of the same sizes."""
    from p4mesh.p4runtime import load_p4info

    info = load_p4info(Path(P4SRC) / "compiled" / f"p4mesh.{chip.p4info}.p4info.txtpb")
    document = json.loads((P4SRC / "compiled" / f"p4mesh.{chip.p4info}.bfrt.json").read_text())
    sizes = {table["name"].removeprefix("pipe."): table["size"] for table in document["tables"]}
    of_p4info = {one.preamble.name.removeprefix("pipe."): one.size for one in (*info.tables, *info.counters)}
    assert of_p4info.items() <= sizes.items()


def test_messages_are_of_the_pipe_in_which_their_frames_arrive() -> None:
    """Goal: sources 0 and 2 in pipe 0, source 1 in pipe 1, source 3 in none; a source in both pipes is refused."""
    plane, registers, contract = plane_of(TOFINO_2_IPDV, {1: 8, 2: 132})
    values = np.array([[3, 0, 1, 0], [0, 4, 0, 0]], dtype=np.uint64)

    def read_registers(name: str, cells: list[int]) -> dict[str, Any]:
        table = registers.bfrt.table(name)
        assert table.name in registers.synchronised and cells == [0, 1, 2, 3]
        fields = [one.name.rpartition(".")[2] for one in table.data_by_id.values()]
        # Of the pair with smallest and largest, the smallest is the complement in the high word.
        return {field: values + np.uint64(10 * (field == "high")) for field in fields}

    registers.read_registers = read_registers  # type: ignore[method-assign]
    found = plane.read_messages(4, lambda passes: None)
    assert set(found.dtype.names or ()) == {name for name, _ in load_contract().message_fields}
    assert found["newest"].tolist() == found["complete"].tolist() == found["damaged"].tolist() == [3, 4, 1, 0]
    assert found["filo_sum"].tolist() == [(13 << 32) + 3, (14 << 32) + 4, (11 << 32) + 1, 10 << 32]
    *inverted, of_none = found["lilo_min_inverted"].tolist()
    assert [(1 << 64) - 1 - smallest for smallest in inverted] == [(1 << 32) - 1 - word for word in (13, 14, 11)]
    assert of_none == 10, "no complement of 64 bits"
    assert contract["MESSAGE_SOURCES"] == registers.bfrt.table("messages.newest_cells").size
    values[1, [0, 2]] = 1
    with pytest.raises(TargetError, match="source 0 of messages has counts in two pipes"):
        plane.read_messages(4, lambda passes: None)
