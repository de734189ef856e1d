"""Facts of the machine that belong to results."""

from __future__ import annotations

import pytest

from p4mesh.network.machine import shared_processors


@pytest.mark.parametrize(
    ("devices", "processors", "needed"),
    [([], 1, None), (["s1"], 3, None), (["s1"], 2, 3), (["s1", "s2"], 3, 4), (["s1", "s2"], 4, None)],
)
def test_devices_without_a_processor_of_their_own_are_named(
    devices: list[str], processors: int, needed: int | None
) -> None:
    told = list(shared_processors(devices, processors, tester_threads=2))
    if needed is None:
        assert told == []
    else:
        (line,) = told
        assert f"{', '.join(devices)} beside 2 busy threads" in line and f"take {needed} processors or more" in line
