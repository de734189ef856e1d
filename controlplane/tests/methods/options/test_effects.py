"""A parameter without effect, by the rules, changes no trial: all of them are changed at once."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from p4mesh.methods.options.effects import unused
from p4mesh.methods.options.parameters import Kind, Parameter, resolve, show
from p4mesh.methods.registry import find_test
from p4mesh.run import RunOptions, run
from p4mesh.store.run_files import StoredTrial
from p4mesh.store.stored_run import read_run

WRS = str(Path(__file__).parents[4] / "topologies" / "wrs-18x1g.yaml")
REFUSED = ("extension_headers", "ip_mix", "hook", "ports_in_step", "tagged_network")
"""They cannot be changed where they have no effect: the run is refused."""
MESH, PAIRS, LEARNING = "rfc2889.fully_meshed", "rfc2544.throughput", "rfc2889.address_learning"


def another(parameter: Parameter, value: str) -> str:
    """Another valid value."""
    if parameter.kind is Kind.BOOLEAN:
        return "true" if value == "false" else "false"
    if parameter.kind is Kind.CHOICE:
        return next(word for word in parameter.choices if word != value)
    number = Fraction(0) if value in parameter.choices else Fraction(value)
    assert parameter.minimum is not None and parameter.maximum is not None
    return show(number + 1 if number + 1 <= parameter.maximum else number - 1)


def trials_of(test: str, settings: tuple[str, ...], out: Path) -> list[StoredTrial]:
    """Trials of a run on a fake switch."""
    run(RunOptions(test, WRS, "512", settings, out, jobs=1, opener="support.fakes:open_fake_switch"))
    return [replace(trial, spec=_asked(trial.spec)) for trial in read_run(out).trials]


def _asked(spec: dict[str, Any]) -> dict[str, Any]:
    """A question without the lengths of a reset and of learning that it does not ask for."""
    reset, learning = spec["reset"]["action"], spec["learning"]
    return {**spec, "reset": reset, "learning": learning if learning["enabled"] else None}


@pytest.mark.parametrize(
    ("test", "settings"),
    [
        (MESH, ()),
        (MESH, ("search_method=linear_down",)),
        (MESH, ("search_method=combo", "parts=throughput")),
        (MESH, ("search_method=bisect_verified", "reset_between=wait_aging")),
        (MESH, ("search_method=mlr", "mlr_goals=rfc2544")),
        (MESH, ("parts=forwarding", "learning_frames=0")),
        (PAIRS, ("duration_ms=5",)),
    ],
)
def test_parameters_without_effect_change_no_trial(test: str, settings: tuple[str, ...], tmp_path: Path) -> None:
    values = resolve(test, find_test(test).parameters, settings).shown()
    idle = [item for item in find_test(test).parameters if item.name in unused(values) and item.name not in REFUSED]
    assert len(idle) > 5
    changed = tuple(f"{item.name}={another(item, values[item.name])}" for item in idle)
    before = trials_of(test, settings, tmp_path / "before")
    assert trials_of(test, (*settings, *changed), tmp_path / "after") == before


def test_rules_follow_the_values_of_others() -> None:
    def idle(test: str, *settings: str) -> frozenset[str]:
        return unused(resolve(test, find_test(test).parameters, settings).shown())

    assert {"mlr_trials", "search_backoff_pct", "link_off_s", "hook"} <= idle(MESH)
    assert "mlr_trials" not in idle(MESH, "search_method=mlr")
    assert {"mlr_trials", "mlr_goals", "sweep_step_pct"} & idle(MESH, "search_method=mlr", "mlr_goals=tst009") == {
        "mlr_trials"
    }
    assert "sweep_step_pct" in idle(MESH, "parts=throughput")
    assert "scaled_frames" in idle(PAIRS, "duration_ms=5") and "scaled_frames" not in idle(PAIRS)
    assert {"addresses_start", "rate_min_pct"} <= idle(LEARNING)
    assert "verify_trials" not in idle("rfc2544.back_to_back")
