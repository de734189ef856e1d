"""The corpus: for each program a recipe that fills tables and chooses frames."""

from __future__ import annotations

from harness.corpus import (
    actions,
    expressions,
    matching,
    output,
    parsing,
    profiles,
    replication,
    state,
    tester,
)
from harness.corpus.recipe import Recipe
from harness.generate import Generator
from harness.scenario import Scenario
from p4mesh.p4runtime.stubs import p4i

_MODULES = (actions, expressions, matching, output, parsing, profiles, replication, state, tester)
RECIPES: dict[str, Recipe] = {name: recipe for module in _MODULES for name, recipe in module.RECIPES.items()}
"""Recipes by the name of their program."""


def scenarios(program: str, info: p4i.P4Info, seed: int) -> list[Scenario]:
    """The scenarios of a program for a seed."""
    recipe = RECIPES[program]
    made = []
    for number in range(recipe.scenarios):
        generator = Generator(program, f"random-{number}", seed, info)
        recipe.build(generator)
        generator.scenario.digest_counter = recipe.digest_counter
        generator.scenario.ordered = recipe.ordered
        generator.scenario.counters = recipe.counters
        made.append(generator.scenario)
    return made
