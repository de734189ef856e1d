"""Defines the errors between a controller and its switch.

::

    TargetError
    └── P4RuntimeError
        ├── ConnectError      no server there, or it went away
        ├── NotPrimaryError   another controller is primary
        ├── PipelineError     the pipeline config was refused
        ├── SchemaError       a name or value that P4Info does not have
        ├── WriteError        updates were refused; ``failures`` lists them
        ├── ReadError         a read was refused
        ├── PacketOutError    a packet-out was refused
        └── WaitError         something awaited did not come in time
"""

from __future__ import annotations

from dataclasses import dataclass

from p4mesh.errors import TargetError

CODES = (
    *("OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS"),
    *("PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE"),
    *("UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED"),
)
"""Canonical gRPC codes by number."""


def code_name(code: int) -> str:
    """Name of a canonical gRPC code."""
    return CODES[code] if 0 <= code < len(CODES) else f"code {code}"


class P4RuntimeError(TargetError):
    """Something went wrong between the controller and the switch."""


class ConnectError(P4RuntimeError):
    """No P4Runtime server answers at the address, or it went away."""


class NotPrimaryError(P4RuntimeError):
    """Another controller with a higher election id is primary."""


class PipelineError(P4RuntimeError):
    """The switch refused a pipeline config."""


class SchemaError(P4RuntimeError):
    """A name or value does not exist in the program's P4Info."""


@dataclass(frozen=True)
class Failure:
    """One element of a batch that the switch refused."""

    index: int
    """Position in the list that the caller gave."""
    code: str
    reason: str
    entity: str
    """The entity in words, by names of P4Info."""


class BatchError(P4RuntimeError):
    """Elements of a batch were refused."""

    verb = "handle"

    def __init__(self, failures: list[Failure], total: int, *, hint: str = "") -> None:
        first = failures[0]
        message = f"cannot {self.verb} {first.entity}: {first.reason} ({first.code})"
        if len(failures) > 1:
            message += f"; {len(failures)} of {total} failed"
        super().__init__(message, hint=hint)
        self.failures = failures
        self.total = total

    def __reduce__(self) -> tuple[object, ...]:
        """Keep the failures when the error crosses a process boundary."""
        return (_rebuild, (type(self), self.failures, self.total, self.hint))


class WriteError(BatchError):
    """The switch refused updates; the others of a CONTINUE_ON_ERROR batch were applied."""

    verb = "write"


class ReadError(BatchError):
    """The switch refused a read."""

    verb = "read"


class PacketOutError(P4RuntimeError):
    """The switch refused a packet-out."""


class WaitError(P4RuntimeError):
    """Something awaited did not come in time."""


def _rebuild(kind: type[BatchError], failures: list[Failure], total: int, hint: str) -> BatchError:
    return kind(failures, total, hint=hint)
