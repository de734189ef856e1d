"""The phases of a trial (methodology 0.3), each on ``sim``: the causes that make a trial ABORT or INVALID.

Method: small switches whose behaviour is known; where the tester itself must be wrong, its records are
altered between the switch and the engine.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.networks import parsed, switch
from support.runs import measure

from p4mesh.errors import HookError
from p4mesh.methods.results.metrics import judge_loss
from p4mesh.traffic.line_rate import max_rate_fps
from p4mesh.traffic.patterns import FullMesh, Pairs
from p4mesh.traffic.stream import Stream
from p4mesh.trial.engine import TrialEngine
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import Hook, Interruption, Learning, Reset, ResetAction, TrialSpec
from p4mesh.verdict import Verdict

GIGABIT = 10**9
MS = 10**6
S = 10**9
NO_LEARNING = Learning(enabled=False)
QUICK_LEARNING = Learning(wait_ns=MS)


def one_way(frames: int, fps: int = 10_000, source: int = 1, target: int = 2, **options: Any) -> TrialSpec:
    stream = Stream("s", 128, Fraction(fps), frames, Pairs(), (source,), (target,))
    options = {"learning": QUICK_LEARNING, "settle_ns": MS, "restabilise_ns": 0, **options}
    return TrialSpec("trial", (stream,), frames * S // fps, **options)


@contextmanager
def engine(topology: str) -> Iterator[TrialEngine]:
    with open_measurer(parsed(topology)) as measurer:
        yield measurer


# Loss of link


def test_a_loss_of_link_ends_the_trial_as_abort() -> None:
    # The trial begins at 0 s and sends for 4 s; all links fail at 1.05 s for a millisecond.
    (result,) = measure(switch(link="outages: [{at_s: 1.05, duration_s: 0.001}]"), one_way(40_000))
    assert (result.status, result.reason) == (Verdict.ABORT, "loss of link on ports 1, 2, 3, 4")
    assert judge_loss(result) is Verdict.ABORT
    assert 10_000 < result.tx_frames < 13_000, "it stopped soon after the loss, not after 40,000 frames"
    assert [port.link_losses for port in result.ports] == [1, 1, 1, 1]


def test_a_loss_of_link_on_a_port_that_only_monitors_hides_flooding_and_is_an_abort() -> None:
    topology = switch(link={5: "outages: [{at_s: 1.05, duration_s: 0.001}]"}, ports=5)
    (result,) = measure(topology, one_way(20_000))
    assert (result.status, result.reason) == (Verdict.ABORT, "loss of link on port 5")


def test_a_loss_of_link_during_the_learning_phase_is_an_abort_too() -> None:
    spec = one_way(100, learning=Learning(wait_ns=2 * S))
    (result,) = measure(switch(link="outages: [{at_s: 1, duration_s: 0.1}]"), spec)
    assert (result.status, result.tx_frames) == (Verdict.ABORT, 0)


def test_without_a_link_no_trial_begins() -> None:
    (result,) = measure(switch(link="outages: [{at_s: 0}]"), one_way(100, reset=Reset(ResetAction.WAIT_AGING)))
    assert (result.status, result.reason) == (Verdict.ABORT, "no link on ports 1, 2, 3, 4")


def test_a_trial_may_be_told_to_go_on_without_link() -> None:
    topology = switch(link="outages: [{at_s: 1.5, duration_s: 0.1}]")
    (result,) = measure(topology, one_way(20_000, stop_on_los=False))
    assert (result.status, result.tx_frames) == (Verdict.MEASURED, 20_000)
    assert result.lost_frames == pytest.approx(1000, abs=2)
    assert [port.link_losses for port in result.ports] == [1, 1, 1, 1]


# Resets before a trial


def flooded_after(reset: Reset, model: str = "") -> list[int]:
    """Frames flooded in a trial that learns, in one that does not, and in one after the reset."""
    silent = one_way(50, learning=NO_LEARNING)
    results = measure(switch(model), one_way(50), silent, replace(silent, reset=reset))
    assert [result.status for result in results] == [Verdict.MEASURED] * 3
    return [result.flooded_frames for result in results]


def test_without_a_reset_the_device_remembers() -> None:
    assert flooded_after(Reset()) == [0, 0, 0]


def test_toggled_links_make_a_switch_forget() -> None:
    assert flooded_after(Reset(ResetAction.TOGGLE_LINK)) == [0, 0, 50 * 2]


def test_waiting_longer_than_the_aging_time_makes_a_switch_forget() -> None:
    model = "mac_table: {entries: 100, aging_s: 30}"
    assert flooded_after(Reset(ResetAction.WAIT_AGING, aging_ns=25 * S), model) == [0, 0, 0]
    assert flooded_after(Reset(ResetAction.WAIT_AGING, aging_ns=31 * S), model) == [0, 0, 50 * 2]


def test_links_that_do_not_come_back_in_time_are_an_abort() -> None:
    # The last link of the tester fails before it is switched on, and again and again.
    with engine(switch()) as measurer:
        reset = Reset(ResetAction.TOGGLE_LINK, link_sync_ns=5 * S)
        set_links = measurer.tester.target.set_links
        measurer.tester.target.set_links = lambda up: None if up else set_links(up)  # type: ignore[method-assign]
        result = measurer.measure(one_way(10, reset=reset))
    assert (result.status, result.reason) == (Verdict.ABORT, "port 1: no link 5 s after it was switched on")


def python(code: str) -> str:
    return f"{sys.executable} -c '{code}'"


def hooked(command: str, timeout_ns: int = 10 * S) -> Reset:
    return Reset(ResetAction.HOOK, hook=Hook(command, timeout_ns))


def test_a_hook_runs_before_the_trial_and_knows_its_label(tmp_path: Path) -> None:
    note = tmp_path / "note"
    command = python(f'import os, pathlib; pathlib.Path("{note}").write_text(os.environ["P4MESH_TRIAL"])')
    (result,) = measure(switch(), one_way(10, reset=hooked(command)))
    assert (result.status, note.read_text()) == (Verdict.MEASURED, "trial")


HOOKS = {
    "fails": (
        python('import sys; sys.exit("no such device")'),
        r"ended with exit code 1: no such device$",
        "run it by hand",
    ),
    "is killed": (python("import os; os.kill(os.getpid(), 15)"), "was ended by SIGTERM$", "run it by hand"),
    "says much": (
        python('import sys; sys.stderr.write("x" * 10_000_000); sys.exit("too much")'),
        r"ended with exit code 1: x{1000}.* \.\.\. x*too much$",
        "run it by hand",
    ),
    "is missing": (
        "/nonexistent/reset-dut",
        r"^hook '/nonexistent/reset-dut' cannot be started: No such file",
        "a hook is a program with its arguments",
    ),
    "is no program": (__file__, "cannot be started: Permission denied$", "let this user execute it"),
    "does not parse": (
        "'reset",
        r"^hook ''reset' cannot be started: No closing quotation$",
        "a hook is a program with its arguments",
    ),
    "takes too long": (
        python("import time; time.sleep(60)"),
        r"did not end within 0\.2 s$",
        "raise hook_timeout_s",
    ),
}


@pytest.mark.parametrize("name", HOOKS)
def test_a_hook_that_fails_ends_the_run(name: str) -> None:
    command, message, hint = HOOKS[name]
    timeout_ns = S // 5 if name == "takes too long" else 60 * S
    with pytest.raises(HookError, match=message) as raised:
        measure(switch(), one_way(10, reset=hooked(command, timeout_ns=timeout_ns)))
    assert raised.value.exit_code == 3
    assert raised.value.hint.startswith(hint)


def test_a_hook_may_leave_a_process_behind() -> None:
    """It holds the hook's stderr open for longer than the hook may take, and is not waited for."""
    (result,) = measure(switch(), one_way(10, reset=hooked("sh -c 'sleep 20 & exit 0'")))
    assert result.status is Verdict.MEASURED


