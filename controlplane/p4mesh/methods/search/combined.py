"""Combined search (methodology 1.2): steps up to the first FAIL, then a binary search with back-off."""

from __future__ import annotations

from fractions import Fraction

from p4mesh.methods.search.goal import SearchGoal, SearchOutcome, SearchStep
from p4mesh.methods.search.linear import Trial, upwards, walk
from p4mesh.verdict import Verdict

HALF = Fraction(1, 2)


def combo(goal: SearchGoal, step: Fraction, trial: Trial, backoff: Fraction = HALF) -> SearchOutcome:
    """Step up from the initial load until one fails or cannot be sent, then search the bracket to the resolution.

    After a FAIL the load falls by ``backoff`` of the bracket, after a PASS it rises to its middle. Where nothing
    has passed, the minimum is tried last. Raises ValueError unless ``backoff`` is between 0 and 1.
    """
    if not 0 < backoff < 1:
        raise ValueError(f"a back-off is between 0 and 1, not {backoff}")
    found = walk(goal, upwards(goal, step, goal.initial), trial, {Verdict.FAIL, Verdict.UNDELIVERED})
    verdict = found.steps[-1].verdict
    if verdict is Verdict.PASS or verdict.ends_search:
        return found
    steps = list(found.steps)
    passed, failed = found.passed, steps[-1].load
    while failed > goal.minimum:
        low = goal.minimum if passed is None else passed
        share = HALF if verdict is Verdict.PASS else backoff
        load = goal.grid.floored(failed - share * (failed - low))
        if not low < load < failed:
            load = goal.grid.midpoint(low, failed)
        if failed - low <= max(goal.resolution, goal.grid.granularity) or load in (low, failed):
            if passed is not None:
                break
            load = goal.minimum
        verdict = trial(load)
        steps.append(SearchStep(load, verdict))
        if verdict.ends_search:
            break
        if verdict is Verdict.PASS:
            passed = load
        else:
            failed = load
    return SearchOutcome.of_steps(steps, goal)
