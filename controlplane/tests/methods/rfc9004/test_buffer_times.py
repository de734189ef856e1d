"""Buffer times and their errors by closed form, and how long trials become to measure them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest

from p4mesh.methods.rfc9004 import buffer_times
from p4mesh.methods.rfc9004.buffer_times import Between, BufferTimes, between_throughputs, buffer_errors, without_buffer


def test_the_error_of_a_buffer_time_is_the_larger_of_both_ends() -> None:
    """A line of 100 frames/s; 40 to 80 frames in a burst of 50, 60 to 40 frames/s at a throughput of 50."""
    burst, throughput = (Between(*map(Fraction, ends)) for ends in ((40, 50, 80), (40, 50, 60)))
    ends = Fraction(8, 10) - Fraction(1, 2), Fraction(80 * 60 - 50 * 50, 10**4)
    found = buffer_errors(burst, throughput, Fraction(100), Fraction(50))
    assert found == BufferTimes(*ends, 2 * ends[1])
    own_rate = buffer_errors(burst, throughput, Fraction(100), None)
    assert own_rate.actual_s == Fraction(80 * 60, 10**4) * 100 / 40 - Fraction(1, 2)


@pytest.mark.parametrize(
    ("lower", "upper", "frames", "expected"),
    [
        (None, None, 1000, (100 * without_buffer(Fraction(9, 10), Fraction(100), 1000), 90, 90)),
        (80.0, 95.0, 1000, (80, 90, 95)),
        (95.0, 80.0, 10**9, (100 * without_buffer(Fraction(9, 10), Fraction(100), 10**9), 90, 90)),
        (80.0, None, 101, (100 * without_buffer(Fraction(9, 10), Fraction(100), 101), 90, 90)),
        (80.0, None, 100, (0, 90, 90)),
    ],
)
def test_a_throughput_is_between_that_without_a_buffer_and_the_load_that_failed(
    lower: float | None, upper: float | None, frames: int, expected: tuple[Any, ...]
) -> None:
    ports = (SimpleNamespace(tx_frames=7), SimpleNamespace(tx_frames=frames))
    shown = SimpleNamespace(ports=ports)
    search = SimpleNamespace(result_load_pct=Fraction(90), lower_pct=lower, upper_pct=upper, shown=shown)
    found: Any = SimpleNamespace(search=search)
    assert between_throughputs(found, Fraction(100)) == Between(*expected)


@dataclass(frozen=True)
class Search:
    result_load_pct: Fraction | None
    upper_pct: float | None
    trials: int
    rows: tuple[str, ...]


@dataclass(frozen=True)
class Found:
    search: Search
    trial_frames: int = 0


@pytest.mark.parametrize(
    ("burst", "error", "highest", "upper", "again"),
    [
        # 100 of 1000 frames are 10 %: trials become as long as the error needs, ten times as long at most.
        (100, 5, 90, None, (2000, 100 * without_buffer(Fraction(9, 10), Fraction(100), 1000) - 1, 95.0)),
        (100, 5, 90, 92.0, (2000, 100 * without_buffer(Fraction(9, 10), Fraction(100), 1000) - 1, 92.0)),
        (100, Fraction(1, 2), 90, None, (10_000, 100 * without_buffer(Fraction(9, 10), Fraction(100), 1000) - 1, 95.0)),
        (1000, 50, 90, None, (2000, 10, 95.0)),
        (999, 50, 90, None, (1998, 10, 95.0)),
        (100, 10, 90, None, None),
        (100, 5, None, None, None),
    ],
)
def test_trials_become_as_long_as_the_error_needs(
    burst: int,
    error: Fraction,
    highest: int | None,
    upper: float | None,
    again: tuple[int, Fraction, float] | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They begin at the load that is expected behind a buffer less the resolution of 1 %, from 10 % on."""
    numbers: dict[str, Fraction | int] = {"buffer_error_pct": error, "search_min_pct": 10, "search_resolution_pct": 1}
    parameters: Any = SimpleNamespace(
        number=lambda name: Fraction(numbers[name]), integer=lambda name: 1000, is_word=lambda name: True, values={}
    )
    asked: list[dict[str, Any]] = []

    def measure(mesh: object, size: object, given: Any, session: object) -> Found:
        asked.append(given.values)
        return Found(Search(Fraction(85), upper, 3, ("b",)))

    monkeypatch.setattr(buffer_times, "measure_throughput", measure)
    monkeypatch.setattr(buffer_times, "_is_sustained", lambda found, parameters: False)
    monkeypatch.setattr(buffer_times, "_trial_frames", lambda parameters, size, rate_bps: 1000)
    first: Any = Found(Search(None if highest is None else Fraction(highest), 95.0, 2, ("a",)))
    mesh: Any = SimpleNamespace(line_rate_bps=1)
    session: Any = None
    found: Any = buffer_times.in_longer_trials(first, Fraction(burst), mesh, 64, parameters, session)
    if again is None:
        assert (found, asked) == (first, [])
        return
    frames, initial, upper_pct = again
    assert asked == [{"scaled_frames": frames, "search_max_pct": 90, "search_initial_pct": initial}]
    assert found == Found(Search(Fraction(85), upper_pct, 5, ("a", "b")), frames)
