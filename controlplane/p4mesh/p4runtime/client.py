"""A P4Runtime controller for one device."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Literal

import grpc

from p4mesh.no_answer import why_no_answer
from p4mesh.p4runtime.channel import answers, channel_options
from p4mesh.p4runtime.credentials import TlsCredentials
from p4mesh.p4runtime.errors import ConnectError, Failure, P4RuntimeError, PipelineError, ReadError, WriteError
from p4mesh.p4runtime.info import load_p4info
from p4mesh.p4runtime.packet_ins import PacketColumns, PacketIn, PacketRun
from p4mesh.p4runtime.packet_io import PacketCodec
from p4mesh.p4runtime.schema import CounterData, Schema
from p4mesh.p4runtime.service import Service
from p4mesh.p4runtime.status import batch_error, batch_errors, failures, raised
from p4mesh.p4runtime.stream import Stream, packets_of, take
from p4mesh.p4runtime.stubs import Entity, p4i, p4r
from p4mesh.p4runtime.values import Value
from p4mesh.p4runtime.writing import Requests, Update
from p4mesh.quantities import number_text
from p4mesh.regular_files import MOST_PROGRAM_BYTES, read_bytes

_METADATA_BYTES = 64 << 20
_NO_TLS = (
    "something listens there: does its server use TLS, is its certificate signed by the authority that is given, is "
    "the host of the address (or server_name) in it, and does it ask for a certificate of the client?"
)
"""The outcomes of a large batch come in the metadata of the answer."""

_CALL_METADATA = (("p4mesh-details-bytes", str(_METADATA_BYTES)),)
"""Our server lists as many outcomes as a client with default limits takes, unless the call asks for more."""

Atomicity = Literal["CONTINUE_ON_ERROR", "ROLLBACK_ON_ERROR", "DATAPLANE_ATOMIC"]
PipelineAction = Literal["VERIFY", "VERIFY_AND_SAVE", "VERIFY_AND_COMMIT", "COMMIT", "RECONCILE_AND_COMMIT"]


def wall_clock_s() -> float:
    """Seconds by which waits for the answers of a switch are measured; a trial itself goes by the target's time."""
    return time.monotonic()


