"""Records of readings from packet-ins that come in any order, twice, late, or among others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

from p4mesh.errors import TargetError
from p4mesh.p4runtime import PacketColumns, PacketIn, columns_of
from p4mesh.tester.cell_reader import CellReader, RecordFormat, _are_later, message_format, v1model_format
from p4mesh.tester.contract import load_contract
from p4mesh.tester.records import READ_TICKS
from p4mesh.tester.switch_client import SwitchClient

CONTRACT = load_contract()
WIDTH = 8


def record(cell: int, ticks: int, padding: int = 0) -> PacketIn:
    payload = cell.to_bytes(4, "big") + (10 * cell + 1).to_bytes(4, "big") + bytes(padding)
    return PacketIn(payload, {"kind": CONTRACT["KIND_READ"], "time": ticks})


def decode(payloads: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(payloads[:, :WIDTH]).reshape(-1).view([("cell", ">u4"), ("frames", ">u4")])


class Loop:
    """A client whose answers to a request are those of ``answer``."""

    def __init__(self, answer: Callable[[range], list[PacketIn]]) -> None:
        self.answer = answer
        self.queue: list[PacketIn] = []
        self.requests: list[range] = []
        self.timeout_s = 30.0
        self.waits: list[float | None] = []
        """Time limit of each look for records that found nothing."""
        self.lost: dict[str, int] = {}

    def packet_out(self, payload: bytes, **fields: int) -> None:
        cells = range(fields["value"], fields["value"] + fields["count"])
        self.requests.append(cells)
        self.queue += self.answer(cells)

    def take_packet_columns(self, count: int, timeout_s: float | None = None) -> list[PacketColumns]:
        taken, self.queue = self.queue[:count], self.queue[count:]
        if not taken:
            self.waits.append(timeout_s)
        return columns_of(taken)

    def lost_packet_ins(self) -> dict[str, int]:
        return self.lost


def reader(
    loop: Loop,
    keep: Callable[[PacketIn], Any] = print,
    window: int | None = None,
    clock_s: Callable[[], float] = lambda: 0.0,
) -> CellReader:
    form = RecordFormat(decode, window_cells=window)
    return CellReader(cast(SwitchClient, loop), CONTRACT, form, keep, clock_s)


def read(found: CellReader, *cells: range) -> list[tuple[int, int]]:
    records = found.read(cells, lambda passes: None)
    assert (records["frames"] == 10 * records["cell"].astype(int) + 1).all()
    return list(zip(records["cell"].tolist(), records[READ_TICKS].tolist(), strict=True))


def test_records_are_in_the_order_of_the_cells_that_were_asked_for() -> None:
    loop = Loop(lambda cells: [record(cell, 100 + cell) for cell in reversed(cells)])
    assert read(reader(loop), range(7, 9), range(2, 5)) == [(7, 107), (8, 108), (2, 102), (3, 103), (4, 104)]
    assert loop.requests == [range(7, 9), range(2, 5)]


def test_other_packets_among_records_are_kept() -> None:
    frames = [PacketIn(bytes([number]) * WIDTH, {"kind": CONTRACT["KIND_SEND"], "time": 5}) for number in range(3)]
    kept: list[PacketIn] = []
    loop = Loop(lambda cells: [record(0, 1), frames[0], frames[1], record(1, 2), frames[2], record(2, 3)])
    assert read(reader(loop, kept.append), range(3)) == [(0, 1), (1, 2), (2, 3)]
    assert kept == frames


def test_the_first_of_equal_records_counts_and_those_of_an_earlier_reading_do_not() -> None:
    ticks = iter(range(10, 1000, 10))
    loop = Loop(lambda cells: [record(cell, next(ticks)) for cell in cells for _ in range(2)])
    found = reader(loop)
    assert read(found, range(2)) == [(0, 10), (1, 30)]
    loop.queue = [record(0, 5), record(0, 30), record(9, 45), record(2, 46)]
    assert read(found, range(2)) == [(0, 50), (1, 70)]


def test_times_wrap_and_a_target_may_have_none() -> None:
    loop = Loop(lambda cells: [record(cell, (1 << 48) - 1) for cell in cells])
    found = reader(loop)
    assert read(found, range(1)) == [(0, (1 << 48) - 1)]
    loop.answer = lambda cells: [record(cell, 3) for cell in cells]
    assert read(found, range(1)) == [(0, 3)]
    loop.answer = lambda cells: [record(cell, 0) for cell in cells]
    assert read(found, range(2)) == [(0, 0), (1, 0)]


def test_payloads_with_padding_of_any_length_are_records() -> None:
    loop = Loop(lambda cells: [record(cell, 1 + cell, padding=cell % 3) for cell in cells])
    assert read(reader(loop), range(20)) == [(cell, 1 + cell) for cell in range(20)]


def test_lost_records_are_asked_for_again_and_a_window_becomes_smaller() -> None:
    lost = {3}
    loop = Loop(lambda cells: [record(cell, 1) for cell in cells if cell not in lost or len(cells) == 1])
    assert [cell for cell, _ in read(reader(loop, window=4), range(8))] == list(range(8))
    assert loop.requests == [range(4), range(4, 6), range(6, 8), range(3, 4)]
    loop.answer = lambda cells: [record(cell, 1) for cell in cells if cell not in lost]
    with pytest.raises(TargetError, match="1 of 8 records were not received in 3 attempts"):
        read(reader(loop), range(8))


def test_the_wait_for_records_follows_the_slowest_reading_so_far() -> None:
    """Goal: nothing is known at first; then 10 times the 3 s of 3 passes, twice as long each time, up to the limit."""
    now_s, lost = [0.0], set[int]()

    def answer(cells: range) -> list[PacketIn]:
        now_s[0] += 3.0
        return [record(cell, int(now_s[0])) for cell in cells if cell not in lost]

    loop = Loop(lambda cells: [])
    loop.timeout_s = 100.0
    found = reader(loop, window=4, clock_s=lambda: now_s[0])
    with pytest.raises(TargetError):
        read(found, range(1))
    assert loop.waits == [100.0] * 4, "as long as any answer may take, in each attempt and afterwards"

    loop.answer, loop.waits = answer, []
    read(found, range(1))
    lost.add(2)
    with pytest.raises(TargetError):
        read(found, range(2, 4))
    assert loop.waits == [30.0, 60.0, 100.0, 100.0]


def test_the_wait_is_never_shorter_than_the_driver_may_take() -> None:
    ticks = iter(range(1000))
    loop = Loop(lambda cells: [record(cell, 1) for cell in cells])
    found = reader(loop, window=4, clock_s=lambda: next(ticks) * 1e-6)
    read(found, range(4))
    loop.answer = lambda cells: []
    with pytest.raises(TargetError):
        read(found, range(1))
    assert loop.waits == [0.5, 0.5, 0.5, 30.0]


def test_a_record_that_comes_after_the_last_attempt_is_late_and_not_lost() -> None:
    now_s = [100.0]
    loop = Loop(lambda cells: [])
    found = reader(loop, window=4, clock_s=lambda: now_s[0])
    take, looks = loop.take_packet_columns, iter(range(100))

    def late(count: int, timeout_s: float | None = None) -> list[PacketColumns]:
        if next(looks) == 4:
            now_s[0] += 12.5
            loop.queue = [record(0, 9)]
        return take(count, timeout_s)

    loop.take_packet_columns = late  # type: ignore[method-assign]
    with pytest.raises(TargetError) as caught:
        read(found, range(2))
    assert str(caught.value) == (
        "2 of 2 records were not received in 3 attempts; 1 of them came up to 12.5 s later: the switch is slow"
    )
    assert "request_timeout_s" in caught.value.hint


def test_records_that_never_come_are_lost() -> None:
    """Goal: the error says where, as far as counters tell it, and which receive ring they should have come by."""
    loop = Loop(lambda cells: [])
    text = "1 of 1 records were not received in 3 attempts, and none came in 30 s more: the frames are lost"
    with pytest.raises(TargetError) as caught:
        read(reader(loop, window=4), range(1))
    assert str(caught.value) == text
    assert "receive ring 3 of the CPU port" in caught.value.hint
    loop.lost = {"rx_dropped of bf_pci0": 1200, "the socket on bf_pci0": 2}
    with pytest.raises(TargetError) as caught:
        read(reader(loop, window=4), range(1))
    assert str(caught.value) == f"{text}; 1,200 frames by rx_dropped of bf_pci0; 2 frames by the socket on bf_pci0"


def test_clearing_is_confirmed_by_the_last_cell() -> None:
    loop = Loop(lambda cells: [record(cells[-1], 1)])
    reader(loop).clear(5, lambda passes: None)
    loop.answer = lambda cells: [record(cells[-2], 1)]
    with pytest.raises(TargetError, match="a clearing pass over 5 cells did not return"):
        reader(loop).clear(5, lambda passes: None)


def test_late_records_are_known_by_the_newest_that_has_come() -> None:
    """Records of 10, 20 and 30 ticks came at once; the late one of 20 ticks is refused, and so is it beside others."""
    loop = Loop(lambda cells: [record(cell, 10 + 10 * cell) for cell in cells])
    found = reader(loop)
    assert read(found, range(3)) == [(0, 10), (1, 20), (2, 30)]
    loop.queue, loop.answer = [record(0, 20, padding=1)], lambda cells: [record(cell, 40) for cell in cells]
    assert read(found, range(2)) == [(0, 40), (1, 40)]
    loop.answer = lambda cells: [record(cell, 50 + cell) for cell in cells for _ in range(3)]
    assert read(found, range(2)) == [(0, 50), (1, 51)], "each came three times"
    assert loop.requests == [range(3), range(2), range(2)], "the late record did not cost an attempt"
    found.forget()
    loop.answer = lambda cells: [record(cell, 1) for cell in cells]
    assert read(found, range(1)) == [(0, 1)], "a program that was loaded anew has a clock of its own"


@pytest.mark.parametrize(
    ("other", "ticks", "later"),
    [
        (100, [99, 100, 101, 100 + (1 << 47) - 1, 100 + (1 << 47), 0], [False, False, True, True, False, True]),
        (
            (1 << 48) - 1,
            [(1 << 48) - 2, (1 << 48) - 1, 1, (1 << 47) - 2, (1 << 47) - 1],
            [False, False, True, True, False],
        ),
    ],
)
def test_half_of_all_times_are_later(other: int, ticks: list[int], later: list[bool]) -> None:
    assert _are_later(np.array(ticks), other).tolist() == later


def test_waits_have_the_rounds_of_a_frame_and_what_a_clearing_took_is_known_to_readings() -> None:
    """Three rounds a cell and two more: 17 for clearing 5 cells in 34 s, so a round is 2 s, and 5 rounds take 10 s.

    A window that lost a record took no longer than its last record, which came 20 s after its request: 2.5 s a round.
    """
    now_s, waited = [50.0], list[int]()

    def passing(*seconds: float) -> Callable[[int], None]:
        of_waits = iter(seconds)

        def wait(passes: int) -> None:
            waited.append(passes)
            now_s[0] += next(of_waits)

        return wait

    loop = Loop(lambda cells: [record(cells[-1], 1)])
    loop.timeout_s = 1000.0
    take = loop.take_packet_columns

    def taking(count: int, timeout_s: float | None = None) -> list[PacketColumns]:
        now_s[0] += (timeout_s or 0) * (not loop.queue)
        return take(count, timeout_s)

    loop.take_packet_columns = taking  # type: ignore[method-assign]
    form = RecordFormat(decode, passes=3, window_cells=2)
    found = CellReader(cast(SwitchClient, loop), CONTRACT, form, print, lambda: now_s[0])
    assert found.passes_per_cell == 3
    found.clear(5, passing(34))
    assert waited == [17]
    loop.answer = lambda cells: [record(cells[0], 2)]
    records = found.read([range(2)], passing(20, 5))
    assert records["cell"].tolist() == [0, 1]
    assert waited == [17, 8, 5]
    assert loop.waits == [10 * 8 * 2.0]
    loop.answer, loop.waits = (lambda cells: []), []
    with pytest.raises(TargetError):
        found.read([range(1)], passing(0, 0, 0))
    assert loop.waits == [10 * 5 * 2.5, 2 * 10 * 5 * 2.5, 4 * 10 * 5 * 2.5, 1000.0]
    assert waited == [17, 8, 5, 5, 5, 5]


def test_records_of_messages_follow_those_of_flows_in_a_payload() -> None:
    form, plain = message_format(CONTRACT), v1model_format(CONTRACT)
    fields = [*CONTRACT.record_fields, *CONTRACT.message_fields]
    payload = b"".join(number.to_bytes(width, "big") for number, (_, width) in enumerate(fields, 1))
    payloads = np.frombuffer(2 * payload, dtype=np.uint8).reshape(2, -1)
    for record_of in form.decode(payloads):
        assert record_of.tolist() == tuple(range(1, len(fields) + 1))
    flows = sum(width for _, width in CONTRACT.record_fields)
    assert plain.decode(payloads[:, :flows])[1].tolist() == tuple(range(1, len(CONTRACT.record_fields) + 1))
    assert (form.flags, plain.flags) == (CONTRACT["READ_MESSAGES"], 0)