# A reset while the streams run


def interrupted(after_ms: int, time_ms: int, model: str = "", off_ms: int = 0, fps: int = 10_000) -> TrialResult:
    """Send for one second; the device is reset after ``after_ms`` and needs ``time_ms``."""
    spec = one_way(
        fps,
        fps,
        stop_on_los=False,
        interruption=Interruption(after_ms * MS, 10 * MS, device="dut", off_ns=off_ms * MS),
    )
    (result,) = measure(switch(f"reset: {{time_s: {time_ms / 1000}{model}}}"), spec)
    assert (result.status, result.reason) == (Verdict.MEASURED, "")
    return result


@pytest.mark.parametrize("model", ["", ", links_down: true"])
def test_an_interruption_is_found_by_loss_and_by_time_stamps(model: str) -> None:
    result = interrupted(200, 300, model)
    (outage,) = result.outages
    assert outage.lost_frames == result.lost_frames
    assert abs(outage.lost_frames - 3000) <= 1
    assert outage.last_before_ns is not None and outage.first_after_ns is not None
    assert abs(outage.last_before_ns - 200 * MS) <= 101_000, "the frame before the reset"
    assert 300 * MS <= outage.first_after_ns - outage.last_before_ns <= 300 * MS + 2 * 100_000
    assert outage.tail_lost_frames == 0


