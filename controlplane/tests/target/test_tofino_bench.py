"""The bench of the PTF tests for a Tofino, on the fake switch.

Frames of PTF need cables, which the fake switch does not have; the steps of a test before and after them are tested
here.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support.fake_tofino import FakeTofino
from support.tofino_beds import DEVICE_PORTS, PROGRAM, p4runtime_topology, switch

PTF_TESTS = Path(__file__).parents[3] / "ptf-tests"


def test_a_bench_on_tofino_has_what_every_bench_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "p4mesh.bin"
    program.write_bytes(PROGRAM)
    pytest.importorskip("ptf", reason="PTF is not installed")
    monkeypatch.syspath_prepend(str(PTF_TESTS))
    monkeypatch.delitem(sys.modules, "benches", raising=False)
    from benches import PORTS, TofinoBench

    with FakeTofino(switch()) as chip:
        bench = TofinoBench(p4runtime_topology(program, chip.address), ())
        try:
            assert chip.device_config == PROGRAM
            assert (bench.name, bench.exact, bench.tick_ps) == ("tofino", False, 1000)
            assert [bench.port_of_program(port) for port in PORTS] == list(DEVICE_PORTS.values())
            assert bench.next_run() == 1
            bench.settle()
            bench.tester.clear(64, bench.wait_passes)
            assert bench.tester.read(64, bench.wait_passes)["frames"].sum() == 0
            counts = bench.tester.reason_counts(bench.port_numbers)
            assert {port for port, _ in counts} == set(PORTS) and set(counts.values()) == {0}
            bench.tester.send(3, bytes(64))
            bench.client.round_trip()
            assert chip.sent_frames == [DEVICE_PORTS[3]]
        finally:
            bench.close()
        assert chip.faults == []
