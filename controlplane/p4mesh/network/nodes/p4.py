"""A P4 program on simple_switch_grpc, or on the engine behind ``p4mesh switch``."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Any

from p4mesh.errors import EnvironmentFault
from p4mesh.network.nodes.base import LinuxNode, find_program
from p4mesh.network.nodes.processes import Processes
from p4mesh.p4runtime import Client
from p4mesh.p4runtime.info import lookup
from p4mesh.topology.device_keys import program_files
from p4mesh.topology.model import Device

_DEVICE_ID = 1


class SwitchNode(LinuxNode):
    """A P4Runtime switch with the program, the groups and the entries of the model."""

    @classmethod
    def check(cls, device: Device) -> None:
        """Refuse a program without P4Info: entries are written by P4Runtime."""
        super().check(device)
        _, info = program_files(device.model["program"])
        if not info.is_file():
            raise EnvironmentFault(
                f"node '{device.name}': {info} is missing",
                hint="compile the program with p4c-bm2-ss --p4runtime-files, into the directory of its JSON",
            )

    @property
    def address(self) -> str:
        """Its P4Runtime server, a Unix socket, which namespaces share."""
        return f"unix:{self.directory}/p4runtime.sock"

    def start(self) -> None:
        """Start the switch, load the program, write what the model has."""
        processes = Processes(self.directory)
        processes.start(self.software, self.command(*self.words()))
        processes.wait_for(self.software, (self.directory / "p4runtime.sock").exists)
        program, info = program_files(self.device.model["program"])
        with Client(self.address, _DEVICE_ID) as client:
            client.set_pipeline(info, program)
            self._write(client)

    def stop(self) -> None:
        """End the switch."""
        Processes(self.directory).stop()

    def words(self) -> list[str]:
        """Return the command line of the switch."""
        raise NotImplementedError

    def _ports(self) -> list[str]:
        ports = zip(self.device.ports, self.interfaces(), strict=True)
        return [word for port, interface in ports for word in ("-i", f"{port.number}@{interface}")]

    def _write(self, client: Client) -> None:
        schema, model = client.schema, self.device.model
        groups = [
            schema.multicast_group(group["group"], [(port, 0) for port in group["ports"]])
            for group in model.get("groups", [])
        ]
        entries = []
        for entry in model.get("entries", []):
            names = [parameter.name for parameter in lookup(schema.info.actions, "action", entry["action"]).params]
            entries.append(
                schema.table_entry(
                    entry["table"],
                    {field: _match(value) for field, value in entry["key"].items()},
                    entry["action"],
                    dict(zip(names, (_number(value) for value in entry.get("params", [])), strict=True)),
                    priority=entry.get("priority", 0),
                )
            )
        client.insert([*groups, *entries])


class SimpleSwitchNode(SwitchNode):
    """p4lang's reference switch."""

    software = "simple_switch_grpc"
    programs = ("simple_switch_grpc",)
    package = "p4lang-bmv2"

    def words(self) -> list[str]:
        """Return its command line; options behind -- are those of its server."""
        server = ["--", "--grpc-server-addr", self.address]
        return [self.software, "--no-p4", "--device-id", str(_DEVICE_ID), *self._ports(), *server]


class EngineSwitchNode(SwitchNode):
    """The embedded engine."""

    software = "p4mesh_switch"
    programs = ("p4mesh",)
    package = "p4mesh"

    def words(self) -> list[str]:
        """Return its command line."""
        server = ["--device-id", str(_DEVICE_ID), "--grpc-server-addr", self.address]
        program = find_program(self.programs[0])
        assert program is not None, "checked before"
        return [program, "switch", "--no-p4", *self._ports(), *server]


def _match(value: Any) -> Any:
    """Return a key of the file as P4Runtime's client takes it."""
    if not isinstance(value, dict):
        return _number(value)
    if "low" in value:
        return _number(value["low"]), _number(value["high"])
    other = value["prefix_bits"] if "prefix_bits" in value else _number(value["mask"])
    return _number(value["value"]), other


def _number(value: int | str) -> int:
    """Return a number, "0x...", a MAC, an IPv4 or an IPv6 address as a number."""
    if isinstance(value, int):
        return value
    if value.lower().startswith("0x") or value.isdecimal():
        return int(value, 0)
    parts = value.split(":")
    if len(parts) == 6 and all(len(part) == 2 for part in parts):
        return int("".join(parts), 16)
    return int(ip_address(value))
