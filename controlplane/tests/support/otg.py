"""A server of the Open Traffic Generator API in a process of its own, as a user starts it, and its real client."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import snappi

_PATIENCE_S = 60.0
TRANSPORTS = ("http", "grpc")


@dataclass
class OtgServer:
    """A server that runs."""

    places: dict[str, str]
    process: subprocess.Popen[str]

    def api(self, transport: str = "http", location: str = "") -> Any:
        return snappi.api(location or self.places[transport], transport=transport, version_check=True)


@contextmanager
def serving_otg(topology: Path | str, *options: str, token: str = "") -> Iterator[OtgServer]:
    """Start ``p4mesh otg`` on free ports; virtual time passes while clients wait and poll."""
    words = [sys.executable, "-m", "p4mesh", "otg", "--json", *(["--topology", str(topology)] if topology else [])]
    if "--time" not in options:
        words += ["--time", "fast"]
    for place in ("--http", "--grpc"):
        words += [] if place in options else [place, "127.0.0.1:0"]
    environment = {**os.environ, **({"P4MESH_OTG_TOKEN": token} if token else {})}
    process = subprocess.Popen([*words, *options], stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    try:
        yield OtgServer(json.loads(process.stdout.readline()), process)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.wait(_PATIENCE_S)
        process.stdout.close()


def two_ports(api: Any) -> Any:
    """A configuration with ports p1 and p2."""
    config = api.config()
    config.ports.port(name="p1", location="1").port(name="p2", location="2")
    return config


def add_flow(config: Any, name: str, tx: str = "p1", rx: str = "p2", size: int = 128, pps: int = 1000) -> Any:
    """Add a flow of UDP over IPv4, whose metrics are all measured; it has no end."""
    flow = config.flows.add(name=name)
    flow.tx_rx.port.tx_name, flow.tx_rx.port.rx_names = tx, [rx]
    ethernet, ipv4, udp = flow.packet.ethernet().ipv4().udp()
    ethernet.src.value, ethernet.dst.value = "02:00:00:00:00:01", "02:00:00:00:00:02"
    ipv4.src.value, ipv4.dst.value = "10.0.0.1", "10.0.0.2"
    udp.src_port.value, udp.dst_port.value = 5000, 5001
    flow.size.fixed, flow.rate.pps = size, pps
    flow.metrics.enable = flow.metrics.loss = flow.metrics.timestamps = flow.metrics.latency.enable = True
    flow.metrics.latency.mode = flow.metrics.latency.CUT_THROUGH
    return flow


def transmit(api: Any, state: str, *names: str) -> None:
    """Start, stop, pause or resume flows, by default all."""
    control = api.control_state()
    control.traffic.flow_transmit.state = state
    control.traffic.flow_transmit.flow_names = list(names)
    api.set_control_state(control)


def flow_metrics(api: Any, *names: str) -> dict[str, Any]:
    """The metrics of flows by name, by default of all."""
    request = api.metrics_request()
    request.flow.flow_names = list(names)
    return {metric.name: metric for metric in api.get_metrics(request).flow_metrics}


def ended(api: Any, name: str = "f") -> Any:
    """Start all flows, and return the metric of one when it has ended."""
    transmit(api, "start")
    for _ in range(20):
        metric = flow_metrics(api)[name]
        if metric.transmit == "stopped":
            return metric
    raise AssertionError(f"flow {name} does not end: {metric}")


def by_tags(metric: Any) -> dict[tuple[str, ...], Any]:
    """Tagged metrics by the values of their tags."""
    return {tuple(getattr(tag.value, tag.value.choice) for tag in part.tags): part for part in metric.tagged_metrics}


def port_metrics(api: Any, *names: str) -> dict[str, Any]:
    """The metrics of ports by name, by default of all."""
    request = api.metrics_request()
    request.port.port_names = list(names)
    return {metric.name: metric for metric in api.get_metrics(request).port_metrics}


def errors_of(act: Callable[[], object]) -> Sequence[str]:
    """Reasons that the server gives for not doing something."""
    try:
        act()
    except Exception as error:  # snappi raises nothing more special
        told: Sequence[str] = error.args[0].errors
        return told
    raise AssertionError("the server has done it")
