"""Programs that probe action profiles and selectors."""

from __future__ import annotations

from harness.corpus.recipe import Recipe
from harness.generate import Generator

_OUT = (1, 2, 3)


def _members(generator: Generator, profile: str, table: str, numbers: range) -> None:
    for number in numbers:
        generator.insert("member", profile=profile, member=number, **generator.action(table, {"port": _OUT}))


def _profile(generator: Generator) -> None:
    a, b = generator.values(10, 16), generator.values(12, 16)
    _members(generator, "exacts", "first", range(1, 13))
    _members(generator, "ternaries", "second", range(1, 13))
    _members(generator, "own", "third", range(1, 6))
    generator.fill("first", 8, keys={"hdr.ops.a": a}, target={"member": range(1, 13)})
    generator.fill("second", 12, keys={"hdr.ops.b": b}, target={"member": range(1, 13)})
    generator.fill("third", 8, keys={"hdr.ops.b": b}, target={"member": range(1, 6)})
    for _ in range(2):
        generator.frames(55, "16@a 16@b *0-6", a=a, b=b)
        for number in generator.rng.sample(range(1, 13), 4):
            for profile, table in (("exacts", "first"), ("ternaries", "second")):
                action = generator.action(table, {"port": _OUT})
                generator.write("MODIFY", "member", profile=profile, member=number, **action)
        generator.churn(4)


def _weighted(generator: Generator, members: list[int]) -> dict[int, int]:
    return {member: generator.rng.choice((1, 1, 2, 3)) for member in members}


def _groups(generator: Generator, profile: str, count: int) -> None:
    for group in range(1, count + 1):
        members = generator.rng.sample(range(1, 9), generator.rng.randint(1, 7))
        generator.insert("group", profile=profile, group=group, members=_weighted(generator, members), max_size=32)


def _selector(generator: Generator) -> None:
    keys = generator.values(6, 16)
    for profile, table in (("selector16", "ways16"), ("selector32", "ways32")):
        _members(generator, profile, table, range(1, 9))
        _groups(generator, profile, 4)
        target = {"group": range(1, 5), "member": range(1, 9)}
        generator.fill(table, 8, keys={"hdr.ops.key": keys}, target=target)
    layout = "16@keys 32 32 13 3 *0-4"
    generator.frames(60, layout, keys=keys, cut=0)
    for profile in ("selector16", "selector32"):
        members = generator.rng.sample(range(1, 9), 5)
        generator.write("MODIFY", "group", profile=profile, group=1, members=_weighted(generator, members), max_size=32)
    generator.frames(60, layout, keys=keys)


def _one_shot(generator: Generator) -> None:
    """Program the first selector in one shot, with weights; p4runtime allows only one way per selector."""
    keys = generator.values(6, 16)
    for key in keys:
        generator.insert("table_entry", table="ways16", match={"hdr.ops.key": key}, action_set=_action_set(generator))
    generator.frames(60, "16@keys 32 32 13 3 *0-4", keys=keys)
    for key in keys[:2]:
        match = {"hdr.ops.key": key}
        generator.write("MODIFY", "table_entry", table="ways16", match=match, action_set=_action_set(generator))
    generator.write("DELETE", "table_entry", table="ways16", match={"hdr.ops.key": keys[2]}, action_set=[])
    generator.frames(60, "16@keys 32 32 13 3 *0-4", keys=keys)


def _action_set(generator: Generator) -> list[list[object]]:
    actions = [generator.action("ways16", {"port": _OUT}) for _ in range(generator.rng.randint(1, 5))]
    return [[action["action"], action["params"], generator.rng.randint(1, 3)] for action in actions]


def _either(generator: Generator) -> None:
    (_selector if generator.scenario.name in ("random-0", "random-1") else _one_shot)(generator)


RECIPES = {
    "action_profile": Recipe(_profile),
    "action_selector": Recipe(_either, scenarios=4),
}
