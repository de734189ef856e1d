"""The fixed tables that the fake bf_switchd has, with their public numbers, as bfrt.json lists them."""

from __future__ import annotations

import json
from typing import Any

SPEEDS = tuple(f"BF_SPEED_{rate}" for rate in ("NONE", *(f"{gbps}G" for gbps in (1, 10, 25, 40, 50, 100, 200, 400))))
FECS = ("BF_FEC_TYP_NONE", "BF_FEC_TYP_FIRECODE", "BF_FEC_TYP_REED_SOLOMON", "BF_FEC_TYP_FC", "BF_FEC_TYP_RS")
_AUTONEGOTIATION = ("PM_AN_DEFAULT", "PM_AN_FORCE_ENABLE", "PM_AN_FORCE_DISABLE")
_LOOPBACK = tuple(
    f"BF_LPBK_{mode}" for mode in ("NONE", "MAC_NEAR", "MAC_FAR", "PCS_NEAR", "SERDES_NEAR", "SERDES_FAR")
)
_STATISTICS = {
    "$FramesReceivedOK": 1,
    "$FramesReceivedwithFCSError": 3,
    "$FramesReceivedoftypePAUSE": 10,
    "$FramesReceivedUndersized": 12,
    "$FragmentsReceived": 14,
    "$PriorityPauseFrames": 16,
    "$FramesDroppedBufferFull": 20,
    "$FramesTransmittedOK": 33,
    "$FramesTransmittedwithError": 35,
}
_DROPS_OF_PIPE = {
    "total_buffer_full_drop_packets": 1,
    "ig_no_dest_drop_packets": 8,
    "ig_buf_full_drop_packets": 9,
    "eg_total_drop_packets": 10,
    "mc_queue_drop_packets": 11,
    **{f"mc_input_fifo_{fifo}_drop_packets": 12 + fifo for fifo in range(4)},
}


def _field(number: int, name: str, kind: str, **more: Any) -> dict[str, Any]:
    form = {"type": kind} | ({"choices": list(more.pop("choices"))} if "choices" in more else {})
    read_only, mandatory = more.pop("read_only", False), more.pop("mandatory", False)
    singleton = {"id": number, "name": name, "repeated": more.pop("repeated", False), "annotations": [], "type": form}
    return {"mandatory": mandatory, "read_only": read_only, "singleton": singleton}


def _table(
    number: int, name: str, kind: str, size: int, key: tuple[str, str] | None, data: list[Any]
) -> dict[str, Any]:
    return {
        "name": name,
        "id": number,
        "table_type": kind,
        "size": size,
        "key": [
            {
                "id": 1,
                "name": key_name,
                "repeated": False,
                "annotations": [],
                "mandatory": True,
                "match_type": "Exact",
                "type": {"type": key_type},
            }
            for key_name, key_type in ([key] if key else [])
        ],
        "data": data,
        "supported_operations": [],
        "attributes": ["port_status_notif_cb"] if name == "$PORT" else [],
    }


def fixed_tables(family: str = "tf1", more_loopback: tuple[str, ...] = ()) -> bytes:
    """The fixed tables of a Tofino of family ``tf1`` or ``tf2``, which has ``more_loopback`` as
    ``$LOOPBACK_MODE``.

    The data of their actions has the form that the drivers give it, not the one of the compiler.
    """
    return json.dumps(
        {
            "schema_version": "1.0.0",
            "tables": [
                _table(
                    4278255617,
                    "$PORT",
                    "PortConfigure",
                    256,
                    ("$DEV_PORT", "uint32"),
                    [
                        _field(1, "$SPEED", "string", choices=SPEEDS),
                        _field(2, "$FEC", "string", choices=FECS),
                        _field(3, "$N_LANES", "uint32"),
                        _field(4, "$PORT_ENABLE", "bool"),
                        _field(5, "$AUTO_NEGOTIATION", "string", choices=_AUTONEGOTIATION),
                        _field(6, "$LOOPBACK_MODE", "string", choices=(*_LOOPBACK, *more_loopback)),
                        _field(11, "$TX_PAUSE_FRAME_EN", "bool"),
                        _field(12, "$RX_PAUSE_FRAME_EN", "bool"),
                        _field(25, "$PORT_UP", "bool", read_only=True),
                        _field(26, "$PORT_NAME", "string", read_only=True),
                        _field(30, "$TIMESTAMP_1588_VALID", "bool", read_only=True),
                        _field(31, "$TIMESTAMP_1588_VALUE", "uint64", read_only=True),
                        _field(32, "$TIMESTAMP_1588_ID", "uint32", read_only=True),
                    ],
                ),
                _table(
                    4278255618,
                    "$PORT_STAT",
                    "PortStat",
                    256,
                    ("$DEV_PORT", "uint32"),
                    [_field(number, name, "uint64") for name, number in _STATISTICS.items()],
                ),
                *(
                    _table(
                        number,
                        f"{family}.tm.counter.{kind}",
                        f"TmCounter{kind}",
                        288,
                        ("dev_port", "uint32"),
                        [
                            _field(1, "drop_count_packets", "uint64"),
                            _field(2, "usage_cells", "uint64", read_only=True),
                        ],
                    )
                    for kind, number in {"ig_port": 4278517825, "eg_port": 4278517826}.items()
                ),
                _table(
                    4278517829,
                    f"{family}.tm.counter.pipe",
                    "TmCounterPipe",
                    1,
                    None,
                    [_field(number, name, "uint64") for name, number in _DROPS_OF_PIPE.items()],
                ),
                _table(
                    4278452225,
                    "$mirror.cfg",
                    "MirrorCfg",
                    1024,
                    ("$sid", "uint16"),
                    [
                        _field(5, "$session_enable", "bool"),
                        _field(6, "$direction", "string", choices=("INGRESS", "EGRESS", "BOTH")),
                        _field(7, "$ucast_egress_port", "uint32"),
                        _field(8, "$ucast_egress_port_valid", "bool"),
                        _field(23, "$max_pkt_len", "uint16"),
                    ],
                )
                | {
                    "action_specs": [
                        {"id": 1, "name": "$coalescing", "data": [_field(3, "$timeout_usec", "uint32")]},
                        {"id": 2, "name": "$normal", "data": []},
                    ]
                },
                _table(
                    4278321153,
                    "$pre.mgid",
                    "PreMgid",
                    65536,
                    ("$MGID", "uint16"),
                    [
                        _field(1, "$MULTICAST_NODE_ID", "uint32", repeated=True),
                        _field(2, "$MULTICAST_NODE_L1_XID_VALID", "bool", repeated=True),
                        _field(3, "$MULTICAST_NODE_L1_XID", "uint16", repeated=True),
                    ],
                ),
                _table(
                    4278321154,
                    "$pre.node",
                    "PreNode",
                    16777216,
                    ("$MULTICAST_NODE_ID", "uint32"),
                    [
                        _field(1, "$MULTICAST_RID", "uint16", mandatory=True),
                        _field(2, "$MULTICAST_LAG_ID", "uint8", mandatory=True, repeated=True),
                        _field(3, "$DEV_PORT", "uint32", mandatory=True, repeated=True),
                    ],
                ),
            ],
        }
    ).encode()