def test_time_without_power_adds_to_an_outage() -> None:
    (outage,) = interrupted(200, 300, off_ms=100).outages
    assert abs(outage.lost_frames - 4000) <= 1


def test_an_outage_shorter_than_the_looks_has_no_time_stamp() -> None:
    (outage,) = interrupted(200, 5).outages
    assert abs(outage.lost_frames - 50) <= 1
    assert outage.last_before_ns is None
    assert outage.first_after_ns is not None


def test_a_device_that_does_not_come_back_loses_the_tail() -> None:
    (outage,) = interrupted(200, 2000).outages
    assert outage.tail_lost_frames == outage.lost_frames == pytest.approx(8000, abs=1)
    assert outage.first_after_ns is None


# Trials that cannot be trusted


def test_frames_that_are_flooded_after_learning_are_never_traffic() -> None:
    model = "learning: false"
    (result,) = measure(switch(model), one_way(50))
    assert (result.status, result.reason) == (Verdict.INVALID, "learning not verified: 2 frames flooded")
    assert result.tx_frames == 0


def test_an_address_that_nothing_reaches_is_not_verified() -> None:
    model = "vlans: {ports: [{port: 1, mode: {access: 10}}, {port: 2, mode: {access: 20}}]}"
    (result,) = measure(switch(model), one_way(50))
    assert (result.status, result.reason) == (
        Verdict.INVALID,
        "learning not verified: no frame reached port 2 from port 1",
    )


def test_a_device_that_loses_frames_now_and_then_is_measured() -> None:
    (result,) = measure(switch("loss_ppb: 300000000"), one_way(2000))
    assert result.status is Verdict.MEASURED
    assert 500 < result.lost_frames < 700


Alter = Callable[[np.ndarray[Any, Any]], None]


def departures_missing(records: np.ndarray[Any, Any]) -> None:
    records["flow_sequence"][0] -= 1


def receptions_missing(records: np.ndarray[Any, Any]) -> None:
    records["frames"][0] -= 1


def receptions_invented(records: np.ndarray[Any, Any]) -> None:
    records["flow_sequence"][0] -= 1
    records["flow_sequence"][1] += 1


def receptions_moved(records: np.ndarray[Any, Any]) -> None:
    records["frames"][0] += 1
    records["frames"][1] -= 1


def departures_late(records: np.ndarray[Any, Any]) -> None:
    records["last_departure"][1] += 200_000


