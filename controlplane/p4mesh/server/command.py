"""``p4mesh serve [DIR]``: the live page, until it is interrupted."""

from __future__ import annotations

import argparse
import errno
import json
import signal
import socket
import sys
from pathlib import Path

import uvicorn

from p4mesh.access_token import new_token, own_token
from p4mesh.errors import EXIT_OK, EnvironmentFault
from p4mesh.server.application import application
from p4mesh.server.catalogue import Catalogue
from p4mesh.server.control import Control
from p4mesh.server.feed import Feed
from p4mesh.shipped import shipped

ADDRESS = "127.0.0.1"
TOKEN_VARIABLE = "P4MESH_SERVE_TOKEN"
_PATIENCE_S = 2


def execute(arguments: argparse.Namespace, _: object = None) -> int:
    """Serve the page and return when it is interrupted."""
    root = Path(arguments.directory)
    feed = Feed(Catalogue(root.resolve()))
    control = None
    if arguments.control:
        topologies = Path(arguments.topologies).resolve() if arguments.topologies else shipped("topologies")
        run_files = Path(arguments.run_files).resolve() if arguments.run_files else None
        token = own_token(TOKEN_VARIABLE) or new_token()
        control = Control(feed.catalogue, topologies, token, _own_words(arguments.command), run_files)
    listening = _listening(arguments.port)
    address = f"http://{ADDRESS}:{listening.getsockname()[1]}/"
    page = f"{address}#token={control.token}" if control else address
    config = uvicorn.Config(
        application(feed, control),
        log_level="critical",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_PATIENCE_S,
    )
    for number in (signal.SIGINT, signal.SIGTERM):
        # The server takes them over, and gives them back to this at its end: an interrupt is how it is meant to end.
        signal.signal(number, lambda *_: None)
    server = _Server(config, feed, json.dumps({"address": address, "page": page}) if arguments.json else "", page)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, server.handle_exit)
    server.run(sockets=[listening])
    return EXIT_OK


class _Server(uvicorn.Server):
    """Says where the page is once it is there, and ends open streams before it waits for them."""

    def __init__(self, config: uvicorn.Config, feed: Feed, document: str, page: str) -> None:
        super().__init__(config)
        self._feed = feed
        self._document = document
        self._page = page

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Say where the page is."""
        await super().startup(sockets)
        if self._document:
            print(self._document, flush=True)
        print(f"live page of {self._feed.catalogue.root}: {self._page}  (an interrupt ends it)", file=sys.stderr)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End open streams."""
        await self._feed.stop()
        await super().shutdown(sockets)


def _own_words(command: str) -> list[str]:
    """How this process was started, up to its command."""
    return [sys.executable, *sys.orig_argv[1 : sys.orig_argv.index(command)]]


def _listening(port: int) -> socket.socket:
    # asyncio turns Nagle's algorithm off where TCP is named: answers in two parts would take 40 ms.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((ADDRESS, port))
    except OSError as error:
        listening.close()
        hint = "name another port with --port; 0 takes a free one"
        if error.errno == errno.EADDRNOTAVAIL:
            hint = f"this machine has no {ADDRESS}: ip link set lo up"
        raise EnvironmentFault(f"--port {port}: {error.strerror}", hint=hint) from None
    return listening
