"""The live page over HTTP: what it shows, what it refuses, and that nothing outside of the runs can be read."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from support.live_page import TOKEN, LivePage, serving
from support.networks import TOPOLOGIES

from p4mesh import RunOptions, run
from p4mesh.cli.main import main
from p4mesh.errors import RunDirectoryError
from p4mesh.run.options import ARGUMENT
from p4mesh.server.metrics import metrics_text
from p4mesh.server.run_view import RunView
from p4mesh.server.trial_index import TrialIndex
from p4mesh.store.confined import folder
from p4mesh.store.live_file import LiveContent, Progress, Watched, WatchedTrial
from p4mesh.trial.onlooker import Look

BACK_TO_BACK = TOPOLOGIES / "back-to-back.yaml"
HOSTILE = "<img src=x onerror=alert(1)>&\"'"
SECRET = "the content of a file that is nobody's business"
_PATIENCE_S = 60.0


def measured(out: Path, *settings: str) -> Path:
    options = RunOptions(
        "rfc2544.frame_loss",
        BACK_TO_BACK,
        "64",
        ("scaled_frames=200", *settings),
        out,
        jobs=1,
        notes=(f"device={HOSTILE}",),
    )
    return run(options).directory


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with runs, damaged ones, links, and a secret beside it."""
    base = tmp_path_factory.mktemp("serve")
    (base / "secret.txt").write_text(SECRET)
    runs = base / "runs"
    first = measured(runs / "first")
    measured(runs / "second", "step_pct=5")
    shutil.copytree(first, runs / "folder" / HOSTILE.replace("/", "-"))
    shutil.copytree(first, runs / "damaged")
    (runs / "damaged" / "results.json").write_text("{")
    shutil.copytree(first, runs / "linked")
    for name in ("results.json", "trials.csv", "report.html"):
        (runs / "linked" / name).unlink()
        (runs / "linked" / name).symlink_to(base / "secret.txt")
    (runs / "elsewhere").symlink_to(base)
    os.mkfifo(first / "pipe.csv")
    return runs


@pytest.fixture(scope="module")
def page(root: Path) -> Iterator[LivePage]:
    with serving(root) as served:
        yield served


@dataclass
class Controlled:
    """A page for who has the token, the folder of its runs, and a file that a command of its files would make."""

    page: LivePage
    runs: Path
    marker: Path

    @property
    def started(self) -> list[str]:
        """Names of the runs that were started so far."""
        found = json.loads(self.page.get("/control/started", authorization=f"Bearer {TOKEN}").body)["started"]
        return [run["name"] for run in found]


@pytest.fixture(scope="module")
def control(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Controlled]:
    """Serve an empty directory, with topologies and run files of which some have a command of the machine."""
    base = tmp_path_factory.mktemp("control")
    runs, topologies, run_files, marker = (base / name for name in ("runs", "topologies", "run-files", "marker"))
    for folder_of_files in (runs, topologies, run_files):
        folder_of_files.mkdir()
    for name in ("wrs-18x1g.yaml", "back-to-back.yaml"):
        shutil.copy(TOPOLOGIES / name, topologies)
    hook = f"reset_between: hook, hook: touch {marker}"
    plain = BACK_TO_BACK.read_text()
    (topologies / "loud.yaml").write_text(f"{plain}tests:\n  rfc2544.throughput: {{{hook}}}\n")
    for name, tests in {
        "hook.yaml": f"[{{test: rfc2544.throughput, parameters: {{{hook}}}}}]",
        "lab.yaml": "[rfc2544.frame_loss]\nparameters: {scaled_frames: 200}",
    }.items():
        (run_files / name).write_text(f"name: lab\ntopology: {BACK_TO_BACK}\ntests: {tests}\n")
    with serving(runs, "--control", "--topologies", str(topologies), "--run-files", str(run_files)) as served:
        yield Controlled(served, runs, marker)


@pytest.fixture(scope="module")
def controlled(control: Controlled) -> LivePage:
    return control.page


def test_it_lists_every_run_below_its_directory(page: LivePage) -> None:
    runs = page.runs()
    assert {name for name in runs if "folder" not in name} == {"first", "second", "damaged", "linked"}
    first = runs["first"]
    assert (first["state"], first["test"], first["topology"]) == ("finished", "rfc2544.frame_loss", "back-to-back")
    assert first["verdict"] == {"text": "measured", "tone": "neutral"}
    assert first["trials"] > 1
    assert runs["damaged"]["state"] == "damaged"