class Client:
    """The primary controller of a device between entering and leaving the context.

    Errors are :class:`P4RuntimeError` and its children. Not for use by several threads at once.
    """

    def __init__(
        self,
        address: str,
        device_id: int = 1,
        election_id: int = 1,
        *,
        role: str = "",
        timeout_s: float = 10.0,
        tls: TlsCredentials | None = None,
    ) -> None:
        self.address = address
        self.device_id = device_id
        self.election_id = election_id
        self.role = role
        self.timeout_s = timeout_s
        self.tls = tls
        """None: the connection is not encrypted."""
        self.packet_outs_sent = 0
        """Packet-outs since the client has connected."""
        self.packet_ins_taken = 0
        """Packet-ins that the caller has taken, since the client has connected."""
        self._schema: Schema | None = None
        self._codec: PacketCodec | None = None

    def __enter__(self) -> Client:
        """Connect and become primary; raises ParameterError for credentials that cannot be used."""
        self._connect()
        return self

    def reconnect(self) -> None:
        """Connect again, after the server has gone and come back; become primary with the next election id.

        The server may have forgotten its pipeline and every entry: call :meth:`set_pipeline`, or :meth:`load_schema` to
        read its program. Packet-ins and digests that were not taken are lost.
        """
        self._stream.close()
        self._channel.close()
        self.election_id += 1
        self._connect()

    def _connect(self) -> None:
        options = channel_options(_METADATA_BYTES)
        if self.address.startswith("unix:"):
            # Otherwise it is the path with %2F for each slash, which HTTP/2 servers in Rust refuse.
            options.append(("grpc.default_authority", "localhost"))
        if self.tls is None:
            self._channel = grpc.insecure_channel(self.address, options=options)
        else:
            if self.tls.server_name:
                options.append(("grpc.ssl_target_name_override", self.tls.server_name))
            self._channel = grpc.secure_channel(self.address, self.tls.channel_credentials(), options=options)
        if not answers(self._channel, self.timeout_s):
            self._channel.close()
            raise ConnectError(
                f"no P4Runtime server answers at {self.address} within {number_text(self.timeout_s)} s",
                hint=why_no_answer(self.address) if self.tls is None else why_no_answer(self.address, listens=_NO_TLS),
            )
        self._stub = Service(self._channel)
        self._requests = Requests(self.device_id, self.election_id, self.role)
        self.packet_outs_sent = self.packet_ins_taken = 0
        try:
            self._stream = Stream(self._stub, self.address, self.device_id, self.election_id, self.role, self.timeout_s)
        except P4RuntimeError:
            self._channel.close()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Leave the device to other controllers."""
        self._stream.close()
        self._channel.close()

    @property
    def is_connected(self) -> bool:
        """False once the server has gone; :meth:`reconnect` is for when it is back."""
        return not self._stream.has_ended

    @property
    def is_primary(self) -> bool:
        """False once another controller has taken over, or the connection is gone."""
        return self._stream.is_primary

    def round_trip(self) -> None:
        """Wait until the server has handled, and answered, all earlier messages of the stream.

        The controller arbitrates again, with the next election id: servers need not answer to the same one.
        """
        self.election_id += 1
        self._requests = Requests(self.device_id, self.election_id, self.role)
        self._stream.arbitrate(self.device_id, self.election_id, self.role, self.timeout_s)

    # Pipeline

    @property
    def schema(self) -> Schema:
        """Builds entities by the names of the current P4Info."""
        if self._schema is None:
            raise PipelineError("no pipeline is known", hint="call set_pipeline() or load_schema() first")
        return self._schema

    def set_pipeline(
        self,
        p4info_path: str | Path,
        json_path: str | Path,
        *,
        action: PipelineAction = "VERIFY_AND_COMMIT",
        cookie: int | None = None,
    ) -> None:
        """Send P4Info (text format) and the compiled program. Forwarding state is lost unless reconciled."""
        info = load_p4info(p4info_path)
        try:
            program = read_bytes(Path(json_path), MOST_PROGRAM_BYTES)
        except OSError as error:
            raise PipelineError(f"cannot read {json_path}: {error.strerror}") from None
        self.set_pipeline_config(info, program, action=action, cookie=cookie)

    def set_pipeline_config(
        self,
        info: p4i.P4Info,
        program: bytes,
        *,
        action: PipelineAction = "VERIFY_AND_COMMIT",
        cookie: int | None = None,
    ) -> None:
        """Send P4Info and the compiled program."""
        request = self._pipeline_request(action)
        request.config.p4info.CopyFrom(info)
        request.config.p4_device_config = program
        if cookie is not None:
            request.config.cookie.cookie = cookie
        self._send_pipeline(request)
        if action != "VERIFY":
            self._use(info)

    def commit_pipeline(self) -> None:
        """Realize the config that was saved with VERIFY_AND_SAVE (P4Runtime section 14)."""
        self._send_pipeline(self._pipeline_request("COMMIT"))

    def _pipeline_request(self, action: PipelineAction) -> p4r.SetForwardingPipelineConfigRequest:
        request = p4r.SetForwardingPipelineConfigRequest(device_id=self.device_id, role=self.role)
        request.election_id.CopyFrom(self._requests.election_id)
        request.action = p4r.SetForwardingPipelineConfigRequest.Action.Value(action)
        return request

    def _send_pipeline(self, request: p4r.SetForwardingPipelineConfigRequest) -> None:
        try:
            self._stub.SetForwardingPipelineConfig(request)
        except grpc.RpcError as error:
            if error.code() in (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.UNIMPLEMENTED):
                raise PipelineError(f"the switch refused the pipeline: {error.details()}") from None
            raise raised(error, "set the pipeline", self.address) from None

    def load_schema(self) -> None:
        """Take the P4Info of the program that the switch runs."""
        config = self._get_pipeline("P4INFO_AND_COOKIE")
        if not config.HasField("p4info"):
            raise PipelineError("the switch has no pipeline", hint="call set_pipeline() first")
        self._use(config.p4info)

    def get_pipeline_cookie(self) -> int | None:
        """Cookie of the switch's pipeline config; ``None`` without one (P4Runtime section 15)."""
        config = self._get_pipeline("COOKIE_ONLY")
        return config.cookie.cookie if config.HasField("cookie") else None

    def get_pipeline(self) -> p4r.ForwardingPipelineConfig:
        """Pipeline config of the switch (P4Runtime section 15)."""
        return self._get_pipeline("ALL")

    def _get_pipeline(self, kind: str) -> p4r.ForwardingPipelineConfig:
        request = p4r.GetForwardingPipelineConfigRequest(device_id=self.device_id)
        request.response_type = p4r.GetForwardingPipelineConfigRequest.ResponseType.Value(kind)
        try:
            answer: p4r.GetForwardingPipelineConfigResponse = self._stub.GetForwardingPipelineConfig(
                request, timeout=self.timeout_s
            )
        except grpc.RpcError as error:
            raise raised(error, "get the pipeline", self.address) from None
        return answer.config

    def _use(self, info: p4i.P4Info) -> None:
        self._schema = Schema(info)
        self._codec = PacketCodec(self._schema.info)

    def capabilities(self) -> str:
        """P4Runtime version of the server, such as ``1.4.1`` (section 17)."""
        try:
            answer: p4r.CapabilitiesResponse = self._stub.Capabilities(
                p4r.CapabilitiesRequest(), timeout=self.timeout_s
            )
        except grpc.RpcError as error:
            raise raised(error, "get the capabilities", self.address) from None
        return answer.p4runtime_api_version

    # Writing

    def insert(self, entities: Iterable[Entity]) -> None:
        """Insert entities, in order."""
        self.write([("INSERT", entity) for entity in entities])

    def modify(self, entities: Iterable[Entity]) -> None:
        """Modify entities, in order."""
        self.write([("MODIFY", entity) for entity in entities])

    def delete(self, entities: Iterable[Entity]) -> None:
        """Delete entities, in order."""
        self.write([("DELETE", entity) for entity in entities])

    def write(self, updates: Sequence[Update], atomicity: Atomicity = "CONTINUE_ON_ERROR") -> None:
        """Apply updates in order (P4Runtime section 12); all are tried, then :class:`WriteError` lists the failed ones.

        With another atomicity they go in one request and are applied all or none.
        """
        found = []
        waiting: tuple[int, Sequence[Update], grpc.Future[p4r.WriteResponse]] | None = None
        for first, part, request in self._requests.split(updates, atomicity):
            # The next request is encoded while the switch works on this one.
            if waiting is not None:
                found += self._finish(*waiting)
            waiting = (first, part, self._stub.Write.future(request, metadata=_CALL_METADATA))
        if waiting is not None:
            found += self._finish(*waiting)
        if found:
            raise batch_error(WriteError, found, len(updates))

    def _finish(self, first: int, part: Sequence[Update], call: grpc.Future[p4r.WriteResponse]) -> list[Failure]:
        try:
            call.result()
        except grpc.RpcError as error:
            outcomes = batch_errors(error)
            if outcomes is None:
                raise raised(error, "write", self.address) from None
            info = self._schema.info if self._schema else None
            return failures(info, outcomes, [entity for _, entity in part], first)
        return []

    # Reading

    def read(self, *wanted: Entity) -> Iterator[Entity]:
        """Entities that the filters select, as they arrive (P4Runtime section 13)."""
        for response in self._responses(wanted):
            yield from response.entities

    def _responses(self, wanted: Sequence[Entity]) -> Iterator[p4r.ReadResponse]:
        yield from self._answers(self._read_request(wanted))

    def _read_request(self, wanted: Sequence[Entity]) -> p4r.ReadRequest:
        return p4r.ReadRequest(device_id=self.device_id, entities=wanted, role=self.role)

    def _answers(self, request: p4r.ReadRequest) -> Iterator[p4r.ReadResponse]:
        try:
            yield from self._stub.Read(request, metadata=_CALL_METADATA)
        except grpc.RpcError as error:
            outcomes = batch_errors(error)
            if outcomes is None:
                raise raised(error, "read", self.address) from None
            info = self._schema.info if self._schema else None
            wanted = request.entities
            raise batch_error(ReadError, failures(info, outcomes, wanted, 0), len(wanted)) from None

    def read_counters(self, name: str, indices: Iterable[int] | None = None) -> list[tuple[int, CounterData]]:
        """(index, value) of some cells of a counter, or of all."""
        schema = self.schema
        wanted = [schema.counter(name)] if indices is None else schema.counter_cells(name, indices)
        return [
            (cell.index.index, CounterData(cell.data.packet_count, cell.data.byte_count))
            for response in self._responses(wanted)
            for cell in [entity.counter_entry for entity in response.entities]
        ]

    def packet_counts(self, cells: Mapping[str, Iterable[int]]) -> Callable[[], list[int]]:
        """Prepare to read the same counter cells again and again: a call returns the packets of all of them.

        They are in the order of ``cells``, indices by counter.
        """
        wanted = [cell for name, indices in cells.items() for cell in self.schema.counter_cells(name, indices)]
        request = self._read_request(wanted)
        places = [(cell.counter_entry.counter_id, cell.counter_entry.index.index) for cell in wanted]

        def read() -> list[int]:
            # P4Runtime does not say in which order the cells come.
            packets = {
                (cell.counter_id, cell.index.index): cell.data.packet_count
                for response in self._answers(request)
                for cell in [entity.counter_entry for entity in response.entities]
            }
            return [packets[place] for place in places]

        return read

    def read_counter_array(self, name: str) -> tuple[array[int], array[int]]:
        """(packets, bytes) of all cells of a counter, in order of their index."""
        packets, octets = array("Q"), array("Q")
        for response in self._responses([self.schema.counter(name)]):
            cells = [entity.counter_entry.data for entity in response.entities]
            packets.extend([cell.packet_count for cell in cells])
            octets.extend([cell.byte_count for cell in cells])
        return packets, octets

    def read_registers(self, name: str, index: int | None = None) -> list[int]:
        """Value of one cell of a register of unsigned numbers, or of all cells."""
        values = []
        for entity in self.read(self.schema.register(name, index)):
            data = entity.register_entry.data
            kind = data.WhichOneof("data")
            value = getattr(data, kind) if kind else b""
            values.append(int(value) if isinstance(value, bool) else int.from_bytes(value, "big"))
        return values

    # Packet I/O

    @property
    def _known_codec(self) -> PacketCodec:
        if self._codec is None:
            raise PipelineError("no pipeline is known", hint="call set_pipeline() or load_schema() first")
        return self._codec

    def packet_out(self, payload: bytes, **metadata: Value) -> None:
        """Send a frame to the program; ``packet_out`` header fields that are left out are 0."""
        self._stream.send(self._known_codec.packet_out(payload, metadata))
        self.packet_outs_sent += 1

    def take_packet_ins(self, count: int, timeout_s: float | None = None) -> list[PacketIn]:
        """Takes the next packet-ins: ``count``, or fewer when none has come for ``timeout_s``."""
        return self._known_codec.packet_ins(self._take(count, timeout_s))

    def take_packet_columns(self, count: int, timeout_s: float | None = None) -> list[PacketColumns]:
        """Takes the next packet-ins in columns, in their order: as many as :meth:`take_packet_ins`.

        Thousands of packet-ins of one form are a few columns, made without an object for each of them.
        """
        return self._known_codec.packet_columns(self._take(count, timeout_s))

    def lost_packet_ins(self) -> dict[str, int]:
        """None: P4Runtime does not tell what was lost on the way here."""
        return {}

    def _take(self, count: int, timeout_s: float | None) -> list[PacketRun | p4r.PacketIn]:
        limit_s = self.timeout_s if timeout_s is None else timeout_s
        taken: list[PacketRun | p4r.PacketIn] = []
        missing = count
        while missing > 0 and (arrived := self._stream.take_packet_ins(missing, limit_s)):
            taken += arrived
            missing -= sum(map(packets_of, arrived))
        self.packet_ins_taken += count - missing
        if missing > 0:
            self._stream.check()
        return taken

    def next_digest(self, timeout_s: float | None = None) -> p4r.DigestList:
        """Takes the next digest list (P4Runtime section 9.8); raises WaitError when none comes."""
        return take(self._stream.digests, self.timeout_s if timeout_s is None else timeout_s, "digest")  # type: ignore[return-value]

    def acknowledge_digest(self, digest: p4r.DigestList) -> None:
        """Tell the switch that a digest list was handled."""
        message = p4r.StreamMessageRequest()
        message.digest_ack.digest_id = digest.digest_id
        message.digest_ack.list_id = digest.list_id
        self._stream.send(message)

    def next_idle_notification(self, timeout_s: float | None = None) -> p4r.IdleTimeoutNotification:
        """Takes the next idle timeout notification (P4Runtime section 16.5); raises WaitError when none comes."""
        limit_s = self.timeout_s if timeout_s is None else timeout_s
        return take(self._stream.idle_notifications, limit_s, "idle notification")  # type: ignore[return-value]
