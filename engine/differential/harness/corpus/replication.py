"""Programs that probe clones, multicast, resubmission and recirculation."""

from __future__ import annotations

from harness.corpus.recipe import Recipe
from harness.generate import Generator
from harness.switch import CPU_PORT

_OUT = (1, 2, 3, 4)


def _sessions(generator: Generator) -> None:
    """Session 1 with one replica, 2 and 3 with several, 4 with replicas on one port; 5 does not exist."""
    port = generator.rng.choice
    generator.insert("clone_session", session=1, replicas=[(port(_OUT), 1)])
    generator.insert("clone_session", session=2, replicas=[(3, 5), (1, 6), (4, 0)])
    generator.insert("clone_session", session=3, replicas=[(port(_OUT), 2), (2, 4)])
    generator.insert("clone_session", session=4, replicas=[(2, 7), (2, 8), (2, 9)])


def _clone(generator: Generator) -> None:
    _sessions(generator)
    layout = "8{0-5} 8{1-6} 16 *0-30"
    generator.frames(60, layout)
    generator.write("DELETE", "clone_session", session=1, replicas=[])
    generator.write("MODIFY", "clone_session", session=2, replicas=[(1, 9), (2, 3)])
    generator.frames(50, layout)


def _groups(generator: Generator) -> None:
    """Groups 1 to 4 of random replicas, 5 empty; 6 does not exist."""
    for group in range(1, 5):
        generator.insert("multicast_group", group=group, replicas=_replicas(generator))
    generator.insert("multicast_group", group=5, replicas=[])


def _replicas(generator: Generator) -> list[tuple[int, int]]:
    possible = [(port, instance) for port in _OUT for instance in range(4)]
    return generator.rng.sample(possible, generator.rng.randint(1, 8))


def _multicast(generator: Generator) -> None:
    _groups(generator)
    layout = "8{0-7} 8{0-6} 16 *0-20"
    generator.frames(60, layout)
    generator.write("MODIFY", "multicast_group", group=1, replicas=_replicas(generator))
    generator.write("DELETE", "multicast_group", group=2, replicas=[])
    generator.frames(50, layout)


def _resubmit(generator: Generator) -> None:
    generator.insert("multicast_group", group=1, replicas=[(1, 1), (2, 2), (2, 3)])
    generator.frames(110, "8{0-6} 8{0-6,0x80} 16 *0-20")


def _recirculate(generator: Generator) -> None:
    generator.frames(110, "8{0-5} 8{0-5} 16 *0-30")


def _requests(generator: Generator) -> None:
    generator.insert("clone_session", session=1, replicas=[(3, 1)])
    generator.insert("clone_session", session=2, replicas=[(4, 2)])
    generator.insert("multicast_group", group=1, replicas=[(1, 11), (2, 12), (3, 13)])
    for bits in generator.rng.sample(range(256), 100):
        generator.frames(1, f"8{{{bits}}} 16{{0,1,7}} *0-20", cut=0)
    generator.frames(20, "8 16{0,1,7} *0-20", cut=2)


def _drop(generator: Generator) -> None:
    generator.insert("clone_session", session=1, replicas=[(4, 1)])
    generator.insert("multicast_group", group=9, replicas=[(1, 1), (3, 2)])
    generator.frames(120, "8{0-10} 8{0-7} 16{0-4,511} *0-10")


def _priority(generator: Generator) -> None:
    generator.insert("multicast_group", group=1, replicas=[(1, 1), (2, 2), (1, 3)])
    generator.insert("clone_session", session=1, replicas=[(2, 1)])
    generator.frames(110, "8{0-3} 5 3 *0-10")


def _packet_io(generator: Generator) -> None:
    generator.insert("multicast_group", group=1, replicas=[(2, 1), (CPU_PORT, 2), (3, 3)])
    generator.insert("clone_session", session=1, replicas=[(CPU_PORT, 1)])
    generator.frames(60, "8{0-3} 8 *0-40", cut=4)
    metadata = {"port": (1, 2, 3, CPU_PORT, 511), "flood": (0, 0, 1), "tag": range(64)}
    generator.packet_outs(50, "8{0-3} 8 *0-40", metadata)


def _egress_state(generator: Generator) -> None:
    """Groups on one port each: replicas of several ports pass egress in any order."""
    for group in range(1, 5):
        instances = generator.rng.sample(range(1, 7), generator.rng.randint(1, 5))
        port = generator.rng.choice(_OUT)
        generator.insert("multicast_group", group=group, replicas=[(port, instance) for instance in instances])
    keys = generator.values(6, 16)
    generator.fill("rules", 12, keys={"hdr.ops.key": keys, "rid": range(7)})
    generator.frames(110, "8{0-5} 16@keys *0-20", keys=keys)


RECIPES = {
    "clone_e2e": Recipe(_clone),
    "clone_i2e": Recipe(_clone),
    "drop": Recipe(_drop),
    "egress_state": Recipe(_egress_state),
    "multicast": Recipe(_multicast),
    "packet_io": Recipe(_packet_io),
    "priority": Recipe(_priority),
    "recirculate": Recipe(_recirculate),
    "requests": Recipe(_requests, ordered=False),
    "resubmit": Recipe(_resubmit),
}