def test_a_run_has_its_trials_and_files(page: LivePage, root: Path) -> None:
    shown = page.event(f"/events?run={page.runs()['first']['key']}")
    rows = page.trials("first")["rows"]
    lines = [json.loads(line) for line in (root / "first" / "trials.jsonl").read_text().splitlines()]
    assert [(row["unit"], row["trial"], row["load_pct"]) for row in rows] == [
        (line["unit"], line["trial"] + 1, line["load_pct"]) for line in lines
    ]
    assert [row["number"] for row in rows] == [*range(1, len(lines) + 1)], "counted from 1, as on the terminal"
    assert [row["lost_frames"] for row in rows] == [line["result"]["lost_frames"] for line in lines]
    assert {"trials.csv", "results.json", "report.html"} <= set(shown["files"])
    assert "pipe.csv" not in shown["files"]
    assert shown["notes"] == {"device": HOSTILE}


def test_every_one_of_ten_thousand_trials_is_reached_without_reading_them_all(page: LivePage, root: Path) -> None:
    long = root / "folder" / "long"
    shutil.copytree(root / "second", long)
    line = json.loads((root / "second" / "trials.jsonl").read_text().partition("\n")[0])
    # Lines of 16,000 characters, as many ports make them.
    line["result"]["ports"] *= 16_000 // len(json.dumps(line["result"]["ports"]))
    rest = json.dumps({key: line[key] for key in ("unit", "verdict", "spec", "result")})[1:]
    with (long / "trials.jsonl").open("w") as file:
        for number in range(10_000):
            file.write(f'{{"trial": {number}, "load_pct": {number / 100}, {rest}\n')
    before_kb = page.memory_kb()
    until(lambda: "folder/long" in page.runs())
    address = f"/runs/{page.runs()['folder/long']['key']}/trials"
    numbers: list[int] = []
    while len(numbers) < 10_000:
        shown = json.loads(page.get(f"{address}?first={len(numbers)}&most=1000000").body)
        assert shown["total"] == 10_000 and len(shown["rows"]) == 200, "a page, however much is asked for"
        assert [row["load_pct"] for row in shown["rows"]] == [(row["number"] - 1) / 100 for row in shown["rows"]]
        numbers += [row["number"] for row in shown["rows"]]
    assert numbers == [*range(1, 10_001)]
    assert json.loads(page.get(f"{address}?first=10000&most=200").body)["rows"] == []
    size_kb = (long / "trials.jsonl").stat().st_size / 1024
    assert page.memory_kb() - before_kb < size_kb / 4
    shutil.rmtree(long)


def test_the_rest_of_a_run_can_be_read_beside_a_trial_that_is_damaged(page: LivePage, root: Path) -> None:
    one = root / "folder" / "one"
    shutil.copytree(root / "second", one)
    good, *rest = (root / "second" / "trials.jsonl").read_text().splitlines(keepends=True)
    (one / "trials.jsonl").write_text(good + "{\n" + "".join(rest[1:]))
    until(lambda: "folder/one" in page.runs())
    assert [row["number"] for row in page.trials("folder/one", most=1)["rows"]] == [1]
    key = page.runs()["folder/one"]["key"]
    refused = page.get(f"/runs/{key}/trials?first=0&most=2")
    assert refused.status == 400 and "trials.jsonl: line 2: damaged" in refused.text
    assert page.get(f"/runs/{key}/trials?first=-1&most=2").status == 400


def test_a_trial_that_fails_without_a_loss_says_why(page: LivePage, root: Path) -> None:
    options = RunOptions(
        "rfc2544.throughput", TOPOLOGIES / "wrs-18x1g.yaml", "512", ("scaled_frames=200",), root / "folder" / "run",
        ports="1-2", jobs=1,
    )  # fmt: skip
    run(options)
    until(lambda: "folder/run" in page.runs())
    shown = page.trials("folder/run")["rows"]
    failed = [row for row in shown if row["verdict"] == "FAIL" and not row["lost_frames"]]
    assert failed and all(re.fullmatch(r"a queue fills by [\d,.]+ ppm", row["reason"]) for row in failed)


