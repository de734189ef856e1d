"""Lets devices have failures before a trial begins."""

from __future__ import annotations

from p4mesh.errors import UnsupportedError
from p4mesh.target.base import Target
from p4mesh.trial.parts.base import Part, Trial


class Failing(Part):
    """Failures 1 to a number, those that are not there already."""

    @classmethod
    def is_wanted(cls, trial: Trial) -> bool:
        return trial.spec.failures > 0

    def require(self, target: Target) -> None:
        require_failures(target)

    def reset(self) -> None:
        tester = self.trial.tester
        tester.wait(tester.target.cause_failures(self.trial.spec.failures))


def require_failures(target: Target) -> None:
    """Raise UnsupportedError where no failures can be caused."""
    if not target.capabilities.causes_failures:
        raise UnsupportedError(
            f"failures of devices are not supported on {target.name}", hint="use --target sim or --target bmv2"
        )
