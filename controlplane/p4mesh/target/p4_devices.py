"""Devices under test of device ``p4`` as switches of their own on Linux interfaces, with their entries and events."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from threading import Lock, Timer
from types import TracebackType

from p4mesh.errors import P4MeshError
from p4mesh.network.netns import NetnsNetwork
from p4mesh.network.nodes.p4_entries import table_entry
from p4mesh.p4runtime.client import Client
from p4mesh.p4runtime.writing import Update
from p4mesh.target.simple_switch import SimpleSwitch, simple_switch
from p4mesh.topology import Device, Topology
from p4mesh.topology.device_events import DeviceEvent, events_of
from p4mesh.topology.device_keys import P4_DEVICE, program_files

_NS_PER_S = 1_000_000_000


class P4Devices:
    """The P4 devices of a topology, running between entering and leaving the context.

    Times of events are those of the wall clock, from entering on.
    """

    def __init__(self, topology: Topology, network: NetnsNetwork, directory: Path, first_device_id: int) -> None:
        self._topology = topology
        self._network = network
        self._directory = directory
        self._first_device_id = first_device_id
        self._stack = ExitStack()
        self._lock = Lock()
        self._switches: list[SimpleSwitch] = []
        self._clients: dict[str, Client] = {}
        self._timers: list[Timer] = []
        self._refused: P4MeshError | None = None
        self._failures_begun = 0

    def __enter__(self) -> P4Devices:
        """Start the switches, install programs, groups and entries, and let the time of events begin."""
        try:
            devices = [device for device in self._topology.devices if device.device == P4_DEVICE]
            for device_id, device in enumerate(devices, self._first_device_id):
                self._start(device, device_id)
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
        """Forget events to come, and stop the switches."""
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
        return int(longest_s * _NS_PER_S)

    def _start(self, device: Device, device_id: int) -> None:
        p4info, program = program_files(device.model["program"])
        interfaces = self._network.interfaces_of(device.name)
        switch = self._stack.enter_context(
            simple_switch(self._network.node(device.name).command, interfaces, device_id, self._directory)
        )
        client = self._stack.enter_context(Client(switch.address, device_id))
        client.set_pipeline(p4info, program)
        schema = client.schema
        groups = [
            schema.multicast_group(group["group"], [(port, number) for number, port in enumerate(group["ports"], 1)])
            for group in device.model.get("groups", ())
        ]
        client.insert([*groups, *(table_entry(client, entry) for entry in device.model.get("entries", ()))])
        self._switches.append(switch)
        self._clients[device.name] = client

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
