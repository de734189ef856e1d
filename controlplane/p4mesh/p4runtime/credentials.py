"""Loads TLS credentials of a client: authorities of its server, and its own certificate and key in PEM."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import grpc

from p4mesh.causes import reading_hint
from p4mesh.errors import ParameterError
from p4mesh.regular_files import read_bytes


@dataclass(frozen=True)
class TlsCredentials:
    """TLS of a P4Runtime client."""

    ca: Path | None = None
    """Authorities that sign the server's certificate; None: those that gRPC knows."""
    certificate: Path | None = None
    """The client's own, where the server asks for one; with its key."""
    key: Path | None = None
    server_name: str = ""
    """Name in the server's certificate, where it is not the host of the address."""

    def channel_credentials(self) -> grpc.ChannelCredentials:
        """Loads the files; raises ParameterError for one that cannot be read or is missing."""
        if (self.certificate is None) != (self.key is None):
            given, missing = ("certificate", "key") if self.key is None else ("key", "certificate")
            raise ParameterError(f"TLS: there is a {given} without its {missing}", hint="give both files, or none")
        return grpc.ssl_channel_credentials(_content(self.ca), _content(self.key), _content(self.certificate))


_MOST_BYTES = 1 << 20


def _content(path: Path | None) -> bytes | None:
    if path is None:
        return None
    try:
        content = read_bytes(path, _MOST_BYTES)
    except OSError as error:
        hint = reading_hint(error.errno, "name a file in PEM")
        raise ParameterError(f"TLS: cannot read {path}: {error.strerror}", hint=hint) from None
    if b"-----BEGIN " not in content:
        raise ParameterError(f"TLS: {path} is not in PEM", hint="a line in PEM is -----BEGIN CERTIFICATE-----")
    return content
