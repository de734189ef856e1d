"""``p4mesh otg``: serve the Open Traffic Generator API until a signal."""

from __future__ import annotations

import argparse
import json
import signal
import socket
import sys
from contextlib import ExitStack
from pathlib import Path

import grpc
import uvicorn

from p4mesh.access_token import new_token, own_token
from p4mesh.causes import reading_hint
from p4mesh.errors import EXIT_OK, EnvironmentFault, UsageError
from p4mesh.otg.grpc_server import grpc_server
from p4mesh.otg.http_server import application, connections
from p4mesh.otg.locations import Topologies
from p4mesh.otg.options import DEFAULT_TOPOLOGY, TOKEN_VARIABLE, Address, OtgOptions, Tls, options_of
from p4mesh.otg.pace import TimeMode
from p4mesh.otg.session import API_VERSION, Session
from p4mesh.otg.worker import Worker
from p4mesh.regular_files import read_bytes
from p4mesh.run.chosen_interfaces import topology_of
from p4mesh.run.unknown_device import SWITCH, topology_at
from p4mesh.shipped import shipped
from p4mesh.target.table import TARGETS
from p4mesh.topology import Topology, load_topology

_MOST_PEM_BYTES = 1 << 20
_PATIENCE_S = 2
_MOST_CONNECTIONS = 64
"""Connections of HTTP at the same time; one more is told to come again."""
_KEEP_ALIVE_S = 600
"""Time for which an idle connection of HTTP stays: it is the name of its client."""


def execute(arguments: argparse.Namespace, _: object = None) -> int:
    """Serve the API and return when it is interrupted."""
    options = options_of(arguments)
    topology = _topology(options)
    folder = Path(options.topologies) if options.topologies else shipped("topologies")
    token = own_token(TOKEN_VARIABLE)
    if token is None and not options.is_local:
        token = new_token()
    credentials = _credentials(options.tls) if options.tls else None
    if options.grpc.is_local:
        credentials = None  # Clients of snappi have no TLS over gRPC, and only this machine can reach it.
    worker = Worker(Session(TARGETS[options.target], Topologies(topology, folder), TimeMode(options.time)))
    with ExitStack() as opened:
        listening = opened.enter_context(_listening(options.http))
        worker.start()
        opened.callback(worker.stop)
        server, port = grpc_server(worker, options.grpc.at(options.grpc.port), token, credentials)
        server.start()
        opened.callback(lambda: server.stop(_PATIENCE_S).wait())
        places = {
            "http": f"{'https' if options.tls else 'http'}://{options.http.at(listening.getsockname()[1])}",
            "grpc": options.grpc.at(port),
            **({"token": token} if token else {}),
        }
        config = uvicorn.Config(
            application(worker, token),
            http=connections(worker),
            log_level="critical",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            limit_concurrency=_MOST_CONNECTIONS + 1,
            timeout_keep_alive=_KEEP_ALIVE_S,
            timeout_graceful_shutdown=_PATIENCE_S,
            ssl_certfile=options.tls.certificate if options.tls else None,
            ssl_keyfile=options.tls.key if options.tls else None,
        )
        for number in (signal.SIGINT, signal.SIGTERM):
            # The server takes them over and gives them back to this at its end: an interrupt is how it ends.
            signal.signal(number, lambda *_: None)
        _Server(config, f"{topology.name} on {options.target}", places, as_json=arguments.json).run(sockets=[listening])
    return EXIT_OK


def _topology(options: OtgOptions) -> Topology:
    if options.topology is None and options.interfaces is not None:
        found = topology_at(options.interfaces.split(","), SWITCH)
    else:
        found = load_topology(options.topology or DEFAULT_TOPOLOGY)
    return topology_of(found, options.access, options.interfaces)


class _Server(uvicorn.Server):
    """Says where the API is once it is there."""

    def __init__(self, config: uvicorn.Config, what: str, places: dict[str, str], *, as_json: bool) -> None:
        super().__init__(config)
        self._what = what
        self._places = places
        self._as_json = as_json

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Say where the API is."""
        await super().startup(sockets)
        if self._as_json:
            print(json.dumps(self._places), flush=True)
        where = ", ".join(f"{name} {place}" for name, place in self._places.items())
        print(f"OTG API {API_VERSION} for {self._what}: {where}  (an interrupt ends it)", file=sys.stderr, flush=True)


def _listening(address: Address) -> socket.socket:
    host = address.host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named, as asyncio turns Nagle's algorithm off for it alone: answers in two parts would take 40 ms.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, address.port))
    except OSError as error:
        listening.close()
        raise EnvironmentFault(
            f"--http {address.at(address.port)}: {error.strerror}",
            hint="name another address or port; port 0 takes a free one",
        ) from None
    return listening


def _credentials(tls: Tls) -> grpc.ServerCredentials:
    """Credentials of the server; raises UsageError for a file that cannot be read."""
    contents = []
    for path in (tls.key, tls.certificate):
        try:
            contents.append(read_bytes(path, _MOST_PEM_BYTES))
        except OSError as error:
            hint = reading_hint(error.errno, "name a regular file in PEM")
            raise UsageError(f"cannot read {path}: {error.strerror}", hint=hint) from None
        if b"-----BEGIN " not in contents[-1]:
            raise UsageError(f"{path} is not in PEM", hint="a line in PEM is -----BEGIN CERTIFICATE-----")
    return grpc.ssl_server_credentials([(contents[0], contents[1])])
