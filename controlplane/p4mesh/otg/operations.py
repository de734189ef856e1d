"""The operations of the API, each once for both transports: its name, its path, its messages, what the session does."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message
from snappi import otg_pb2 as pb2

from p4mesh.errors import EnvironmentFault, OtgBusyError, P4MeshError, UnsupportedError, UsageError
from p4mesh.otg.elements import OtgErrors
from p4mesh.otg.session import Session
from p4mesh.otg.worker import Worker

MOST_REQUEST_BYTES = 4 << 20
"""Largest message of a request: what snappi makes of it takes 40 times its bytes."""
PATIENCE_S = 10.0
"""Time in which a request, or what begins a connection, is to have come."""
WITHOUT_TOKEN = "the token is missing or wrong: it is the one that p4mesh otg has printed, or P4MESH_OTG_TOKEN"


@dataclass(frozen=True)
class Operation:
    """One operation."""

    name: str
    """Name of the call of gRPC."""
    method: str
    path: str
    request: type[Message] | None
    request_field: str
    """Field of the call's request that holds the message."""
    response_field: str
    """Field of the call's response that holds the message, or the bytes."""
    act: Callable[[Session, Any], Any]
    polls: bool = False
    """Whether clients ask again and again until something has changed."""
    changes: bool = True
    """Whether it changes the session, which only its owner may."""

    def ask(self, worker: Worker, client: str, message: Any) -> Future[Any]:
        """Let the session do it for a client."""

        def act(session: Session) -> Any:
            if self.changes:
                preempts = isinstance(message, pb2.Config) and message.options.port_options.location_preemption
                worker.ownership.take(client, lease_s=session.lease_s, preempts=preempts)
            worker.ownership.seen(client)
            return self.act(session, message)

        return worker.ask(act, poll=f"{client} {self.name} {message}" if self.polls else "")


OPERATIONS = (
    Operation("SetConfig", "POST", "/config", pb2.Config, "config", "warning", Session.set_config),
    Operation("GetConfig", "GET", "/config", None, "", "config", lambda it, _: it.config(), changes=False),
    Operation("UpdateConfig", "PATCH", "/config", pb2.ConfigUpdate, "config_update", "warning", Session.update_config),
    Operation(
        *("AppendConfig", "PATCH", "/config/append", pb2.ConfigAppend, "config_append", "warning"),
        Session.append_config,
    ),
    Operation(
        *("DeleteConfig", "PATCH", "/config/delete", pb2.ConfigDelete, "config_delete", "warning"),
        Session.delete_config,
    ),
    Operation(
        *("SetControlState", "POST", "/control/state", pb2.ControlState, "control_state", "warning"),
        Session.set_control_state,
    ),
    Operation(
        *(
            "SetControlAction",
            "POST",
            "/control/action",
            pb2.ControlAction,
            "control_action",
            "control_action_response",
        ),
        Session.set_control_action,
    ),
    Operation(
        *("GetMetrics", "POST", "/monitor/metrics", pb2.MetricsRequest, "metrics_request", "metrics_response"),
        Session.get_metrics,
        polls=True,
        changes=False,
    ),
    Operation(
        *("GetStates", "POST", "/monitor/states", pb2.StatesRequest, "states_request", "states_response"),
        Session.get_states,
        polls=True,
        changes=False,
    ),
    Operation(
        *("GetCapture", "POST", "/monitor/capture", pb2.CaptureRequest, "capture_request", "response_bytes"),
        Session.get_capture,
        changes=False,
    ),
    Operation(
        *("GetVersion", "GET", "/capabilities/version", None, "", "version"),
        lambda session, _: session.version(),
        changes=False,
    ),
)


@dataclass(frozen=True)
class Failure:
    """An error as the API tells it."""

    code: int
    """Status of HTTP."""
    kind: str
    """Kind of the API: of the request, or of the server."""
    errors: tuple[str, ...]

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        """The answer for an error; one that is a bug tells nothing but that."""
        if isinstance(error, OtgErrors):
            return cls(400, "validation", tuple(map(_told, error.errors)))
        if isinstance(error, OtgBusyError):
            return cls(409, "validation", (_told(error),))
        if isinstance(error, UsageError | UnsupportedError):
            return cls(400, "validation", (_told(error),))
        if isinstance(error, EnvironmentFault):
            return cls(500, "internal", (_told(error),))
        traceback.print_exception(error)
        return cls(500, "internal", ("this is a bug of P4Mesh: standard error of the server shows where",))

    @property
    def text(self) -> str:
        """JSON of the API's ``Error``."""
        return json.dumps({"code": self.code, "kind": self.kind, "errors": list(self.errors)})


TOO_LONG = Failure(413, "validation", (f"the request has more than {MOST_REQUEST_BYTES >> 20} MiB: send less",))


def _told(error: P4MeshError) -> str:
    return f"{error.message} ({error.hint})" if error.hint else error.message
