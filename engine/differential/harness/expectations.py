"""Expectations on disk: scenarios and the outputs of simple_switch_grpc in them, one JSON file per program."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from harness.programs import EXPECTATIONS
from harness.scenario import Observation, Scenario, step_from_json


@dataclass(frozen=True)
class Expectations:
    """Recorded observations of one program."""

    program: str
    program_sha256: str
    """Hash of the compiled program that it was recorded with."""
    switch: str
    """Version of simple_switch_grpc."""
    recorded: list[tuple[Scenario, Observation]]

    def save(self) -> None:
        """Write the file, one step to a line, so that changes can be read."""
        scenarios = ",\n".join(_scenario_text(scenario, seen) for scenario, seen in self.recorded)
        head = {"program": self.program, "program_sha256": self.program_sha256, "switch": self.switch}
        text = json.dumps(head)[:-1] + f', "scenarios": [\n{scenarios}\n]}}\n'
        json.loads(text)
        EXPECTATIONS.mkdir(exist_ok=True)
        path_of(self.program).write_text(text)


def path_of(program: str) -> Any:
    """The file of a program."""
    return EXPECTATIONS / f"{program}.json"


def load(program: str) -> Expectations:
    """The recorded expectations of a program."""
    data = json.loads(path_of(program).read_text())
    recorded = [_scenario_of(program, item) for item in data["scenarios"]]
    return Expectations(program, data["program_sha256"], data["switch"], recorded)


def _scenario_text(scenario: Scenario, seen: Observation) -> str:
    head = {
        "name": scenario.name,
        "seed": scenario.seed,
        "digest_counter": scenario.digest_counter,
        "ordered": scenario.ordered,
        "counters_read": scenario.counters,
        "counters": seen.counters,
        "direct_counters": seen.direct_counters,
        "packet_ins": [[data.hex(), metadata] for data, metadata in seen.packet_ins],
        "digests": seen.digests,
    }
    steps = []
    for number, step in enumerate(scenario.steps):
        outputs = {str(port): [frame.hex() for frame in frames] for port, frames in seen.outputs[number].items()}
        outcome: Any = seen.refused.get(number, outputs)
        steps.append(json.dumps([step.to_json(), outcome], separators=(",", ":")))
    return json.dumps(head, separators=(",", ":"))[:-1] + ',"steps":[\n' + ",\n".join(steps) + "\n]}"


def _scenario_of(program: str, item: dict[str, Any]) -> tuple[Scenario, Observation]:
    scenario = Scenario(
        item["name"],
        program,
        item["seed"],
        digest_counter=item["digest_counter"],
        counters=item.get("counters_read"),
        ordered=item.get("ordered", True),
    )
    seen = Observation(
        packet_ins=[(bytes.fromhex(data), metadata) for data, metadata in item["packet_ins"]],
        digests=[(name, members) for name, members in item["digests"]],
        counters=item["counters"],
        direct_counters=item["direct_counters"],
    )
    for number, (step, outcome) in enumerate(item["steps"]):
        scenario.steps.append(step_from_json(step))
        if isinstance(outcome, str):
            seen.refused[number] = outcome
            seen.outputs.append({})
        else:
            seen.outputs.append(
                {int(port): [bytes.fromhex(frame) for frame in frames] for port, frames in outcome.items()}
            )
    return scenario, seen
