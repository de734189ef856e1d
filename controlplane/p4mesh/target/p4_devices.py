"""Lets the events of P4 devices under test happen on the switches that stand for them on Linux interfaces."""

from __future__ import annotations

from contextlib import ExitStack
from threading import Lock, Timer
from types import TracebackType

from p4mesh.errors import P4MeshError
from p4mesh.network.netns import NetnsNetwork
from p4mesh.network.nodes.p4 import SwitchNode
from p4mesh.network.nodes.p4_entries import table_entry
from p4mesh.p4runtime.client import Client
from p4mesh.p4runtime.writing import Update
from p4mesh.topology import Device, Topology
from p4mesh.topology.device_events import DeviceEvent, events_of
from p4mesh.topology.device_keys import P4_DEVICE
from p4mesh.traffic.line_rate import NS_PER_S


class P4Devices:
    """The P4 devices of a network that stands; their events happen between entering and leaving the context.

    Times of events are those of the wall clock, from entering on.
    """

    def __init__(self, topology: Topology, network: NetnsNetwork) -> None:
        self._topology = topology
        self._network = network
        self._stack = ExitStack()
        self._lock = Lock()
        self._switches: list[SwitchNode] = []
        self._clients: dict[str, Client] = {}
        self._timers: list[Timer] = []
        self._refused: P4MeshError | None = None
        self._failures_begun = 0

    def __enter__(self) -> P4Devices:
        """Connect to the switches, and let the time of events begin."""
        try:
            # Devices at interfaces that are there already are no nodes of ours.
            for node in self._network.nodes:
                if node.device.device == P4_DEVICE and isinstance(node, SwitchNode):
                    self._switches.append(node)
                    client = self._clients[node.device.name] = self._stack.enter_context(node.connect())
                    client.load_schema()
            for name, event in self._events():
                if event.at_s is not None:
                    self._later(event.at_s, name, event)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Forget events to come, and leave the switches."""
        for timer in self._timers:
            timer.cancel()
        self._stack.close()

    def require_running(self) -> None:
        """Raise TargetError when a switch has ended, and the error of an event that was refused."""
        for switch in self._switches:
            switch.require_running()
        if self._refused is not None:
            raise self._refused

    def cause_failures(self, count: int) -> int:
        """Let failures 1 to ``count`` begin, those that have not; returns the time to the last change in ns."""
        longest_s = 0.0
        for device, event in self._events():
            if self._failures_begun < event.failure <= count:
                longest_s = max(longest_s, event.after_s)
                if event.after_s:
                    self._later(event.after_s, device, event)
                else:
                    self._carry_out(device, event)
        self._failures_begun = max(count, self._failures_begun)
        self.require_running()
        return int(longest_s * NS_PER_S)

    def _events(self) -> list[tuple[str, DeviceEvent]]:
        return [(name, event) for name in self._clients for event in events_of(self._device(name))]

    def _device(self, name: str) -> Device:
        return next(device for device in self._topology.devices if device.name == name)

    def _later(self, delay_s: float, device: str, event: DeviceEvent) -> None:
        timer = Timer(delay_s, self._carry_out, (device, event))
        timer.daemon = True
        self._timers.append(timer)
        timer.start()

    def _carry_out(self, device: str, event: DeviceEvent) -> None:
        with self._lock:
            try:
                client = self._clients[device]
                updates: list[Update] = [("DELETE", table_entry(client, entry)) for entry in event.delete]
                updates += [("INSERT", table_entry(client, entry)) for entry in event.insert]
                updates += [("MODIFY", table_entry(client, entry)) for entry in event.modify]
                client.write(updates)
                for ports, up in ((event.links_down, False), (event.links_up, True)):
                    for port in ports:
                        self._network.set_link_of(device, port, up)
            except P4MeshError as error:
                self._refused = error
