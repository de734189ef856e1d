"""The messages of BF Runtime gRPC that a controller needs, as classes of the protobuf library.

No package that could be depended on has them for use (docs/designs/0013-bf-runtime.md), so the wire format is
described here, in lines of our own: number, name, type, ``*`` for repeated fields; fields with the same word after
``|`` exclude each other. Numbers and types are those of the public interface; values of enumerations are constants.
"""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

PACKAGE = "bfrt_proto"
SERVICE = f"/{PACKAGE}.BfRuntime/"

INSERT, MODIFY, DELETE = 1, 2, 4
"""Update.type."""
BIND = 0
"""SetForwardingPipelineConfigRequest.action."""
ALL_PIPES = 0xFFFF
"""TargetDevice.pipe_id."""
ALL_DIRECTIONS = ALL_PARSERS = 0xFF
"""TargetDevice.direction and TargetDevice.prsr_id."""

_FORMAT = """
Status: 1 code int32; 2 message string
TargetDevice: 1 device_id uint32; 2 pipe_id uint32; 3 direction uint32; 4 prsr_id uint32
Error: 1 canonical_code int32; 2 message string; 3 space string; 4 code int32

Exact: 1 value bytes
Ternary: 1 value bytes; 2 mask bytes
Lpm: 1 value bytes; 2 prefix_len int32
Range: 1 low bytes; 2 high bytes
KeyField: 1 field_id uint32; 2 exact Exact |match; 3 ternary Ternary |match; 4 lpm Lpm |match; 5 range Range |match
TableKey: 1 fields KeyField*

Integers: 1 val uint32*
Booleans: 1 val bool*
DataField: 1 field_id uint32; 2 stream bytes |value; 3 float_val float |value; 4 str_val string |value; \
5 int_arr_val Integers |value; 6 bool_arr_val Booleans |value; 8 bool_val bool |value
TableData: 1 action_id uint32; 2 fields DataField*
TableFlags: 1 from_hw bool; 2 key_only bool
TableReadFlag: 1 from_hw bool; 2 key_only bool
TableEntry: 1 table_id uint32; 2 key TableKey |value; 7 handle_id uint32 |value; 3 data TableData; \
4 is_default_entry bool; 5 table_read_flag TableReadFlag; 8 entry_tgt TargetDevice; 9 table_flags TableFlags
TableOperation: 1 table_id uint32; 2 table_operations_type string
PortStatusChg: 1 enable bool
TableAttribute: 1 table_id uint32; 7 port_status_notify PortStatusChg
Entity: 1 table_entry TableEntry |entity; 3 table_attribute TableAttribute |entity; \
4 table_operation TableOperation |entity
Update: 1 type int32; 2 entity Entity

WriteRequest: 1 target TargetDevice; 2 client_id uint32; 3 updates Update*; 4 atomicity int32; 5 p4_name string
WriteResponse: 1 status Error*
ReadRequest: 1 target TargetDevice; 2 client_id uint32; 3 entities Entity*; 4 p4_name string
ReadResponse: 1 entities Entity*; 2 status Error*

Profile: 1 profile_name string; 2 context bytes; 3 binary bytes; 4 pipe_scope uint32*
ForwardingPipelineConfig: 1 p4_name string; 2 bfruntime_info bytes; 3 profiles Profile*
NonP4Config: 1 bfruntime_info bytes
SetForwardingPipelineConfigRequest: 1 device_id uint32; 2 client_id uint32; 3 action int32; 4 dev_init_mode int32; \
5 base_path string; 6 config ForwardingPipelineConfig*
SetForwardingPipelineConfigResponse: 1 set_forwarding_pipeline_config_response_type int32
GetForwardingPipelineConfigRequest: 1 device_id uint32; 2 client_id uint32
GetForwardingPipelineConfigResponse: 1 config ForwardingPipelineConfig*; 2 non_p4_config NonP4Config

Notifications: 1 enable_learn_notifications bool; 2 enable_idletimeout_notifications bool; \
3 enable_port_status_change_notifications bool
Subscribe: 1 is_master bool; 2 device_id uint32; 3 notifications Notifications; 4 status Status
StreamMessageRequest: 1 client_id uint32; 2 subscribe Subscribe |update
PortStatusChgNotification: 1 table_entry TableEntry; 2 port_up bool
StreamMessageResponse: 1 subscribe Subscribe |update; \
4 port_status_change_notification PortStatusChgNotification |update
"""
_SCALARS = {"int32": 5, "uint32": 13, "bool": 8, "string": 9, "bytes": 12, "float": 2}
_MESSAGE_TYPE = 11
_OPTIONAL, _REPEATED = 1, 3


def _file() -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(name="p4mesh/bfruntime.proto", package=PACKAGE, syntax="proto3")
    for line in filter(None, _FORMAT.splitlines()):
        name, _, fields = line.partition(": ")
        message = file.message_type.add(name=name)
        choices: list[str] = []
        for described in fields.split("; "):
            field, _, choice = described.partition(" |")
            number, field_name, type_name = field.split()
            added = message.field.add(name=field_name, number=int(number))
            added.label = _REPEATED if type_name.endswith("*") else _OPTIONAL
            type_name = type_name.rstrip("*")
            added.type = _SCALARS.get(type_name, _MESSAGE_TYPE)
            if added.type == _MESSAGE_TYPE:
                added.type_name = f".{PACKAGE}.{type_name}"
            if choice:
                if choice not in choices:
                    choices.append(choice)
                    message.oneof_decl.add(name=choice)
                added.oneof_index = choices.index(choice)
    return file


_POOL = descriptor_pool.DescriptorPool()
_POOL.Add(_file())


def _message(name: str) -> Any:
    return message_factory.GetMessageClass(_POOL.FindMessageTypeByName(f"{PACKAGE}.{name}"))


DataField = _message("DataField")
Entity = _message("Entity")
Error = _message("Error")
GetForwardingPipelineConfigRequest = _message("GetForwardingPipelineConfigRequest")
GetForwardingPipelineConfigResponse = _message("GetForwardingPipelineConfigResponse")
KeyField = _message("KeyField")
ReadRequest = _message("ReadRequest")
ReadResponse = _message("ReadResponse")
SetForwardingPipelineConfigRequest = _message("SetForwardingPipelineConfigRequest")
SetForwardingPipelineConfigResponse = _message("SetForwardingPipelineConfigResponse")
StreamMessageRequest = _message("StreamMessageRequest")
StreamMessageResponse = _message("StreamMessageResponse")
TableEntry = _message("TableEntry")
TargetDevice = _message("TargetDevice")
Update = _message("Update")
WriteRequest = _message("WriteRequest")
WriteResponse = _message("WriteResponse")
