"""The parts of the data plane of a Tofino by hand: what its program takes, and records of several pipes as one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from p4mesh.errors import TargetError, UnsupportedError
from p4mesh.layers.extension import ExtensionHeader, extension_of
from p4mesh.tester.dataplane import DataPlane, SwitchPorts
from p4mesh.tester.halves import SHORTEST_PACKET_OUT_BYTES
from p4mesh.tester.records import READ_TICKS
from p4mesh.tester.tofino_dataplane import OF_PORTS, InBandTofinoDataPlane, fits_the_parser, joined_pipes

CONTRACT = {"PORT_LOOP": 68, "WINDOW_BITS": 1, "LABELS": 2, "EXTENSION_UNITS": 4, "STAMP_SENT": 8, "GROUP_READ": 9}
DEVICES = {1: 4, 2: 140, 3: 6}


def long(units: int) -> Any:
    return SimpleNamespace(header_bytes=8 * units, kind=f"long {units}")


SHORT, ESP = long(1), extension_of("esp")


@pytest.mark.parametrize(
    ("headers", "fits"),
    [
        ((), True),
        ((SHORT,) * 4, True),
        ((SHORT,) * 5, False),
        ((long(4),), True),
        ((long(5),), False),
        ((SHORT, SHORT, long(2)), True),
        ((SHORT, long(2), SHORT), False),
        ((long(2), SHORT), False),
        ((ESP,), True),
        ((long(2), ESP), True),
        ((SHORT, long(2), ESP), True),
        ((long(2), SHORT, ESP), False),
    ],
)
def test_only_the_last_header_or_the_one_before_esp_may_be_long(
    headers: tuple[ExtensionHeader, ...], fits: bool
) -> None:
    """Four units of 8 bytes are parsed, of which ESP takes one."""
    assert ESP.header_bytes == 8
    assert fits_the_parser(headers, 4) is fits


FIELDS = ("cell", "frames", "latency_max", "flow_sequence", "departures", OF_PORTS, READ_TICKS)
FORM = [(name, "u8") for name in (*FIELDS, "first_departure", "last_departure")]


def records_of(*rows: tuple[int, ...]) -> Any:
    """Records with the values of FIELDS, and departures at times 0."""
    return np.array([(*row, 0, 0) for row in rows], dtype=FORM)


def test_each_cell_has_the_values_of_the_pipe_that_has_counted() -> None:
    """Flow 0 came in pipe 2 and was sent by pipe 0; flow 1 did nothing; cell 2 is a transmitter of pipe 2."""
    nothing = (1, 0, 0, 0, 0, 3, 70)
    found = joined_pipes(
        {
            2: records_of((0, 5, 50, 0, 0, 1, 90), (1, 0, 0, 0, 0, 3, 91), (2, 0, 0, 0, 8, 0, 92)),
            0: records_of((0, 0, 0, 6, 0, 2, 70), nothing, (2, 0, 0, 0, 0, 0, 71)),
        }
    )
    # Ticks are those of the pipe that has received, else of the first one.
    assert found.tolist() == records_of((0, 5, 50, 6, 0, 2, 90), nothing, (2, 0, 0, 0, 8, 0, 71)).tolist()


@pytest.mark.parametrize(
    ("field", "what"),
    [("latency_max", "frames received"), ("flow_sequence", "frames sent"), ("departures", "departures")],
)
def test_a_cell_that_two_pipes_have_counted_in_is_refused(field: str, what: str) -> None:
    pipes = {pipe: records_of(*((cell, 0, 0, 0, 0, 0, 0) for cell in range(3))) for pipe in (0, 1, 3)}
    pipes[0][field][1:] = pipes[3][field][1:] = 1
    with pytest.raises(TargetError, match=f"^cell 1 has counts of {what} in pipes 0 and 3, where one pipe is to count"):
        joined_pipes(pipes)


def plane(monkeypatch: pytest.MonkeyPatch, **client: Any) -> Any:
    """A data plane whose ports are in pipes 0 and 1, with a base class that does nothing."""

    def begin(self: Any, client: object, contract: object, ports: SwitchPorts, form: object) -> None:
        self._client, self._contract, self._ports = client, contract, ports
        self._groups, self._reader = {}, SimpleNamespace()

    monkeypatch.setattr(DataPlane, "__init__", begin)
    monkeypatch.setattr(DataPlane, "load_program", lambda self: None)
    monkeypatch.setattr(DataPlane, "_seed_fields_of", lambda self, stream: {"flags": 1, "count": 7})
    monkeypatch.setattr(DataPlane, "_set_groups", lambda self, groups: None)
    made: Any = InBandTofinoDataPlane(SimpleNamespace(**client), CONTRACT, SwitchPorts(DEVICES, (9, 10)))  # type: ignore[arg-type]
    made._reading_group = lambda loop_port: {}
    return made


def test_cells_of_all_pipes_and_ports_are_cleared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Device port 140 is the highest: 141 cells; pipe 1 has the loop port 68 + 128. Windows have two places."""
    seen: list[tuple[int, dict[str, int]]] = []
    it = plane(monkeypatch)
    it._reader.clear = lambda cells, wait, **more: seen.append((cells, more))
    it.clear(500, lambda passes: None)
    assert seen == [(500, {"window": 0, "port": port}) for port in (68, 196)]
    seen.clear()
    it.clear_windows(3, lambda passes: None)
    assert seen == [(141, {"window": place, "port": port}) for place in (0, 1) for port in (68, 196)]


