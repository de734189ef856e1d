"""``p4mesh switch``: start the switch, serve until a signal, stop."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from p4mesh.causes import engine_network_hint, reading_hint
from p4mesh.errors import EXIT_OK, EnvironmentFault, ProgramError, TargetError, UsageError
from p4mesh.regular_files import MOST_PROGRAM_BYTES, read_bytes, read_text
from p4mesh.switch.log import PacketLog
from p4mesh.switch.options import MAX_PEM_BYTES, SwitchOptions, parse

_POLL_S = 0.2
_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class _Stop(Exception):
    """A signal asks the switch to end."""


def main(words: Sequence[str]) -> int:
    """Run the command and return its exit code."""
    options = parse(words)
    for name in options.without_effect:
        _say(f"note: {name} has no effect here")
    program = _read_program(options)
    credentials = _credentials(options)
    from p4mesh import _engine

    if program is not None:
        try:
            _engine.LiveSwitch([], program, cpu_port=options.cpu_port, drop_port=options.drop_port)
        except _engine.EngineError as error:
            valid = "valid: BMv2 JSON that p4c-bm2-ss has written of a program for v1model"
            raise ProgramError(f"{options.program}: {error}", hint=valid) from None
    try:
        switch = _engine.LiveSwitch(
            options.interfaces,
            program,
            cpu_port=options.cpu_port,
            drop_port=options.drop_port,
            use_files_s=options.use_files_s,
            pcap_directory=options.pcap,
        )
    except _engine.EngineError as error:
        raise EnvironmentFault(f"the switch does not start: {error}", hint=engine_network_hint(str(error))) from None
    for port, name in options.interfaces:
        _say(f"port {port} is {name}")
    log = PacketLog(options.log, switch) if options.log else None
    asked = (number for number in _ENDS if signal.getsignal(number) is not signal.SIG_IGN)
    old = {number: signal.signal(number, _on_signal) for number in asked}
    try:
        host, _, _ = options.address.rpartition(":")
        port = switch.serve(options.address, options.device_id, credentials, options.memory_bytes)
        _say(f"Requests and answers of all controllers take at most {options.memory_bytes >> 20} MiB")
        _say(f"Server listening on {f'{host}:{port}' if port else options.address}")
        switch.start()
        while not switch.wait(_POLL_S):
            if log:
                log.write()
    except _Stop:
        pass
    except _engine.EngineError as error:
        raise TargetError(f"the switch failed: {error}", hint=engine_network_hint(str(error))) from None
    finally:
        switch.stop()
        if log:
            log.close()
        for number, handler in old.items():
            signal.signal(number, handler)
    return EXIT_OK


def _read_program(options: SwitchOptions) -> str | None:
    if options.program is None:
        return None
    try:
        return read_text(options.program, MOST_PROGRAM_BYTES)
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not a text file"
        hint = reading_hint(getattr(error, "errno", None), "name the JSON that p4c wrote, a regular file")
        raise ProgramError(f"cannot read {options.program}: {reason}", hint=hint) from None


def _credentials(options: SwitchOptions) -> tuple[bytes, bytes, bytes | None] | None:
    """Certificate, key and authority of clients in PEM; raises UsageError for a file that cannot be read."""
    files = options.tls
    if files is None:
        return None
    return _pem(files.certificate), _pem(files.key), _pem(files.client_ca) if files.client_ca else None


def _pem(path: Path) -> bytes:
    try:
        return read_bytes(path, MAX_PEM_BYTES)
    except OSError as error:
        hint = reading_hint(error.errno, "name a regular file in PEM")
        raise UsageError(f"cannot read {path}: {error.strerror}", hint=hint) from None


def _on_signal(number: int, frame: FrameType | None) -> None:
    raise _Stop


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
