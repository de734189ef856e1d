"""The live page in headless Chromium: it loads, follows a run to its end, outlives the server, and escapes names."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.live_page import TOKEN, LivePage, serving
from support.networks import TOPOLOGIES

from p4mesh import RunOptions, run
from p4mesh.store.live_file import read_live
from p4mesh.store.run_directory import LIVE, TRIALS

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
playwright = pytest.importorskip("playwright.sync_api", reason="no Playwright: pip install 'p4mesh[test]'")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine: apt-get install chromium")

BED = TOPOLOGIES / "back-to-back.yaml"
HOSTILE = "<img src=x onerror=window.hurt=1><script>window.hurt=1<"
LONG = "one-of-many-trials-with-a-name-that-does-not-fit-into-a-narrow-window"
_PATIENCE_MS = 60_000


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"] if os.getuid() == 0 else [])
        yield opened
        opened.close()


@pytest.fixture
def tab(browser: Any) -> Iterator[Any]:
    """A tab; an error of the page's own scripts fails the test."""
    opened = browser.new_page(viewport={"width": 1300, "height": 900})
    opened.set_default_timeout(_PATIENCE_MS)
    problems: list[str] = []
    opened.on("pageerror", lambda error: problems.append(str(error)))
    yield opened
    opened.close()
    assert problems == []


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LivePage]:
    """A page of runs that are over: two with hostile names, a suite with a part of each, and one of many trials."""
    root = tmp_path_factory.mktemp("shown")
    for out, frames in ((root / HOSTILE, 200), (root / "other", 400)):
        settings = (f"scaled_frames={frames}",)
        run(RunOptions("rfc2544.frame_loss", BED, "64", settings, out, jobs=1, notes=(f"device={HOSTILE}",)))
    (root / HOSTILE / f"{HOSTILE}.csv").write_text("a,b\n")
    for name in ("frame_loss", "throughput"):
        shutil.copytree(root / "other", root / "whole" / name)
    (root / "whole" / "suite.json").write_text('{"format": 4, "suite": "rfc2544"}')
    (root / "whole" / "report.html").write_text("<h1>the suite</h1>")
    shutil.copytree(root / "other", root / LONG)
    line = json.loads((root / LONG / TRIALS).read_text().partition("\n")[0])
    # Loads near each other, as at the end of a search.
    lines = (json.dumps(line | {"trial": number, "load_pct": 99.6 + number / 1e6}) + "\n" for number in range(450))
    (root / LONG / TRIALS).write_text("".join(lines))
    with serving(root) as page:
        yield page


def begin(out: Path, *words: str) -> subprocess.Popen[bytes]:
    """Start a run in a process of its own."""
    command = [sys.executable, "-m", "p4mesh", "run", "rfc2544.throughput", "--out", str(out), "--sizes", "64"]
    command += ["--jobs", "1", *words]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def hold(running: subprocess.Popen[bytes], out: Path, trials: int) -> None:
    """Stop the process of a run while it measures, with so many trials behind it: the browser may take its time."""
    while True:
        running.send_signal(signal.SIGCONT)
        while not is_watched(out, trials):
            assert running.poll() is None, "the run has ended"
            time.sleep(0.005)
        running.send_signal(signal.SIGSTOP)
        os.waitpid(running.pid, os.WUNTRACED)
        # The trial may have ended before the signal came.
        if is_watched(out, trials):
            return


def is_watched(out: Path, trials: int) -> bool:
    """Whether so many trials are over, and the next one has been looked at more than once."""
    seen = (out / TRIALS).read_bytes().count(b"\n") if (out / TRIALS).exists() else 0
    # A fast trial may end before the first look at it, which writes the file.
    watched = read_live((out / LIVE).read_bytes()).trials if seen >= trials and (out / LIVE).exists() else ()
    return any(len(trial.looks) > 1 for trial in watched)