TAMPERED: dict[str, tuple[Alter, str]] = {
    "under-delivery": (departures_missing, "tester under-delivered: port 1 sent 199 of 200 frames"),
    "counters": (receptions_missing, "receive counters show 400 expected frames, the flows 399"),
    "another flow": (receptions_moved, "a flow has received more frames than were sent"),
    "under-delivery of one port": (receptions_invented, "tester under-delivered: port 1 sent 199 of 200 frames"),
    "load": (
        departures_late,
        "oload_mismatch: offered load is 99.00",
    ),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_counts_that_do_not_add_up_are_invalid_and_never_blamed_on_the_device(name: str) -> None:
    alter, reason = TAMPERED[name]
    stream = Stream("s", 128, Fraction(10_000), 200, Pairs(), (1, 2), (2, 1))
    with engine(switch()) as measurer:
        read = measurer.tester.dataplane.read

        def tampered(cells: int, wait: Callable[[int], None]) -> np.ndarray[Any, Any]:
            records = read(cells, wait).copy()
            alter(records)
            return records

        measurer.tester.dataplane.read = tampered  # type: ignore[method-assign]
        result = measurer.measure(TrialSpec("tampered", (stream,), S // 50, NO_LEARNING))
    assert (result.status, result.reason[: len(reason)]) == (Verdict.INVALID, reason)
    assert judge_loss(result) is Verdict.INVALID


def test_a_port_that_is_slower_than_it_says_is_the_testers_fault() -> None:
    slow = switch(tester_port="clock_offset_ppm: -1000")
    (result,) = measure(slow, one_way(20_000, int(max_rate_fps(128, GIGABIT))))
    assert result.status is Verdict.INVALID
    assert result.reason.startswith("oload_mismatch: offered load is 99.9")


COUNTERS = {
    "transmitted": "transmit counters show 403 frames, the flows 400",
    "expected": "receive counters show 403 expected frames, the flows 400",
    "unknown_flow": "3 frames were dropped by the tester: unknown_flow",
    "no_destination": "3 frames were dropped by the tester: no_destination",
    "unknown_transmitter": "3 frames were dropped by the tester: unknown_transmitter",
}


@pytest.mark.parametrize("counter", COUNTERS)
def test_counters_that_disagree_with_the_flows_are_invalid(counter: str) -> None:
    stream = Stream("s", 128, Fraction(10_000), 200, Pairs(), (1, 2), (2, 1))
    with engine(switch()) as measurer:
        counts, calls = measurer.tester.dataplane.reason_counts, []

        def tampered(ports: Sequence[int]) -> dict[tuple[int, str], int]:
            calls.append(ports)
            found = counts(ports)
            found[1, counter] += 3 if len(calls) > 1 else 0
            return found

        measurer.tester.dataplane.reason_counts = tampered  # type: ignore[method-assign]
        result = measurer.measure(TrialSpec("tampered", (stream,), S // 50, NO_LEARNING))
    assert (result.status, result.reason) == (Verdict.INVALID, COUNTERS[counter])


def test_streams_start_together_and_send_exactly_their_frames() -> None:
    numbers = (1, 2, 3, 4)
    streams = (
        Stream("a", 64, Fraction(10_000), 101, FullMesh(), numbers, numbers),
        Stream("b", 512, Fraction(5_000), 37, Pairs(), (1, 3), (2, 4)),
    )
    (result,) = measure(switch(), TrialSpec("exact", streams, 11 * MS, QUICK_LEARNING, per_flow=True))
    assert result.status is Verdict.MEASURED, result.reason
    assert result.start_skew_ns == 0
    for name, ports, frames in (("a", numbers, 101), ("b", (1, 3), 37)):
        for port in ports:
            flows = [flow for flow in result.flows if (flow.stream, flow.tx_port) == (name, port)]
            assert sum(flow.tx_frames for flow in flows) == frames
    # Where both streams leave a port at once, one of them waits for a frame of the other.
    assert max(flow.first_tx_ns for flow in result.flows) - result.first_tx_ns <= 8 * (64 + 20)


def test_counters_are_read_when_the_slowest_frame_has_arrived() -> None:
    # Half a second of delay, and no settle time: only what is in flight keeps the trial waiting.
    (result,) = measure(switch("latency_ns: 500000000"), one_way(50, settle_ns=0))
    assert (result.status, result.rx_frames, result.lost_frames) == (Verdict.MEASURED, 50, 0)
