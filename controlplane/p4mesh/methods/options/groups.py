"""Sorts the parameters of a test into groups for people: the common ones first, then the rest by subject."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from p4mesh.methods.options.parameters import Parameter

COMMON = "common"
OWN = "of this test"
MOST_COMMON = 12
_FREQUENT = (
    *("parts", "direction", "ports", "source_port", "tx_port", "rx_port", "learning_port", "test_port"),
    *("addresses", "addresses_max", "capacity_max", "rate_unit", "rate_max_fps", "groups", "message_frames"),
    *("duration_ms", "iterations", "search_initial_pct", "search_min_pct", "search_max_pct", "search_resolution_pct"),
    *("sweep_start_pct", "sweep_end_pct", "sweep_step_pct", "load_pct", "step_pct"),
    *(
        "frame_format",
        "vlan_id",
        "headers",
        "latency_definition",
        "reset_between",
        "acceptable_loss_pct",
        "learning_frames",
    ),
)
"""Parameters that users set most, most used first; a test shows the first dozen of those that it has."""
_ABOUT: Mapping[str, tuple[str, ...]] = {
    "search": ("search_", "verify_", "mlr_", "pass_threshold_pct", "acceptable_loss_pct", "confirm_factor"),
    "sweep": ("sweep_",),
    "frames": (
        "frame_format",
        "vlan_id",
        "headers",
        "burst_frames",
        "addresses_per_port",
        "modifier",
        "extension_headers",
        "ip_mix",
    ),
    "latency": ("latency_",),
    "trial": (
        "duration_ms",
        "scaled_frames",
        "sustained",
        "sustained_ppm",
        "ppm_below",
        "start_stagger_us",
        "iterations",
    ),
    "phases around a trial": ("learning_", "settle_ms", "restabilise_ms"),
    "multicast hosts": (
        "protocol",
        "joins_",
        "join_wait_ms",
        "leave_wait_ms",
        "querier_port",
        "query_interval_s",
        "robustness",
    ),
    "reset of the device": ("reset_between", "link_", "aging_s", "hook", "hook_timeout_s", "stop_on_los"),
}
"""Groups with the names, or the beginnings of names, of their parameters; the first group that fits has it."""
_NO_PREFIX = {"learning_port", "learning_destination", "latency_factor"}
"""Names that begin like those of a group and belong to the test itself."""


def grouped(parameters: Iterable[Parameter]) -> dict[str, tuple[Parameter, ...]]:
    """The parameters by group, each once: the common ones, those of the test itself, then what tests share."""
    given = {parameter.name: parameter for parameter in parameters}
    common = [name for name in _FREQUENT if name in given][:MOST_COMMON]
    found: dict[str, list[Parameter]] = {COMMON: [given[name] for name in common], OWN: []}
    found |= {about: [] for about in _ABOUT}
    for name, parameter in given.items():
        if name not in common:
            found[_about(name)].append(parameter)
    return {about: tuple(members) for about, members in found.items() if members}


def _about(name: str) -> str:
    if name in _NO_PREFIX:
        return OWN
    for about, beginnings in _ABOUT.items():
        if any(
            name == beginning or (beginning.endswith("_") and name.startswith(beginning)) for beginning in beginnings
        ):
            return about
    return OWN
