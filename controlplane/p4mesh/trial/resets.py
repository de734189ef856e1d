"""Resets and failures of the device under test: before a trial, and while its streams run."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from p4mesh.target.base import Target
from p4mesh.trial.hook import NS_PER_S, run_hook
from p4mesh.trial.link_watch import LinkLostError
from p4mesh.trial.spec import Interruption, Reset, ResetAction

Wait = Callable[[int | Fraction], None]
"""Lets the target's time pass."""

_LINK_LOOK_NS = 100_000_000


def reset_before_trial(reset: Reset, target: Target, wait: Wait, label: str) -> None:
    """Reset the device as asked; raise LinkLostError when its links do not come back."""
    if reset.action is ResetAction.WAIT_AGING:
        wait(reset.aging_ns)
    elif reset.action is ResetAction.HOOK and reset.hook:
        run_hook(reset.hook, label)
    elif reset.action is ResetAction.TOGGLE_LINK:
        _toggle_links(reset, target, wait)


def _toggle_links(reset: Reset, target: Target, wait: Wait) -> None:
    target.set_links(up=False)
    wait(reset.link_off_ns)
    target.set_links(up=True)
    waited_ns = 0
    while dark := [port for port, link in target.links().items() if not link.up]:
        if waited_ns >= reset.link_sync_ns:
            raise LinkLostError(f"port {dark[0]}: no link {waited_ns / NS_PER_S:g} s after it was switched on")
        wait(_LINK_LOOK_NS)
        waited_ns += _LINK_LOOK_NS
    wait(reset.link_on_delay_ns)


def trigger(interruption: Interruption, target: Target, label: str) -> None:
    """Let the device be reset now, by the user's command or as a simulated one, or let its failures begin."""
    if interruption.failures:
        target.cause_failures(interruption.failures)
    elif interruption.hook:
        run_hook(interruption.hook, label)
    else:
        target.reset_device(interruption.device, interruption.off_ns)


def fail_before_trial(failures: int, target: Target, wait: Wait) -> None:
    """Let failures 1 to ``failures`` of the devices be there, those that are not there already."""
    if failures:
        wait(target.cause_failures(failures))
