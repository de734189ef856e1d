"""Any test with any parameters on a small device, measured in this process: what random runs are made of."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

from support.networks import parsed, switch
from support.runs import OneDevice

from p4mesh.methods.base import TrialNote
from p4mesh.methods.options.parameters import Kind, Parameter, show
from p4mesh.methods.registry import find_test
from p4mesh.methods.results.outcome import Outcome
from p4mesh.run.options import RunOptions
from p4mesh.run.preparation import prepare
from p4mesh.store.codec import encode
from p4mesh.topology import Topology
from p4mesh.trial.engine import TrialEngine
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.result import TrialResult
from p4mesh.trial.results import not_measured
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

FRAMES_PER_TRIAL = 200
"""At line rate, so that a run takes a second."""
_MOST = {
    "scaled_frames": FRAMES_PER_TRIAL, "burst_max_frames": 300, "burst_min_frames": 5, "addresses_end": 30,
    "addresses_max": 30, "capacity_max": 30, "message_frames": 20, "messages": 5, "background_frames": 60,
    "groups": 12, "groups_max": 12, "frames_per_group": 3, "networks": 4, "burst_frames": 40, "step_pct": 10,
    "addresses_per_port": 16, "start_stagger_us": 300, "latency_factor": 3, "confirm_factor": 3, "mlr_trials": 3,
    "senders": 3, "ports_together": 2, "tx_port": 5, "stagger_steps": 4, "verify_trials": 3, "valid_sizes": 6,
    "tunnels": 3, "blocks": 2, "stream_fps": 20_000, "query_interval_s": 125, "learning_frames": 3,
    "iterations": 2, "runs": 2, "repetitions": 2, "repeats": 1, "resets": 1, "sustained_ppm": 100_000,
}  # fmt: skip
"""Largest values by name; others are bounded by their unit."""
_MOST_BY_UNIT = {"ms": 5, "s": 1, "us": 300, "port number": 5, "port": 5, "ports": 4}
_LEAST = {
    "learning_rate_fps": 1000, "sweep_step_pct": 20, "search_step_pct": 10, "messages_per_s": 500,
    "search_resolution_pct": 1, "mlr_width_pct": 5, "load_step_pct": 30, "step_pct": 5, "joins_per_s": 10_000,
    "groups_step": 3, "burst_step_frames": 3, "stream_fps": 5000, "rate_resolution_fps": 20, "capacity_rate_fps": 500,
    "rate_base_fps": 500, "rate_min_fps": 100, "stagger_step_us": 10, "time_limit_ms": 50, "delay_limit_ms": 50,
}  # fmt: skip
"""Smallest values of what makes a run long."""
SHORT: Mapping[str, str] = {
    "scaled_frames": "100", "learning_rate_fps": "10000", "learning_wait_ms": "1", "settle_ms": "1",
    "restabilise_ms": "0", "sweep_step_pct": "30", "search_resolution_pct": "5", "repetitions": "1", "repeats": "1",
    "runs": "1", "resets": "1", "messages": "3", "message_frames": "10", "background_frames": "20", "groups": "6",
    "groups_max": "12", "groups_first": "3", "groups_step": "3", "messages_per_s": "2000", "load_step_pct": "45",
    "stabilise_ms": "0.1", "join_wait_ms": "1", "leave_wait_ms": "1", "joins_per_s": "100000",
    "burst_max_frames": "200",
    "power_off_s": "0.1", "link_off_s": "0.1", "link_on_delay_s": "0.1", "link_sync_s": "0.1", "aging_s": "1",
    "addresses_end": "30", "addresses_start": "5", "addresses_step": "10", "addresses_initial": "5",
    "addresses_min": "5", "addresses_max": "30", "addresses_resolution": "5", "capacity_initial": "5",
    "capacity_min": "5", "capacity_max": "30", "capacity_resolution": "5", "capacity_rate_fps": "500",
    "rate_max_fps": "1000", "rate_initial_fps": "500", "rate_min_fps": "500", "rate_resolution_fps": "300",
    "valid_sizes": "4", "mlr_width_pct": "20",
}  # fmt: skip
"""Settings of every random run that it does not draw itself."""
_LEFT_OUT = {
    "hook",
    "reset_cmd",
    "reset_device",
    "tunnel_source",
    "tunnel_destination",
    "latency_percentiles",
    "resets",
}


@dataclass(frozen=True)
class SmallDevice:
    """A switch all of whose ports are on the tester."""

    rates_bps: tuple[int, ...] = (10**8, 10**8)
    capacity_fps: int | None = None
    """Of all ports together; None = line rate."""
    queue_frames: int = 16
    ifg_bits: int = 96
    latency_ns: int = 2000
    order: tuple[int, ...] = ()
    """Port of the device that each tester port is linked to; empty = the same number."""

    @cached_property
    def topology(self) -> Topology:
        count = len(self.rates_bps)
        order = self.order or tuple(range(1, count + 1))
        # At rates of a frame per hour, addresses would be forgotten between two frames.
        further = "mac_table: {entries: 8192, aging_s: 1000000}"
        if self.capacity_fps is not None:
            further += f", lookup: {{capacity_fps: {self.capacity_fps}}}"
        text = switch(
            f"latency_ns: {self.latency_ns}, forwarding: store_and_forward, {further}",
            ports=count,
            rates_bps=self.rates_bps,
            port=f"queue_frames: {self.queue_frames}, ifg_bits: {self.ifg_bits}",
        )
        for number, place in enumerate(order, 1):
            text = text.replace(f"to: dut:{number}\n", f"to: dut:#{place}\n")
        return parsed(text.replace("dut:#", "dut:"))


@dataclass
class Measured:
    """A run that is over."""

    outcome: Outcome
    trials: list[tuple[TrialSpec, TrialResult]] = field(default_factory=list)
    units: list[Any] = field(default_factory=list)


class AnyTrials(OneDevice):
    """Takes trials that cannot be trusted, too."""

    def measure(self, spec: TrialSpec, note: TrialNote) -> TrialResult:
        result = self._measurer.measure(spec)
        self.trials.append((spec, result))
        return result


WHY_REFUSED = "learning: no frame came"


class SomeRefused(AnyTrials):
    """Takes trials, but for each ``every``-th: it could not be prepared."""

    def __init__(self, measurer: TrialEngine, every: int) -> None:
        super().__init__(measurer)
        self._every = every

    def measure(self, spec: TrialSpec, note: TrialNote) -> TrialResult:
        if (len(self.trials) + 1) % self._every:
            return super().measure(spec, note)
        result = not_measured(spec, Verdict.INVALID, WHY_REFUSED)
        self.trials.append((spec, result))
        return result


def measured(
    test: str,
    device: SmallDevice,
    size: int,
    settings: Mapping[str, str],
    opened: Callable[[TrialEngine], AnyTrials] = AnyTrials,
) -> Measured:
    """Run a test as ``p4mesh run`` does, without a directory; raises UsageError for what it does not take."""
    method = find_test(test)
    known = {parameter.name for parameter in method.parameters}
    given = {**{key: value for key, value in SHORT.items() if key in known}, **settings}
    # A device that still holds frames of the trial before learns nothing.
    emptied_ms = 1000 * FRAMES_PER_TRIAL * len(device.rates_bps) / (device.capacity_fps or 10**6)
    if "settle_ms" in given:
        given["settle_ms"] = str(max(float(given["settle_ms"]), emptied_ms))
    options = RunOptions(test, "", str(size), tuple(f"{key}={value}" for key, value in given.items()))
    prepared = prepare(method, device.topology, options)
    results, trials = {}, []
    for unit in method.units(prepared.job.parameters, prepared.sizes):
        with open_measurer(device.topology) as measurer:
            session = opened(measurer)
            results[unit] = method.run_unit(unit, prepared.job.bed, prepared.job.parameters, session)
            trials += session.trials
    outcome = method.assemble(prepared.job.bed, prepared.job.parameters, results)
    encode(outcome)
    for result in results.values():
        result.data()
    return Measured(outcome, trials, list(results.values()))


def drawn(
    parameter: Parameter, integer: Callable[[int, int], int], real: Callable[[float, float], float]
) -> str | None:
    """A value of a parameter that keeps a run short, from functions that draw numbers; None for one left alone."""
    if parameter.name in _LEFT_OUT or parameter.kind is Kind.TEXT:
        return None
    words = (
        parameter.choices if parameter.name != "reset_between" else ("none", "toggle_link", "swap_roles", "wait_aging")
    )
    if parameter.kind is Kind.BOOLEAN:
        return ("false", "true")[integer(0, 1)]
    if parameter.kind is Kind.CHOICE or (words and integer(0, 2) == 0):
        return words[integer(0, len(words) - 1)]
    assert parameter.minimum is not None and parameter.maximum is not None
    low = max(float(parameter.minimum), float(_LEAST.get(parameter.name, 0)))
    high = min(float(parameter.maximum), _MOST.get(parameter.name, _MOST_BY_UNIT.get(parameter.unit, math.inf)))
    high = max(low, high)
    if integer(0, 3) == 0:
        value = low
    elif low > 0:
        value = math.exp(real(math.log(low), math.log(high)))
    else:
        value = real(low, high)
    if parameter.kind is Kind.INTEGER:
        return str(min(int(high), max(math.ceil(low), round(value))))
    return show(
        min(Fraction(high).limit_denominator(10_000), max(parameter.minimum, Fraction(value).limit_denominator(1000)))
    )
