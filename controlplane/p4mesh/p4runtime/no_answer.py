"""Finds out why no server answers at an address, for the hint of the error."""

from __future__ import annotations

import socket
from ipaddress import ip_address

_PATIENCE_S = 2.0
_NO_TLS = (
    "something listens there: does its server use TLS, is its certificate signed by the authority that is given, is "
    "the host of the address (or server_name) in it, and does it ask for a certificate of the client?"
)
_OTHER = "something listens there: is it the server of a switch, and does it use TLS?"


_BROKEN_OFF = "its server still listens, and has broken this call off: its output may say why"


def why_broken_off(address: str) -> str:
    """Hint of the error that a server has answered before and does not now."""
    return _reason(address, _BROKEN_OFF)


def why_no_answer(address: str, *, tls: bool = False) -> str:
    """Hint of the error that no server answers at ``HOST:PORT`` or ``unix:PATH``."""
    return _reason(address, _NO_TLS if tls else _OTHER)


def _reason(address: str, listens: str) -> str:
    """Hint for the refusal that a plain connection meets; ``listens`` where it is taken."""
    host = ""
    try:
        if address.startswith("unix:"):
            with socket.socket(socket.AF_UNIX) as plain:
                plain.settimeout(_PATIENCE_S)
                plain.connect(address.removeprefix("unix:"))
        else:
            host, _, port = address.rpartition(":")
            host = host.strip("[]")
            socket.create_connection((host, int(port)), _PATIENCE_S).close()
    except ValueError:
        return "an address is HOST:PORT or unix:PATH"
    except socket.gaierror:
        return f"no machine is called '{host}'"
    except ConnectionRefusedError:
        return "nothing listens there: is the switch running, and is the port right?"
    except FileNotFoundError:
        return "there is no such socket: is the switch running, and is the path right?"
    except OSError as error:
        if _is_loopback(host):
            return "the loopback interface is down or has no such address: ip link set lo up"
        return f"{error.strerror or 'nothing comes back'}: is the machine on, and is there a way to it?"
    return listens


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
