"""Hints for errors of the system, chosen by the number of the error: by its cause, not by the place where it is met."""

from __future__ import annotations

import errno
import os
import re

_NOT_ALLOWED = (errno.EPERM, errno.EACCES)
_FULL = (errno.ENOSPC, errno.EDQUOT)
_FILES = {
    **dict.fromkeys(_FULL, "make room on the disk, or name another place"),
    **dict.fromkeys(_NOT_ALLOWED, "name a place you may use, or change its permissions"),
    errno.EROFS: "the disk is mounted read-only: name another place",
    errno.EISDIR: "name a file",
    errno.ENOENT: "name a folder that exists",
    errno.ENOTDIR: "name a folder that exists",
    errno.EEXIST: "choose another name",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.ELOOP: "its links lead in a circle: name a file",
    errno.ENXIO: "it is a socket, or a device that is not there: name a file",
    errno.EFBIG: "raise the limit of the size of files: ulimit -f",
    errno.EMFILE: "raise the limit of open files: ulimit -n",
    errno.ENFILE: "the machine has too many open files",
    errno.ENOMEM: "the machine has no memory left",
    errno.EAGAIN: "raise the limit of processes: ulimit -u",
}
_NETWORK = {
    errno.EEXIST: "p4mesh net clean removes what killed commands have left",
    errno.ENODEV: "it has gone meanwhile: ip link shows what there is",
    errno.EOPNOTSUPP: "this kernel lacks it: p4mesh doctor looks at what there is",
    errno.EADDRINUSE: "another program listens there: end it, or name another port",
    errno.EADDRNOTAVAIL: "this machine has no such address: ip address shows those that it has",
    errno.EMFILE: _FILES[errno.EMFILE],
    errno.ENOMEM: _FILES[errno.ENOMEM],
}


def file_hint(number: int | None, otherwise: str = "--debug shows where") -> str:
    """Hint for a file, folder or process that the system refuses; ``otherwise`` for errors that tell nothing."""
    return _FILES.get(number or 0, otherwise)


def reading_hint(number: int | None, otherwise: str) -> str:
    """Hint for a file that cannot be read; ``otherwise`` where it is not there, or no file of the kind."""
    if number in _NOT_ALLOWED:
        return "let this user read it, or name another file"
    return _FILES[number] if number in (errno.EMFILE, errno.ENFILE, errno.ENOMEM) else otherwise


def program_hint(number: int | None, otherwise: str) -> str:
    """Hint for a program that cannot be started; ``otherwise`` where there is none of its name."""
    if number in _NOT_ALLOWED:
        return "let this user execute it: chmod +x, on a disk that is not mounted noexec"
    if number == errno.ENOEXEC:
        return "it is no program for this machine; a script begins with #! and its interpreter"
    return otherwise if number in (None, errno.ENOENT, errno.ENOTDIR) else file_hint(number)


def engine_network_hint(reason: str) -> str:
    """Hint by the number of the error of the system, which the engine names in its text."""
    if reason.endswith("no such interface"):
        return "ip link shows the interfaces of this network namespace"
    found = re.search(r"\(os error ([0-9]+)\)", reason)
    number = int(found[1]) if found else None
    otherwise = network_hint(number)
    return file_hint(number, otherwise) if "unix:" in reason and number not in _NOT_ALLOWED else otherwise


def network_hint(number: int | None) -> str:
    """Hint for a namespace, interface or socket that the system refuses."""
    if number in _NOT_ALLOWED:
        if os.geteuid() != 0:
            return "network namespaces and interfaces need root"
        return "root has no CAP_SYS_ADMIN or CAP_NET_ADMIN here: a container needs --privileged"
    return _NETWORK.get(number or 0, "p4mesh doctor looks at what this machine has")