def test_reports_and_files_are_those_of_the_run(page: LivePage, root: Path) -> None:
    key = page.runs()["first"]["key"]
    report = page.get(f"/runs/{key}/report.html")
    assert report.body == (root / "first" / "report.html").read_bytes()
    assert report.headers["content-security-policy"].startswith("sandbox "), "its scripts are kept from the live page"
    file = page.get(f"/runs/{key}/files/trials.csv")
    assert file.body == (root / "first" / "trials.csv").read_bytes()
    assert file.headers["content-disposition"].startswith("attachment")


def test_runs_of_one_test_are_compared(page: LivePage) -> None:
    runs = page.runs()
    both = "&".join(f"run={runs[name]['key']}" for name in ("first", "second"))
    compared = page.get(f"/compare?{both}")
    assert compared.status == 200
    assert "Comparison: Frame Loss" in compared.text or "Comparison: Frame loss" in compared.text
    assert page.get(f"/compare?run={runs['first']['key']}").status == 400
    assert page.get(f"/compare?run={runs['first']['key']}&run={runs['damaged']['key']}").status == 400


def test_the_report_of_a_suite_leads_to_those_of_its_tests(page: LivePage, root: Path) -> None:
    suite = root / "folder" / "whole"
    shutil.copytree(root / "second", suite / "frame_loss")
    (suite / "suite.json").write_text('{"format": 2, "suite": "rfc2544"}')
    (suite / "report.html").write_text('<a href="frame_loss/report.html">page</a>')
    until(lambda: page.runs().get("folder/whole/frame_loss", {}).get("suite"))
    key = page.runs()["folder/whole/frame_loss"]["suite"]
    assert page.get(f"/runs/{key}/report.html").text == '<a href="frame_loss/report.html">page</a>'
    own = page.get(f"/runs/{key}/frame_loss/report.html")
    assert own.body == (suite / "frame_loss" / "report.html").read_bytes()
    assert page.get(f"/runs/{key}/throughput/report.html").status == 404


@pytest.mark.parametrize(
    "path",
    [
        "/runs/{first}/files/..%2f..%2fsecret.txt",
        "/runs/{first}/files/../../secret.txt",
        "/runs/{first}/files/%2e%2e",
        "/runs/{first}/files/..%00",
        "/runs/{first}/files/pipe.csv",
        "/runs/{linked}/files/results.json",
        "/runs/{linked}/files/trials.csv",
        "/runs/{linked}/report.html",
        "/runs/../secret.txt/report.html",
        "/runs/elsewhere/report.html",
        "/runs/{first}/..%2f..%2f/report.html",
        "/static/../server/application.py",
        "/static/%2e%2e%2fapplication.py",
        "/static/..%2f..%2ferrors.py",
        "/compare?run={first}&run={linked}",
        "/compare?run=..&run=../..",
        "/events?run=../secret.txt",
    ],
)
def test_nothing_else_can_be_read(page: LivePage, path: str) -> None:
    runs = page.runs()
    connection = http.client.HTTPConnection("127.0.0.1", page.port, timeout=_PATIENCE_S)
    connection.request("GET", path.format(first=runs["first"]["key"], linked=runs["linked"]["key"]))
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    assert answer.status in (400, 404), (path, answer.status)
    assert SECRET not in body and "import" not in body


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "attacker.example"},
        {"host": "127.0.0.1.attacker.example"},
        {"host": "[::1"},
        {"origin": "http://attacker.example"},
        {"origin": "null"},
        {"sec_fetch_site": "cross-site", "sec_fetch_mode": "cors"},
    ],
)
def test_requests_of_other_sites_are_refused(page: LivePage, headers: dict[str, str]) -> None:
    for path in ("/", "/events", "/static/index.js"):
        assert page.get(path, **headers).status == 403


def test_a_page_is_protected_from_what_it_shows(page: LivePage) -> None:
    headers = page.get("/").headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
    assert "unsafe-inline" not in policy.partition("script-src")[2].partition(";")[0]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cross-origin-resource-policy"] == "same-origin"


def test_it_changes_nothing_without_control(page: LivePage) -> None:
    for path in ("/control", "/control/start", "/control/stop"):
        assert page.get(path).status == 404
        assert page.post(path, {}, authorization=f"Bearer {TOKEN}").status == 404
    assert page.post("/events", {}).status == 405


