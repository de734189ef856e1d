"""Resets of the device before the trials of every test, on a measurer that only records them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.beds import make_bed
from support.fakes import FakeMeasurer

from p4mesh.errors import ParameterError, TopologyError
from p4mesh.measurement.counts import FlowCounts, PortCounts, QueueTrend, Trend
from p4mesh.methods.base import TrialNote
from p4mesh.methods.bed import Bed
from p4mesh.methods.extensions.resets import neighbours, relabelled_result
from p4mesh.methods.options.parameters import resolve
from p4mesh.methods.registry import TESTS, find_test
from p4mesh.traffic.patterns import Multicast
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import ResetAction, TrialSpec

BED = make_bed()
S = 10**9


class Notes(FakeMeasurer):
    """Sees every receive port flooded by as many frames as its number."""

    def measure(self, spec: TrialSpec, note: TrialNote | None = None) -> TrialResult:
        result = super().measure(spec)
        stream = spec.streams[0]
        flow = FlowCounts(stream.name, stream.tx_ports[0], stream.rx_ports[0], 10, 10)
        counts = tuple(PortCounts(port, flooded_frames=port) for port in (1, 2, 3, 4))
        return replace(result, flows=(flow,), ports=counts)


def specs(test: str, *settings: str, bed: Bed = BED) -> list[TrialSpec]:
    method, measurer = find_test(test), Notes()
    parameters = resolve(test, method.parameters, settings)
    method.check(bed, parameters)
    method.run_unit(method.units(parameters, (64,))[0], bed, parameters, measurer)
    return measurer.specs


@pytest.mark.parametrize("test", [test.name for test in TESTS])
def test_every_test_has_the_parameters_and_stops_on_a_loss_of_link(test: str) -> None:
    values = resolve(test, find_test(test).parameters, ())
    assert values.text("reset_between") in ("none", "wait_aging")
    assert values.flag("stop_on_los")


def test_the_reset_comes_before_every_trial_with_the_values_asked_for() -> None:
    found = specs(
        "rfc2544.frame_loss",
        "reset_between=toggle_link",
        "link_off_s=2",
        "link_on_delay_s=3",
        "link_sync_s=4",
        "stop_on_los=false",
    )
    assert len(found) > 1
    for spec in found:
        reset = spec.reset
        assert reset.action is ResetAction.TOGGLE_LINK
        assert (reset.link_off_ns, reset.link_on_delay_ns, reset.link_sync_ns) == (2 * S, 3 * S, 4 * S)
        assert not spec.stop_on_los


def test_a_hook_is_handed_on_with_its_time_out() -> None:
    spec = specs("rfc2544.frame_loss", "reset_between=hook", "hook=./reset --port 'a b'", "hook_timeout_s=7")[0]
    assert spec.reset.hook is not None
    assert (spec.reset.hook.command, spec.reset.hook.timeout_ns) == ("./reset --port 'a b'", 7 * S)


@pytest.mark.parametrize("settings", [("reset_between=hook",), ("reset_between=hook", "hook='a")])
def test_a_hook_without_a_command_is_refused(settings: tuple[str, ...]) -> None:
    with pytest.raises(ParameterError):
        specs("rfc2544.frame_loss", *settings)


def test_swapped_roles_alternate_and_results_are_those_of_the_roles() -> None:
    """A table of 400 addresses: the search takes eight iterations of a learning trial and a test of its addresses."""
    method, measurer = find_test("rfc2889.address_caching"), Notes(lambda _, sent: min(sent, 400))
    parameters = resolve(method.name, method.parameters, ("reset_between=swap_roles",))
    method.check(BED, parameters)
    result = method.run_unit(method.units(parameters, (64,))[0], BED, parameters, measurer)
    learners = [spec.streams[0].tx_ports[0] for spec in measurer.specs[::2]]
    testers = [spec.streams[0].tx_ports[0] for spec in measurer.specs[1::2]]
    assert learners == [1, 2] * 4
    assert testers == [2, 1] * 4, "both trials of an iteration have the same roles"
    assert [spec.learning.ports for spec in measurer.specs[::2]] == [(port,) for port in testers]
    # Port 1 sees one frame flooded and port 2 two, whatever their roles.
    rows = result.searches[0].rows
    assert [row.learning_flood_frames for row in rows] == learners
    assert [row.test_flood_frames for row in rows] == testers


def test_every_second_trial_has_the_roles_of_the_neighbours() -> None:
    """Half of the frames are lost, so that all loads are tried; they are announced as they are sent."""
    method, measurer = find_test("rfc2544.frame_loss"), FakeMeasurer(lambda _, sent: sent // 2)
    for setting, other in (("swap_roles", (2, 1, 4, 3)), ("none", (1, 2, 3, 4))):
        measurer.specs.clear()
        parameters = resolve(method.name, method.parameters, (f"reset_between={setting}", "step_pct=10"))
        method.run_unit(method.units(parameters, (64,))[0], BED, parameters, measurer)
        senders = [
            measurer.specs[0].streams[0].tx_ports,
            tuple(other[n - 1] for n in measurer.specs[0].streams[0].tx_ports),
        ]
        assert [spec.streams[0].tx_ports for spec in measurer.specs] == (senders * 5)[: len(measurer.specs)]
        assert len(measurer.specs) == 10


def test_roles_are_exchanged_between_equal_neighbours_only() -> None:
    assert neighbours("test", make_bed(5)) == {1: 2, 2: 1, 3: 4, 4: 3, 5: 5}
    apart = make_bed(2, behind="ab", topology="apart")
    method = find_test("rfc2544.frame_loss")
    method.check(apart, resolve(method.name, method.parameters, ()))
    with pytest.raises(TopologyError, match="ports 1 and 2 of topology 'apart' differ"):
        method.check(apart, resolve(method.name, method.parameters, ("reset_between=swap_roles",)))


def test_roles_are_not_exchanged_where_hosts_ask_for_one_sender() -> None:
    """Goal: no loss in every second trial, whose sender is one that nobody has asked for."""
    method = find_test("rfc3918.aggregated")
    for reset in ("none", "swap_roles"):
        settings = (f"reset_between={reset}", "only_sender=198.18.0.1")
        parameters = resolve(method.name, method.parameters, settings)
        if reset == "none":
            method.check(BED, parameters)
            continue
        with pytest.raises(ParameterError, match="every second trial has another sender"):
            method.check(BED, parameters)


def test_a_flooded_port_that_does_not_take_part_keeps_its_number() -> None:
    """Ports 1 and 2 take part; Notes floods 1 to 4 by as many frames as their numbers."""
    spec = specs("rfc2544.frame_loss", bed=make_bed(2))[0]
    result = relabelled_result(Notes().measure(spec), {1: 2, 2: 1})
    assert [(port.port, port.flooded_frames) for port in result.ports] == [(1, 2), (2, 1), (3, 3), (4, 4)]


def test_groups_are_joined_in_exchanged_roles() -> None:
    """Of four ports the first sends and the others join; the second sends to 1, 4 and 3 in the next trial."""
    settings = ("reset_between=swap_roles", "search_try_max_first=false", "scaled_frames=10", "querier_port=3")
    own, exchanged = specs("rfc3918.aggregated", *settings)[:2]
    for spec, source, members, querier in ((own, 1, (2, 3, 4), 3), (exchanged, 2, (1, 4, 3), 4)):
        (stream,), joined = spec.streams, spec.memberships
        assert isinstance(stream.pattern, Multicast) and joined is not None
        assert (stream.tx_ports, stream.rx_ports, joined.querier_port) == ((source,), members, querier)
        assert {part.receivers for part in (*stream.pattern.groups, *joined.groups)} == {members}
        stream.pattern.check(stream)


def test_queues_are_told_of_the_roles_that_their_ports_had() -> None:
    result = replace(Notes().measure(specs("rfc2544.frame_loss")[0]), queues=QueueTrend(Trend.FILLING, rx_ports=(2, 3)))
    queues = relabelled_result(result, {1: 2, 2: 1, 3: 4, 4: 3}).queues
    assert queues is not None and queues.rx_ports == (1, 4)
