"""Findings on the trials of any test beside its results: frames for a switch at a router, and damaged frames."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.fakes import FakeMeasurer
from support.networks import parsed, switch

from p4mesh import RunOptions, run
from p4mesh.measurement.counts import Transient
from p4mesh.methods.base import TrialNote
from p4mesh.run.trial_findings import stamp_finding, stray_findings, way_hint
from p4mesh.store.run_files import StoredTrial
from p4mesh.topology import Topology
from p4mesh.traffic.stamps import KERNEL
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

TOPOLOGIES = Path(__file__).parents[3] / "topologies"
QUICK = ("scaled_frames=100",)


@pytest.mark.parametrize(
    ("test", "topology", "settings", "hint"),
    [
        (
            "rfc2889.congestion_control",
            "router-4x1g",
            (),
            "no frame came through: device 'router' is a router; rfc2889.congestion_control is for switches; use a "
            "test that has routed=true",
        ),
        (
            "rfc2544.throughput",
            "p4-l3-4ports",
            ("routed=false",),
            "no frame came through: if the device routes, set routed=true",
        ),
    ],
)
def test_frames_for_a_switch_at_a_router_get_a_hint(
    tmp_path: Path, test: str, topology: str, settings: tuple[str, ...], hint: str
) -> None:
    found = run(RunOptions(test, TOPOLOGIES / f"{topology}.yaml", "64", (*QUICK, *settings), tmp_path / "run", 1))
    assert found.outcome.state is Verdict.INVALID
    assert found.outcome.findings[0] == hint


ROUTED = ("rfc2544.throughput", "rfc2544.frame_loss", "rfc2889.fully_meshed")
SEARCH_ALONE = {"rfc2889.fully_meshed": ("parts=throughput",)}


@pytest.mark.parametrize("test", ROUTED)
def test_tests_of_a_router_are_routed_and_say_so(tmp_path: Path, test: str) -> None:
    """Goal: nobody has to know the parameter where the topology leaves no choice; one who sets it gets what he asks."""
    router = TOPOLOGIES / "router-4x1g.yaml"
    quick = (*QUICK, *SEARCH_ALONE.get(test, ()))
    found = run(RunOptions(test, router, "512", quick, tmp_path / "a", 1))
    assert found.outcome.state is Verdict.MEASURED
    said = "routed=true was chosen: device 'router' is a router, which forwards nothing that is for a switch"
    assert said in found.outcome.findings
    for given in ("routed=false", "frame_format=ethernet"):
        other = run(RunOptions(test, router, "512", (*quick, given), tmp_path / given, 1))
        assert other.outcome.state is Verdict.INVALID
        assert other.outcome.findings[0] == "no frame came through: device 'router' is a router; set routed=true"


@pytest.mark.parametrize(
    ("path", "missing", "reached"),
    [
        ("{access: 100}}, {port: 2, mode: {trunk: {vids: [100, 200], native: 200}}}", "port 1 from port 2", "port 2"),
        ("{trunk: {vids: [100], native: 100}}}, {port: 2, mode: {access: 100}}", "", ""),
    ],
)
@pytest.mark.parametrize("test", ["rfc2544.throughput", "rfc2889.fully_meshed"])
def test_directions_that_do_not_come_through_are_named(
    tmp_path: Path, test: str, path: str, missing: str, reached: str
) -> None:
    """Frames of port 2 enter VLAN 200 of the trunk, those of port 1 leave it with a tag of 100."""
    text = switch(f"vlans: {{ports: [{{port: 1, mode: {path}]}}", ports=2)
    found = run(RunOptions(test, parsed(text), "128", (*QUICK, *SEARCH_ALONE.get(test, ())), tmp_path / "run", 1))
    begins = [text for text in found.outcome.findings if "routes" in text or "directions" in text]
    if not missing:
        assert found.outcome.state is Verdict.MEASURED and not begins
        return
    assert found.outcome.state is Verdict.INVALID
    ends = "; bidirectional=false measures one direction" if test == "rfc2544.throughput" else ""
    assert begins == [
        "the device lets some directions through and others not, as where frames enter another VLAN on their way back "
        f"(no frame reached {missing}; frames reached {reached}){ends}"
    ]


def test_groups_that_a_device_has_no_room_for_are_no_matter_of_ways(tmp_path: Path) -> None:
    text = switch("snooping: {forward_by: mac, max_groups: 2}", ports=2)
    settings = (*QUICK, "groups=4", "join_wait_ms=1", "leave_wait_ms=1")
    found = run(RunOptions("rfc3918.aggregated", parsed(text), "128", settings, tmp_path / "run", 1))
    (told,) = found.outcome.findings
    assert told.startswith(
        "INVALID trial, throughput 128 B at 100 %: joins not verified: port 2 does not receive group"
    )


def test_ports_without_a_link_get_no_hint_of_a_router(tmp_path: Path) -> None:
    """Goal: not 'no frame came through' where none was sent."""
    text = switch(ports=2, link="outages: [{at_s: 0}]")
    found = run(RunOptions("rfc2544.frame_loss", parsed(text), "128", QUICK, tmp_path / "run", 1))
    assert found.outcome.state is Verdict.ABORT
    assert {text.rpartition(": ")[2] for text in found.outcome.findings} == {"no link on ports 1, 2"}


def test_a_device_that_forwards_gets_no_hint(tmp_path: Path) -> None:
    asked = RunOptions("rfc2544.frame_loss", TOPOLOGIES / "back-to-back.yaml", "64", QUICK, tmp_path / "run", 1)
    assert not [text for text in run(asked).outcome.findings if "routed" in text]


def test_groups_that_nobody_forwards_are_no_matter_of_routing(tmp_path: Path) -> None:
    found = run(RunOptions("rfc3918.aggregated", TOPOLOGIES / "router-4x1g.yaml", "64", QUICK, tmp_path / "run", 1))
    assert found.outcome.state is Verdict.INVALID
    assert not [text for text in found.outcome.findings if "routed" in text]


class Odd(FakeMeasurer):
    """Damages three frames of every trial, and cannot be trusted when ``invalid``."""

    def __init__(self, invalid: bool) -> None:
        super().__init__()
        self.invalid = invalid

    def measure(self, spec: TrialSpec, note: TrialNote | None = None) -> TrialResult:
        result = super().measure(spec, note)
        if self.invalid:
            return replace(
                result, status=Verdict.INVALID, reason="receive counters show 1 expected frames, the flows 2"
            )
        return replace(result, damaged_frames=3)


@contextmanager
def open_damaging(_: Topology) -> Iterator[Odd]:
    """A measurer whose device damages frames."""
    yield Odd(invalid=False)


@contextmanager
def open_untrusted(_: Topology) -> Iterator[Odd]:
    """A measurer of which no trial can be trusted."""
    yield Odd(invalid=True)


@pytest.mark.parametrize("test", ["rfc2544.throughput", "rfc2544.frame_loss", "rfc2889.broadcast"])
def test_damaged_frames_are_a_finding(tmp_path: Path, test: str) -> None:
    opener = f"{__name__}:open_damaging"
    asked = RunOptions(test, TOPOLOGIES / "back-to-back.yaml", "64", QUICK, tmp_path / "run", 1, opener=opener)
    found = run(asked)
    trials = len((found.directory / "trials.jsonl").read_text().splitlines())
    text = f"{3 * trials} damaged frames received in {trials} of {trials} trials of 64B/"
    assert [finding for finding in found.outcome.findings if finding.startswith(text)]


class Lossy(FakeMeasurer):
    """Loses ten frames of each trial: three were corrupted, five may have come late. Latency grows meanwhile."""

    def measure(self, spec: TrialSpec, note: TrialNote | None = None) -> TrialResult:
        found = super().measure(spec, note)
        found = replace(found, lost_frames=10, rx_frames=found.rx_frames - 10)
        return replace(found, corrupted_frames=3, doubtful_frames=5, latency_growth_ns=1500.0)


@contextmanager
def open_lossy(_: Topology) -> Iterator[Lossy]:
    """A measurer whose device loses frames in several ways."""
    yield Lossy()


def test_kinds_of_loss_and_growth_are_findings_and_a_table(tmp_path: Path) -> None:
    opener = f"{__name__}:open_lossy"
    found = run(
        RunOptions(
            "rfc2544.frame_loss", TOPOLOGIES / "back-to-back.yaml", "64", QUICK, tmp_path / "run", 1, opener=opener
        )
    )
    trials = len((found.directory / "trials.jsonl").read_text().splitlines())
    (table,) = (table for table in found.outcome.tables if table.name == "kinds_of_loss")
    counts = [(row["lost_frames"], row["corrupted_frames"], row["doubtful_frames"]) for row in table.rows]
    assert counts == [(10, 3, 5)] * trials
    begins = ("latency grew by up to 1.5 us in ", "loss is a range in ")
    for text in begins:
        assert [finding for finding in found.outcome.findings if finding.startswith(text)], text
    assert [finding for finding in found.outcome.findings if " corrupted frames received in " in finding]
    assert [finding for finding in found.outcome.findings if "with 5 to 10 frames lost where it is widest" in finding]


@pytest.mark.parametrize(
    "test", ["rfc2544.throughput", "rfc2544.latency", "rfc2544.frame_loss", "rfc2889.fully_meshed", "rfc2889.broadcast"]
)
def test_rows_that_cannot_be_trusted_show_no_loss_and_no_rate(tmp_path: Path, test: str) -> None:
    """They hold a load as it was asked for (load_pct), never a rate or a loss."""
    opener = f"{__name__}:open_untrusted"
    asked = RunOptions(test, TOPOLOGIES / "back-to-back.yaml", "64", QUICK, tmp_path / "run", 1, opener=opener)
    found = run(asked)
    assert found.outcome.state is Verdict.INVALID
    words = ("loss_pct", "loss_ppm", "lost", "tx_", "rx_", "received", "_mbps", "forwarding_fps", "offered")
    for table in found.outcome.tables:
        for row in table.rows:
            cells = {key: cell for key, cell in row.items() if any(word in key for word in words)}
            cells.pop("acceptable_loss_pct", None)
            shown = {key for key, cell in cells.items() if isinstance(cell, float | int)}
            assert not shown, (table.name, shown)
    for path in found.directory.glob("*.csv"):
        for line in csv.DictReader(path.open()):
            assert line.get("loss_pct", "") in ("", "INVALID") and line.get("throughput_pct", "") == ""


class Collapsing(FakeMeasurer):
    """Forwards 30 frames more in the first 2 ms, or to the end of a trial at less than 60 %."""

    def measure(self, spec: TrialSpec, note: TrialNote | None = None) -> TrialResult:
        found = super().measure(spec, note)
        over = spec.streams[0].rate_fps > 880_000
        return replace(found, lost_frames=10, transient=Transient(2_000_000, over, 30 if over else 0))


@contextmanager
def open_collapsing(_: Topology) -> Iterator[Collapsing]:
    """A measurer whose device forwards more at first than later."""
    yield Collapsing()


def test_transients_are_findings_of_what_is_left_out_and_of_trials_that_do_not_tell(tmp_path: Path) -> None:
    opener = f"{__name__}:open_collapsing"
    asked = RunOptions(
        "rfc2544.frame_loss", TOPOLOGIES / "back-to-back.yaml", "64", QUICK, tmp_path / "run", 1, opener=opener
    )
    left_out, untold = (text for text in run(asked).outcome.findings if "at first" in text)
    assert "in 5 of " in left_out and "up to 30 frames, in the first 2 ms; rates and losses are those of" in left_out
    assert untold.endswith("end too soon to tell how much is forwarded for good (transient)")


def stored(**found: Any) -> StoredTrial:
    """A trial with what its result has beside no damaged frames."""
    result = {"damaged_frames": 0, "rx_frames": 0, "status": "MEASURED", "reason": "", **found}
    return StoredTrial("64B", 0, 100.0, Verdict.PASS, {"streams": [{"pattern": "pairs"}]}, result)


def test_findings_by_hand_count_frames_and_the_trials_that_have_them() -> None:
    """The widest range of losses is that of most doubtful frames; latency of queues that fill is no finding."""
    trials = [
        stored(misdirected_frames=1500, corrupted_frames=7, doubtful_frames=5, lost_frames=2010),
        stored(misdirected_frames=3, damaged_frames=2, doubtful_frames=8, lost_frames=20),
        stored(corrupted_frames=1, latency_growth_ns=1500.0, queues={"trend": "steady"}),
        stored(latency_growth_ns=1700.0),
        stored(latency_growth_ns=2500.0, queues={"trend": "filling"}),
    ]
    begins = [
        "misdirected payload: 1,503 frames in 2 of 5 trials of 64B had",
        "2 damaged frames received in 1 of 5 trials of 64B:",
        "8 corrupted frames received in 2 of 5 trials of 64B:",
        "loss is a range in 2 of 5 trials of 64B, with 12 to 20 frames lost where it is widest: 8 frames came",
        "latency grew by up to 1.7 us in 2 of 5 trials of 64B,",
    ]
    found = list(stray_findings({"64B": trials}))
    assert [text.startswith(begin) for text, begin in zip(found, begins, strict=True)] == [True] * 5, found
    assert not list(stray_findings({"64B": [stored(), stored(latency_growth_ns=0.0)]}))


def test_transients_by_hand_are_over_or_not_or_not_known() -> None:
    """Two are over, one of them without frames; one is not; bursts hide whether there is one. The sixth has none."""
    transients = [(2_000_000, True, 30), (3_000_000, True, 1200), (9, True, 0), (1_000_000, False, 0), (0, False, 0)]
    trials = [
        stored(transient={"ends_ns": ends_ns, "over": over, "frames": frames}) for ends_ns, over, frames in transients
    ]
    over, ended, unknown = stray_findings({"64B": trials, "128B": [stored()]})
    assert "in 2 of 6 trials: up to 1,200 frames, in the first 3 ms;" in over
    assert ended.startswith("less was forwarded at last than at first in 1 of 6 trials,")
    assert unknown.startswith("whether more was forwarded at first than later is not known of 1 of 6 trials:")


def test_the_error_of_stamps_is_the_largest_of_the_ports_that_the_kernel_stamps_too() -> None:
    def port(departures: str, median_ns: int, p99_ns: int, arrivals: str = "driver") -> dict[str, Any]:
        return {
            "departures": departures,
            "arrivals": arrivals,
            "error_median_ns": median_ns,
            "error_p99_ns": p99_ns,
        }

    both, neither = [port(KERNEL, 1000, 2500), port(KERNEL, 1500, 2000)], [port("program", 9000, 9000, "card")]
    begin = "time stamps: arrivals by {}; departures by the program"
    error = "error of a latency at most 1.50 us (median) and 2.50 us (99 %)"
    unknown = "; without stamps of the kernel the error is not known"
    driver, two = begin.format("driver"), begin.format("card and driver")
    assert stamp_finding([stored(stamps=both)]) == (f"{driver}, in 1 of 1 trials by the kernel too: {error}",)
    assert stamp_finding([stored(stamps=both), stored(stamps=neither), stored(stamps=[])]) == (
        f"{two}, in 1 of 2 trials by the kernel too: {error}{unknown}",
    )
    assert stamp_finding([stored(stamps=neither)]) == (f"{begin.format('card')}{unknown}",)
    assert stamp_finding([stored()]) == ()


@pytest.mark.parametrize(
    ("test", "routed", "device", "changes", "hint"),
    [
        ("rfc2889.broadcast", None, "router", {}, "device 'r' is a router; rfc2889.broadcast is for switches"),
        ("rfc2544.throughput", False, "router", {}, "no frame came through: device 'r' is a router; set routed=true"),
        ("rfc2544.throughput", False, "bridge", {}, "no frame came through: if the device routes, set routed=true"),
        ("rfc2544.throughput", True, "router", {}, ""),
        ("traffic", None, "router", {}, ""),
        ("traffic", False, "router", {}, "set routed=true"),
        ("rfc2544.throughput", False, "router", {"rx_frames": 1}, ""),
        ("rfc2544.throughput", False, "router", {"status": "ABORT"}, ""),
        ("rfc2544.throughput", False, "bridge", {"reached_ports": [2], "reason": "learning: 1 to 2"}, "(1 to 2)"),
    ],
)
def test_what_helps_where_no_frame_came_through(
    test: str, routed: bool | None, device: str, changes: dict[str, Any], hint: str
) -> None:
    parameters = SimpleNamespace(values={} if routed is None else {"routed": routed})
    topology = SimpleNamespace(devices=[SimpleNamespace(name=name, device=device) for name in "rs"])
    job: Any = SimpleNamespace(parameters=parameters, method=SimpleNamespace(name=test), topology=topology)
    found = way_hint(job, [stored(**changes)])
    assert len(found) == bool(hint) and hint in "".join(found)
    routers = replace(stored(**changes), spec={"streams": [{"pattern": "pairs"}, {"pattern": "pairs", "routed": True}]})
    groups = replace(stored(), spec={"streams": [{"pattern": {"kind": "multicast"}}]})
    assert way_hint(job, [routers]) == way_hint(job, [groups]) == way_hint(job, []) == ()
