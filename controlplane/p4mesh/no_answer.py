"""Finds out why no server answers at an address, for the hint of the error."""

from __future__ import annotations

import socket
from ipaddress import ip_address

_PATIENCE_S = 2.0
_LISTENS = "something listens there: is it the server of a switch, and does it use TLS?"


def why_no_answer(address: str, *, server: str = "switch", listens: str = _LISTENS) -> str:
    """Hint for the refusal that a plain connection to ``HOST:PORT`` or ``unix:PATH`` meets.

    ``server`` is what should run there, in the words of its user; ``listens`` the hint where the connection is taken.
    """
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
    except (ValueError, OverflowError):
        return "an address is HOST:PORT or unix:PATH"
    except socket.gaierror as error:
        if error.errno == socket.EAI_AGAIN:
            return f"no name server answers, to say where '{host}' is: give its number, or look at /etc/resolv.conf"
        return f"no machine is called '{host}'"
    except ConnectionRefusedError:
        return f"nothing listens there: is the {server} running, and is the port right?"
    except FileNotFoundError:
        return f"there is no such socket: is the {server} running, and is the path right?"
    except PermissionError:
        return "this user may not connect to it: a socket lets in who may write to it"
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
