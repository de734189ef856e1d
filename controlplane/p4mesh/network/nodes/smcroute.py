"""The kernel as a router of multicast: SMCRoute installs the fixed routes of groups of the model."""

from __future__ import annotations

from typing import Any

from p4mesh.errors import UnsupportedError
from p4mesh.network.nodes.base import find_program
from p4mesh.network.nodes.processes import Processes
from p4mesh.network.nodes.router import RouterNode
from p4mesh.topology.model import Device

_MULTICAST = "multicast"
_IDENTITY = "smcroute"


class SmcrouteNode(RouterNode):
    """The kernel forwards; packets to groups go from the input of their route to its outputs."""

    software = "smcroute"
    programs = ("smcrouted",)
    package = "smcroute"
    routes_groups = True

    @classmethod
    def check(cls, device: Device) -> None:
        """Refuse what is no fixed route: SMCRoute has no IGMP, no MLD and no PIM, and does not ask for the way back."""
        super().check(device)
        model = device.model.get(_MULTICAST, {})
        if further := sorted(set(model) - {"routes"}):
            raise UnsupportedError(
                f"not supported by SMCRoute: {_MULTICAST}.{further[0]} of node '{device.name}'",
                hint=f"leave it out, so that {_MULTICAST}.routes alone decide, or use --target sim",
            )
        if any("input" not in route for route in model.get("routes", [])):
            raise UnsupportedError(
                f"not supported by SMCRoute: a route of groups without input on node '{device.name}'",
                hint="name the port on which the groups come: input",
            )

    @property
    def _processes(self) -> Processes:
        return Processes(self.directory)

    def start(self) -> None:
        """Give the interfaces their addresses and routes, then start the daemon."""
        super().start()
        configuration, ready = self.directory / "smcroute.conf", self.directory / "smcroute.pid"
        configuration.write_text(_configuration(self.device.model.get(_MULTICAST, {})), encoding="utf-8")
        program = find_program(self.programs[0])
        assert program is not None, "checked before"
        own = ["-i", _IDENTITY, "-u", str(self.directory / "smcroute.sock"), "-P", str(ready)]
        self._processes.start(_IDENTITY, self.command(program, "-n", "-N", "-f", str(configuration), *own))
        self._processes.wait_for(_IDENTITY, ready.exists)

    def stop(self) -> None:
        """End the daemon."""
        self._processes.stop()


def _configuration(model: dict[str, Any]) -> str:
    routes = model.get("routes", [])
    ports = sorted({port for route in routes for port in (route["input"], *route["outputs"])})
    lines = [f"phyint p{port} enable" for port in ports]
    for route in routes:
        source = f" source {route['source']}" if "source" in route else ""
        outputs = " ".join(f"p{port}" for port in route["outputs"])
        lines.append(f"mroute from p{route['input']}{source} group {route['groups']} to {outputs}")
    return "".join(f"{line}\n" for line in lines)
