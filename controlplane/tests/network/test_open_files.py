"""A process with hundreds of ports needs more open files than systems allow at first."""

from __future__ import annotations

import resource
from collections.abc import Iterator

import pytest

from p4mesh.network.open_files import allow_open_files

KIND = resource.RLIMIT_NOFILE


@pytest.fixture
def hard() -> Iterator[int]:
    before = resource.getrlimit(KIND)
    resource.setrlimit(KIND, (512, before[1]))
    yield before[1]
    resource.setrlimit(KIND, before)


def test_the_soft_limit_rises_to_what_is_needed_and_no_further_than_the_hard_one(hard: int) -> None:
    for wanted, found in ((600, 600), (550, 600)):
        allow_open_files(wanted)
        assert resource.getrlimit(KIND) == (found, hard)
    if hard != resource.RLIM_INFINITY:
        allow_open_files(hard + 1)
        assert resource.getrlimit(KIND) == (hard, hard)
