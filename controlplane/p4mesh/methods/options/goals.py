"""States the goal of a run for the device, in words. A test without a goal is MEASURED."""

from __future__ import annotations

from p4mesh.methods.options.parameters import ParameterSet, show


def stated_goal(parameters: ParameterSet) -> str:
    """The goal that the user's thresholds state; empty without one."""
    goals = []
    if "pass_threshold_pct" in parameters.values and parameters.number("pass_threshold_pct"):
        goals.append(f"throughput of at least {show(parameters.number('pass_threshold_pct'))} % of line rate")
    limit = "sweep_loss_limit_pct"
    if limit in parameters.values and not parameters.is_word(limit):
        goals.append(f"loss of at most {show(parameters.number(limit))} % at every load of the sweep")
    return ", ".join(goals)
