"""FRR as a router: zebra installs the routes of the model, bgpd those of its neighbours, bfdd watches them."""

from __future__ import annotations

import shutil
from typing import Any

from p4mesh.network.nodes.base import find_program, run_command
from p4mesh.network.nodes.processes import Processes
from p4mesh.network.nodes.router import RouterNode

_NO_ROUTE = "NO-ROUTE"


class FrrNode(RouterNode):
    """The kernel forwards; routes come from FRR's static and BGP daemons."""

    software = "frr"
    programs = ("zebra", "staticd", "bgpd", "bfdd", "vtysh")
    package = "frr"

    @property
    def _processes(self) -> Processes:
        return Processes(self.directory)

    def start(self) -> None:
        """Give the interfaces their addresses, start the daemons, hand them their configuration."""
        self.start_interfaces()
        shutil.chown(self.directory, "frr", "frr")
        file = self.directory / "frr.conf"
        file.write_text(configuration(self.device.model), encoding="utf-8")
        daemons = ["zebra", "staticd"]
        if "bgp" in self.device.model:
            watched = any("bfd" in neighbour for neighbour in self.device.model["bgp"]["neighbours"])
            daemons += [*(["bfdd"] if watched else []), "bgpd"]
        for daemon in daemons:
            program = find_program(daemon)
            assert program is not None, "checked before"
            own = ["--vty_socket", str(self.directory), "-z", str(self.directory / "zserv.api")]
            own += ["-i", str(self.directory / f"{daemon}.pid"), "-f", "/dev/null"]
            listening = {"bgpd": ["-p", "179"], "bfdd": ["--bfdctl", str(self.directory / "bfdd.sock")]}.get(daemon, [])
            self._processes.start(daemon, self.command(program, *own, *listening, "-A", "127.0.0.1", "-P", "0"))
            self._processes.wait_for(daemon, (self.directory / f"{daemon}.vty").exists)
        run_command([*self._shell(), "-f", str(file)], hint="the answer is that of FRR's vtysh")

    def stop(self) -> None:
        """End the daemons."""
        self._processes.stop()

    def ask(self, question: str) -> str:
        """The answer of FRR to a command such as ``show ip route``."""
        return run_command([*self._shell(), "-c", question])

    def _shell(self) -> list[str]:
        return self.command("vtysh", "--vty_socket", str(self.directory))


def configuration(model: dict[str, Any]) -> str:
    """Static routes and BGP sessions of a model, as vtysh reads them."""
    lines = []
    for route in model.get("routes", []):
        family = "ipv6" if ":" in route["prefix"] else "ip"
        lines += [f"{family} route {route['prefix']} {hop}" for hop in route["next_hops"]]
    bgp = model.get("bgp")
    if bgp:
        lines += [f"router bgp {bgp['as']}", "no bgp ebgp-requires-policy", "no bgp default ipv4-unicast"]
        if "router_id" in bgp:
            lines.append(f"bgp router-id {bgp['router_id']}")
        hold = bgp.get("hold_time_s", 90)
        for neighbour in bgp["neighbours"]:
            address = neighbour["address"]
            lines.append(f"neighbor {address} remote-as {neighbour.get('as', 'external')}")
            lines += [f"neighbor {address} timers {hold // 3} {hold}", f"neighbor {address} passive"]
            if "bfd" in neighbour:
                bfd = neighbour["bfd"]
                interval_ms = bfd.get("interval_ms", 150)
                lines.append(f"neighbor {address} bfd {bfd.get('multiplier', 3)} {interval_ms} {interval_ms}")
        for family, version in (("ipv4", 4), ("ipv6", 6)):
            members = [item["address"] for item in bgp["neighbours"] if (":" in item["address"]) == (version == 6)]
            lines += [f"address-family {family} unicast", *(f"neighbor {item} activate" for item in members)]
            if not bgp.get("advertise", True):
                lines += [f"neighbor {item} route-map {_NO_ROUTE} out" for item in members]
            lines.append("exit-address-family")
        lines.append("exit")
        lines += [f"route-map {_NO_ROUTE} deny 10", "exit"]
    return "\n".join(lines) + "\n"
