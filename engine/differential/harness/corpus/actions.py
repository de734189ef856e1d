"""Programs that probe actions, and a program as people write them."""

from __future__ import annotations

from harness.corpus.recipe import Recipe
from harness.corpus.state import with_checksum
from harness.generate import PORTS, Generator
from harness.scenario import Frame

_OUT = (1, 2, 3)


def _actions(generator: Generator) -> None:
    keys = generator.values(12, 16)
    generator.fill("rewrites", 10, keys={"hdr.ops.key": keys}, params={"port": _OUT})
    generator.fill("by_port", 8, keys={"port": (0, 1, 2, 3), "odd": (0, 1)})
    for _ in range(3):
        generator.frames(38, "16@keys 48 48 128 *0-6", keys=keys)
        generator.set_default("keyless")
        generator.set_default("rewrites", {"port": _OUT})
        generator.churn(3, {"port": _OUT})


def _nested_types(generator: Generator) -> None:
    subjects = generator.values(12, 16)
    generator.fill("first.entries_of", 8, keys={"key": subjects})
    generator.fill("second.entries_of", 8, keys={"key": subjects})
    generator.frames(110, "16@subjects 16 4 12 *0-4", subjects=subjects)


def _router(generator: Generator) -> None:
    macs, vids = generator.values(6, 48), generator.values(4, 12)
    addresses = [0x0A000000 | generator.rng.getrandbits(generator.rng.choice([8, 16, 24])) for _ in range(16)]
    generator.insert("multicast_group", group=1, replicas=[(port, port) for port in PORTS])
    generator.insert("multicast_group", group=2, replicas=[(1, 1), (3, 1)])
    params = {"port": _OUT, "index": range(8), "group": (1, 2, 3), "reason": range(4), "vid": vids}
    generator.fill("routes", 20, keys={"hdr.ipv4.destination": addresses}, params=params)
    generator.fill("hops", 16, keys={"meta.next_hop": range(8)}, params=params, actions=("forward",))
    generator.fill("hops", 4, keys={"meta.next_hop": range(8)}, params=params)
    for actions in (("forward", "flood"), ()):
        keys = {"meta.vid": [*vids, 0], "hdr.ethernet.destination": macs}
        generator.fill("bridge", 16, keys=keys, params=params, actions=actions)
    generator.fill("port_tags", 4, keys={"port": PORTS, "tagged": (0,)}, params=params, actions=("tag", "NoAction"))
    generator.fill("port_tags", 4, keys={"port": PORTS, "tagged": (1,)}, params=params, actions=("untag", "NoAction"))
    generator.fill(
        "rules", 6,
        keys={
            "hdr.ipv4.source": addresses,
            "hdr.ipv4.protocol": (1, 6, 17),
            "hdr.ports.destination": (0, 53, 80, 65535),
        },
        params=params,
    )  # fmt: skip
    pools = {"macs": macs, "vids": vids, "addresses": addresses}
    vlan = "3 1 12@vids "
    ipv4 = "4{4} 4{5,5,5,6} 8 16 16 3{0} 13{0,0,0,5} 8{0,1,2,64,255} 8{1,6,17} 16 32@addresses 32@addresses "
    ipv4 += "16 16{53,80,443} *0-30"
    for _ in range(120):
        tags = generator.rng.choice([0, 0, 1, 1, 2, 3])
        layout = "48@macs 48 " + "".join(f"16{{0x8100}} {vlan}" for _ in range(tags))
        if generator.rng.random() < 0.7:
            generator.frames(1, layout + "16{0x0800} " + ipv4, pools)
            _repair_checksum(generator, 14 + 4 * tags)
        else:
            generator.frames(1, layout + "16{0x0806,0x86dd} *0-40", pools)


def _repair_checksum(generator: Generator, start: int) -> None:
    frame = generator.scenario.steps[-1]
    if isinstance(frame, Frame) and len(frame.data) >= start + 20 and generator.rng.random() < 0.9:
        generator.scenario.steps[-1] = Frame(frame.port, with_checksum(frame.data, start, 20, 10))


RECIPES = {
    "actions": Recipe(_actions),
    "nested_types": Recipe(_nested_types),
    "router": Recipe(_router),
}
