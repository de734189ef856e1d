"""Interfaces may be named by another name (altname): the kernel takes up to 127 letters, where own names have 15."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.hand_made import Machine, machine
from support.linux_devices import needs_root
from support.networks import parsed, wire

from p4mesh.errors import TargetError
from p4mesh.network.borrowed import own_names

pytestmark = needs_root
OTHER = "uplink-of-the-tester-in-rack-7"


@pytest.fixture
def here() -> Iterator[Machine]:
    with machine(pairs=1) as made:
        made.ip("link", "property", "add", "dev", "a1", "altname", OTHER)
        yield made


def test_an_interface_is_found_by_each_of_its_names(here: Machine) -> None:
    assert own_names({1: OTHER, 2: "b1"}) == own_names({1: "a1", 2: "b1"}) == {1: "a1", 2: "b1"}
    assert own_names({1: "none-such"}) == {1: "none-such"}
    assert own_names({}) == {}


def test_two_names_of_one_interface_are_refused(here: Machine) -> None:
    with pytest.raises(TargetError, match=f"interface '{OTHER}' is 'a1', which another port has"):
        own_names({1: "a1", 2: OTHER})


def test_a_topology_takes_long_names() -> None:
    (port, _) = parsed(wire(tester_port={1: f"interface: {OTHER}"})).tester_ports
    assert port.interface == OTHER
