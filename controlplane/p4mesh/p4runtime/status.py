"""Turns gRPC errors into exceptions that name the refused request, the reason, and in a batch the element."""

from __future__ import annotations

from collections.abc import Sequence

import grpc

from p4mesh.no_answer import why_no_answer
from p4mesh.p4runtime.describe import describe
from p4mesh.p4runtime.errors import (
    BatchError,
    ConnectError,
    Failure,
    NotPrimaryError,
    P4RuntimeError,
    code_name,
)
from p4mesh.p4runtime.info import Info
from p4mesh.p4runtime.stubs import Entity, p4r, rpc_status

_DETAILS_KEY = "grpc-status-details-bin"
_BROKEN_OFF = "its server still listens, and has broken this call off: its output may say why"


def raised(error: grpc.RpcError, doing: str, address: str) -> P4RuntimeError:
    """Exception for a failed call that is not a batch error."""
    code = error.code()
    text = error.details() or "no reason given"
    if code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED, grpc.StatusCode.DEADLINE_EXCEEDED):
        return ConnectError(
            f"cannot {doing}: the P4Runtime server at {address} does not answer ({code.name}: {text})",
            hint=why_no_answer(address, listens=_BROKEN_OFF),
        )
    if code is grpc.StatusCode.PERMISSION_DENIED:
        return NotPrimaryError(f"cannot {doing}: {text}", hint="use a higher election id, or stop the other controller")
    return P4RuntimeError(f"cannot {doing}: {text} ({code.name})")


def batch_errors(error: grpc.RpcError) -> list[p4r.Error] | None:
    """Outcomes of the elements of a batch (P4Runtime section 12.3); ``None`` for a status without them."""
    for entry in error.trailing_metadata() or ():
        if entry.key == _DETAILS_KEY:
            outcomes = []
            for detail in rpc_status.Status.FromString(entry.value).details:
                outcome = p4r.Error()
                if not detail.Unpack(outcome):
                    return None
                outcomes.append(outcome)
            return outcomes or None
    return None


def failures(info: Info | None, outcomes: Sequence[p4r.Error], entities: Sequence[Entity], first: int) -> list[Failure]:
    """Failed elements of a batch that starts at position ``first`` of the caller's list."""
    return [
        Failure(
            index=first + index,
            code=code_name(outcome.canonical_code),
            reason=outcome.message or "no reason given",
            entity=describe(info, entity) if info else "an entity",
        )
        for index, (outcome, entity) in enumerate(zip(outcomes, entities, strict=False))
        if outcome.canonical_code
    ]


def without_aborted(found: list[Failure]) -> list[Failure]:
    """Failures of an all-or-none batch that are causes, not consequences (P4Runtime section 12.2)."""
    return [failure for failure in found if failure.code != "ABORTED"] or found


def batch_error(kind: type[BatchError], found: list[Failure], total: int) -> BatchError:
    return kind(without_aborted(found), total)
