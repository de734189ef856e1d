"""Certificates for one test: an authority, a server, a client."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import trustme


@dataclass(frozen=True)
class Certificates:
    """Files in PEM."""

    ca: Path
    server: Path
    server_key: Path
    client: Path
    client_key: Path


def make_certificates(directory: Path, server: str = "127.0.0.1") -> Certificates:
    """Write an authority and its certificates for a server with this name, and for a client."""
    directory.mkdir(exist_ok=True)
    authority = trustme.CA()
    made = Certificates(*(directory / f"{name}.pem" for name in ("ca", "server", "server_key", "client", "client_key")))
    authority.cert_pem.write_to_path(made.ca)
    for certificate, key, name in ((made.server, made.server_key, server), (made.client, made.client_key, "client")):
        issued = authority.issue_cert(name)
        issued.cert_chain_pems[0].write_to_path(certificate)
        issued.private_key_pem.write_to_path(key)
    return made
