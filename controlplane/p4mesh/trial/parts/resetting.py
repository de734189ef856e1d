"""Resets the device before a trial (methodology 0.3, reset_dut_between)."""

from __future__ import annotations

from p4mesh.quantities import number_text
from p4mesh.traffic.line_rate import NS_PER_S
from p4mesh.trial.hook import run_hook
from p4mesh.trial.link_watch import LinkLostError
from p4mesh.trial.parts.base import Part, Trial
from p4mesh.trial.spec import Reset, ResetAction

_LINK_LOOK_NS = 100_000_000


class Resetting(Part):
    """A wait until addresses are old, a command of the user's, or links that go down and come up."""

    @classmethod
    def is_wanted(cls, trial: Trial) -> bool:
        return trial.spec.reset.action is not ResetAction.NONE

    def reset(self) -> None:
        """Reset the device as asked; raise LinkLostError when its links do not come back."""
        spec = self.trial.spec
        reset = spec.reset
        if reset.action is ResetAction.WAIT_AGING:
            self.trial.tester.wait(reset.aging_ns)
        elif reset.action is ResetAction.HOOK and reset.hook:
            run_hook(reset.hook, spec.label)
        elif reset.action is ResetAction.TOGGLE_LINK:
            self._toggle_links(reset)

    def _toggle_links(self, reset: Reset) -> None:
        tester = self.trial.tester
        tester.target.set_links(up=False)
        tester.wait(reset.link_off_ns)
        tester.target.set_links(up=True)
        waited_ns = 0
        while dark := [port for port, link in tester.target.links().items() if not link.up]:
            if waited_ns >= reset.link_sync_ns:
                raise LinkLostError(
                    f"port {dark[0]}: no link {number_text(waited_ns / NS_PER_S)} s after it was switched on"
                )
            tester.wait(_LINK_LOOK_NS)
            waited_ns += _LINK_LOOK_NS
        tester.wait(reset.link_on_delay_ns)
