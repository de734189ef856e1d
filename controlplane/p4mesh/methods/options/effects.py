"""Parameters that have no effect with the values of others, such as those of a search that was not chosen.

A rule is about parameters of one meaning: a test that has another use for them has none of the names that it asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

Values = Mapping[str, str]
"""Values as text, by the names of their parameters."""


@dataclass(frozen=True)
class Rule:
    """Names, or beginnings of names that end with ``_``, of parameters, and when they have an effect."""

    names: tuple[str, ...]
    needs: Callable[[Values], bool]

    def about(self, name: str) -> bool:
        """Whether the rule is about this parameter."""
        return any(name == known or (known.endswith("_") and name.startswith(known)) for known in self.names)


def _one_of(other: str, *words: str) -> Callable[[Values], bool]:
    return lambda values: other not in values or values[other] in words


def _not(other: str, *words: str) -> Callable[[Values], bool]:
    return lambda values: other not in values or values[other] not in words


def _scales(values: Values) -> bool:
    """Whether a time of the test follows from ``scaled_frames``."""
    times = [values[name] for name in ("duration_ms", "overload_ms", "before_ms") if name in values]
    return not times or "scaled" in times


def _learns(values: Values) -> bool:
    return values.get("learning_frames") != "0"


def _verifies(values: Values) -> bool:
    """Back-to-back verifies losses of bursts, whatever searches the throughput."""
    return "burst_limit_s" in values or _one_of("search_method", "bisect_verified")(values)


_BISECT = ("bisect", "guided", "bisect_verified")
_RULES = (
    Rule(("search_", "verify_", "mlr_", "pass_threshold_pct", "acceptable_loss_pct"), _not("parts", "forwarding")),
    Rule(("sweep_",), _not("parts", "throughput")),
    Rule(("search_try_max_first",), _one_of("search_method", *_BISECT)),
    Rule(("search_initial_pct", "search_grid", "search_resolution_pct"), _one_of("search_method", *_BISECT, "combo")),
    Rule(("search_step_pct",), _one_of("search_method", "linear_down", "linear_up", "combo")),
    Rule(("search_backoff_pct",), _one_of("search_method", "combo")),
    Rule(("verify_",), _verifies),
    Rule(("mlr_",), _one_of("search_method", "mlr")),
    Rule(("mlr_trials", "mlr_exceed_pct"), _one_of("mlr_goals", "custom")),
    Rule(("scaled_frames",), _scales),
    Rule(("ports_in_step",), _one_of("pattern", "mesh_streams")),
    Rule(("learning_rate_fps", "learning_verify", "learning_wait_ms"), _learns),
    Rule(("extension_headers", "ip_mix"), _not("frame_format", "ipv4", "ethernet")),
    Rule(("advertised_prefix",), _one_of("advertised_networks", "0")),
    Rule(("query_interval_s",), _not("querier_port", "0")),
    Rule(("join_wait_ms", "joins_", "leave_wait_ms", "only_sender", "robustness"), _not("joins", "false")),
    Rule(("capacity_",), _not("addresses", "sweep")),
    Rule(("addresses_start", "addresses_end", "addresses_step"), _not("addresses", "capacity")),
    Rule(tuple(f"rate_{word}_fps" for word in ("initial", "min", "max", "resolution")), _one_of("rate_unit", "fps")),
    Rule(tuple(f"rate_{word}_pct" for word in ("initial", "min", "max", "resolution")), _one_of("rate_unit", "pct")),
    Rule(("valid_sizes", "bad_fcs_interval_ms"), _one_of("stream_set", "xena")),
    Rule(("tagged_network",), _one_of("mode", "rfc")),
    Rule(("power_off_s",), _one_of("reset_type", "power")),
    Rule(("reset_device",), _one_of("reset_cmd", "")),
    Rule(("link_off_s", "link_on_delay_s", "link_sync_s"), _one_of("reset_between", "toggle_link")),
    Rule(("aging_s",), _one_of("reset_between", "wait_aging")),
    Rule(("hook",), _one_of("reset_between", "hook")),
    Rule(("hook_timeout_s",), lambda values: values.get("reset_between") == "hook" or bool(values.get("reset_cmd"))),
)


def unused(values: Values) -> frozenset[str]:
    """The parameters that change nothing as long as the others have these values."""
    idle = [rule for rule in _RULES if not rule.needs(values)]
    return frozenset(name for name in values if any(rule.about(name) for rule in idle))
