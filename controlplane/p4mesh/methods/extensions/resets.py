"""Adds resets of the device between trials, and the reaction to a lost link, to every test (methodology 0.3)."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from p4mesh.errors import ParameterError, TopologyError
from p4mesh.methods.base import Method, Session, TrialNote, Unit
from p4mesh.methods.bed import Bed
from p4mesh.methods.composition import Case, Extension, Run
from p4mesh.methods.options.parameters import Parameter, ParameterSet, boolean, choice, command, decimal, with_defaults
from p4mesh.methods.results.record import Record
from p4mesh.traffic.line_rate import NS_PER_S
from p4mesh.traffic.memberships import Memberships
from p4mesh.traffic.patterns import Multicast
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import Hook, Reset, ResetAction, TrialSpec

SWAP_ROLES = "swap_roles"
Groups = TypeVar("Groups", Multicast, Memberships)
_SECTION = "RFC 2544 23"
_MINUTES_S = ("0", "3600")

PARAMETERS: tuple[Parameter, ...] = (
    choice(
        "reset_between",
        ResetAction.NONE.value,
        _SECTION,
        "before each trial: nothing, links off and on, neighbouring ports exchange their roles, a pause, a command",
        (
            ResetAction.NONE.value,
            ResetAction.TOGGLE_LINK.value,
            SWAP_ROLES,
            ResetAction.WAIT_AGING.value,
            ResetAction.HOOK.value,
        ),
    ),
    decimal("link_off_s", "1", "s", _SECTION, "toggle_link: how long the links are off", _MINUTES_S),
    decimal("link_on_delay_s", "1", "s", _SECTION, "toggle_link: pause after the links are up", _MINUTES_S),
    decimal("link_sync_s", "30", "s", _SECTION, "toggle_link: the links are up after this, or ABORT", _MINUTES_S),
    decimal("aging_s", "350", "s", _SECTION, "wait_aging: pause, above the device's aging time", ("0", "1000000")),
    command("hook", _SECTION, "hook: command that resets the device, without a shell"),
    decimal("hook_timeout_s", "60", "s", _SECTION, "time that the command may take", ("0.1", "86400")),
    boolean("stop_on_los", True, _SECTION, "a loss of link on any tester port ends the trial as ABORT"),
)


class Resets(Extension):
    """The device is reset before each trial, and a trial that loses its link is at an end."""

    def parameters_of(self, method: Method) -> tuple[Parameter, ...]:
        """The parameters of this module, with the reset that the method needs."""
        return with_defaults(PARAMETERS, reset_between=method.reset_between)

    def check(self, case: Case) -> None:
        """Refuse a hook without a command, and roles of ports that cannot be exchanged."""
        reset_of(case.parameters)
        if case.parameters.text("reset_between") == SWAP_ROLES:
            neighbours(case.method.name, case.bed)
            if sender := case.parameters.values.get("only_sender"):
                raise ParameterError(
                    f"only_sender={sender}: with reset_between=swap_roles every second trial has another sender",
                    hint="use another reset_between",
                )

    def run_unit(self, run: Run, unit: Unit, case: Case, session: Session) -> Record:
        """Measure the unit with a reset before each trial."""
        return run(_ResettingSession(case, session))


def reset_of(parameters: ParameterSet) -> Reset:
    """The reset before each trial; raises ParameterError for a hook without a command."""
    word = parameters.text("reset_between")
    if word == SWAP_ROLES:
        return Reset()
    action = ResetAction(word)
    hook = hook_of(parameters, "hook")
    if action is ResetAction.HOOK and hook is None:
        raise ParameterError(
            "reset_between=hook: no command is given",
            hint="name the program that resets the device: --set hook=COMMAND",
        )
    return Reset(
        action,
        _ns(parameters, "link_off_s"),
        _ns(parameters, "link_sync_s"),
        _ns(parameters, "link_on_delay_s"),
        _ns(parameters, "aging_s"),
        hook if action is ResetAction.HOOK else None,
    )


def hook_of(parameters: ParameterSet, name: str) -> Hook | None:
    """The command in parameter ``name``, None where it is empty; raises ParameterError for bad quoting."""
    command = parameters.text(name)
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ParameterError(
            f"--set {name}={command}: {error}", hint="a command with its arguments, quoted as in a shell"
        ) from None
    return Hook(command, _ns(parameters, "hook_timeout_s")) if words else None


def neighbours(test: str, bed: Bed) -> dict[int, int]:
    """Whose role each port takes over: 1 and 2 exchange theirs, 3 and 4, and so on; a last odd one stays.

    Raises TopologyError where the ports of a pair differ in rate or in the device behind them.
    """
    partner = {port.number: port.number for port in bed.ports}
    for first, second in zip(bed.ports[::2], bed.ports[1::2], strict=False):
        if (first.rate_bps, first.attached_to) != (second.rate_bps, second.attached_to):
            raise TopologyError(
                f"{test}: reset_between=swap_roles exchanges neighbouring ports, and ports {first.number} and "
                f"{second.number} of topology '{bed.topology}' differ",
                hint="neighbouring ports need one rate and one device; use another reset_between",
            )
        partner[first.number], partner[second.number] = second.number, first.number
    return partner


class _ResettingSession:
    """A session whose trials begin with a reset of the device."""

    def __init__(self, case: Case, session: Session) -> None:
        parameters = case.parameters
        self._session = session
        self._reset = reset_of(parameters)
        self._stop_on_los = parameters.flag("stop_on_los")
        swaps = parameters.text("reset_between") == SWAP_ROLES
        self._partner = neighbours(case.method.name, case.bed) if swaps else None
        self._trials = 0

    def measure(self, spec: TrialSpec, note: TrialNote) -> TrialResult:
        """Measure a trial after the reset; a trial that continues another one has no reset."""
        if not spec.continues:
            self._trials += 1
        result = self._session.measure(self._offered(spec, self._trials), note)
        partner = self._swapped_in(self._trials)
        return relabelled_result(result, partner) if partner else result

    def announce(self, specs: Sequence[TrialSpec]) -> None:
        """Announce the trials as they will be offered."""
        self._session.announce([self._offered(spec, self._trials + n) for n, spec in enumerate(specs, start=1)])

    def _offered(self, spec: TrialSpec, number: int) -> TrialSpec:
        """Trial ``number``, counted from 1, with its reset."""
        if not spec.continues:
            spec = replace(spec, reset=self._reset)
        if spec.interruption is None:
            spec = replace(spec, stop_on_los=spec.stop_on_los and self._stop_on_los)
        partner = self._swapped_in(number)
        return relabelled(spec, partner) if partner else spec

    def _swapped_in(self, number: int) -> Mapping[int, int] | None:
        """Whose role each port has in trial ``number``, None where it has its own."""
        return None if number % 2 else self._partner


def relabelled(spec: TrialSpec, partner: Mapping[int, int]) -> TrialSpec:
    """The trial with every port in the role of its partner."""
    streams = tuple(
        replace(
            stream,
            tx_ports=_all(stream.tx_ports, partner),
            rx_ports=_all(stream.rx_ports, partner),
            pattern=_received(stream.pattern, partner) if isinstance(stream.pattern, Multicast) else stream.pattern,
        )
        for stream in spec.streams
    )
    joined = spec.memberships
    if joined is not None:
        change = joined.change and replace(joined.change, ports=_all(joined.change.ports, partner))
        querier = partner.get(joined.querier_port, 0)
        joined = replace(_received(joined, partner), change=change, querier_port=querier)
    return replace(
        spec,
        streams=streams,
        memberships=joined,
        learning=replace(
            spec.learning,
            ports=_all(spec.learning.ports, partner),
            addresses=tuple((partner[port], mac) for port, mac in spec.learning.addresses),
        ),
        controller_frames=tuple(replace(frame, port=partner[frame.port]) for frame in spec.controller_frames),
        histogram_flows=tuple((name, partner[tx], partner[rx]) for name, tx, rx in spec.histogram_flows),
    )


def relabelled_result(result: TrialResult, partner: Mapping[int, int]) -> TrialResult:
    """The result in terms of the roles: counts of a partner appear under the port whose role it had.

    A port that does not take part, where frames were flooded, has no partner and keeps its number.
    """

    def of(port: int) -> int:
        return partner.get(port, port)

    def of_any(port: int | None) -> int | None:
        return None if port is None else of(port)

    ports = (replace(port, port=of(port.port)) for port in result.ports)
    queues = result.queues and replace(result.queues, rx_ports=tuple(of(port) for port in result.queues.rx_ports))
    return replace(
        result,
        queues=queues,
        ports=tuple(sorted(ports, key=lambda port: port.port)),
        flows=tuple(replace(flow, tx_port=of(flow.tx_port), rx_port=of(flow.rx_port)) for flow in result.flows),
        histograms=tuple(
            replace(item, tx_port=of_any(item.tx_port), rx_port=of_any(item.rx_port)) for item in result.histograms
        ),
        outages=tuple(replace(item, tx_port=of(item.tx_port), rx_port=of(item.rx_port)) for item in result.outages),
    )


def _received(groups: Groups, partner: Mapping[int, int]) -> Groups:
    """Groups whose receivers are the partners of theirs."""
    return replace(
        groups, groups=tuple(replace(part, receivers=_all(part.receivers, partner)) for part in groups.groups)
    )


def _all(ports: tuple[int, ...], partner: Mapping[int, int]) -> tuple[int, ...]:
    return tuple(partner[port] for port in ports)


def _ns(parameters: ParameterSet, name: str) -> int:
    return int(parameters.number(name) * NS_PER_S)
