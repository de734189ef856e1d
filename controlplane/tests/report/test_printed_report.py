"""A report that is printed by a browser: nothing stays folded. Needs Chromium."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from pypdf import PdfReader
from support.networks import parsed, wire

from p4mesh.run import RunOptions, run

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
playwright = pytest.importorskip("playwright.sync_api", reason="no Playwright: pip install 'p4mesh[test]'")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine: apt-get install chromium")


def test_paper_has_the_tables_that_are_folded_on_the_screen(tmp_path: Path) -> None:
    """Goal: the rows of the trial log and the topology file are on paper, and the page is folded again afterwards."""
    settings = ("scaled_frames=20", "full_sweep=false")
    opener = "support.fakes:open_wire"
    run(RunOptions("rfc2544.frame_loss", parsed(wire()), "64", settings, tmp_path / "run", jobs=1, opener=opener))
    with playwright.sync_playwright() as started:
        arguments = ["--no-sandbox"] if os.getuid() == 0 else []
        browser = started.chromium.launch(executable_path=CHROMIUM, args=arguments)
        page = browser.new_page()
        page.goto((tmp_path / "run" / "report.html").as_uri())
        folded = page.locator("details:not([open])").count()
        page.pdf(path=tmp_path / "printed.pdf")
        assert page.locator("details:not([open])").count() == folded > 0
        browser.close()
    text = " ".join(sheet.extract_text() for sheet in PdfReader(tmp_path / "printed.pdf").pages)
    assert "rate_bps: 1000000000" in text, "the topology file"
    assert "64B/frame_loss" in text, "the trial log"
