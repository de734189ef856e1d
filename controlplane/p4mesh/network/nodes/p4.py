"""A P4 program on simple_switch_grpc, or on the engine behind ``p4mesh switch``."""

from __future__ import annotations

from abc import abstractmethod

from p4mesh.network.nodes.base import LinuxNode, find_program
from p4mesh.network.nodes.p4_entries import member, member_group, table_entry
from p4mesh.network.nodes.processes import Processes
from p4mesh.p4runtime import Client
from p4mesh.topology.device_keys import program_files
from p4mesh.topology.model import Device

_DEVICE_ID = 1


class SwitchNode(LinuxNode):
    """A P4Runtime switch with the program, the groups and the entries of the model."""

    in_user_space = True

    @classmethod
    def check(cls, device: Device) -> None:
        """Refuse a program without P4Info too: entries are written by P4Runtime."""
        super().check(device)
        program_files(device.model["program"])

    @property
    def address(self) -> str:
        """Its P4Runtime server, a Unix socket, which namespaces share."""
        return f"unix:{self.directory}/p4runtime.sock"

    def start(self) -> None:
        """Start the switch, load the program, write what the model has."""
        processes = Processes(self.directory)
        processes.start(self.software, self.command(*self.words()))
        processes.wait_for(self.software, (self.directory / "p4runtime.sock").exists)
        info, program = program_files(self.device.model["program"])
        with self.connect() as client:
            client.set_pipeline(info, program)
            self._write(client)

    def connect(self) -> Client:
        """A client that speaks to the switch while it is entered."""
        return Client(self.address, _DEVICE_ID)

    def require_running(self) -> None:
        """Raise TargetError when the switch has ended."""
        Processes(self.directory).require_running(self.software)

    def stop(self) -> None:
        """End the switch."""
        Processes(self.directory).stop()

    @abstractmethod
    def words(self) -> list[str]:
        """The command line of the switch."""

    def _ports(self) -> list[str]:
        ports = zip(self.device.ports, self.interfaces(), strict=True)
        return [word for port, interface in ports for word in ("-i", f"{port.number}@{interface}")]

    def _write(self, client: Client) -> None:
        model = self.device.model
        groups = [
            client.schema.multicast_group(
                group["group"], [(port, number) for number, port in enumerate(group["ports"], 1)]
            )
            for group in model.get("groups", [])
        ]
        # A group names members that exist, an entry groups.
        members = [member(client, given) for given in model.get("members", [])]
        members += [member_group(client, given) for given in model.get("member_groups", [])]
        client.insert([*groups, *members, *(table_entry(client, entry) for entry in model.get("entries", []))])


class SimpleSwitchNode(SwitchNode):
    """p4lang's reference switch."""

    software = "simple_switch_grpc"
    programs = ("simple_switch_grpc",)
    package = "p4lang-bmv2"

    def words(self) -> list[str]:
        """Its command line; options behind -- are those of its server."""
        options = ["--no-p4", "--device-id", str(_DEVICE_ID)]
        # Its default is one file in /tmp for all switches of a number.
        options += ["--notifications-addr", f"ipc://{self.directory}/notifications.ipc"]
        return [self.software, *options, *self._ports(), "--", "--grpc-server-addr", self.address]


class EngineSwitchNode(SwitchNode):
    """The embedded engine."""

    software = "p4mesh_switch"
    programs = ("p4mesh",)
    package = "p4mesh"

    def words(self) -> list[str]:
        """Its command line."""
        server = ["--device-id", str(_DEVICE_ID), "--grpc-server-addr", self.address]
        program = find_program(self.programs[0])
        assert program is not None, "checked before"
        return [program, "switch", "--no-p4", *self._ports(), *server]