def until(ready: Callable[[], bool]) -> None:
    """Wait for another process."""
    end = time.monotonic() + _PATIENCE_S
    while not ready():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_who_has_the_token_starts_and_stops_runs(control: Controlled) -> None:
    page, before = control.page, (control.started, [*control.runs.iterdir()])
    key = {"authorization": f"Bearer {TOKEN}"}
    wanted = {
        "test": "rfc2544.throughput",
        "topology": "wrs-18x1g.yaml",
        "target": "sim",
        "sizes": "64,128,256,512",
        "settings": ["scaled_frames=200000"],
    }
    for headers in ({}, {"authorization": "Bearer wrong"}, key | {"origin": "http://attacker.example"}):
        assert page.post("/control/start", wanted, **headers).status == 403
    assert page.post("/control/start", wanted, **key, content_type="text/plain").status == 415
    for wrong in ({"test": "rm"}, {"topology": "../../etc/passwd"}, {"settings": ["hook=reboot"]}, {"target": "x"}):
        refused = page.post("/control/start", wanted | wrong, **key)
        assert refused.status == 400 and json.loads(refused.body)["hint"], wrong
    assert (control.started, [*control.runs.iterdir()]) == before, "nothing was started"
    name = json.loads(page.post("/control/start", wanted, **key).body)["name"]
    until(lambda: page.runs().get(name, {}).get("state") == "running")
    until(lambda: (page.runs()[name]["progress"] or {}).get("done", 0) > 0)
    progress = page.runs()[name]["progress"]
    assert progress["left"] > 0, "four sizes take long"
    stopped = page.post("/control/stop", {"run": page.runs()[name]["key"]}, **key)
    assert (stopped.status, json.loads(stopped.body)) == (200, {"stopped": name})
    until(lambda: json.loads(page.get("/control/started", **key).body)["started"][0]["exit_code"] is not None)
    time.sleep(1)  # two looks: no file has to grow old first
    after = page.runs()[name]
    assert (after["state"], after["live"]) == ("stopped", [])
    ended, *_ = json.loads(page.get("/control/started", **key).body)["started"]
    assert ended["exit_code"] == 130 and "interrupted" in ended["said"]
    assert page.post("/control/stop", {"run": "nothing"}, **key).status == 404


HALF_A_PAIR = "\ud800"


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("start", {"test": HALF_A_PAIR}),
        ("start", {"settings": [HALF_A_PAIR]}),
        ("start", {HALF_A_PAIR: ""}),
        ("start", HALF_A_PAIR),
        ("stop", {"run": HALF_A_PAIR}),
    ],
)
def test_half_a_surrogate_pair_is_no_text(controlled: LivePage, path: str, data: object) -> None:
    refused = controlled.post(f"/control/{path}", data, authorization=f"Bearer {TOKEN}")
    assert (refused.status, refused.text) == (400, "the request is not JSON of texts")


@pytest.mark.parametrize("data", [[], None, 7, "rfc2544.throughput", {}, {"test": ""}, {"tests": "x"}])
def test_a_run_is_started_by_a_form_alone(controlled: LivePage, data: object) -> None:
    refused = controlled.post("/control/start", data, authorization=f"Bearer {TOKEN}")
    told = json.loads(refused.body)
    assert refused.status == 400 and told["hint"] == "valid: test, topology, target, sizes, ports, settings, notes"
    assert told["error"] in (
        "the request is no object with the fields of the form",
        "'test' is left out",
        "'tests' is no field of the form",
    )


def test_control_runs_no_command_of_a_file(control: Controlled) -> None:
    before = control.started
    for wanted in ({"test": "rfc2544.throughput", "topology": "loud.yaml"}, {"test": "hook.yaml"}):
        refused = control.page.post("/control/start", wanted, authorization=f"Bearer {TOKEN}")
        assert refused.status == 400 and "--allow-hooks" in json.loads(refused.body)["hint"]
    assert control.started == before and not control.marker.exists()


