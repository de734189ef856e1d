"""Frames with a bad FCS: which ones the ports must damage. The program cannot, the MAC behind it may."""

from __future__ import annotations

from p4mesh.target.base import BadFcsRule
from p4mesh.target.contract import Contract
from p4mesh.trial.frames import headers_of
from p4mesh.trial.plan import Plan

_RUN_SHIFT, _MAGIC_SHIFT = 24, 32


def bad_fcs_rules(plan: Plan, run: int, contract: Contract) -> dict[int, list[BadFcsRule]]:
    """Return by port the ranges of magic, run and flow (six bytes of the signature) of streams with bad FCS."""
    rules: dict[int, list[BadFcsRule]] = {}
    for stream in plan.streams:
        if not stream.stream.bad_fcs:
            continue
        offset_bytes = len(headers_of(stream.stream.template, stream.stream.frame_size_bytes))
        for transmitter in stream.transmitters:
            signature = contract["SIGNATURE_MAGIC"] << _MAGIC_SHIFT | run << _RUN_SHIFT
            first = signature | transmitter.flow_base
            rules.setdefault(transmitter.port, []).append((offset_bytes, first, first + transmitter.positions - 1))
    return rules
