"""Programs that probe tables."""

from __future__ import annotations

from harness.corpus.recipe import Recipe
from harness.generate import PORTS, Generator

_OUT = (1, 2, 3)


def _exact(generator: Generator) -> None:
    a, b, c = generator.values(6, 16), generator.values(4, 5), generator.values(3, 3)
    macs, extra = generator.values(20, 48), [*generator.values(6, 16), 0]
    generator.fill("one", 12, keys={"hdr.ops.mac": macs})
    generator.fill("several", 60, keys={"hdr.ops.a": a, "hdr.ops.b": b, "c": c, "port": PORTS}, params={"port": _OUT})
    generator.fill("valid", 2)
    generator.fill("maybe", 6, keys={"hdr.extra.value": extra})
    generator.fill(
        "computed", 16, keys={"next": [(value + 1) & 0xFFFF for value in a], "joined": [m % 128 for m in macs]}
    )
    pools = {"a": a, "b": b, "c": c, "macs": macs, "extra": extra}
    for _ in range(2):
        generator.frames(55, "8{0-5} 16@a 5@b 3@c 48@macs 16@extra *0-6", pools)
        generator.churn(10, {"port": _OUT})
        generator.set_default("one")
        generator.set_default("maybe")


def _nested(generator: Generator, width: int, roots: int, leaves: int) -> list[int]:
    """Values that share prefixes of many lengths."""
    found = generator.values(roots, width)
    while len(found) < leaves:
        value = generator.rng.choice(found)
        found.append(value ^ generator.rng.getrandbits(width) >> generator.rng.randint(0, width - 1))
    return found


def _lpm(generator: Generator) -> None:
    v4, v6, short = (_nested(generator, width, 4, 24) for width in (32, 128, 24))
    groups = generator.values(3, 8)
    generator.fill("v4", 40, keys={"hdr.ops.v4": v4})
    generator.fill("v6", 60, keys={"hdr.ops.v6": v6, "hdr.ops.group": groups})
    generator.fill("short", 20, keys={"hdr.ops.short": short})
    for _ in range(2):
        generator.frames(55, "32@v4 128@v6 24@short 8@groups *0-4", v4=v4, v6=v6, short=short, groups=groups)
        generator.churn(30)


def _ternary(generator: Generator) -> None:
    a, b, c, wide = (
        _nested(generator, 32, 3, 12),
        generator.values(8, 16),
        generator.values(3, 8),
        _nested(generator, 80, 3, 12),
    )
    generator.fill("wide", 40, keys={"hdr.ops.wide": wide})
    generator.fill("mixed", 50, keys={"hdr.ops.a": a, "hdr.ops.b": b, "hdr.ops.c": c})
    generator.fill("optionals", 30, keys={"hdr.ops.b": b, "hdr.ops.c": c, "port": PORTS})
    for _ in range(2):
        generator.frames(55, "32@a 16@b 8@c 80@wide *0-4", a=a, b=b, c=c, wide=wide)
        generator.churn(40)


def _range(generator: Generator) -> None:
    ports, vlans = generator.values(10, 16), generator.values(8, 12)
    addresses = _nested(generator, 32, 2, 8)
    keys = {
        "hdr.ops.source": ports, "hdr.ops.destination": ports, "hdr.ops.vlan": vlans,
        "hdr.ops.protocol": [6, 17], "hdr.ops.address": addresses, "hdr.ops.class": [0, 1, 2],
    }  # fmt: skip
    near = sorted({max(0, min(0xFFFF, port + step)) for port in ports for step in (-1, 0, 1)})
    generator.fill("ports", 30, keys=keys)
    generator.fill("mixed", 60, keys=keys)
    for _ in range(2):
        generator.frames(
            55, "16@near 16@near 8{6,17} 32@addresses 12@vlans 4{0-3} *0-4",
            near=near, vlans=vlans, addresses=addresses,
        )  # fmt: skip
        generator.churn(30)


def _const_entries(generator: Generator) -> None:
    layout = "8{0-3,0x0f,0x11,0x80,0xff} 16{0-11,0x100,0x1ff,0x200,0x201,0xffff} "
    layout += "32{0x0a000000,0x0a010000,0x0a010101,0x0b000000} *0-4"
    generator.frames(110, layout)


def _key_types(generator: Generator) -> None:
    numbers, words, labels = generator.values(8, 16), [*generator.values(8, 32), 0], [*generator.values(6, 15), 0]
    colours = (1, 2, 9, 4)
    generator.fill("flags", 6, keys={"colour": colours})
    generator.fill("numbers", 6, keys={"number": numbers})
    middles = [word >> 12 & 0xFFFF for word in words]
    generator.fill("slices", 10, keys={"middle": middles, "masked": range(0, 0x1000, 0x100)})
    generator.fill("labels", 8, keys={"first": labels})
    generator.fill("invalids", 20, keys={"word": words, "change": range(5), "second": labels})
    generator.frames(
        110, "1 3{0-1} 4@colours 16@numbers 32@words 8{0-4} 15@labels 1{0} 15@labels 1 *0-4",
        colours=colours, numbers=numbers, words=words, labels=labels, cut=5,
    )  # fmt: skip


RECIPES = {
    "key_types": Recipe(_key_types),
    "match_exact": Recipe(_exact),
    "match_lpm": Recipe(_lpm),
    "match_range": Recipe(_range),
    "match_ternary": Recipe(_ternary),
    "table_const_entries": Recipe(_const_entries),
}
