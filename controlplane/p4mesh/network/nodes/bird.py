"""BIRD as a router: it gives the kernel the routes of the model and those of its neighbours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from p4mesh.network.nodes.base import find_program, run_command
from p4mesh.network.nodes.processes import Processes
from p4mesh.network.nodes.router import RouterNode

_FAMILIES = (("ipv4", 4), ("ipv6", 6))
_ROUTER_ID = "192.0.2.1"


class BirdNode(RouterNode):
    """The kernel forwards; routes come from BIRD's static and BGP protocols."""

    software = "bird"
    programs = ("bird", "birdc")
    package = "bird2"

    @property
    def _processes(self) -> Processes:
        return Processes(self.directory)

    @property
    def _socket(self) -> str:
        return str(self.directory / "bird.ctl")

    def start(self) -> None:
        """Give the interfaces their addresses, start the daemon with its configuration."""
        self.start_interfaces()
        configuration = self.directory / "bird.conf"
        configuration.write_text("\n".join(_configuration(self.device.model)) + "\n", encoding="utf-8")
        program = find_program("bird")
        assert program is not None, "checked before"
        own = ["-f", "-c", str(configuration), "-s", self._socket, "-P", str(self.directory / "bird.pid")]
        self._processes.start("bird", self.command(program, *own))
        self._processes.wait_for("bird", (self.directory / "bird.ctl").exists)
        self._processes.require_running("bird")

    def stop(self) -> None:
        """End the daemon."""
        self._processes.stop()

    def ask(self, question: str) -> str:
        """The answer of BIRD to a command such as ``show route``."""
        program = find_program("birdc")
        assert program is not None, "checked before"
        return run_command(self.command(program, "-r", "-s", self._socket, question))


def _configuration(model: dict[str, Any]) -> Iterator[str]:
    bgp = model.get("bgp", {})
    yield f"router id {bgp.get('router_id', _ROUTER_ID)};"
    yield "protocol device {}"
    yield "protocol bfd {}"
    for family, version in _FAMILIES:
        yield f"protocol kernel {family}_kernel {{ merge paths on; {family} {{ import none; export all; }}; }}"
        routes = [route for route in model.get("routes", []) if (":" in route["prefix"]) == (version == 6)]
        yield f"protocol static {family}_static {{"
        yield f"  {family};"
        for route in routes:
            yield f"  route {route['prefix']} {' '.join(f'via {hop}' for hop in route['next_hops'])};"
        yield "}"
    for number, neighbour in enumerate(bgp.get("neighbours", []), 1):
        yield from _session(number, neighbour, bgp)


def _session(number: int, neighbour: dict[str, Any], bgp: dict[str, Any]) -> Iterator[str]:
    family = "ipv6" if ":" in neighbour["address"] else "ipv4"
    export = "all" if bgp.get("advertise", True) else "none"
    yield f"protocol bgp neighbour{number} {{"
    yield f"  local as {bgp['as']};"
    whose = f"as {neighbour['as']}" if "as" in neighbour else "external"
    yield f"  neighbor {neighbour['address']} {whose};"
    yield f"  passive on; hold time {bgp.get('hold_time_s', 90)};"
    if "bfd" in neighbour:
        interval, multiplier = neighbour["bfd"].get("interval_ms", 150), neighbour["bfd"].get("multiplier", 3)
        interval = f"min rx interval {interval} ms; min tx interval {interval} ms;"
        yield f"  bfd {{ {interval} multiplier {multiplier}; }};"
    yield f"  {family} {{ import all; export {export}; }};"
    yield "}"
