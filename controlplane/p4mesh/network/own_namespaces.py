"""Lets an ordinary user have networks of P4Mesh's own parts: in user, network and mount namespaces of the process.

The kernel lets any user be root in namespaces of his own, where it allows that at all. The interfaces of the machine
are not in them. ``python -m p4mesh.network.own_namespaces PROGRAM WORDS`` runs a program there, in the same process.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from p4mesh.errors import RightsError, TargetError

MODULE = "p4mesh.network.own_namespaces"
_CLONE_NEWNS, _CLONE_NEWUSER, _CLONE_NEWNET = 0x00020000, 0x10000000, 0x40000000
_CAP_NET_ADMIN, _CAP_SYS_ADMIN = 12, 21
_NEEDED = "root, or CAP_NET_ADMIN, CAP_NET_RAW and CAP_SYS_ADMIN, and CAP_BPF for AF_XDP; a container: --privileged"
_STATE = "/run"
"""Where names of network namespaces and files of networks are: nothing of the machine is needed there."""


def require_rights(interfaces: Sequence[str]) -> None:
    """Raise an error where this process lacks rights for a network with these interfaces of the machine.

    It is a RightsError where namespaces of its own are enough, a TargetError where interfaces are named.
    """
    if has_rights():
        return
    if interfaces:
        raise TargetError(
            f"this process may not use the interfaces of this machine: {', '.join(interfaces)}",
            hint=f"needed: {_NEEDED}; a topology that names no interface needs none of that",
        )
    raise RightsError("this process may not make a network", hint=f"needed: {_NEEDED}")


def has_rights() -> bool:
    """Whether this process may make network namespaces and interfaces."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    effective = next(line.split()[1] for line in status.splitlines() if line.startswith("CapEff:"))
    return all(int(effective, 16) >> capability & 1 for capability in (_CAP_NET_ADMIN, _CAP_SYS_ADMIN))


def run_again() -> NoReturn:
    """Replace this process by the same command in namespaces of its own."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    # A process with threads, such as those of gRPC, cannot enter a user namespace: a new program has none.
    os.execv(sys.executable, [sys.executable, "-m", MODULE, sys.executable, *sys.orig_argv[1:]])


def _run(command: list[str]) -> NoReturn:
    """Enter the namespaces and become the program; raises OSError where the kernel refuses."""
    user, group = os.getuid(), os.getgid()
    libc = ctypes.CDLL(None, use_errno=True)
    _require(libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNS | _CLONE_NEWNET))
    for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
        Path("/proc/self", name).write_text(text, encoding="ascii")
    _require(libc.mount(b"p4mesh", _STATE.encode(), b"tmpfs", 0, None))
    from p4mesh.network.netlink import opened

    with opened("/proc/thread-self/ns/net") as kernel:
        kernel.set("lo", state="up")
    os.execv(command[0], command)


def _require(result: int) -> None:
    if result:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _main(command: list[str]) -> int:
    try:
        _run(command)
    except OSError as error:
        refused = TargetError(
            f"this process may neither make a network nor have namespaces of its own: {error.strerror}",
            hint=f"needed: {_NEEDED}; or namespaces for every user (user.max_user_namespaces above 0, on Ubuntu "
            "kernel.apparmor_restrict_unprivileged_userns=0)",
        )
        print(refused.render(), file=sys.stderr)
        return refused.exit_code


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
