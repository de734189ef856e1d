"""The session of a server: the tester, its configuration, and what runs on it. One thread uses it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import snappi
from snappi import otg_pb2 as pb2

from p4mesh.otg.actions import act
from p4mesh.otg.bgp_states import bgp_prefixes
from p4mesh.otg.captures import Captures
from p4mesh.otg.configuration import Configuration, json_of, read_configuration
from p4mesh.otg.devices import Devices
from p4mesh.otg.elements import Element, refusal
from p4mesh.otg.flow_metrics import Line, TaggedRequest, flow_metric
from p4mesh.otg.hosts import Hosts
from p4mesh.otg.locations import Topologies
from p4mesh.otg.metrics import RateMeter, Rates, Totals, chosen, columns_left, port_metric, port_totals
from p4mesh.otg.ownership import LEASE_S, PROTOCOLS_LEASE_S
from p4mesh.otg.pace import Pace, TimeMode, pace_of
from p4mesh.otg.traffic import Traffic, Transmit
from p4mesh.target.base import Target
from p4mesh.tester.instrument import Tester
from p4mesh.tester.opening import open_tester
from p4mesh.topology.loader import FASTEST_LOOP_BPS
from p4mesh.version import __version__

API_VERSION = str(snappi.api(version_check=True).get_local_version().api_spec_version)
"""Version of the API that the package snappi has."""
_OLDEST_API_VERSION = "1.53.0"
"""All its messages are messages of later versions, but for one of MACsec, which is refused."""


class Session:
    """A tester that clients configure and control."""

    def __init__(self, target: type[Target], topologies: Topologies, mode: TimeMode) -> None:
        self._target = target
        self._topologies = topologies
        self._topology = topologies.of(())
        self._mode = mode
        self._opened = ExitStack()
        self._tester: Tester | None = None
        self._pace: Pace | None = None
        self._message = pb2.Config()
        self._configuration = Configuration()
        self._meters: dict[tuple[str, str], RateMeter] = {}
        """Meters by the name of a flow and of its part."""
        self._started_ps: dict[str, int] = {}
        """Times when flows were started anew, by their names."""
        self._port_meters: dict[str, RateMeter] = {}
        self._before: dict[str, Totals] = {}
        """Totals of the ports when they were configured."""

    # Life

    def open(self) -> None:
        """Start the target."""
        # Every flow may have seeds in the loop of a simulated tester, whatever the ports are.
        loop = replace(self._topology.loop, rate_bps=FASTEST_LOOP_BPS)
        self._tester = self._opened.enter_context(open_tester(self._target, replace(self._topology, loop=loop)))
        self._pace = pace_of(self._tester, self._mode)
        self._hosts = Hosts(self._tester, Devices())
        self._traffic = Traffic(self._tester, (), self._hosts.gateway_mac)
        self._captures = Captures(self._tester)

    def close(self) -> None:
        """Stop the target."""
        self._opened.close()

    @property
    def pace(self) -> Pace:
        """How the time of the tester passes."""
        assert self._pace is not None, "a session is opened before it is used"
        return self._pace

    @property
    def tester(self) -> Tester:
        """The tester."""
        assert self._tester is not None, "a session is opened before it is used"
        return self._tester

    @property
    def is_running(self) -> bool:
        """Whether something ran when it was looked at last."""
        return self._traffic.is_running or self._hosts.is_running

    @property
    def lease_s(self) -> float:
        """How long it is its owner's without a request: 0 where nothing runs that another client would disturb."""
        if self._traffic.is_running:
            self._traffic.read()
        if self._traffic.is_running:
            return LEASE_S
        return PROTOCOLS_LEASE_S if self._hosts.speak else 0.0

    # Configuration

    def set_config(self, message: pb2.Config) -> pb2.Warning:
        """Take a configuration in place of the one before."""
        topology = self._topologies.of([port.location for port in message.ports])
        configuration = read_configuration(message, topology)
        if topology is not self._topology:
            self.close()
            self._topology = topology
            self.open()
        hosts = Hosts(self.tester, configuration.devices)
        traffic = Traffic(self.tester, configuration.flows, hosts.gateway_mac)
        self._traffic.stop([])
        self._hosts.end()
        traffic.load()
        hosts.begin()
        self._traffic, self._hosts, self._configuration = traffic, hosts, configuration
        self._captures.stop(list(self._captures.started))
        self._captures = Captures(self.tester, configuration.ports, configuration.captures)
        self._message.CopyFrom(message)
        self._meters.clear()
        self._before = self._port_totals()
        self._port_meters = {name: RateMeter(self.tester.target.now_ps) for name in configuration.ports}
        if configuration.starts_protocols:
            hosts.start()
        return pb2.Warning(warnings=[*configuration.warnings, *traffic.warnings])

    def update_config(self, message: pb2.ConfigUpdate) -> pb2.Warning:
        """Change properties of flows."""
        with Element(json_of(message), "").whole() as root:
            root.choice("flows", default="")
            with root.element("flows").whole() as inner:
                properties = inner.texts("property_names") or ["rate", "size"]
                names = [flow.text("name") for flow in inner.elements("flows")]
                if not names:
                    raise refusal(inner.at("flows"), "is left out", "flows of the configuration")
        config = self._copied()
        flows = {flow.name: flow for flow in config.flows}
        for name, given in zip(chosen(names, flows, "flow"), message.flows.flows, strict=True):
            for key in properties:
                getattr(flows[name], key).CopyFrom(getattr(given, key))
        return self._change_flows(config)

    def append_config(self, message: pb2.ConfigAppend) -> pb2.Warning:
        """Add flows."""
        with Element(json_of(message), "").whole() as root:
            for item in root.elements("config_append_list"):
                with item.whole():
                    item.choice("flows", default="")
        config = self._copied()
        for resources in message.config_append_list:
            config.flows.extend(resources.flows)
        return self._change_flows(config)

    def delete_config(self, message: pb2.ConfigDelete) -> pb2.Warning:
        """Remove flows."""
        names = set()
        with Element(json_of(message), "").whole() as root:
            for item in root.elements("config_delete_list"):
                with item.whole():
                    item.choice("flows", default="")
                    names.update(item.texts("flows"))
        config = self._copied()
        left = [flow for flow in config.flows if flow.name not in names]
        chosen(sorted(names), {flow.name: flow for flow in config.flows}, "flow")
        del config.flows[:]
        config.flows.extend(left)
        return self._change_flows(config)

    def _copied(self) -> pb2.Config:
        config = pb2.Config()
        config.CopyFrom(self._message)
        return config

    def _change_flows(self, message: pb2.Config) -> pb2.Warning:
        """Take a configuration with other flows; what runs goes on, and all that has run keeps its counts."""
        configuration = read_configuration(message, self._topology)
        traffic = Traffic(self.tester, configuration.flows, self._hosts.gateway_mac)
        runs = self._traffic.runs.values()
        told = []
        if any(run.transmit is not Transmit.STOPPED for run in runs):
            told = ["flows that run were interrupted for a moment, and keep their counts"]
        if any(run.begun for run in runs):
            traffic.take_over(self._traffic)
        else:
            traffic.load()
        self._traffic, self._configuration = traffic, configuration
        self._message.CopyFrom(message)
        return pb2.Warning(warnings=[*configuration.warnings, *traffic.warnings, *told])

    def config(self) -> pb2.Config:
        """The configuration as it was given."""
        return self._message

    # Control

    def set_control_state(self, message: pb2.ControlState) -> pb2.Warning:
        """Change what runs."""
        with Element(json_of(message), "").whole() as root:
            kind = root.choice("port", "protocol", "traffic", default="")
            with root.element(kind).whole() as inner:
                _CONTROLS[kind, inner.choice(*(what for of, what in _CONTROLS if of == kind), default="")](self, inner)
        return pb2.Warning()

    def set_control_action(self, message: pb2.ControlAction) -> pb2.ControlActionResponse:
        """Do something once, and tell what came of it."""
        with Element(json_of(message), "").whole() as root:
            return act(root, self._configuration.devices, self._hosts)

    def _transmit(self, element: Element) -> None:
        with element.element("flow_transmit").whole() as inner:
            verbs = {
                "start": self._traffic.start,
                "stop": self._traffic.stop,
                "pause": self._traffic.pause,
                "resume": self._traffic.resume,
            }
            names, state = inner.texts("flow_names"), inner.one_of("state", *verbs)
        if state in ("pause", "stop"):
            self._traffic.read()
        if state == "start":
            self._measure_from_now(names)
        verbs[state](names)

    def _measure_from_now(self, names: Sequence[str]) -> None:
        """Let the rates of flows that start anew, and of the ports, begin."""
        now_ps, runs = self.tester.target.now_ps, self._traffic.runs
        started = {name for name in names or runs if name in runs and runs[name].transmit is Transmit.STOPPED}
        self._started_ps.update(dict.fromkeys(started, now_ps))
        self._meters = {key: meter for key, meter in self._meters.items() if key[0] not in started}
        for name, totals in self._port_totals().items():
            self._port_meters[name].take(totals - self._before[name], now_ps)

    def _protocols(self, element: Element) -> None:
        with element.element("all").whole() as inner:
            if inner.one_of("state", "start", "stop") == "start":
                self._hosts.start()
            else:
                self._hosts.stop()

    def _bgp(self, element: Element) -> None:
        with element.element("bgp").whole() as bgp:
            bgp.choice("peers", default="peers")
            with bgp.element("peers").whole() as inner:
                names, up = inner.texts("peer_names"), inner.one_of("state", "up", "down") == "up"
        self._hosts.change_sessions(chosen(names, self._configuration.devices.peers, "BGP peer"), up=up)

    def _routes(self, element: Element) -> None:
        known = {routes.name: routes for peer in self._configuration.devices.peers.values() for routes in peer.routes}
        with element.element("route").whole() as inner:
            state = inner.one_of("state", "withdraw", "advertise")
            names = chosen(inner.texts("names"), known, "range of routes")
            self._hosts.change_routes(names, announced=state == "advertise")

    def _capture(self, element: Element) -> None:
        with element.element("capture").whole() as inner:
            changes = {"start": self._captures.start, "stop": self._captures.stop}
            change = changes[inner.one_of("state", *changes)]
            change(chosen(inner.texts("port_names"), self._configuration.captures, "port with a capture"))

    def _link(self, element: Element) -> None:
        with element.element("link").whole() as inner:
            names, up = inner.texts("port_names"), inner.one_of("state", "up", "down") == "up"
        for name in chosen(names, self._configuration.ports, "port"):
            self.tester.target.set_link(self._configuration.ports[name].number, up)

    # Monitoring

    def get_metrics(self, message: pb2.MetricsRequest) -> pb2.MetricsResponse:
        """Metrics of ports or flows."""
        with Element(json_of(message), "").whole() as root:
            kind = root.choice(*_METRICS, default="port")
            with root.element(kind).whole() as inner:
                return _METRICS[kind](self, inner)

    def _flow_metrics(self, element: Element) -> pb2.MetricsResponse:
        measured = {name: run for name, run in self._traffic.runs.items() if run.flow.measured.enabled}
        names = chosen(element.texts("flow_names"), measured, "flow with metrics")
        wanted, tagged = element.texts("metric_names"), TaggedRequest.read(element.element("tagged_metrics"))
        self._traffic.read()
        target = self.tester.target
        now_ps, line = target.now_ps, Line(target.capabilities.stamps.kind, target.own_rate_bps_of)

        def measure(flow: str, part: str, totals: Totals) -> Rates:
            begun = RateMeter(self._started_ps.get(flow, now_ps))
            return self._meters.setdefault((flow, part), begun).take(totals, now_ps)

        columns = [*wanted, "tagged_metrics"] if wanted else []
        metrics = [columns_left(flow_metric(measured[name], line, measure, tagged), columns) for name in names]
        return pb2.MetricsResponse(choice=pb2.MetricsResponse.Choice.flow_metrics, flow_metrics=metrics)

    def _port_metrics(self, element: Element) -> pb2.MetricsResponse:
        ports = self._configuration.ports
        names = chosen(element.texts("port_names"), ports, "port")
        wanted = element.texts("column_names")
        self._traffic.read()
        now_ps, links, totals = self.tester.target.now_ps, self.tester.target.links(), self._port_totals()
        sending = {
            port
            for run in self._traffic.runs.values()
            if run.transmit is Transmit.STARTED
            for stream in run.flow.streams
            for port in stream.tx_ports
        }
        metrics = []
        for name in names:
            port, found = ports[name], totals[name] - self._before[name]
            rates = self._port_meters[name].take(found, now_ps)
            up = links[port.number].up if port.number in links else True
            transmits, captures = port.number in sending, name in self._captures.started
            metrics.append(columns_left(port_metric(port, found, rates, up, transmits, captures), wanted))
        return pb2.MetricsResponse(choice=pb2.MetricsResponse.Choice.port_metrics, port_metrics=metrics)

    def _bgpv4_metrics(self, element: Element) -> pb2.MetricsResponse:
        metrics = self._bgp_metrics(element, 4, pb2.Bgpv4Metric)
        return pb2.MetricsResponse(choice=pb2.MetricsResponse.Choice.bgpv4_metrics, bgpv4_metrics=metrics)

    def _bgpv6_metrics(self, element: Element) -> pb2.MetricsResponse:
        metrics = self._bgp_metrics(element, 6, pb2.Bgpv6Metric)
        return pb2.MetricsResponse(choice=pb2.MetricsResponse.Choice.bgpv6_metrics, bgpv6_metrics=metrics)

    def _bgp_metrics(self, element: Element, version: int, kind: Any) -> list[Any]:
        peers = self._configuration.devices.peers
        known = {name: peer for name, peer in peers.items() if peer.interface.address.version == version}
        wanted, metrics = element.texts("column_names"), []
        for name in chosen(element.texts("peer_names"), known, "BGP peer"):
            state, counts = self._hosts.session(name)
            advertised = [len(it.networks) for it in known[name].routes if state.up and it.name in state.advertised]
            metric = kind(
                name=name,
                session_state=kind.SessionState.up if state.up else kind.SessionState.down,
                session_flap_count=state.flaps,
                routes_advertised=sum(advertised),
                fsm_state=getattr(kind.FsmState, counts.fsm_state),
                **counts.columns,
            )
            metrics.append(columns_left(metric, wanted))
        return metrics

    def _port_totals(self) -> dict[str, Totals]:
        numbers = [port.number for port in self._configuration.ports.values()]
        totals = self.tester.dataplane.port_totals(numbers) if numbers else {}
        return {name: port_totals(totals[port.number]) for name, port in self._configuration.ports.items()}

    def get_states(self, message: pb2.StatesRequest) -> pb2.StatesResponse:
        """Neighbours of the devices, and the routes of those that speak BGP."""
        with Element(json_of(message), "").whole() as root:
            kind = root.choice("ipv4_neighbors", "ipv6_neighbors", "bgp_prefixes", default="ipv4_neighbors")
            inner = root.element(kind)
        if kind == "bgp_prefixes":
            return bgp_prefixes(inner, self._configuration.devices.peers, self._hosts.routes)
        with inner.whole():
            wanted = inner.texts("ethernet_names")
        version = 4 if kind == "ipv4_neighbors" else 6
        interfaces = [it for it in self._configuration.devices.interfaces if it.address.version == version]
        names = chosen(wanted, {interface.ethernet: None for interface in interfaces}, "Ethernet interface")
        response = pb2.StatesResponse(choice=pb2.StatesResponse.Choice.Enum.Value(kind))
        for interface in interfaces:
            mac = self._hosts.gateway_mac(interface)
            if interface.ethernet in names and mac is not None:
                state = getattr(response, kind).add(ethernet_name=interface.ethernet, link_layer_address=mac.hex(":"))
                setattr(state, f"ipv{version}_address", str(interface.gateway))
        return response

    def get_capture(self, message: pb2.CaptureRequest) -> bytes:
        """File with the frames of a port."""
        with Element(json_of(message), "").whole() as root:
            with root.element("packets").whole() as packets:
                packets.choice("all", default="all")
            return self._captures.file(root.text("port_name"))

    @staticmethod
    def version() -> pb2.Version:
        """Versions of the API and of P4Mesh; clients take that of the API as a range which theirs is to be in."""
        served = f">={_OLDEST_API_VERSION},<={API_VERSION}"
        return pb2.Version(api_spec_version=served, sdk_version=API_VERSION, app_version=f"p4mesh {__version__}")


_CONTROLS: Mapping[tuple[str, str], Callable[[Session, Element], None]] = {
    ("traffic", "flow_transmit"): Session._transmit,
    ("port", "link"): Session._link,
    ("port", "capture"): Session._capture,
    ("protocol", "all"): Session._protocols,
    ("protocol", "route"): Session._routes,
    ("protocol", "bgp"): Session._bgp,
}
_METRICS: Mapping[str, Callable[[Session, Element], pb2.MetricsResponse]] = {
    "port": Session._port_metrics,
    "flow": Session._flow_metrics,
    "bgpv4": Session._bgpv4_metrics,
    "bgpv6": Session._bgpv6_metrics,
}
