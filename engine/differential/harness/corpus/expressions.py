"""Programs that probe expressions and control flow."""

from __future__ import annotations

from harness.corpus.recipe import Recipe, frames_only
from harness.generate import Generator


def _invalid_header(generator: Generator) -> None:
    generator.frames(60, "1{0-1} 3 4{0-9} 16 16 16 16 *0-6", cut=5)
    generator.frames(50, "1{0-1} 3 4{0-9} 16{1,2} 16{7} 16{1,2} 16{7} *0-6", cut=0)


def _control_flow(generator: Generator) -> None:
    keys = [*generator.values(12, 8), 0xFF]
    totals = [0, 1, 100, 200, 203, 300]
    generator.fill("choose", 14, keys={"key": keys}, params={"amount": totals})
    generator.fill("again", 8, keys={"total": totals}, params={"amount": totals})
    for count in (50, 50):
        generator.frames(count, "8{0-6} 8@keys 16 *0-6", keys=[*keys, 3, 4])
        generator.churn(4, {"amount": totals})
        generator.set_default("again", {"amount": totals})
    generator.frames(20, "8{3} 8@keys 16{0,1,0xff00,0xff01,0xffff}", keys=keys)


def _wide(generator: Generator) -> None:
    numbers = generator.values(6, 256)
    generator.fill("wide_exact", 4, keys={"hdr.ops.a": numbers})
    generator.fill("wide_ternary", 8, keys={"hdr.ops.b": numbers})
    generator.frames(110, "256@numbers 256@numbers 512 8{0-2,63-65,128,129,192,254,255} *0-2", numbers=numbers)


def _switch_values(generator: Generator) -> None:
    keys = [0, 1, 2, 3, 101, 201, 0xFF, *generator.values(6, 8)]
    for count in (40, 40, 30):
        generator.fill("first", 6, keys={"a": keys}, params={"value": keys})
        generator.fill("second", 6, keys={"b": keys}, params={"value": keys})
        generator.fill("inner", 5, keys={"a": keys}, params={"value": keys})
        generator.frames(count, "8@keys 8@keys 16 *0-4", keys=keys)
        generator.churn(6, {"value": keys})
        generator.set_default("second", {"value": keys})


RECIPES = {
    "control_flow": Recipe(_control_flow),
    "switch_values": Recipe(_switch_values),
    "expr_arithmetic": frames_only("8 8 32 32 64 64 128 128 *0-2"),
    "expr_bits": frames_only("32 32 128 8{0,1,7,8,31,32,33,63,64,65,127,128,129,255} *0-2"),
    "expr_invalid_header": Recipe(_invalid_header),
    "expr_mixed": frames_only("16 16 32 8 *0-4"),
    "expr_signed": frames_only("8 8 32 32 13 13 6 *0-2"),
    "expr_wide": Recipe(_wide),
    "expr_widths": frames_only("3 3 13 13 57 57 65 65 129 129 2 *0-2"),
}
