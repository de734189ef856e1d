"""Every test by its name, without loading it: what a user types is checked before anything else is loaded."""

from __future__ import annotations

import difflib

from p4mesh.errors import UnknownTestError

NAMES: dict[str, tuple[str, ...]] = {
    "rfc2889": (
        *("fully_meshed", "partially_meshed", "multiple_devices", "unidirectional", "congestion_control"),
        *("forward_pressure", "maximum_forwarding_rate", "address_caching", "address_learning", "errored_frames"),
        "broadcast",
    ),
    "rfc2544": ("throughput", "latency", "frame_loss", "back_to_back", "system_recovery", "reset"),
    "rfc5180": (
        *("hop_by_hop", "throughput", "latency", "frame_loss", "back_to_back", "system_recovery"),
        "reset",
    ),
    "rfc3918": (
        *("mixed_class", "scaled_matrix", "aggregated", "n_to_n", "encapsulation", "decapsulation", "reencapsulation"),
        *("latency", "min_max_latency", "join_delay", "leave_delay", "group_capacity", "burdened_latency"),
        "burdened_join_delay",
    ),
    "rfc5695": ("throughput", "back_to_back", "latency", "frame_loss", "system_recovery", "reset"),
    "srv6": ("throughput", "back_to_back", "latency", "frame_loss", "system_recovery", "reset"),
    "messages": ("latency", "background", "n_to_one"),
    "recirculation": ("delta",),
    "chassis": ("full_mesh", "multicast", "n_to_n"),
    "convergence": ("announcement", "withdrawal", "flap", "loss_of_link", "silence"),
    "gsi": ("dm_broadcast", "b2b", "mixed"),
}
"""The tests of each suite, in the order of the RFC."""
_LONGEST_NAME = 80
_SUGGESTIONS = 3


def require_known(name: str) -> None:
    """Raise UnknownTestError unless this is a test or a suite."""
    suite, _, test = name.partition(".")
    if name not in NAMES and test not in NAMES.get(suite, ()):
        raise unknown(name)


def unknown(name: str) -> UnknownTestError:
    """The error for a name that no test has, with the names that are nearest to it."""
    name = name[:_LONGEST_NAME]
    names = [f"{suite}.{test}" for suite, tests in NAMES.items() for test in tests]

    def likeness(known: str) -> float:
        ends = (known, known.partition(".")[2])
        return max(difflib.SequenceMatcher(a=name.lower(), b=end).ratio() for end in ends)

    *others, last = sorted(names, key=likeness, reverse=True)[:_SUGGESTIONS]
    return UnknownTestError(
        f"unknown test '{name}'",
        hint=f"did you mean {', '.join(others)} or {last}? p4mesh tests lists all tests; whole suites: "
        f"{', '.join(NAMES)}",
    )
