"""Line-rate arithmetic: published vectors, then the worked examples of the reports."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from p4mesh.traffic import line_rate

VECTORS = json.loads((Path(__file__).parents[1] / "fixtures" / "line_rate_vectors.json").read_text())


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: f"{v['frame_size_B']}B-{v['line_rate_bps']}")
def test_published_vectors_are_reproduced_to_their_last_digit(vector: dict[str, float]) -> None:
    size, rate = int(vector["frame_size_B"]), int(vector["line_rate_bps"])
    fps = line_rate.max_rate_fps(size, rate)
    assert round(float(fps), 4) == vector["frames_per_s"]
    assert round(float(line_rate.l2_rate_bps(fps, size)), 1) == vector["l2_bps"]
    assert round(float(line_rate.frame_time_ns(size, rate)), 4) == vector["frame_time_ns"]
    assert round(float(line_rate.serialization_ns(size, rate)), 4) == vector["serialization_ns"]


def test_there_are_vectors_for_every_size_and_rate() -> None:
    assert len(VECTORS) == 133


@pytest.mark.parametrize(("size", "fps"), [(64, 14880), (1518, 812)])
def test_rfc_2544_appendix_b_is_the_floor(size: int, fps: int) -> None:
    assert int(line_rate.max_rate_fps(size, 10_000_000)) == fps


def test_full_load_is_exactly_100_percent_l1() -> None:
    for size in (64, 65, 1518, 9216):
        fps = line_rate.max_rate_fps(size, 10**9)
        assert line_rate.l1_rate_bps(fps, size) == 10**9
        assert line_rate.utilisation_pct(fps, size, 10**9) == 100


def test_frame_counts_of_30_seconds_are_those_of_the_report() -> None:
    assert line_rate.tx_frames(30 * 10**9, line_rate.max_rate_fps(64, 10**9)) == 44_642_857
    assert line_rate.tx_frames(30 * 10**9, line_rate.max_rate_fps(64, 10**9, overhead_bytes=19)) == 45_180_722


@pytest.mark.parametrize(
    ("size", "shown"),
    [(64, 95.454), (128, 97.368), (256, 98.571), (512, 99.254), (1024, 99.618), (1280, 99.693), (1518, 99.740)],
)
def test_utilisation_behind_an_egress_overhead_of_24_bytes(size: int, shown: float) -> None:
    assert float(line_rate.forwarded_utilisation_pct(size, 24)) == pytest.approx(shown, abs=0.001)


def test_overload_by_one_byte_of_gap_shows_more_than_100_percent() -> None:
    assert float(line_rate.forwarded_utilisation_pct(64, 19)) == pytest.approx(101.205, abs=0.0005)


def test_a_rate_cap_is_just_a_slower_line() -> None:
    fps = line_rate.rate_at_pct(Fraction("89.854"), 90, 900_000_000)
    assert round(float(fps)) == 918_961
