"""Scenarios for any compiled program: every table filled, sessions and groups, frames from its parser."""

from __future__ import annotations

import json

from harness.generate import PORTS, Generator
from harness.guided import GuidedFrames, Pools
from harness.programs import CompiledProgram
from harness.scenario import Frame, Scenario
from p4mesh.p4runtime.stubs import p4i

_ENTRIES = 10
_PORT_WIDTH = 9


def any_scenario(program: CompiledProgram, seed: int, frames: int) -> Scenario:
    """A scenario for a program without a recipe."""
    generator = Generator(program.name, "any", seed, program.info)
    pools = Pools(generator.rng)
    _fill_tables(generator, program.info, pools)
    for number in range(1, 6):
        replicas = [(generator.rng.choice(PORTS), instance) for instance in range(generator.rng.randint(1, 3))]
        generator.insert("clone_session", session=number, replicas=replicas[:1])
        generator.insert("multicast_group", group=number, replicas=replicas)
    guided = GuidedFrames(json.loads(program.json_path.read_text()), generator.rng, pools)
    for _ in range(frames):
        generator.scenario.steps.append(Frame(generator.rng.choice(PORTS), guided.frame()))
    # Programs of others let replicas and clones meet on one port in any order.
    generator.scenario.ordered = False
    return generator.scenario


def _fill_tables(generator: Generator, info: p4i.P4Info, pools: Pools) -> None:
    params = {}
    for action in info.actions:
        for param in action.params:
            if param.bitwidth == _PORT_WIDTH:
                params[param.name] = list(PORTS)
            else:
                params[param.name] = [*pools.of(param.name, param.bitwidth), *range(min(6, 1 << param.bitwidth))]
    for table in info.tables:
        if table.is_const_table or table.implementation_id or not table.match_fields:
            continue
        keys = {
            field.name: pools.of(field.name.split(".")[-1], field.bitwidth) if field.bitwidth > 1 else [0, 1]
            for field in table.match_fields
        }
        try:
            generator.fill(table.preamble.alias, _ENTRIES, keys=keys, params=_fitting(info, params))
        except IndexError:
            continue


def _fitting(info: p4i.P4Info, params: dict[str, list[int]]) -> dict[str, list[int]]:
    """Leave out names that two actions use with different widths."""
    widths: dict[str, set[int]] = {}
    for action in info.actions:
        for param in action.params:
            widths.setdefault(param.name, set()).add(param.bitwidth)
    return {name: values for name, values in params.items() if len(widths[name]) == 1}
