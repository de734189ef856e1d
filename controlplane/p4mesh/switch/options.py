"""The options of ``p4mesh switch``: those of simple_switch_grpc for the same things."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from p4mesh.errors import UsageError
from p4mesh.version import __version__

DEFAULT_ADDRESS = "0.0.0.0:9559"
MAX_PORT = 511
JSON_VERSION = "2.24"
"""Of BMv2 JSON, the latest that is known; others of the same major version are taken too."""

_WITHOUT_EFFECT = (
    ("--log-console", 0),
    ("--log-flush", 0),
    ("--log-file", 1),
    ("--log-file-max-size", 1),
    ("--log-file-max-files", 1),
    ("--log-level", 1),
    ("-L", 1),
    ("--dump-packet-data", 1),
    ("--nanolog", 1),
    ("--thrift-port", 1),
    ("--notifications-addr", 1),
    ("--disable-swap", 0),
    ("--max-port-count", 1),
    ("--priority-queues", 1),
    ("--max-mc-groups", 1),
    ("--max-l1-entries", 1),
    ("--max-l2-entries", 1),
)
"""Options of simple_switch_grpc, with their number of values, that are accepted so that scripts run
unchanged. The command says that they have no effect."""

_REFUSED = ("--restore-state", "--dp-grpc-server-addr")
"""Options of simple_switch_grpc whose absence would change what happens."""


@dataclass(frozen=True)
class TlsFiles:
    """Files in PEM with which the server meets its clients."""

    certificate: Path
    key: Path
    client_ca: Path | None
    """Clients need a certificate that this authority has signed; None: any client may come."""


@dataclass(frozen=True)
class SwitchOptions:
    """Options of the switch."""

    program: Path | None
    """``None``: wait for a pipeline by P4Runtime."""
    interfaces: list[tuple[int, str]]
    """(port, interface) pairs."""
    address: str
    device_id: int
    use_files_s: float | None
    cpu_port: int | None
    drop_port: int
    tls: TlsFiles | None = None
    """None: the server does not encrypt."""
    without_effect: list[str] = field(default_factory=list)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message, hint="see: p4mesh switch --help")


def parser() -> argparse.ArgumentParser:
    """Return the parser of ``p4mesh switch``."""
    made = _Parser(
        prog="p4mesh switch",
        description="Run a P4 program (BMv2 JSON) on network interfaces, with a P4Runtime server.",
        epilog="Options of simple_switch_grpc that only concern logging, Thrift or its limits are accepted and have no "
        "effect. Options after -- are taken like those before it.",
        allow_abbrev=False,
    )
    made.add_argument("program", nargs="?", metavar="FILE.json", help="the compiled program")
    made.add_argument("--no-p4", action="store_true", help="start without a program; a controller pushes one")
    made.add_argument(
        "-i",
        "--interface",
        action="append",
        default=[],
        metavar="PORT@IFACE",
        help="attach an interface as a port; can appear many times",
    )
    made.add_argument(
        "--use-files",
        type=float,
        metavar="SECONDS",
        help="after SECONDS read IFACE_in.pcap of every port in time-stamp order, write IFACE_out.pcap",
    )
    made.add_argument("--device-id", type=int, default=0, metavar="N", help="P4Runtime device id (default: 0)")
    made.add_argument(
        "--grpc-server-addr",
        default=DEFAULT_ADDRESS,
        metavar="HOST:PORT",
        help=f"address of the P4Runtime server, HOST:PORT or unix:PATH (default: {DEFAULT_ADDRESS})",
    )
    made.add_argument("--grpc-server-ssl", action="store_true", help="the P4Runtime server uses TLS")
    made.add_argument("--grpc-server-cert", metavar="FILE", help="its certificate in PEM, for --grpc-server-ssl")
    made.add_argument("--grpc-server-key", metavar="FILE", help="the key of its certificate in PEM")
    made.add_argument(
        "--grpc-server-with-client-auth",
        action="store_true",
        help="clients must have a certificate that --grpc-server-cacert has signed",
    )
    made.add_argument(
        "--grpc-server-cacert", metavar="FILE", help="authority in PEM, for --grpc-server-with-client-auth"
    )
    made.add_argument("--cpu-port", type=int, metavar="PORT", help="port of packet-ins and packet-outs (default: none)")
    made.add_argument("--drop-port", type=int, default=511, metavar="PORT", help="port that drops (default: 511)")
    made.add_argument("-v", "--version", action="version", version=f"p4mesh {__version__}")
    made.add_argument(
        "--json-version",
        action="version",
        version=JSON_VERSION,
        help="print the latest known version of BMv2 JSON",
    )
    # argparse takes the value that may follow --pcap only after "=".
    for name, values in _WITHOUT_EFFECT:
        if values:
            made.add_argument(name, action="append", dest=_slot(name), help=argparse.SUPPRESS)
        else:
            made.add_argument(name, action="append_const", const="", dest=_slot(name), help=argparse.SUPPRESS)
    made.add_argument("--pcap", nargs="?", const=".", help=argparse.SUPPRESS)
    for name in _REFUSED:
        made.add_argument(name, nargs="?", const="", dest=_slot(name), help=argparse.SUPPRESS)
    return made


def _slot(name: str) -> str:
    return "other_" + name.lstrip("-").replace("-", "_")


def parse(words: Sequence[str]) -> SwitchOptions:
    """Read the arguments; raises UsageError."""
    # simple_switch_grpc separates options of its target by "--"; here all are of one kind.
    words = [word for word in words if word != "--"]
    parsed = parser().parse_intermixed_args(words)
    for name in _REFUSED:
        if getattr(parsed, _slot(name)) is not None:
            raise UsageError(f"{name} is not supported", hint="see: p4mesh switch --help")
    without_effect = [name for name, _ in _WITHOUT_EFFECT if getattr(parsed, _slot(name)) is not None]
    if parsed.pcap is not None:
        without_effect.append("--pcap")
    program = parsed.program
    if program is None and not parsed.no_p4:
        raise UsageError("no program is given", hint="give FILE.json, or --no-p4 to wait for one by P4Runtime")
    if program is not None and parsed.no_p4:
        # As simple_switch_grpc, which warns.
        without_effect.append(f"{program}, beside --no-p4,")
        program = None
    if parsed.use_files is not None and parsed.use_files < 0:
        raise UsageError(f"--use-files is {parsed.use_files:g}", hint="valid: 0 or more seconds")
    if parsed.device_id < 0:
        raise UsageError(f"--device-id is {parsed.device_id}", hint="valid: 0 or more")
    cpu_port = parsed.cpu_port
    if cpu_port is not None and not 1 <= cpu_port <= MAX_PORT:
        raise UsageError(f"--cpu-port is {cpu_port}", hint=f"valid: 1 to {MAX_PORT}")
    if not 0 <= parsed.drop_port <= MAX_PORT:
        raise UsageError(f"--drop-port is {parsed.drop_port}", hint=f"valid: 0 to {MAX_PORT}")
    if cpu_port == parsed.drop_port:
        raise UsageError(f"--cpu-port {cpu_port} is the drop port", hint="use another port, or another --drop-port")
    _check_address(parsed.grpc_server_addr)
    return SwitchOptions(
        program=Path(program) if program else None,
        interfaces=_interfaces(parsed.interface, cpu_port),
        address=parsed.grpc_server_addr,
        device_id=parsed.device_id,
        use_files_s=parsed.use_files,
        cpu_port=cpu_port,
        drop_port=parsed.drop_port,
        tls=_tls(parsed),
        without_effect=without_effect,
    )


def _tls(parsed: argparse.Namespace) -> TlsFiles | None:
    """Return the files of the server; raises UsageError for one that is missing or means nothing."""
    certificate, key, authority = parsed.grpc_server_cert, parsed.grpc_server_key, parsed.grpc_server_cacert
    names = {"--grpc-server-cert": certificate, "--grpc-server-key": key, "--grpc-server-cacert": authority}
    if not parsed.grpc_server_ssl:
        names["--grpc-server-with-client-auth"] = parsed.grpc_server_with_client_auth or None
        alone = next((name for name, value in names.items() if value is not None), None)
        if alone:
            raise UsageError(f"{alone} is given without TLS", hint="add --grpc-server-ssl, or leave it out")
        return None
    if not parsed.grpc_server_with_client_auth:
        del names["--grpc-server-cacert"]
    missing = next((name for name, value in names.items() if value is None), None)
    if missing:
        raise UsageError(f"--grpc-server-ssl needs {missing}", hint=f"for example: {missing} FILE.pem")
    client_ca = Path(authority) if parsed.grpc_server_with_client_auth else None
    return TlsFiles(Path(certificate), Path(key), client_ca)


def _interfaces(given: Sequence[str], cpu_port: int | None) -> list[tuple[int, str]]:
    interfaces: list[tuple[int, str]] = []
    for text in given:
        number, at, name = text.partition("@")
        if not at or not name or not number.isdecimal():
            raise UsageError(f"-i {text} is not PORT@IFACE", hint="for example: -i 0@veth0")
        port = int(number)
        if port > MAX_PORT:
            raise UsageError(f"-i {text}: port {port} does not exist", hint=f"valid: 0 to {MAX_PORT}")
        if port == cpu_port:
            raise UsageError(f"-i {text}: port {port} is the CPU port", hint="use another port, or another --cpu-port")
        for other, other_name in interfaces:
            if other == port or other_name == name:
                raise UsageError(f"-i {text}: port or interface is used by {other}@{other_name}")
        interfaces.append((port, name))
    return interfaces


def _check_address(address: str) -> None:
    if address.startswith("unix:") and address != "unix:":
        return
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise UsageError(
            f"--grpc-server-addr {address} is not HOST:PORT or unix:PATH", hint=f"for example: {DEFAULT_ADDRESS}"
        )
