"""The options of ``p4mesh otg``, checked before anything is loaded."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from p4mesh.errors import UsageError
from p4mesh.numerals import is_digits
from p4mesh.run.checks import check_target

HTTP, GRPC = "127.0.0.1:8443", "127.0.0.1:40051"
"""Addresses by default: ports that scripts for this API use."""
DEFAULT_TOPOLOGY = "back-to-back"
TOKEN_VARIABLE = "P4MESH_OTG_TOKEN"
_LARGEST_PORT = 65_535


@dataclass(frozen=True)
class Address:
    """A place to listen at."""

    host: str
    port: int

    @classmethod
    def parse(cls, option: str, text: str) -> Address:
        """Read HOST:PORT; raises UsageError."""
        host, _, port = text.rpartition(":")
        try:
            ip_address(host.strip("[]"))
        except ValueError:
            host = ""
        if not host or not is_digits(port) or int(port) > _LARGEST_PORT:
            raise UsageError(
                f"{option} {text}: not ADDRESS:PORT", hint=f"for example: {option} {HTTP}; port 0 takes a free one"
            )
        return cls(host, int(port))

    @property
    def is_local(self) -> bool:
        """Whether no other machine can reach it."""
        return ip_address(self.host.strip("[]")).is_loopback

    def at(self, port: int) -> str:
        """The address with another port, as clients write it."""
        return f"{self.host}:{port}"


@dataclass(frozen=True)
class Tls:
    """Files in PEM of the server."""

    certificate: Path
    key: Path


@dataclass(frozen=True)
class OtgOptions:
    """The test set-up that the command serves, and its addresses."""

    topology: str | None
    interfaces: str | None
    access: str | None
    topologies: str | None
    """Folder with topologies that clients may name; None: those that come with P4Mesh."""
    target: str
    time: str
    http: Address
    grpc: Address
    tls: Tls | None

    @property
    def is_local(self) -> bool:
        """Whether other machines cannot reach the server."""
        return self.http.is_local and self.grpc.is_local


def options_of(arguments: argparse.Namespace) -> OtgOptions:
    """Check the arguments; raises UsageError."""
    http, grpc = Address.parse("--http", arguments.http), Address.parse("--grpc", arguments.grpc)
    certificate, key = arguments.tls_certificate, arguments.tls_key
    if (certificate is None) != (key is None):
        missing = "--tls-key" if key is None else "--tls-certificate"
        raise UsageError(f"{missing} is missing", hint="give both files, or none")
    tls = Tls(Path(certificate), Path(key)) if certificate else None
    check_target(arguments.target, arguments.access, arguments.interfaces, None, "")
    if arguments.topologies is not None and not Path(arguments.topologies).is_dir():
        raise UsageError(f"--topologies {arguments.topologies}: not a directory", hint="name one with topology files")
    options = OtgOptions(
        topology=arguments.topology,
        interfaces=arguments.interfaces,
        access=arguments.access,
        topologies=arguments.topologies,
        target=arguments.target,
        time=arguments.time,
        http=http,
        grpc=grpc,
        tls=tls,
    )
    if tls is None and not options.is_local:
        raise UsageError(
            "other machines could reach the server, and see its token",
            hint="add --tls-certificate and --tls-key, or listen on 127.0.0.1 and use a tunnel (ssh -L)",
        )
    return options
