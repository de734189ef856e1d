"""Fixtures that several test modules share: a simulated switch and its controller."""

import gc
import os

import MLRsearch  # noqa: F401  (reads the source of all modules that are loaded: before there are many)
import pytest
from support.p4runtime_support import client, switch

__all__ = ["client", "switch"]

gc.set_threshold(400_000, 20, 20)  # as p4mesh does: ten thousand tests are many objects that stay
os.fsync = lambda fd: None  # no run of a test outlasts a crash of the machine


def pytest_collection_finish() -> None:
    """Ten thousand tests that were collected stay to the end: no collection of garbage looks at them again."""
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """pytest looks ten times for garbage with errors at the end, in a million objects of all tests: once is enough."""
    gc.collect()
    gc.freeze()
