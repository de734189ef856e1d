"""Devices that are software lose single frames at any load: the search that knows this is the default for them."""

from __future__ import annotations

import pytest
from support.networks import shipped

from p4mesh.methods.registry import find_test
from p4mesh.run.options import RunOptions
from p4mesh.run.preparation import prepare


@pytest.mark.parametrize(
    ("target", "settings", "search"),
    [
        ("live", (), ("mlr", "software")),
        ("bmv2", ("duration_ms=100",), ("mlr", "software")),
        ("live", ("acceptable_loss_pct=0.01",), ("bisect", "custom")),
        ("live", ("search_method=bisect",), ("bisect", "custom")),
        ("live", ("mlr_goals=tst009", "search_method=mlr"), ("mlr", "tst009")),
        ("sim", (), ("bisect", "custom")),
    ],
)
def test_the_default_search_is_that_of_the_devices(
    target: str, settings: tuple[str, ...], search: tuple[str, str]
) -> None:
    options = RunOptions("rfc2544.throughput", "bridge-4x10m", target=target, settings=settings)
    prepared = prepare(find_test("rfc2544.throughput"), shipped("bridge-4x10m"), options)
    shown = prepared.job.parameters.shown()
    assert (shown["search_method"], shown["mlr_goals"]) == search


def test_tests_without_a_search_have_none() -> None:
    options = RunOptions("rfc2889.address_caching", "bridge-4x10m", target="live")
    prepared = prepare(find_test("rfc2889.address_caching"), shipped("bridge-4x10m"), options)
    assert "search_method" not in prepared.job.parameters.shown()
