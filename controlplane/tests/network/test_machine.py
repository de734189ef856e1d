"""Facts of the machine that belong to results."""

from __future__ import annotations

import pytest

from p4mesh.network.machine import busy_threads, shared_processors


@pytest.mark.parametrize(
    ("devices", "processors", "needed"),
    [([], 1, None), (["s1"], 3, None), (["s1"], 2, 3), (["s1", "s2"], 3, 4), (["s1", "s2"], 4, None)],
)
def test_devices_without_a_processor_of_their_own_are_named(
    devices: list[str], processors: int, needed: int | None
) -> None:
    told = list(shared_processors(devices, processors, busy_threads(len(devices), processors)))
    if needed is None:
        assert told == []
    else:
        (line,) = told
        assert f"{', '.join(devices)} beside a busy thread" in line and f"take {needed} processors or more" in line


@pytest.mark.parametrize(
    ("devices", "processors", "switches", "threads"),
    [
        *[(0, 1, 1, 1), (0, 2, 1, 2), (1, 2, 1, 1), (1, 3, 1, 2), (2, 3, 1, 1), (2, 8, 1, 2)],
        *[(0, 2, 2, 1), (0, 3, 2, 1), (0, 4, 2, 2), (1, 4, 2, 1), (1, 5, 2, 2)],
    ],
)
def test_the_tester_leaves_a_processor_to_each_device_in_user_space(
    devices: int, processors: int, switches: int, threads: int
) -> None:
    assert busy_threads(devices, processors, switches) == threads