def test_distances_of_frames_are_read_at_the_device_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three cells are wanted, and device port 140 is known: port 3 is beyond them, port 2 has the record of 140."""
    it, asked = plane(monkeypatch), list[tuple[list[range], int]]()

    def read(wanted: list[range], wait: object, port: int) -> Any:
        asked.append((wanted, port))
        cells = np.arange(len(wanted[0]))
        of_pipe = (cells // 128 == port // 128) * (1000 + cells)
        return records_of(*((cell, 0, 0, 0, 0, spacing, 0) for cell, spacing in enumerate(of_pipe.tolist())))

    it._reader.read = read
    found = it.read(3, lambda passes: None)
    assert asked == [([range(141)], 68), ([range(141)], 196)]
    assert found[OF_PORTS].tolist() == [0, 1004, 1140]
    assert list(it._of_pipes([range(141)], None)) == [0, 1]
    it._ports, it._port_cells = SwitchPorts({5: 4}), 5
    assert it.read(3, lambda passes: None)[OF_PORTS].tolist() == [0, 0, 0], "port 5 is behind the device ports"


def test_histograms_of_ipdv_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(plane(monkeypatch)._ipdv_bins(records_of(), 0)) == []


@pytest.mark.parametrize(("keeps", "flags"), [(False, 1), (True, 9)])
def test_seeds_whose_departures_are_kept_say_so(keeps: bool, flags: int, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = SimpleNamespace(keeps_departures=keeps)
    assert plane(monkeypatch)._seed_fields_of(stream) == {"flags": flags, "count": 7}


def test_front_ports_in_loopback_are_told_to_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    modified: list[Any] = []
    schema = SimpleNamespace(value_set=lambda name, members: (name, members))
    it = plane(monkeypatch, schema=schema, modify=modified.extend)
    it.load_program()
    assert modified == [("TesterIngressParser.loop_ports", [{"": 9}, {"": 10}])]
    it._ports = SwitchPorts(DEVICES)
    it.load_program()
    assert len(modified) == 1

    def refuse(entities: object) -> None:
        raise TargetError("no such entity")

    it = plane(monkeypatch, schema=schema, modify=refuse)
    with pytest.raises(TargetError, match="refuses the front ports in loopback: no such entity"):
        it.load_program()


@pytest.mark.parametrize(
    ("size", "labels", "headers", "refused", "hint"),
    [
        (66, 2, (SHORT,) * 4, "", ""),
        (65, 0, (), "frames of 65 bytes, whose seeds would be padded", "use frames of 66 bytes or more"),
        (66, 3, (), "3 MPLS labels", "use 2 at most"),
        (66, 0, (SHORT, long(2), SHORT), "IPv6 extension headers long 1, long 2, long 1", "use 32 bytes of headers"),
    ],
)
def test_frames_beyond_the_program_are_refused(
    size: int, labels: int, headers: tuple[Any, ...], refused: str, hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A packet-out has 60 bytes at least. Beside its header of 16, a seed is without the signature of 18 and FCS."""
    info = SimpleNamespace(headers={"packet_out": SimpleNamespace(metadata=[SimpleNamespace(bitwidth=64)] * 2)})
    frame = SimpleNamespace(all_of=lambda kind: (1,) * labels, extensions=headers)
    stream = SimpleNamespace(name="s", frame_size_bytes=size, frame=frame)
    plan: Any = SimpleNamespace(streams=[SimpleNamespace(stream=stream)])
    installed: list[object] = []
    it = plane(monkeypatch, schema=SimpleNamespace(info=info))
    monkeypatch.setattr(DataPlane, "configure", lambda self, plan, run: installed.append((plan, run)))
    assert SHORTEST_PACKET_OUT_BYTES - 16 + 18 + 4 == 66
    if refused:
        with pytest.raises(UnsupportedError, match=f"stream 's' has .*{refused}") as caught:
            it.configure(plan, 5)
        assert caught.value.hint.startswith(hint)
    else:
        it.configure(plan, 5)
    assert installed == [(plan, 5)] * (not refused)
