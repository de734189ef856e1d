"""A P4Runtime server in front of the model of a chip (tofino_chip.py).

As Stratum does, it reads ports of groups from ``egress_port``.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent import futures
from queue import SimpleQueue
from typing import Any

import grpc
from support.certificates import Certificates
from support.tofino_chip import CPU, Device, TofinoChip

from p4mesh.p4runtime.stubs import p4i, p4r, rpc_status


class FakeTofino(TofinoChip):
    """The switch."""

    def __init__(
        self,
        device: Device,
        *,
        value_sets: bool = True,
        cpu: int = CPU,
        reports_taken: int | None = None,
        tls: Certificates | None = None,
    ) -> None:
        super().__init__(device, cpu=cpu, reports_taken=reports_taken)
        self.value_sets = value_sets
        self.device_config = b""
        self.elections: list[tuple[int, int]] = []
        """(device id, election id) of each arbitration."""
        self._to_controller: SimpleQueue[p4r.StreamMessageResponse | None] = SimpleQueue()
        self._server = grpc.server(futures.ThreadPoolExecutor(4))
        self._server.add_generic_rpc_handlers((self._handlers(),))
        if tls is None:
            port = self._server.add_insecure_port("127.0.0.1:0")
        else:
            own = [(tls.server_key.read_bytes(), tls.server.read_bytes())]
            credentials = grpc.ssl_server_credentials(own, tls.ca.read_bytes(), require_client_auth=True)
            port = self._server.add_secure_port("127.0.0.1:0", credentials)
        self.address = f"127.0.0.1:{port}"

    def __enter__(self) -> FakeTofino:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._to_controller.put(None)
        self._server.stop(0)

    def to_controller(self, kind: int, port: int, time: int, payload: bytes) -> None:
        message = p4r.StreamMessageResponse()
        message.packet.payload = payload
        values = {"kind": kind, "flags": 0, "port": port, "time": time}
        for field in self._header("packet_in").metadata:
            message.packet.metadata.add(metadata_id=field.id, value=values[field.name].to_bytes(8, "big").lstrip(b"\0"))
        self._to_controller.put(message)

    def _header(self, name: str) -> Any:
        return next(h for h in self.info.controller_packet_metadata if h.preamble.name == name)

    def _packet_out(self, packet: p4r.PacketOut) -> None:
        fields = self._header("packet_out").metadata
        names = {field.id: field.name for field in fields}
        request = {names[m.metadata_id]: int.from_bytes(m.value, "big") for m in packet.metadata}
        self.packet_out(request, packet.payload, sum(field.bitwidth for field in fields) // 8)

    def _stream(self, requests: Iterator[p4r.StreamMessageRequest], _: object) -> Iterator[p4r.StreamMessageResponse]:
        for request in requests:
            if request.HasField("arbitration"):
                asked = request.arbitration
                self.elections.append((asked.device_id, asked.election_id.low))
                answer = p4r.StreamMessageResponse()
                answer.arbitration.CopyFrom(asked)
                yield answer
            elif request.HasField("packet"):
                self._packet_out(request.packet)
            while not self._to_controller.empty():
                message = self._to_controller.get()
                if message is None:
                    return
                yield message

    def _set_pipeline(self, request: Any, _: object) -> Any:
        self.info: p4i.P4Info = request.config.p4info
        self.device_config = request.config.p4_device_config
        self._counter_names = {counter.preamble.id: counter.preamble.alias for counter in self.info.counters}
        return p4r.SetForwardingPipelineConfigResponse()

    def _write(self, request: p4r.WriteRequest, context: Any) -> p4r.WriteResponse:
        for update in request.updates:
            kind = update.entity.WhichOneof("entity")
            gone = update.type == p4r.Update.DELETE
            if kind == "table_entry":
                self._write_entry(update.entity.table_entry, gone)
            elif kind == "packet_replication_engine_entry":
                group = update.entity.packet_replication_engine_entry.multicast_group_entry
                self.groups[group.multicast_group_id] = [(r.egress_port, r.instance) for r in group.replicas]
            elif kind == "value_set_entry" and self.value_sets:
                members = update.entity.value_set_entry.members
                self.loop_ports = [int.from_bytes(m.match[0].exact.value, "big") for m in members]
            else:
                _refuse(context, f"Unsupported entity type: {kind}")
        return p4r.WriteResponse()

    def _write_entry(self, entry: Any, gone: bool) -> None:
        table = next(t for t in self.info.tables if t.preamble.id == entry.table_id)
        name = table.preamble.name.rpartition(".")[2]
        key = next(iter(entry.match)).exact.value if len(entry.match) == 1 else b""
        place = int.from_bytes(key, "big") if key else b"".join(sorted(m.SerializeToString() for m in entry.match))
        if gone:
            self.remove_entry(name, place)
            return
        action = next(a for a in self.info.actions if a.preamble.id == entry.action.action.action_id)
        params = {p.id: p.name for p in action.params}
        kept: dict[str, Any] = {params[p.param_id]: int.from_bytes(p.value, "big") for p in entry.action.action.params}
        kept["rank"] = entry.priority
        fields = {field.id: field.name for field in table.match_fields}
        for match in entry.match:
            if match.HasField("exact"):
                kept[fields[match.field_id]] = int.from_bytes(match.exact.value, "big")
            else:
                value, mask = (int.from_bytes(part, "big") for part in (match.ternary.value, match.ternary.mask))
                kept[fields[match.field_id]] = lambda found, v=value, m=mask: found & m == v
        self.set_entry(name, place, kept)

    def _read(self, request: p4r.ReadRequest, _: object) -> Iterator[p4r.ReadResponse]:
        answer = p4r.ReadResponse()
        for entity in request.entities:
            asked = entity.counter_entry
            found = answer.entities.add().counter_entry
            found.CopyFrom(asked)
            name = self._counter_names[asked.counter_id]
            found.data.packet_count = self.counters[name, asked.index.index]
            found.data.byte_count = self.octets[name, asked.index.index]
        yield answer

    def _handlers(self) -> Any:
        def unary(handler: Any, request: Any) -> Any:
            return grpc.unary_unary_rpc_method_handler(
                handler, request.FromString, lambda message: message.SerializeToString()
            )

        return grpc.method_handlers_generic_handler(
            "p4.v1.P4Runtime",
            {
                "SetForwardingPipelineConfig": unary(self._set_pipeline, p4r.SetForwardingPipelineConfigRequest),
                "Write": unary(self._write, p4r.WriteRequest),
                "Read": grpc.unary_stream_rpc_method_handler(
                    self._read, p4r.ReadRequest.FromString, p4r.ReadResponse.SerializeToString
                ),
                "StreamChannel": grpc.stream_stream_rpc_method_handler(
                    self._stream, p4r.StreamMessageRequest.FromString, p4r.StreamMessageResponse.SerializeToString
                ),
            },
        )


def _refuse(context: Any, text: str) -> None:
    """End a Write of one update as servers do: every element has a status in the details."""
    status = rpc_status.Status(code=2, message="one or more updates failed")
    status.details.add().Pack(p4r.Error(canonical_code=12, message=text))
    context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
    context.abort(grpc.StatusCode.UNKNOWN, "one or more updates failed")
