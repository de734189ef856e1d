"""Differences between two observations of one scenario, in words."""

from __future__ import annotations

from typing import Any

from harness.scenario import Frame, Observation, Outputs, PacketOut, Scenario, Step, Write

_SHOWN = 5


def differences(scenario: Scenario, expected: Observation, got: Observation) -> list[str]:
    """The differences; empty when the observations agree."""
    found = []
    for number, step in enumerate(scenario.steps):
        want, have = expected.outputs[number], got.outputs[number]
        if want != have:
            found.append(f"step {number}: {_describe(step)}\n{_outputs('expected', want)}\n{_outputs('got', have)}")
        # The error code belongs to P4Runtime: simple_switch_grpc answers UNKNOWN in most cases.
        if (number in expected.refused) != (number in got.refused):
            found.append(
                f"step {number}: {_describe(step)}\n    expected {expected.refused.get(number, 'OK')}, "
                f"got {got.refused.get(number, 'OK')}"
            )
    found += _list_differences("packet-in", expected.packet_ins, got.packet_ins)
    found += _list_differences("digest", expected.digests, got.digests)
    for kind, want_all, have_all in (
        ("counter", expected.counters, got.counters),
        ("direct counters of", expected.direct_counters, got.direct_counters),
    ):
        for name in sorted(want_all.keys() | have_all.keys()):
            found += _list_differences(f"{kind} {name}:", want_all.get(name, []), have_all.get(name, []))
    return found


def report(scenario: Scenario, found: list[str]) -> str:
    """The differences as a text that says how to see them again."""
    lines = [
        f"program {scenario.program}, scenario {scenario.name}, seed {scenario.seed}: "
        f"{len(found)} differences in {scenario.frame_count} frames",
        *found[:_SHOWN],
    ]
    if len(found) > _SHOWN:
        lines.append(f"... and {len(found) - _SHOWN} more")
    return "\n".join(lines)


def _list_differences(what: str, expected: list[Any], got: list[Any]) -> list[str]:
    found = []
    if len(expected) != len(got):
        found.append(f"{what}: expected {len(expected)}, got {len(got)}")
    for number, (want, have) in enumerate(zip(expected, got, strict=False)):
        if want != have:
            found.append(f"{what} {number}: expected {_show(want)}, got {_show(have)}")
    return found


def _show(item: object) -> str:
    if isinstance(item, bytes):
        return item.hex()
    if isinstance(item, list | tuple):
        return " ".join(_show(part) for part in item)
    return str(item)


def _describe(step: Step) -> str:
    if isinstance(step, Frame):
        return f"frame into port {step.port}: {step.data.hex()}"
    if isinstance(step, PacketOut):
        return f"packet-out {step.metadata}: {step.data.hex()}"
    assert isinstance(step, Write)
    return f"{step.kind} {step.method} {step.arguments}"


def _outputs(label: str, outputs: Outputs) -> str:
    frames = [f"port {port}: {frame.hex()}" for port, items in sorted(outputs.items()) for frame in items]
    return f"    {label}: " + (", ".join(frames) or "nothing")
