"""Executes the tutorials with devices of this machine."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.linux_devices import needs_root
from support.tutorial_pages import PAGES_ON_DEVICES, execute

from p4mesh.network.nodes.base import find_program

pytestmark = [pytest.mark.live, needs_root]
ATTEMPTS = 3
"""A busy machine makes trials INVALID, which the page does not show."""


@pytest.mark.parametrize("page", PAGES_ON_DEVICES, ids=lambda page: page.stem)
def test_a_tutorial_does_what_it_says(page: Path, tmp_path: Path) -> None:
    if "mininet" in page.stem:
        for program in ("mnexec", "simple_switch_grpc"):
            if shutil.which(program) is None:
                pytest.skip(f"{program} is not installed")
    if page.stem == "container-lab" and find_program("zebra") is None:
        pytest.skip("zebra is not installed (package frr)")
    for attempt in range(ATTEMPTS):
        try:
            return execute(page, tmp_path / str(attempt))
        except AssertionError:
            if attempt == ATTEMPTS - 1:
                raise
