"""Lets a test of RFC 2544 measure an operation of the device on headers, such as the swap of a label.

The operation gives the frames their headers. Tests of such a standard are those of RFC 2544 under names of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, TypeVar

from p4mesh.errors import ParameterError
from p4mesh.layers.frame import Frame
from p4mesh.layers.notation import frame_of_text
from p4mesh.methods.base import Method, MethodOf
from p4mesh.methods.composition import Assemble, Case, Extension, Results
from p4mesh.methods.options.parameters import Parameter, ParameterSet, boolean, choice, text, with_defaults
from p4mesh.methods.options.shared import FRAME_FORMATS, HEADERS, RECEIVED_HEADERS
from p4mesh.methods.results import fields
from p4mesh.methods.results.outcome import Outcome, Table
from p4mesh.methods.shapes import MeshTest
from p4mesh.quantities import ports_text
from p4mesh.tester.sendable import require_sendable

OPERATION = "operation"
_INNER = ("ipv4", "ipv6")
_ONE_EACH = "use a pattern in which each port sends to one other, such as pattern=pairs"
_ONE = "send to one port: --set bidirectional=false, and ports=first_pair where there are more than two"

TestOf = TypeVar("TestOf", bound=MethodOf[Any])


class Way(Enum):
    """Parts of a packet that decide where the device sends it."""

    ADDRESS = "the destination decides"
    """The tester's ports have addresses of their own, so any pattern of traffic does."""
    PORT_AND_LABEL = "the label and the port that it comes on decide"
    SEGMENT = "the segment decides"


@dataclass(frozen=True)
class Operation:
    """One operation of the device, and the frames that ask for it."""

    meaning: str
    usual: str = ""
    """Usual values of the parameter that names labels or segments, with spaces between them; empty: it needs none."""
    headers: Callable[[Sequence[str], ParameterSet], str] | None = None
    """Layers in front of the IP packet, for these labels or segments; None: none."""
    way: Way = Way.ADDRESS


def test_of(method: TestOf, name: str, section: str, sizes: Sequence[int], **defaults: Any) -> TestOf:
    """Give a test of RFC 2544 the name, clause, frame sizes and defaults of another standard."""
    method.name, method.section, method.frame_sizes_bytes = name, section, tuple(sizes)
    routed = boolean("routed", True, section, "frames go to the device as to a router, at its MAC address")
    method.parameters = (*with_defaults(method.parameters, **defaults), routed)
    return method


class Operations(Extension):
    """The operations of a standard, one of which a run measures."""

    def __init__(self, section: str, names: str, operations: Mapping[str, Operation], *parameters: Parameter) -> None:
        """``names`` is the parameter for labels or segments; ``parameters`` are others that headers depend on."""
        self._operations = dict(operations)
        self._names = names
        usual = "; ".join(f"{name}: {item.usual}" for name, item in operations.items() if item.usual)
        meanings = "; ".join(f"{name}: {item.meaning}" for name, item in operations.items())
        self._parameters = (
            choice(OPERATION, next(iter(operations)), section, meanings, tuple(operations)),
            text(RECEIVED_HEADERS, section, "stack of layers behind the device; empty: not compared"),
            text(names, section, f"{names} of the frames in the order of the way, with spaces; empty = {usual}"),
            *parameters,
        )

    def parameters_of(self, method: Method) -> tuple[Parameter, ...]:
        return self._parameters

    def derived(self, test: str, parameters: ParameterSet) -> ParameterSet:
        """The parameters with the headers of the operation; raises ParameterError for names that are none."""
        operation = self._operations[parameters.text(OPERATION)]
        given = parameters.text(self._names).split()
        frame_format = parameters.text("frame_format")
        if parameters.text(HEADERS):
            raise ParameterError(
                f"{test}: {HEADERS} with {OPERATION}={parameters.text(OPERATION)}, which makes the headers",
                hint=f"leave {HEADERS} out; {self._names} and frame_format choose them",
            )
        if parameters.text(RECEIVED_HEADERS):
            try:
                frame_of_text(parameters.text(RECEIVED_HEADERS))
            except ParameterError as error:
                raise ParameterError(f"--set {RECEIVED_HEADERS}: {error.message}", hint=error.hint) from None
        if frame_format not in _INNER:
            raise ParameterError(f"{test}: frame_format={frame_format}", hint=f"use one of {', '.join(_INNER)}")
        if operation.headers is None:
            if given:
                raise ParameterError(
                    f"{test}: {self._names}={' '.join(given)} with {OPERATION}={parameters.text(OPERATION)}, whose "
                    "frames have none",
                    hint=f"leave {self._names} out",
                )
            return parameters
        names, headers = given or operation.usual.split(), operation.headers

        def stack(count: int) -> str:
            return f"{headers(names[:count], parameters)}/{frame_format}/udp"

        most = len(names)
        try:
            while not _sends(frame_of_text(stack(most))):
                most -= 1
        except ParameterError as error:
            hint = f"{self._names} with spaces between them, such as {operation.usual}"
            raise ParameterError(f"--set {self._names}={' '.join(given)}: {error.message}", hint=hint) from None
        if most < len(names):
            raise ParameterError(
                f"--set {self._names}={' '.join(given)}: {len(given)} {self._names} in front of {frame_format}, more "
                "than frames of the tester have room for",
                hint=f"use {most} {self._names} or fewer",
            )
        usual = next(iter(FRAME_FORMATS))
        return ParameterSet({**parameters.values, HEADERS: stack(most), "frame_format": usual})

    def check(self, case: Case) -> None:
        """Refuse patterns in which frames with one label or segment are for several ports."""
        operation = case.parameters.text(OPERATION)
        way = self._operations[operation].way
        if way is Way.ADDRESS or not isinstance(case.method, MeshTest):
            return
        receivers: dict[int, set[int]] = {}
        for sender, receiver in case.method.mesh(case.bed, case.parameters).pairs:
            receivers.setdefault(sender if way is Way.PORT_AND_LABEL else 0, set()).add(receiver)
        for sender, ports in receivers.items():
            if len(ports) > 1:
                where = f"port {sender} sends" if sender else "frames go"
                raise ParameterError(
                    f"{case.method.name}: {where} to ports {ports_text(sorted(ports))}, and all frames have the same "
                    f"{self._names}: with {OPERATION}={operation}, {way.value} where a packet goes",
                    hint=_ONE_EACH if sender else _ONE,
                )

    def assemble(self, assemble: Assemble, case: Case, results: Results) -> Outcome:
        """The outcome with the operation in its tables."""
        outcome = assemble(results)
        return replace(outcome, tables=tuple(_with_column(table, case.parameters) for table in outcome.tables))


def _sends(frame: Frame) -> bool:
    try:
        require_sendable(HEADERS, frame)
    except ParameterError:
        return False
    return True


def _with_column(table: Table, parameters: ParameterSet) -> Table:
    if table.detail or table.columns[0].key != "frame_size_bytes":
        return table
    rows = tuple({**row, fields.OPERATION.key: parameters.text(OPERATION)} for row in table.rows)
    return replace(table, columns=(table.columns[0], fields.OPERATION, *table.columns[1:]), rows=rows)
