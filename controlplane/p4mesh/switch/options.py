"""The options of ``p4mesh switch``: those of simple_switch_grpc for the same things."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

from p4mesh.argument_parser import Parser
from p4mesh.errors import UsageError
from p4mesh.numerals import decimal, integer, is_digits
from p4mesh.quantities import number_text
from p4mesh.version import __version__

DEFAULT_ADDRESS = "127.0.0.1:9559"
MAX_PORT = 511
MAX_PEM_BYTES = 1 << 20
DEFAULT_MEMORY_MIB = 512
_MEMORY_MIB = range(16, (1 << 20) + 1)
JSON_VERSION = "2.24"
"""Latest version of BMv2 JSON that is known; others of the same major version are taken too."""

_WITHOUT_EFFECT = (
    ("--log-flush", 0),
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

_REFUSED = {
    "--nanolog": (
        "its events go over nanomsg, which P4Mesh does not speak",
        "--log-console or --log-file FILE write what happens to each packet; leave --nanolog out",
    ),
    "--restore-state": ("a switch starts without entries", "write them by P4Runtime; leave --restore-state out"),
    "--dp-grpc-server-addr": (
        "frames come from interfaces or files",
        "use -i PORT@IFACE, with --use-files for files; leave --dp-grpc-server-addr out",
    ),
}
"""Options of simple_switch_grpc that cannot be ignored, as somebody relies on what they do: why, and what to do."""

LOG_LEVELS = ("trace", "debug", "info", "warn", "error", "off")
"""Levels of simple_switch_grpc: the trace of packets is written at trace and debug."""


@dataclass(frozen=True)
class TlsFiles:
    """Files in PEM with which the server meets its clients."""

    certificate: Path
    key: Path
    client_ca: Path | None
    """Clients need a certificate that this authority has signed; None: any client may come."""


@dataclass(frozen=True)
class LogOptions:
    """Place and content of the log."""

    file: Path | None
    """None: stdout."""
    level: str
    max_file_bytes: int
    """A file of this size is renamed to FILE.1, FILE.1 to FILE.2, and so on."""
    max_files: int
    dump_bytes: int
    """Bytes of each frame that are shown as it comes and as it goes."""

    @property
    def traces(self) -> bool:
        """True when the passes of each packet are written."""
        return self.level in LOG_LEVELS[:2]

    @property
    def frames(self) -> bool:
        """True when frames are shown as they come and go."""
        return self.traces or (self.level == "info" and self.dump_bytes > 0)


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
    memory_bytes: int = DEFAULT_MEMORY_MIB << 20
    """Most that requests and answers of all controllers take together."""
    log: LogOptions | None = None
    pcap: Path | None = None
    """Directory for IFACE_in.pcap and IFACE_out.pcap of every port."""
    without_effect: list[str] = field(default_factory=list)


def parser() -> argparse.ArgumentParser:
    """Parser of the command line of ``p4mesh switch``."""
    made = Parser(
        prog="p4mesh switch",
        description="Run a P4 program (BMv2 JSON) on network interfaces, with a P4Runtime server.",
        epilog="Options of simple_switch_grpc that only concern Thrift or its limits are accepted and have no effect. "
        "Options after -- are taken like those before it. Example: p4mesh switch -i 0@veth0 -i 1@veth2 program.json",
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
        type=decimal,
        metavar="SECONDS",
        help="after SECONDS read IFACE_in.pcap of every port in time-stamp order, write IFACE_out.pcap",
    )
    made.add_argument("--device-id", type=integer, default=0, metavar="N", help="P4Runtime device id (default: 0)")
    made.add_argument(
        "--grpc-server-addr",
        default=DEFAULT_ADDRESS,
        metavar="HOST:PORT",
        help=f"address of the P4Runtime server, HOST:PORT or unix:PATH (default: {DEFAULT_ADDRESS})",
    )
    made.add_argument(
        "--insecure",
        action="store_true",
        help="let other machines reach the P4Runtime server without TLS",
    )
    made.add_argument(
        "--request-memory",
        type=integer,
        default=DEFAULT_MEMORY_MIB,
        metavar="MIB",
        help="most that requests and answers of all controllers take together; others are refused "
        f"(default: {DEFAULT_MEMORY_MIB})",
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
    made.add_argument(
        "--cpu-port", type=integer, metavar="PORT", help="port of packet-ins and packet-outs (default: none)"
    )
    made.add_argument("--drop-port", type=integer, default=511, metavar="PORT", help="port that drops (default: 511)")
    made.add_argument("-v", "--version", action="version", version=f"p4mesh {__version__}")
    made.add_argument(
        "--json-version",
        action="version",
        version=JSON_VERSION,
        help="print the latest known version of BMv2 JSON",
    )
    log = made.add_argument_group("what happens to packets")
    log.add_argument("--log-console", action="store_true", help="write a log on stdout")
    log.add_argument("--log-file", metavar="FILE", help="write a log into a file")
    log.add_argument(
        "--log-level",
        "-L",
        choices=LOG_LEVELS,
        default="trace",
        help="trace, debug: parser states, tables, actions and drops of each packet; info: frames, with "
        "--dump-packet-data; others: nothing (default: trace)",
    )
    log.add_argument(
        "--log-file-max-size", type=integer, default=5 << 20, metavar="BYTES", help="size of one file (default: 5 MiB)"
    )
    log.add_argument(
        "--log-file-max-files", type=integer, default=3, metavar="N", help="older files that are kept (default: 3)"
    )
    log.add_argument(
        "--dump-packet-data",
        type=integer,
        default=0,
        metavar="N",
        help="show the first N bytes of each frame in the log",
    )
    log.add_argument(
        "--pcap", metavar="DIR", help="write IFACE_in.pcap and IFACE_out.pcap of every port (without DIR: here)"
    )
    for name, values in _WITHOUT_EFFECT:
        if values:
            made.add_argument(name, action="append", dest=_slot(name), help=argparse.SUPPRESS)
        else:
            made.add_argument(name, action="append_const", const="", dest=_slot(name), help=argparse.SUPPRESS)
    for name in _REFUSED:
        made.add_argument(name, nargs="?", const="", dest=_slot(name), help=argparse.SUPPRESS)
    return made


def _slot(name: str) -> str:
    return "other_" + name.lstrip("-").replace("-", "_")


def parse(words: Sequence[str]) -> SwitchOptions:
    """Read the arguments; raises UsageError."""
    # simple_switch_grpc separates options of its target by "--"; here all are of one kind.
    parsed = parser().parse_intermixed_args(_with_pcap_value([word for word in words if word != "--"]))
    for name, (reason, hint) in _REFUSED.items():
        if getattr(parsed, _slot(name)) is not None:
            raise UsageError(f"{name} is not supported: {reason}", hint=hint)
    without_effect = [name for name, _ in _WITHOUT_EFFECT if getattr(parsed, _slot(name)) is not None]
    if parsed.pcap is not None and parsed.use_files is not None:
        # As simple_switch_grpc, whose files are the ports themselves.
        without_effect.append("--pcap, beside --use-files,")
        parsed.pcap = None
    program = parsed.program
    if program is None and not parsed.no_p4:
        raise UsageError("no program is given", hint="give FILE.json, or --no-p4 to wait for one by P4Runtime")
    if program is not None and parsed.no_p4:
        # As simple_switch_grpc, which warns.
        without_effect.append(f"{program}, beside --no-p4,")
        program = None
    if parsed.use_files is not None and parsed.use_files < 0:
        raise UsageError(f"--use-files is {number_text(parsed.use_files)}", hint="valid: 0 or more seconds")
    if parsed.device_id < 0:
        raise UsageError(f"--device-id is {parsed.device_id}", hint="valid: 0 or more")
    cpu_port = parsed.cpu_port
    if cpu_port is not None and not 1 <= cpu_port <= MAX_PORT:
        raise UsageError(f"--cpu-port is {cpu_port}", hint=f"valid: 1 to {MAX_PORT}")
    if not 0 <= parsed.drop_port <= MAX_PORT:
        raise UsageError(f"--drop-port is {parsed.drop_port}", hint=f"valid: 0 to {MAX_PORT}")
    if cpu_port == parsed.drop_port:
        raise UsageError(f"--cpu-port {cpu_port} is the drop port", hint="use another port, or another --drop-port")
    if parsed.request_memory not in _MEMORY_MIB:
        valid = f"valid: {_MEMORY_MIB.start} to {_MEMORY_MIB.stop - 1} MiB"
        raise UsageError(f"--request-memory is {parsed.request_memory}", hint=valid)
    _check_address(parsed.grpc_server_addr)
    if not (parsed.grpc_server_ssl or parsed.insecure or _is_local(parsed.grpc_server_addr)):
        raise UsageError(
            f"--grpc-server-addr {parsed.grpc_server_addr} lets whoever reaches this machine control the switch",
            hint="add --grpc-server-ssl with a certificate, or --insecure where nobody else is (a container, a test "
            f"network); or listen for this machine alone, on {DEFAULT_ADDRESS}",
        )
    return SwitchOptions(
        program=Path(program) if program else None,
        interfaces=_interfaces(parsed.interface, cpu_port),
        address=parsed.grpc_server_addr,
        device_id=parsed.device_id,
        use_files_s=None if parsed.use_files is None else float(parsed.use_files),
        cpu_port=cpu_port,
        drop_port=parsed.drop_port,
        tls=_tls(parsed),
        memory_bytes=parsed.request_memory << 20,
        log=_log(parsed),
        pcap=_pcap(parsed.pcap),
        without_effect=without_effect,
    )


def _with_pcap_value(words: Sequence[str]) -> list[str]:
    """Give ``--pcap`` its value, which may be left out: the program, or an option, is none."""
    made: list[str] = []
    for word in words:
        if made and made[-1] == "--pcap":
            is_value = not word.startswith("-") and not word.endswith(".json")
            made[-1] = f"--pcap={word if is_value else '.'}"
            if is_value:
                continue
        made.append(word)
    return [*made[:-1], "--pcap=."] if made[-1:] == ["--pcap"] else made


def _pcap(directory: str | None) -> Path | None:
    if directory is None:
        return None
    path = Path(directory)
    if not path.is_dir():
        problem = "not a directory" if path.exists() else "no such directory"
        raise UsageError(f"--pcap {directory}: {problem}", hint="make it first, or name another one")
    return path


def _log(parsed: argparse.Namespace) -> LogOptions | None:
    """Place and content of the log; raises UsageError."""
    if parsed.log_console and parsed.log_file is not None:
        raise UsageError("--log-console and --log-file are given", hint="choose one of them")
    for name, least in (("log_file_max_size", 1), ("log_file_max_files", 0), ("dump_packet_data", 0)):
        value = getattr(parsed, name)
        if value < least:
            raise UsageError(f"--{name.replace('_', '-')} is {value}", hint=f"valid: {least} or more")
    if not parsed.log_console and parsed.log_file is None:
        return None
    return LogOptions(
        file=Path(parsed.log_file) if parsed.log_file is not None else None,
        level=parsed.log_level,
        max_file_bytes=parsed.log_file_max_size,
        max_files=parsed.log_file_max_files,
        dump_bytes=parsed.dump_packet_data,
    )


def _tls(parsed: argparse.Namespace) -> TlsFiles | None:
    """Files of the server; raises UsageError for one that is missing or has no effect."""
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
        if not at or not name or not is_digits(number):
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


def _is_local(address: str) -> bool:
    """Tell whether no other machine can reach an address."""
    if address.startswith("unix:"):
        return True
    host = address.rpartition(":")[0].strip("[]")
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _check_address(address: str) -> None:
    if address.startswith("unix:") and address != "unix:":
        return
    host, _, port = address.rpartition(":")
    if not host or not is_digits(port) or int(port) > 65535:
        raise UsageError(
            f"--grpc-server-addr {address} is not HOST:PORT or unix:PATH", hint=f"for example: {DEFAULT_ADDRESS}"
        )
