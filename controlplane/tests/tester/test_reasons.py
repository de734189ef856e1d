"""The controller reads every reason of the program, in the counter that counts it."""

from __future__ import annotations

from p4mesh.tester.contract import load_contract
from p4mesh.tester.dataplane import LOOP_REASONS, PORT_REASONS, TRANSMIT_REASONS


def test_every_reason_of_the_program_is_read_once() -> None:
    contract = load_contract()
    named = {name.removeprefix("REASON_").lower() for name in contract.constants if name.startswith("REASON_")}
    read = [*PORT_REASONS, *LOOP_REASONS, *TRANSMIT_REASONS]
    assert sorted(read) == sorted(named - {"none", "bits"})