def test_the_form_has_options_of_the_command_line_and_the_help_of_every_parameter(controlled: LivePage) -> None:
    key = {"authorization": f"Bearer {TOKEN}"}
    found = json.loads(controlled.get("/control", **key).body)
    declared = {item.name: item.metadata[ARGUMENT] for item in fields(RunOptions) if ARGUMENT in item.metadata}
    assert [option["name"] for option in found["options"]] == ["target", "sizes", "ports", "settings", "notes"]
    for option in found["options"]:
        flag, how = declared[option["name"]]
        assert (option["flag"], option["help"]) == (flag, how["help"])
    assert "back-to-back.yaml" in found["topologies"] and found["run_files"] == ["hook.yaml", "lab.yaml"]
    for test in ("rfc2544.throughput", "rfc2544"):
        parameters = json.loads(controlled.get(f"/control/parameters?test={test}", **key).body)
        assert {"name": "burst_frames", "default": "1"}.items() <= next(
            item for item in parameters if item["name"] == "burst_frames"
        ).items()
        assert all(item["summary"] and item["valid"] for item in parameters)
        assert "hook" not in {item["name"] for item in parameters}, "the page takes no commands of the machine"
    assert controlled.get("/control/parameters?test=rm", **key).status == 400
    assert controlled.get("/control/parameters?test=rfc2544").status == 403


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"sizes": "12"}, ["--sizes", "12"]),
        ({"ports": "1,99"}, ["--ports", "1,99"]),
        ({"notes": ["no key"]}, ["--note", "no key"]),
        ({"settings": ["scaled_frames=few"]}, ["--set", "scaled_frames=few"]),
        ({"settings": ["nothing=1"]}, ["--set", "nothing=1"]),
    ],
)
def test_a_run_is_refused_before_it_starts_with_the_reason_of_the_command_line(
    control: Controlled, wrong: dict[str, object], words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    key, before = {"authorization": f"Bearer {TOKEN}"}, control.started
    wanted = {"test": "rfc2544.throughput", "topology": "back-to-back.yaml", **wrong}
    refused = control.page.post("/control/start", wanted, **key)
    assert refused.status == 400
    assert main(["run", "rfc2544.throughput", "--topology", str(BACK_TO_BACK), *words]) == 2
    said = json.loads(refused.body)
    assert capsys.readouterr().err == f"error: {said['error']}\n hint: {said['hint']}\n"
    assert control.started == before


def test_what_the_form_does_not_have_is_refused(controlled: LivePage) -> None:
    wanted = {"test": "rfc2544.throughput", "topology": "back-to-back.yaml", "out": "/tmp/else"}
    refused = controlled.post("/control/start", wanted, authorization=f"Bearer {TOKEN}")
    assert (refused.status, json.loads(refused.body)["error"]) == (400, "'out' is no field of the form")


def test_runs_of_one_moment_start_with_ports_and_notes_and_have_places_of_their_own(control: Controlled) -> None:
    """A run makes its directory a second after it was started."""
    page, key = control.page, {"authorization": f"Bearer {TOKEN}"}
    assert page.get("/control/parameters?test=lab.yaml", **key).status == 200
    wanted = {"test": "lab.yaml", "sizes": "64", "ports": "2,1", "notes": ["operator=Ada"]}
    started = [page.post("/control/start", wanted, **key) for _ in range(2)]
    assert [answer.status for answer in started] == [200, 200], started[0].text
    names = {json.loads(answer.body)["name"] for answer in started}
    assert len(names) == 2
    until(lambda: all(page.runs().get(name, {}).get("state") == "finished" for name in names))
    for name in names:
        stored = json.loads((control.runs / name / "run.json").read_text())
        assert stored["notes"]["operator"] == "Ada" and stored["frame_sizes_bytes"] == [64]
        assert [port["number"] for port in stored["ports"]] == [2, 1]


def test_topologies_that_come_with_p4mesh_can_be_chosen_and_an_interrupt_is_the_normal_end(tmp_path: Path) -> None:
    with serving(tmp_path, "--control") as page:
        found = json.loads(page.get("/control", authorization=f"Bearer {TOKEN}").body)["topologies"]
        assert page.stop() == 0
    assert found == sorted(path.name for path in TOPOLOGIES.glob("*.yaml"))


@pytest.mark.parametrize("option", ["--topologies", "--run-files"])
def test_a_folder_to_start_runs_from_is_there_and_of_use(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", str(tmp_path), "--control", option, f"{tmp_path}/none"]) == 2
    assert f"error: {option} {tmp_path}/none: not a directory" in capsys.readouterr().err
    assert main(["serve", str(tmp_path), option, str(tmp_path)]) == 2
    assert f"error: {option} has no use without --control" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["serve", "{tmp}/none"], "not a directory"),
        (["serve", "{tmp}", "--port", "70000"], "--port 70000: not a port"),
        (["serve", "{tmp}", "--control"], "P4MESH_SERVE_TOKEN: not a token"),
    ],
)
def test_what_cannot_be_served_is_one_message(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("P4MESH_SERVE_TOKEN", "short")
    assert main([word.format(tmp=tmp_path) for word in words]) == 2
    said = capsys.readouterr().err
    assert message in said and " hint: " in said and len(said.splitlines()) == 2


def test_prometheus_reads_the_state_and_the_trials_of_every_run(page: LivePage) -> None:
    answer = page.get("/metrics")
    assert (answer.status, answer.headers["content-type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    lines = answer.text.splitlines()
    about = 'run="first",test="rfc2544.frame_loss",topology="back-to-back",target="sim"'
    assert any(line.startswith(f'p4mesh_state{{{about},state="finished",verdict="') for line in lines)
    (trials,) = [line for line in lines if line.startswith(f"p4mesh_trials{{{about}}} ")]
    assert int(trials.rpartition(" ")[2]) > 0
    assert any('run="damaged"' in line and 'state="damaged"' in line for line in lines)


def test_prometheus_has_the_last_look_at_each_trial_that_runs() -> None:
    """100 frames took 250 us in all: 2.5 us on the average."""

    class Running(RunView):
        def __init__(self) -> None:
            pass

        def summary(self) -> dict[str, Any]:
            last = {"tx_frames": 120, "rx_frames": 110, "latency_sum_ns": 250_000, "latency_max_ns": 4_000}
            looks = [{**last, "tx_frames": 7, "latency_frames": 5}, {**last, "latency_frames": 100}]
            silent = {**last, "latency_frames": 0}
            live = [{"unit": "a", "trial": 3, "looks": looks}, {"unit": "b", "trial": 0, "looks": [silent]}]
            about = {"name": "r", "test": "t", "topology": "w", "target": "sim", "state": "running"}
            return {**about, "verdict": None, "trials": 4, "live": [*live, {"unit": "c", "trial": 1, "looks": []}]}

    lines = [line for line in metrics_text([Running()]).splitlines() if not line.startswith("#")]
    about = 'run="r",test="t",topology="w",target="sim"'
    first, second = (f'{about},unit="{unit}",trial="{trial}"' for unit, trial in (("a", 3), ("b", 0)))
    assert sorted(lines) == sorted(
        [
            f'p4mesh_state{{{about},state="running",verdict=""}} 1',
            f"p4mesh_trials{{{about}}} 4",
            *(
                f"p4mesh_{name}_frames{{{where}}} {n}"
                for where in (first, second)
                for name, n in (("tx", 120), ("rx", 110))
            ),
            f"p4mesh_avg_us{{{first}}} 2.5",
            f"p4mesh_max_us{{{first}}} 4.0",
        ]
    )


class Shown(RunView):
    """A run in a folder, and a clock that stands at 1,000 s; ``owner`` is the process that measures."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__("key", "name", (), None)
        self.path = path
        self.owner: int | None = None
        monkeypatch.setattr("p4mesh.server.run_view.time", SimpleNamespace(time=lambda: 1000.0))
        monkeypatch.setattr("p4mesh.server.run_view.holder", lambda _: self.owner)
        self.write("run.json", CONFIG)

    def write(self, name: str, content: object, changed_s: float = 990.5, more: str = "") -> None:
        """Replace a file as a run does; lines end with the last line break of ``more``."""
        text = content if isinstance(content, str) else msgspec.json.encode(content).decode() + more
        (self.path / "new").write_text(text)
        os.utime(self.path / "new", (changed_s, changed_s))
        (self.path / "new").rename(self.path / name)

    def look(self) -> tuple[bool, str]:
        """Whether something has changed, and the state."""
        with folder(self.path) as opened:
            return self.refresh(opened), self.summary()["state"]


CONFIG = {
    **dict.fromkeys(("test", "title", "section", "version", "target"), "t"),
    "topology": {"name": "w"},
    "frame_sizes_bytes": [64, 1518],
    "notes": {"a": "b"},
}


def test_a_run_is_running_while_a_process_measures_or_its_files_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its files count for ten seconds where no process has been seen; the end of one that was seen is seen, too."""
    view = Shown(tmp_path, monkeypatch)
    assert (view.version, view.files) == (0, [])
    assert (view.look(), view.look(), view.version) == ((True, "running"), (False, "running"), 1)
    view.write("run.json", {**CONFIG, "title": "U"})
    assert view.look() == (True, "running")
    shown = {key: view.summary()[key] for key in ("test", "title", "section", "topology", "target", "sizes", "notes")}
    told = {"title": "U", "topology": "w", "sizes": "64, 1518 B", "notes": {"a": "b"}}
    assert shown == {"test": "t", "section": "t", "target": "t", **told}
    view.write("run.json", CONFIG, changed_s=990.0)
    assert view.look() == (True, "stopped")
    view.write("live.json", LiveContent())
    assert view.look() == (True, "running") and view.is_running
    view.owner = 7
    view.look()
    view.owner = None
    assert (view.look(), view.look(), view.is_running) == ((True, "stopped"), (False, "stopped"), False)
    view.write("results.json", {"outcome": {"state": "FAIL", "summary": "all", "goal": "g", "findings": ["f"]}})
    assert (view.look(), view.look(), view.is_finished) == ((True, "finished"), (False, "finished"), True)
    assert (view.summary()["verdict"], view.summary()["outcome"]) == ({"text": "missed the goal", "tone": "bad"}, "all")
    assert view.detail()["findings"] == ["f"]
    view.write("results.json", {"outcome": {"state": "PASS", "summary": "all", "goal": "g"}})
    assert view.look() == (True, "finished")
    view.write("run.json", "{")
    assert (view.look(), view.look(), view.version) == ((True, "damaged"), (False, "damaged"), 8)
    (tmp_path / "run.json").unlink()
    assert (view.look(), view.summary()["problem"]) == ((True, "damaged"), "No such file or directory: run.json")
    (tmp_path / "results.json").unlink()
    view.write("run.json", CONFIG)
    assert view.look() == (True, "stopped") and view.summary()["verdict"] is None


def test_trials_of_a_run_are_counted_as_they_begin_and_shown_while_they_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = Shown(tmp_path, monkeypatch)
    view.look()
    assert (view.summary()["trials"], view.summary()["started_utc"], view.summary()["progress"]) == (0, "", None)
    view.write("timing.jsonl", {"started_utc": "12:01"}, more='\n{"started_utc":"12:00"}\n{"sta')
    assert (view.look()[0], view.look()[0]) == (True, False)
    assert (view.summary()["trials"], view.summary()["started_utc"]) == (2, "12:00")
    with (tmp_path / "timing.jsonl").open("a") as file:
        file.write('rted_utc":"12:02"}\n')
    assert (view.look()[0], view.summary()["trials"], view.summary()["started_utc"]) == (True, 3, "12:00")
    view.write("timing.jsonl", {"started_utc": "13:00"}, more="\n")
    for each in (view, Shown(tmp_path, monkeypatch)):
        assert (each.look()[0], each.summary()["trials"], each.summary()["started_utc"]) == (True, 1, "13:00")
    looks = [Look(at_ns, at_ns, 0) for at_ns in (1, 2, 3)]
    watched = Watched(WatchedTrial("u", 4, "label", 9, (64,)), looks)
    view.write("live.json", LiveContent([watched], Progress(5, 6)))
    assert (view.look()[0], view.look()[0]) == (True, False)
    (last,), (every,) = view.summary()["live"], view.detail()["live"]
    assert (last["trial"], [look["at_ns"] for look in last["looks"]]) == (5, [2, 3])
    assert (every["trial"], [look["at_ns"] for look in every["looks"]]) == (5, [1, 2, 3])
    assert (view.summary()["progress"]["done"], view.summary()["progress"]["left"]) == (5, 6)
    (tmp_path / "live.json").unlink()
    assert (view.look()[0], view.summary()["live"], view.summary()["progress"]) == (True, [], None)


def test_a_reader_of_a_run_gets_its_files_and_the_last_sample_of_each_class(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Samples are those of whole lines in the end of their file."""
    view = Shown(tmp_path, monkeypatch)
    view.look()
    view.is_wanted = True
    assert (view.look()[0], view.look()[0]) == (True, False)
    first, second, later, port = ("u,1,1,class,a,1,1,0,0,0,0.5", "u,1,1,class,b,1,1,0,0,0,0.5",
                                  "u,1,2,class,a,9,8,1,0,0,0.25", "u,1,2,port,a,9,8,1,0,0,0.25")  # fmt: skip
    view.write("samples.csv", first)
    assert (view.look()[0], view.detail()["samples"]) == (True, [])
    view.write("samples.csv", "\n".join((first, second, later, port, "u,1,3,class", later[:-1])))
    view.write("live.json", LiveContent())
    (tmp_path / "notes.txt").touch()
    assert (view.look()[0], view.look()[0], view.files) == (True, False, ["run.json", "samples.csv"])
    shown = [",".join(sample.values()) for sample in view.detail()["samples"]]
    assert shown == [later, second]
    monkeypatch.setattr("p4mesh.server.run_view._SAMPLES_BYTES", 100)
    view.write("samples.csv", "\n".join((first, second, later, port, port, "")))
    assert view.look()[0]
    assert [sample["name"] for sample in view.detail()["samples"]] == ["a"]
    assert view.detail()["samples"][0]["at_s"] == "2"
    view.write("trials.jsonl", "{}\n")
    assert (view.look()[0], view.look()[0], view.detail()["total"]) == (True, False, 1)


def trial_line(number: int, **result: Any) -> str:
    """A trial of 10 frames of which 9 came, as a run stores it."""
    counts = {"tx_frames": 10, "rx_frames": 9, "expected_rx_frames": 10, "lost_frames": 1, "duration_ns": 5}
    whole = {"status": "MEASURED", "reason": "", **counts, **result}
    return json.dumps({"unit": "u", "trial": number, "load_pct": 50.0, "verdict": "FAIL", "result": whole}) + "\n"


def test_a_row_of_a_trial_is_made_of_its_line_by_hand(tmp_path: Path) -> None:
    latency = {"count": 4, "sum_ns": 10.0, "max_ns": 4.0}
    (tmp_path / "trials.jsonl").write_text(
        trial_line(6, latency=latency)
        + trial_line(7, latency={**latency, "count": 0}, lost_frames=0, queues={"excess_ppm": 12.5})
        + trial_line(8, lost_frames=0, queues={}, latency={"count": 1, "sum_ns": 3.0, "max_ns": 3.0})
        + "{\n"
    )
    index = TrialIndex()
    with folder(tmp_path) as opened:
        index.refresh(opened)
        first, second, third = index.rows(opened, 0, 3)
        with pytest.raises(RunDirectoryError, match="line 4: damaged"):
            index.rows(opened, 3)
    assert (first["number"], first["trial"], first["load_pct"], first["lost_frames"]) == (1, 7, 50, 1)
    assert (first["latency_ns_avg"], first["latency_ns_max"], first["reason"]) == (2.5, 4, "")
    assert (second["latency_ns_avg"], second["latency_ns_max"]) == (None, None)
    assert (second["reason"], third["reason"]) == ("a queue fills by 12.5 ppm", "")
    assert (third["number"], third["trial"], third["latency_ns_avg"], third["latency_ns_max"]) == (3, 9, 3, 3)


def test_lines_of_trials_are_found_in_parts_of_any_length(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In parts of 41 bytes, ten of them at each look; a line without an end is not there yet."""
    monkeypatch.setattr("p4mesh.server.trial_index._STEP_BYTES", 41)
    monkeypatch.setattr("p4mesh.server.trial_index._MOST_BYTES", 410)
    lines = [trial_line(number) for number in range(5)]
    assert {len(line) for line in lines} == {206}, "ten parts are two bytes less than two lines"
    path, index = tmp_path / "trials.jsonl", TrialIndex()

    def found() -> tuple[int, list[int]]:
        with folder(tmp_path) as opened:
            index.refresh(opened)
            return index.generation, [row["trial"] for row in index.rows(opened, -1, 1000)]

    assert found() == (0, [])
    path.write_text("".join(lines)[:-1])
    assert [found() for _ in range(5)] == [(0, [*range(1, most + 1)]) for most in (1, 2, 3, 4, 4)]
    with path.open("a") as file:
        file.write("\n")
    assert found() == (0, [1, 2, 3, 4, 5])
    with folder(tmp_path) as opened:
        assert [row["trial"] for row in index.rows(opened, 1, 2)] == [2, 3]
    # Another file, in the order of its units.
    (tmp_path / "new").write_text(lines[4] + lines[0])
    (tmp_path / "new").rename(path)
    assert [found(), found()] == [(1, [5]), (1, [5, 1])]
    path.unlink()
    assert found() == (2, [])
