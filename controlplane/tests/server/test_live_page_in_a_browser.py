"""The live page in headless Chromium: it loads, follows a run to its end, outlives the server, and escapes names."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.live_page import serving
from support.networks import TOPOLOGIES

from p4mesh import RunOptions, run
from p4mesh.store.live_file import watched_trials
from p4mesh.store.run_directory import LIVE, TRIALS

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
playwright = pytest.importorskip("playwright.sync_api", reason="no Playwright: pip install 'p4mesh[test]'")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine: apt-get install chromium")

HOSTILE = "<img src=x onerror=window.hurt=1><script>window.hurt=1<"
_PATIENCE_MS = 60_000


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"] if os.getuid() == 0 else [])
        yield opened
        opened.close()


@pytest.fixture
def tab(browser: Any) -> Iterator[Any]:
    """Return a tab; an error of the page's own scripts fails the test."""
    opened = browser.new_page(viewport={"width": 1300, "height": 900})
    opened.set_default_timeout(_PATIENCE_MS)
    problems: list[str] = []
    opened.on("pageerror", lambda error: problems.append(str(error)))
    yield opened
    opened.close()
    assert problems == []


def begin(out: Path, *words: str) -> subprocess.Popen[bytes]:
    """Start a run in a process of its own."""
    command = [sys.executable, "-m", "p4mesh", "run", "rfc2544.throughput", "--out", str(out), "--sizes", "64"]
    command += ["--jobs", "1", *words]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def hold(running: subprocess.Popen[bytes], out: Path, trials: int) -> None:
    """Stop the process of a run while it measures, with so many trials behind it: the browser may take its time."""
    running.send_signal(signal.SIGCONT)
    while True:
        assert running.poll() is None, "the run has ended"
        seen = (out / TRIALS).read_bytes().count(b"\n") if (out / TRIALS).exists() else 0
        # A fast trial may end before the first look at it, which writes the file.
        watched = watched_trials((out / LIVE).read_text()) if seen >= trials and (out / LIVE).exists() else ()
        if any(len(trial["looks"]) > 1 for trial in watched):
            break
        time.sleep(0.005)
    running.send_signal(signal.SIGSTOP)


def test_it_follows_a_run_to_its_end_and_outlives_the_server(tab: Any, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    runs.mkdir()
    with serving(runs) as page:
        tab.goto(page.address)
        tab.wait_for_selector("#idle:visible")
        # Few trials of more than a second each: several looks at every trial.
        settings = ("scaled_frames=600000", "search_resolution_pct=10", "search_max_pct=50", "sustained=false")
        long_trials = [word for setting in settings for word in ("--set", setting)]
        running = begin(runs / "now", "--topology", str(TOPOLOGIES / "wrs-18x1g.yaml"), *long_trials)
        try:
            hold(running, runs / "now", 1)
            tab.click("#now .card a")
            tab.wait_for_selector("#trials tr")
            tab.wait_for_selector("#traffic svg .mark-line path", state="attached")
            assert "frames/s sent" in tab.inner_text("#live .numbers")
            hold(running, runs / "now", 2)
            tab.wait_for_selector("#trials tr:nth-child(2)")
            port = page.port
            assert page.stop() == 0
            tab.wait_for_function("document.getElementById('connection').textContent.includes('lost')")
            with serving(runs, port=port):
                tab.wait_for_function("document.getElementById('connection').textContent === 'live'")
                tab.wait_for_selector("#traffic:visible")
                running.send_signal(signal.SIGCONT)
                tab.wait_for_selector("#links a")
                assert running.wait(_PATIENCE_MS / 1000) == 0
                tab.wait_for_selector("#traffic", state="hidden")
                lines = (runs / "now" / "trials.jsonl").read_text().splitlines()
                assert tab.locator("#trials tr").count() == len(lines)
                tab.click("#links a")
                tab.wait_for_selector("figure svg")
                assert "RFC 2544" in tab.inner_text("header")
        finally:
            running.kill()
            running.wait()


def test_names_and_notes_stay_text(tab: Any, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    first = runs / HOSTILE
    for out, frames in ((first, 200), (runs / "other", 400)):
        run(
            RunOptions(
                "rfc2544.frame_loss",
                TOPOLOGIES / "back-to-back.yaml",
                "64",
                (f"scaled_frames={frames}",),
                out,
                jobs=1,
                notes=(f"device={HOSTILE}",),
            )
        )
    (first / f"{HOSTILE}.csv").write_text("a,b\n")
    with serving(runs) as page:
        tab.goto(page.address)
        tab.wait_for_selector("#past tr:nth-child(2)")
        assert HOSTILE in tab.inner_text("#past")
        for box in tab.locator("#past input").all():
            box.check()
        tab.click("#compare")
        tab.wait_for_selector("h1")
        assert tab.inner_text("h1").lower().startswith("comparison: frame loss")
        differences = tab.locator("table", has_text="scaled_frames")
        assert {"200 frames", "400 frames"} <= set(differences.locator("td").all_inner_texts())
        assert {"?", "="} <= set(tab.locator("td").all_inner_texts()), "twice the frames, and as few are lost"
        assert HOSTILE in tab.inner_text("body")
        assert tab.evaluate("window.hurt") is None
        tab.goto(page.address)
        tab.get_by_role("link", name=HOSTILE).click()
        tab.wait_for_selector("#files li")
        assert HOSTILE in tab.inner_text("#files") and HOSTILE in tab.inner_text("#facts")
        with tab.expect_download() as download:
            tab.get_by_role("link", name=f"{HOSTILE}.csv").click()
        assert Path(download.value.path()).read_text() == "a,b\n"
        assert tab.evaluate("window.hurt") is None
        tab.click("#links a")
        tab.wait_for_selector("figure svg")
        assert tab.evaluate("window.hurt") is None


def test_no_page_is_wider_than_the_window(tab: Any, tmp_path: Path) -> None:
    out = tmp_path / "runs" / "one-with-a-long-name-that-does-not-fit-into-a-narrow-window"
    run(RunOptions("rfc2544.throughput", TOPOLOGIES / "back-to-back.yaml", "64", ("scaled_frames=200",), out, jobs=1))
    with serving(tmp_path / "runs") as page:
        for width in (1300, 400):
            tab.set_viewport_size({"width": width, "height": 800})
            tab.goto(page.address)
            tab.wait_for_selector("#past tr")
            assert tab.evaluate("document.documentElement.scrollWidth") <= width
            tab.click("#past td.name a")
            tab.wait_for_selector("#loads svg")
            assert tab.evaluate("document.documentElement.scrollWidth") <= width
