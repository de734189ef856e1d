"""Programs that probe the output of the switch, and its metadata."""

from __future__ import annotations

from harness.corpus.recipe import Recipe, frames_only
from harness.generate import Generator


def _truncate(generator: Generator) -> None:
    generator.frames(110, "8{0-4} 8{0-12,20,60,255} 8{0-12,30} *0-40", cut=8)


RECIPES = {
    "log_assert": frames_only("8{0-3} 16 *0-10"),
    "metadata": frames_only("8{0-5} 8{0-2,7,255} 16 32 *0-10", cut=5),
    "truncate_frame": Recipe(_truncate),
}