def test_it_follows_a_run_to_its_end_and_outlives_the_server(tab: Any, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    runs.mkdir()
    with serving(runs) as page:
        tab.goto(page.address)
        tab.wait_for_selector("#idle:visible")
        # Few trials of more than half a second each: several looks at every trial.
        settings = ("scaled_frames=300000", "search_resolution_pct=25", "search_max_pct=50", "sustained=false")
        long_trials = [word for setting in settings for word in ("--set", setting)]
        running = begin(runs / "now", "--topology", str(TOPOLOGIES / "wrs-18x1g.yaml"), *long_trials)
        try:
            hold(running, runs / "now", 1)
            tab.click("#now .card a")
            tab.wait_for_selector("#trials tr")
            tab.wait_for_selector("#traffic svg .line", state="attached")
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


def test_names_and_notes_stay_text(tab: Any, shown: LivePage) -> None:
    tab.goto(shown.address)
    tab.wait_for_selector("#past tr:nth-child(2)")
    assert HOSTILE in tab.inner_text("#past")
    for name in (HOSTILE, "other"):
        tab.locator("#past tr").filter(has=tab.get_by_role("link", name=name, exact=True)).locator("input").check()
    tab.click("#compare")
    tab.wait_for_selector("h1")
    assert tab.inner_text("h1").lower().startswith("comparison: frame loss")
    differences = tab.locator("table", has_text="scaled_frames")
    assert {"200 frames", "400 frames"} <= set(differences.locator("td").all_inner_texts())
    assert {"?", "="} <= set(tab.locator("td").all_inner_texts()), "twice the frames, and as few are lost"
    assert HOSTILE in tab.inner_text("body")
    assert tab.evaluate("window.hurt") is None
    tab.goto(shown.address)
    tab.get_by_role("link", name=HOSTILE, exact=True).click()
    tab.wait_for_selector("#files li")
    assert HOSTILE in tab.inner_text("#files") and HOSTILE in tab.inner_text("#facts")
    with tab.expect_download() as download:
        tab.get_by_role("link", name=f"{HOSTILE}.csv").click()
    assert Path(download.value.path()).read_text() == "a,b\n"
    assert tab.evaluate("window.hurt") is None
    tab.click("#links a")
    tab.wait_for_selector("figure svg")
    assert tab.evaluate("window.hurt") is None


def test_a_run_is_refused_with_the_reason_in_sight_then_started_and_stopped_after_a_question(
    tab: Any, tmp_path: Path
) -> None:
    questions: list[str] = []
    answers = iter([False, True])

    def answer(dialog: Any) -> None:
        questions.append(dialog.message)
        dialog.accept() if next(answers) else dialog.dismiss()

    tab.on("dialog", answer)
    with serving(tmp_path, "--control", "--topologies", str(TOPOLOGIES)) as page:
        tab.goto(f"{page.address}#token={TOKEN}")
        tab.select_option("[name=test]", "rfc2544.throughput")
        tab.select_option("[name=topology]", "wrs-18x1g.yaml")
        tab.click("summary")
        tab.wait_for_selector("#parameters:has-text('RFC 60 s')")
        tab.get_by_role("button", name="scaled_frames", exact=True).click()
        assert tab.input_value("[name=settings]") == "scaled_frames=30000"
        assert "frames per port and trial" in tab.inner_text("#parameters")
        tab.fill("[name=settings]", "scaled_frames=200000")
        tab.fill("[name=sizes]", "12")
        tab.click("#start button[type=submit]")
        tab.wait_for_selector("#answer.problem")
        assert tab.inner_text("#answer").startswith("--sizes 12: '12' is not valid: ")
        assert tab.locator("[aria-invalid=true]").get_attribute("name") == "sizes"
        assert list(tmp_path.iterdir()) == []
        tab.fill("[name=sizes]", "64,128,256,512")
        tab.click("#start button[type=submit]")
        tab.wait_for_selector("#now .card")
        # A run that is stopped before its first trial leaves nothing.
        tab.wait_for_function("/^[1-9]/.test(document.querySelector('#now .progress')?.innerText || '')")
        assert re.search(r"\d+ of ~\d+ trials done, ~\d+ left", tab.inner_text("#now .progress"))
        assert tab.inner_text("#answer") == "" and tab.locator("[aria-invalid=true]").count() == 0
        tab.click("#now button")
        assert tab.inner_text("#now button") == "Stop" and len(questions) == 1
        tab.click("#now button")
        tab.wait_for_selector("#past tr:has-text('stopped')")
        assert len(questions) == 2 and "Stop Throughput?" in questions[1]
        assert re.search(r"\d+ of ~\d+", tab.inner_text("#past .number"))


def test_runs_of_a_suite_stand_below_its_name(tab: Any, shown: LivePage) -> None:
    tab.goto(shown.address)
    tab.wait_for_selector("#past tr.suite")
    rows = [row.inner_text().split("\t") for row in tab.locator("#past tr").all()]
    names = [cells[0] if cells[0].startswith("Suite") else cells[1].strip() for cells in rows]
    at = names.index("Suite whole: 2 of 2 tests that began are finished")
    assert names[at + 1 : at + 3] == ["frame_loss", "throughput"]
    assert sorted(names[:at] + names[at + 3 :]) == sorted([HOSTILE, "other", LONG])
    tab.click("#past tr.suite a")
    tab.wait_for_selector("text=the suite")


def test_every_trial_is_reached_and_labels_of_an_axis_differ(tab: Any, shown: LivePage) -> None:
    def numbers() -> list[str]:
        return [text.strip() for text in tab.locator("#trials td:first-child").all_inner_texts()]

    tab.goto(shown.address)
    tab.get_by_role("link", name=LONG, exact=True).click()
    tab.wait_for_selector("#trials tr")
    assert tab.inner_text("#count") == "Trials 251 to 450 of 450, the latest first"
    assert numbers() == [str(number) for number in range(450, 250, -1)]
    for axis in tab.locator("#loads svg .axis").all():
        labels = axis.locator("text").all_text_contents()
        assert len(labels) > 1 and len(set(labels)) == len(labels)
    assert tab.locator("#loads svg .mark").count() == 200, "a figure has the trials of the page"
    (first, last) = (tab.locator("#loads svg .mark title").nth(place).text_content() for place in (0, -1))
    assert (first, last) == (
        "64B/frame_loss, trial 251: 99.60025 %, MEASURED",
        "64B/frame_loss, trial 450: 99.60045 %, MEASURED",
    )
    tab.click("#older")
    tab.wait_for_function("document.getElementById('count').textContent.startsWith('Trials 51 ')")
    tab.click("#older")
    tab.wait_for_function("document.getElementById('count').textContent.startsWith('Trials 1 ')")
    assert tab.is_disabled("#older") and numbers()[-1] == "1"
    tab.fill("#number", "240")
    tab.get_by_role("button", name="Go to it").click()
    tab.wait_for_selector("#trials tr.marked")
    assert tab.inner_text("#trials tr.marked td:first-child") == "240"
    tab.click("#newest")
    tab.wait_for_function("document.getElementById('count').textContent.startsWith('Trials 251 ')")


def test_no_page_is_wider_than_the_window(tab: Any, shown: LivePage) -> None:
    for width in (1300, 400):
        tab.set_viewport_size({"width": width, "height": 800})
        tab.goto(shown.address)
        tab.wait_for_selector("#past tr")
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        tab.get_by_role("link", name=LONG, exact=True).click()
        tab.wait_for_selector("#loads svg")
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
