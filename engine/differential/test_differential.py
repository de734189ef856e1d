"""The engine does what simple_switch_grpc does, frame by frame, for every program of the corpus."""

from __future__ import annotations

import warnings

import pytest
from harness.bmv2 import PROGRAM, Bmv2Switch, version_of
from harness.compare import differences, report
from harness.corpus import RECIPES, scenarios
from harness.engine import EngineSwitch
from harness.expectations import Expectations, load, path_of
from harness.programs import compiled
from harness.run import run_scenario
from harness.scenario import Observation, Scenario
from harness.switch import HarnessError


@pytest.mark.parametrize("program", sorted(RECIPES))
def test_program(program: str, request: pytest.FixtureRequest) -> None:
    """Goal: no difference in any scenario. Method: run the same steps, compare everything that comes out."""
    live, record = request.config.getoption("--live"), request.config.getoption("--record")
    if (live or record) and RECIPES[program].beyond_arrays and not request.getfixturevalue("ranges_checked"):
        if record:
            pytest.fail(f"{program} can be recorded only from a {PROGRAM} that checks ranges", pytrace=False)
        warnings.warn(
            f"{program}: compared with recorded expectations, as this {PROGRAM} is built without checks of ranges",
            stacklevel=1,
        )
        live = False
    if record:
        _record(program, request)
    elif live:
        _compare(_observe(program, request), program)
    else:
        expectations = load(program)
        assert expectations.program_sha256 == compiled(program).sha256, f"{path_of(program)} is stale: use --record"
        _compare(expectations.recorded, program)


def _compare(expected: list[tuple[Scenario, Observation]], program: str) -> None:
    texts = []
    for scenario, observation in expected:
        try:
            got = run_scenario(scenario, compiled(program), EngineSwitch())
        except HarnessError as error:
            texts.append(f"program {program}, scenario {scenario.name}, seed {scenario.seed}: {error}")
            continue
        found = differences(scenario, observation, got)
        if found:
            texts.append(report(scenario, found))
    if texts:
        pytest.fail("\n".join(texts), pytrace=False)


def _observe(program: str, request: pytest.FixtureRequest) -> list[tuple[Scenario, Observation]]:
    executable = request.getfixturevalue("simple_switch")
    files = compiled(program)
    made = scenarios(program, files.info, request.getfixturevalue("seed"))
    return [(scenario, run_scenario(scenario, files, Bmv2Switch(executable))) for scenario in made]


def _record(program: str, request: pytest.FixtureRequest) -> None:
    """Record twice: an output that differs the second time must not become an expectation."""
    recorded, again = _observe(program, request), _observe(program, request)
    for (scenario, first), (_, second) in zip(recorded, again, strict=True):
        found = differences(scenario, first, second)
        if found:
            pytest.fail("simple_switch_grpc does not do the same twice:\n" + report(scenario, found), pytrace=False)
    version = version_of(request.getfixturevalue("simple_switch"))
    Expectations(program, compiled(program).sha256, version, recorded).save()
