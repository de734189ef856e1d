"""Programs that probe parser and deparser."""

from __future__ import annotations

from harness.corpus.recipe import Recipe, frames_only
from harness.generate import Generator

_SHORT = 3
"""One frame in three ends somewhere inside its headers."""


def _lookahead(generator: Generator) -> None:
    generator.frames(60, "4{0-8} 4{0-15} 8 8 8 *0-16", cut=_SHORT)
    generator.frames(50, "4{2} 4{0-15} *0-20")


def _varbit(generator: Generator) -> None:
    generator.frames(70, "8{0-5} 8{0-14} 8 *0-24", cut=6)
    generator.frames(40, "8{0-4} 8{9,10,11,12,31,255} 8 *0-12", cut=0)


def _stack(generator: Generator) -> None:
    layout = "4{0-8} 4{0-3} "
    generator.frames(50, layout + "7 1{0} 7 1{0-1} 7 1{0-1} 7 1{0-1} 7 1{1} *0-6", cut=5)
    generator.frames(50, layout + "7 1{0-1} 7 1{0-1} 7 1{1} *0-6", cut=5)
    generator.frames(10, "8{255} *0-6")


def _select(generator: Generator) -> None:
    generator.frames(50, "8{0-3,0x11,0x40,0x7f,0x80} 16{0,5,99,100,101,0x1fff,0x8000,0xffff} 4{0-7} 4 32 *0-4", cut=6)
    generator.frames(60, "8{0-3,0x11,0x40,0x7f,0x80} 16 4 4{0-1} 32 *0-4", cut=6)


def _header_union_stack(generator: Generator) -> None:
    # Frames of at most three options: see the README for the fourth.
    for options in range(4):
        for _ in range(28):
            kinds = [generator.rng.choice(["8{1} 8", "8{2} 32"]) for _ in range(options)]
            layout = " ".join(["8", *kinds, generator.rng.choice(["8{0}", "8{3-255}"]) if options < 3 else "8{3-255}"])
            generator.frames(1, layout + " *0-6", cut=8)


def _stack_operations(generator: Generator) -> None:
    label = "20 3{0-1} 1{%s} 8 "
    for _ in range(110):
        labels = [label % "0"] * generator.rng.randint(0, 2) + [label % "1"]
        labels += [label % "0"] * generator.rng.randint(0, 2) + [label % "1"]
        generator.frames(1, "8{0-8} 8{0-2} " + "".join(labels) + "*0-8", cut=6)


def _subparser(generator: Generator) -> None:
    generator.frames(60, "8{1-6,9,20,21} 8{0,5,9,10,101,255} 8{0,3,9} 8{0,7,8} 8{0,3,9} 8{0,7,8} *0-4", cut=4)
    generator.frames(50, "8{4,5} 8{0,101} 8{9} 8{0,7,8} 8{0,3,9} 8{0,7,8} *0-4", cut=5)


RECIPES = {
    "deparser": frames_only("8{0-7} 4 12 24 8 *0-20", cut=5),
    "header_union": frames_only("8{0-3} 8{0-5} 8 *0-8", cut=6),
    "header_union_stack": Recipe(_header_union_stack),
    "parse_lookahead": Recipe(_lookahead),
    "parse_select": Recipe(_select),
    "parse_skip": frames_only("8{0-9} 8{0-7,0x83,0x85,255} 8 8 8 8 *0-16", cut=4),
    "parse_short": frames_only("8{0-4} 16 4{0-2} 12 32 64 *0-6", cut=2),
    "parse_stack": Recipe(_stack),
    "parse_subparser": Recipe(_subparser),
    "parse_state": frames_only("8{0-9,255} 8 *0-12", cut=6),
    "parse_value_set": frames_only("16{0,1,0x0800,0xffff} 8 *0-6", cut=6),
    "parse_varbit": Recipe(_varbit),
    "stack_operations": Recipe(_stack_operations),
}
