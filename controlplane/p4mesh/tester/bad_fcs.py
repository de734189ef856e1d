"""Frames with a bad FCS: which ones the ports must damage. The program cannot, the MAC behind it may."""

from __future__ import annotations

from p4mesh.target.base import BadFcsRule
from p4mesh.tester.contract import Contract
from p4mesh.tester.frames import bytes_before_signature
from p4mesh.tester.plan import Plan
from p4mesh.tester.stations import receiver_tag

_RECEIVER_SHIFT, _RUN_SHIFT, _MAGIC_SHIFT = 16, 24, 32


def bad_fcs_rules(plan: Plan, run: int, contract: Contract) -> dict[int, list[BadFcsRule]]:
    """Rules for the ports, by transmit port: which frames leave with a bad FCS.

    A rule is the place of the signature in the frame, in bytes, and the range of the six bytes there (magic, run,
    receiver tag, flow) that it damages.
    """
    rules: dict[int, set[BadFcsRule]] = {}
    damaged = {item.origin: item.stream for item in plan.streams if item.stream.bad_fcs}
    for flow in plan.flows if damaged else ():
        stream = damaged.get(flow.stream)
        if stream is None:
            continue
        offset_bytes = bytes_before_signature(stream.frame)
        tag = 0 if stream.pattern.to_many else receiver_tag(flow.rx_port)
        start = contract["SIGNATURE_MAGIC"] << _MAGIC_SHIFT | run << _RUN_SHIFT
        start |= tag << _RECEIVER_SHIFT | flow.sequence_cell % contract["FLOWS"]
        rules.setdefault(flow.tx_port, set()).add((offset_bytes, start, start))
    return {port: sorted(chosen) for port, chosen in rules.items()}
