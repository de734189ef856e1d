"""Defines what every Linux part of a network does."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from p4mesh.causes import network_hint
from p4mesh.errors import EnvironmentFault, TargetError, UnsupportedError
from p4mesh.network.machine import switch_offloads_off
from p4mesh.network.namespaces import entered
from p4mesh.network.netlink import opened, set_kernel_value
from p4mesh.topology.model import Device

MTU_BYTES = 9500
_BEYOND_MTU_BYTES = 22
"""Part of a frame with FCS: what a virtual cable lets pass above the MTU, which leaves room for a tag."""
_LEAST_MTU_BYTES = 68
_FURTHER_PLACES = "/usr/local/sbin:/usr/sbin:/sbin:/usr/lib/frr"


class LinuxNode(ABC):
    """One node in a namespace of its own; port N is interface ``pN`` there."""

    software: ClassVar[str]
    """Its name for the key ``on_linux``."""
    programs: ClassVar[tuple[str, ...]] = ()
    """Programs that must be installed."""
    package: ClassVar[str] = ""
    """Debian package with these programs."""
    in_user_space: ClassVar[bool] = False
    """Whether a process forwards frames, which needs a processor for it; else the kernel does."""

    def __init__(self, device: Device, namespace: str, directory: Path) -> None:
        self.device = device
        self.namespace = namespace
        self.directory = directory
        """For files of its processes; removed with the network."""

    @classmethod
    def check(cls, device: Device) -> None:
        """Raise UnsupportedError where the part cannot stand for the node, EnvironmentFault where it is missing."""
        for program in cls.programs:
            if find_program(program) is None:
                raise EnvironmentFault(
                    f"node '{device.name}': {program} is not installed",
                    hint=f"install {cls.package}, or use --target sim",
                )
        if _mtu_bytes(device) < _LEAST_MTU_BYTES:
            raise UnsupportedError(
                f"not supported on Linux interfaces: max_frame_bytes of node '{device.name}'",
                hint=f"valid there: {_LEAST_MTU_BYTES + _BEYOND_MTU_BYTES} or more",
            )

    @abstractmethod
    def start(self) -> None:
        """Make a device of the interfaces, which are there and not yet up."""

    def stop(self) -> None:  # noqa: B027 - most parts live in the namespace alone
        """End what would survive the namespace."""

    def interfaces(self) -> tuple[str, ...]:
        """The interfaces of the node, in the order of its ports."""
        return tuple(f"p{port.number}" for port in self.device.ports)

    @property
    def mtu_bytes(self) -> int:
        """MTU of its interfaces: longer frames than the model takes do not come in."""
        return _mtu_bytes(self.device)

    def command(self, *arguments: str) -> list[str]:
        """The command line that runs ``arguments`` in the namespace."""
        return [find_program("ip") or "ip", "netns", "exec", self.namespace, *arguments]

    def kernel_values(self, values: dict[str, int | str]) -> None:
        """Write values of /proc/sys of the namespace."""
        with entered(self.namespace):
            for key, value in values.items():
                set_kernel_value(key, value)


def _mtu_bytes(device: Device) -> int:
    longest: int = device.model.get("max_frame_bytes", MTU_BYTES + _BEYOND_MTU_BYTES)
    return min(MTU_BYTES, longest - _BEYOND_MTU_BYTES)


def prepare_interface(namespace: str, interface: str, mtu_bytes: int = MTU_BYTES) -> None:
    """Let an interface carry frames of any length, or up to an MTU, and no frames of the kernel's own."""
    with opened(namespace) as kernel:
        set_kernel_value(f"net.ipv6.conf.{interface}.disable_ipv6", 1)
        switch_offloads_off(interface)
        kernel.set(interface, mtu=mtu_bytes, state="up")


def find_program(name: str) -> str | None:
    """The path of a program: beside the Python that runs, in PATH, or where only root's shell looks."""
    places = (str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath), _FURTHER_PLACES)
    return shutil.which(name, path=os.pathsep.join(places))


def run_command(command: Sequence[str], hint: str = "") -> str:
    """Run a command and return its output; raises TargetError when it fails."""
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout
    except FileNotFoundError:
        raise TargetError(f"{command[0]} is not installed", hint=f"install the package with {command[0]}") from None
    except subprocess.CalledProcessError as error:
        said = error.stderr.strip()
        cause = errno.EPERM if "permitted" in said or "denied" in said else None
        raise TargetError(f"'{' '.join(command)}' failed: {said}", hint=hint or network_hint(cause)) from None
