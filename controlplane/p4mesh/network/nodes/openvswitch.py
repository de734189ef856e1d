"""Open vSwitch with its datapath in user space as an Ethernet switch."""

from __future__ import annotations

from p4mesh.errors import UnsupportedError
from p4mesh.network.nodes.base import LinuxNode, find_program, run_command
from p4mesh.network.nodes.processes import Processes
from p4mesh.topology.model import Device

_BRIDGE = "ovs0"
_SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"


class OpenVSwitchNode(LinuxNode):
    """A database and a switch of its own in the namespace; aging, table size and VLANs are those of the model."""

    software = "openvswitch"
    programs = ("ovsdb-server", "ovs-vswitchd", "ovs-vsctl", "ovsdb-tool")
    package = "openvswitch-switch"
    in_user_space = True

    @classmethod
    def check(cls, device: Device) -> None:
        """Refuse snooping, which this part is not told of."""
        super().check(device)
        if "snooping" in device.model:
            raise UnsupportedError(
                f"not supported on Open vSwitch: snooping of node '{device.name}'",
                hint="use on_linux: bridge, or --target sim",
            )

    @property
    def _processes(self) -> Processes:
        return Processes(self.directory)

    def start(self) -> None:
        """Start the database, the switch, then add the bridge with its ports."""
        database, socket = self.directory / "conf.db", self.directory / "db.sock"
        run_command([_path("ovsdb-tool"), "create", str(database), _SCHEMA])
        control = f"--unixctl={self.directory}/ovsdb.ctl"
        command = [_path("ovsdb-server"), str(database), f"--remote=punix:{socket}", control, "--no-chdir"]
        self._start("ovsdb-server", command)
        self._processes.wait_for("ovsdb-server", socket.exists)
        self._configure("--no-wait", "init")
        switch = [_path("ovs-vswitchd"), f"unix:{socket}", f"--unixctl={self.directory}/vswitchd.ctl", "--no-chdir"]
        self._start("ovs-vswitchd", switch)
        self._configure(*self._bridge())

    def stop(self) -> None:
        """End the switch, then the database."""
        self._processes.stop()

    def control(self, *arguments: str) -> str:
        """The answer of ``ovs-appctl``."""
        return run_command([_path("ovs-appctl"), "-t", f"{self.directory}/vswitchd.ctl", *arguments])

    def _start(self, name: str, command: list[str]) -> None:
        self._processes.start(name, self.command(*command), {"OVS_RUNDIR": str(self.directory)})

    def _configure(self, *arguments: str) -> None:
        run_command([_path("ovs-vsctl"), "--timeout=20", f"--db=unix:{self.directory}/db.sock", *arguments])

    def _bridge(self) -> list[str]:
        table = self.device.model.get("mac_table", {})
        settings = ["datapath_type=netdev"]
        if "aging_s" in table:
            settings.append(f"other-config:mac-aging-time={max(1, round(table['aging_s']))}")
        if "entries" in table:
            settings.append(f"other-config:mac-table-size={table['entries']}")
        words = ["add-br", _BRIDGE, "--", "set", "bridge", _BRIDGE, *settings]
        vlans = {entry["port"]: entry["mode"] for entry in self.device.model.get("vlans", {}).get("ports", [])}
        for port in self.device.ports:
            words += ["--", "add-port", _BRIDGE, f"p{port.number}"]
            if "vlans" in self.device.model:
                words += _vlan(vlans.get(port.number, {"access": 1}))
        return words


def _vlan(mode: dict[str, object]) -> list[str]:
    """The columns of a port: one VLAN without tags, or several with tags and perhaps one without."""
    if "access" in mode:
        return [f"tag={mode['access']}", "vlan_mode=access"]
    trunk = mode["trunk"]
    assert isinstance(trunk, dict)
    numbers = ",".join(str(number) for number in trunk["vids"])
    if "native" in trunk:
        return [f"trunks={numbers}", f"tag={trunk['native']}", "vlan_mode=native-untagged"]
    return [f"trunks={numbers}", "vlan_mode=trunk"]


def _path(program: str) -> str:
    found = find_program(program)
    assert found is not None, "checked before"
    return found
