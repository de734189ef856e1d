"""The described messages against another implementation: requests that the Rust client rbfrt has sent.

Method: rbfrt 0.1.11 was run against the fake bf_switchd, which wrote down what came; both understood each other. Here
every byte of these requests must have a meaning, and the client must say the same thing with the same fields.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from bfruntime.test_bfruntime_client import P4INFO, PROGRAM, STREAM
from google.protobuf.unknown_fields import UnknownFieldSet
from support.bfruntime_tables import fixed_tables

from p4mesh.bfruntime import BfrtInfo, messages
from p4mesh.bfruntime.schema import BfSchema, entry_of
from p4mesh.p4runtime import load_p4info
from p4mesh.p4runtime.info import Info

RECORDED = json.loads((Path(__file__).parents[1] / "fixtures" / "bfruntime" / "rbfrt_requests.json").read_text())
PORT: dict[str, Any] = {
    "$SPEED": "BF_SPEED_100G",
    "$FEC": "BF_FEC_TYP_NONE",
    "$N_LANES": 4,
    "$PORT_ENABLE": True,
    "$AUTO_NEGOTIATION": "PM_AN_DEFAULT",
    "$LOOPBACK_MODE": "BF_LPBK_MAC_NEAR",
}
NODE: dict[str, Any] = {"$MULTICAST_RID": 12, "$MULTICAST_LAG_ID": [], "$DEV_PORT": [4, 8]}
GROUP: dict[str, Any] = {
    "$MULTICAST_NODE_ID": [77],
    "$MULTICAST_NODE_L1_XID_VALID": [False],
    "$MULTICAST_NODE_L1_XID": [0],
}


def parsed(recorded: dict[str, str]) -> Any:
    return getattr(messages, recorded["message"]).FromString(bytes.fromhex(recorded["hex"]))


def unknown_fields(message: Any) -> int:
    """The fields of a message, and of those in it, that have no description."""
    inner = [value for field, value in message.ListFields() if field.message_type is not None]
    single = [one for value in inner for one in (value if hasattr(value, "append") else [value])]
    return len(UnknownFieldSet(message)) + sum(map(unknown_fields, single))


def written() -> list[Any]:
    """The table entries that rbfrt has written."""
    requests = [parsed(one) for one in RECORDED["requests"] if one["message"] == "WriteRequest"]
    return [u.entity.table_entry for request in requests for u in request.updates if u.entity.HasField("table_entry")]


def in_order(entry: Any) -> Any:
    """An entry with the fields of its key in the order of their numbers; rbfrt has them in any."""
    entry.key.fields.sort(key=lambda field: field.field_id)
    return entry


@pytest.mark.parametrize("recorded", RECORDED["requests"], ids=lambda one: one["message"])
def test_every_field_of_a_request_is_described(recorded: dict[str, str]) -> None:
    message = parsed(recorded)
    # Subscriptions have more notifications than the client asks for.
    assert unknown_fields(message) == (1 if recorded["message"] == "StreamMessageRequest" else 0)


def test_the_client_says_the_same_as_rbfrt() -> None:
    bfrt = BfrtInfo(PROGRAM.read_bytes(), fixed_tables())
    schema = BfSchema(bfrt, Info(load_p4info(P4INFO)))
    ours = {
        "stream": schema.table_entry("stream", {"stream": 3}, "set_stream", STREAM),
        "receiver": schema.table_entry(
            "receiver",
            {"port": 4, "destination_mac": (0x0200_0000_0001, (1 << 48) - 1)},
            "expected",
            {"flow_offset": 0, "receiver_tag": 1},
            priority=(1 << 24) - 1 - 7,
        ),
        "node": entry_of(bfrt.table("$pre.node"), {"$MULTICAST_NODE_ID": 77}, None, NODE),
        "group": entry_of(bfrt.table("$pre.mgid"), {"$MGID": 2}, None, GROUP),
        "port": entry_of(bfrt.table("$PORT"), {"$DEV_PORT": 8}, None, PORT),
        "loop_ports": schema.value_set("loop_ports", [{"": 8}]).members[0],
    }
    theirs = [in_order(entry) for entry in written()]
    assert [name for name, entry in ours.items() if in_order(entry.message) not in theirs] == []
    default = schema.default_entry("receive_run", "set_receive_run", {"run_id": 9}).message
    (of_rbfrt,) = [entry for entry in theirs if entry.is_default_entry]
    assert (of_rbfrt.table_id, of_rbfrt.data) == (default.table_id, default.data)


def test_data_of_actions_is_read_in_both_forms() -> None:
    bfrt = BfrtInfo(PROGRAM.read_bytes(), fixed_tables())
    mirror = bfrt.table("$mirror.cfg")
    assert mirror.action("$coalescing").fields["$timeout_usec"].width_bits == 32
    assert mirror.action("$normal").fields == {} and mirror.data["$direction"].kind == "string"
    assert "interval_ticks" in bfrt.table("stream").action("set_stream").fields
