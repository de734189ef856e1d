"""RFC 2889 5.2 to 5.4: senders and receivers, and the limits that the patterns themselves set."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import pytest
from support.beds import GIGABIT, make_bed
from support.destination_oracle import flow_counts
from support.fakes import FakeMeasurer, capacity
from support.networks import parsed, switch
from support.runs import run_on_sim, run_unit

from p4mesh.errors import ParameterError, TopologyError
from p4mesh.methods.base import Method
from p4mesh.methods.bed import Bed
from p4mesh.methods.options.parameters import resolve
from p4mesh.methods.rfc2889.maximum_forwarding_rate import MaximumForwardingRate
from p4mesh.methods.rfc2889.multiple_devices import MultipleDevices
from p4mesh.methods.rfc2889.partially_meshed import PartiallyMeshed
from p4mesh.methods.rfc2889.unidirectional import Unidirectional
from p4mesh.traffic.line_rate import max_rate_fps
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict


def bed(count: int, devices: int = 1, uplink_bps: int = 0) -> Bed:
    return make_bed(count, behind="".join("ab"[n * devices // count] for n in range(count)), uplink_rate_bps=uplink_bps)


def output_limited(spec: TrialSpec, sent: int) -> int:
    """Deliver what fits through every output port at line rate."""
    offered: Counter[int] = Counter()
    for stream in spec.streams:
        for (_, receiver), count in flow_counts(stream).items():
            offered[receiver] += count
    size = spec.streams[0].frame_size_bytes
    fits = int(Fraction(spec.duration_ns, 10**9) * GIGABIT / (8 * (size + 20)))
    return sum(min(count, fits) for count in offered.values())


def measure(test: Method, on: Bed, part: str, *settings: str) -> tuple[Any, list[TrialSpec]]:
    measurer = FakeMeasurer(output_limited)
    return run_unit(test, on, measurer, 64, f"parts={part}", *settings)[0], measurer.specs


def test_one_to_many_and_back_are_two_streams() -> None:
    _, specs = measure(PartiallyMeshed(), bed(5), "forwarding", "one_port=3", "sweep_start_pct=100")
    out, back = specs[0].streams
    assert (out.tx_ports, out.rx_ports) == ((3,), (1, 2, 4, 5))
    assert (back.tx_ports, back.rx_ports) == ((1, 2, 4, 5), (3,))


def test_many_to_one_is_limited_to_its_share_of_the_one_port() -> None:
    found, _ = measure(PartiallyMeshed(), bed(5), "throughput", "direction=to_one", "search_resolution_pct=0.01")
    assert found.theoretical_pct == 25.0
    assert 24.98 <= found.search.throughput_pct <= 25.01


def test_one_to_many_reaches_line_rate() -> None:
    found, _ = measure(PartiallyMeshed(), bed(5), "throughput", "direction=from_one")
    assert found.search.throughput_pct == 100.0


def test_frmol_of_many_to_one_is_the_rate_of_one_output() -> None:
    found, _ = measure(PartiallyMeshed(), bed(5), "forwarding", "direction=to_one")
    assert found.frmol.frmol_fps == pytest.approx(GIGABIT / 8 / 84, rel=1e-4)


def test_unidirectional_traffic_does_not_over_subscribe() -> None:
    found, specs = measure(Unidirectional(), bed(6), "throughput")
    assert found.search.throughput_pct == 100.0
    assert (specs[0].streams[0].tx_ports, specs[0].streams[0].rx_ports) == ((1, 2, 3), (4, 5, 6))


def test_traffic_between_devices_crosses_the_uplink_only() -> None:
    on = bed(6, devices=2, uplink_bps=GIGABIT)
    found, specs = measure(MultipleDevices(), on, "forwarding", "sweep_start_pct=100")
    flows = {pair for stream in specs[0].streams for pair in flow_counts(stream)}
    assert all((source <= 3) != (target <= 3) for source, target in flows)
    assert found.theoretical_pct == pytest.approx(100 / 3)


@pytest.mark.parametrize(
    ("local", "uplink_bps", "load_pct", "lines"),
    [
        # Each of three ports sends three fifths of its frames across: 1.8 lines each way, and 1.2 stay.
        (True, GIGABIT, Fraction(100 * 5, 9), Fraction(2 * 22, 10)),
        (True, 10 * GIGABIT, 100, 6),
        (False, GIGABIT, Fraction(100, 3), 2),
        (False, GIGABIT // 2, Fraction(100, 6), 1),
        (False, 10 * GIGABIT, 100, 6),
    ],
)
def test_the_uplink_limits_the_load_and_what_is_forwarded(
    local: bool, uplink_bps: int, load_pct: Fraction, lines: Fraction
) -> None:
    on, test = bed(6, devices=2, uplink_bps=uplink_bps), MultipleDevices()
    settings = (f"local_traffic={str(local).lower()}", "parts=forwarding", "sweep_start_pct=100")
    mesh = test.mesh(on, resolve(test.name, test.parameters, settings))
    assert (mesh.theoretical_pct, mesh.forwarding_limit_lines) == (load_pct, lines)
    _, outcome = run_unit(test, on, FakeMeasurer(output_limited), 64, *settings)
    (row,) = next(table for table in outcome.tables if table.name == "forwarding_rate").rows
    shown = (row["uplink_mbps"], row["local_traffic"], row["theoretical_pct"])
    assert shown == (uplink_bps / 10**6, "on" if local else "off", float(load_pct))
    assert row["theoretical_fps"] == pytest.approx(float(lines * max_rate_fps(64, GIGABIT)))
    keys = [column.key for table in outcome.tables[:1] for column in table.columns]
    assert keys.count("theoretical_pct") == keys.count("theoretical_fps") == 1 and "mfr_fps" in keys


def test_local_traffic_is_the_full_mesh() -> None:
    _, specs = measure(
        MultipleDevices(),
        bed(4, devices=2, uplink_bps=GIGABIT),
        "forwarding",
        "local_traffic=true",
        "sweep_start_pct=100",
    )
    assert len(specs[0].streams) == 1
    assert len(flow_counts(specs[0].streams[0])) == 12


@pytest.mark.parametrize(
    ("test", "on", "message"),
    [
        (PartiallyMeshed(), bed(2), "needs at least 3 tester ports"),
        (Unidirectional(), bed(5), "needs an even number of tester ports"),
        (MultipleDevices(), bed(6), "has 6 on a"),
        (MultipleDevices(), bed(6, devices=2), "needs a link between the two devices"),
    ],
)
def test_beds_that_the_pattern_cannot_use_are_refused(test: Method, on: Bed, message: str) -> None:
    with pytest.raises(TopologyError, match=message):
        test.check(on, resolve(test.name, test.parameters, ()))


def test_an_unknown_port_is_refused() -> None:
    with pytest.raises(ParameterError, match="one_port=9"):
        PartiallyMeshed().check(bed(4), resolve("t", PartiallyMeshed().parameters, ("one_port=9",)))


@pytest.mark.parametrize(("direction", "limit_pct"), [("to_one", 25), ("both", 25), ("from_one", None)])
def test_the_theoretical_maximum_of_many_to_one_is_in_the_table(direction: str, limit_pct: int | None) -> None:
    test, on = PartiallyMeshed(), bed(5)
    parameters = resolve(test.name, test.parameters, ("parts=throughput", f"direction={direction}"))
    (unit,) = test.units(parameters, (64,))
    outcome = test.assemble(on, parameters, {unit: test.run_unit(unit, on, parameters, FakeMeasurer(output_limited))})
    shown = {column.title: column.key for column in outcome.tables[0].columns}
    key = shown.get("Theoretical maximum")
    assert (outcome.tables[0].rows[0][key] if key else None) == limit_pct


def mixed_bed(count: int, one_bps: int) -> Bed:
    """Ports of 1 Gbit/s, the first of them with another rate."""
    return make_bed(rates_bps=(one_bps, *[GIGABIT] * (count - 1)))


@pytest.mark.parametrize(
    ("ports", "one_bps", "direction", "limit_pct", "gbps"),
    [
        (11, 10 * GIGABIT, "both", 100, 20),
        (11, 10 * GIGABIT, "to_one", 100, 10),
        (5, 10 * GIGABIT, "from_one", 40, 4),  # 4 outputs of 1 Gbit/s for 10 Gbit/s
        (5, 10 * GIGABIT, "to_one", 100, 4),
        (41, 10 * GIGABIT, "to_one", 25, 10),
        (41, 10 * GIGABIT, "both", 25, 20),
    ],
)
def test_the_load_of_a_port_is_percent_of_its_own_line_rate(
    ports: int, one_bps: int, direction: str, limit_pct: int, gbps: int
) -> None:
    on = mixed_bed(ports, one_bps)
    found, specs = measure(PartiallyMeshed(), on, "forwarding", f"direction={direction}", "sweep_start_pct=100")
    assert found.theoretical_pct == limit_pct
    assert found.theoretical_fps == pytest.approx(gbps * GIGABIT / 8 / 84)
    for stream in specs[0].streams:
        (rate_bps,) = {on.rate_bps(port) for port in stream.tx_ports}
        assert stream.rate_fps == Fraction(rate_bps, 8 * 84)
        assert stream.frame_count == int(specs[0].duration_ns * stream.rate_fps / 10**9)
    (row,) = found.rows
    assert row.offered_pct == pytest.approx(100, abs=0.01)


def test_the_many_ports_need_one_rate() -> None:
    with pytest.raises(TopologyError, match="needs many ports of one line rate"):
        measure(PartiallyMeshed(), make_bed(rates_bps=(10 * GIGABIT, GIGABIT, GIGABIT, 10**8)), "forwarding")


UPLINK = switch("forwarding: store_and_forward", rates_bps=(10 * GIGABIT, *[GIGABIT] * 10), port="queue_frames: 64")


def test_a_fast_port_fills_ten_slow_ones_and_they_fill_it() -> None:
    """10 x 1 Gbit/s on both sides: nothing is over-subscribed, so a switch without limits carries 100 %."""
    quick = ("scaled_frames=500", "settle_ms=1", "restabilise_ms=1", "sweep_start_pct=100", "latency_definition=FILO")
    _, outcome, trials = run_on_sim(PartiallyMeshed(), parsed(UPLINK), (128,), *quick)
    throughput, forwarding = outcome.tables[:2]
    assert throughput.rows[0]["load_pct"] == 100 and throughput.rows[0]["lost_frames"] == 0
    line_fps = 20 * 10**9 / 8 / 148
    assert forwarding.rows[0]["theoretical_fps"] == pytest.approx(line_fps)
    assert forwarding.rows[0]["frmol_fps"] == pytest.approx(line_fps, rel=0.005)
    assert throughput.rows[0]["offered_l1_mbps"] == pytest.approx(20_000, rel=0.005)
    # A frame of 128 bytes takes 102.4 ns at 10 Gbit/s and 1024 ns at 1 Gbit/s: FILO ends with the output's.
    latency = next(table for table in outcome.tables if table.name == "latency_throughput").rows[0]
    (of_latency,) = (result for spec, result in trials if spec.label.startswith("latency"))
    flows = {(flow.tx_port, flow.rx_port): flow.latency for flow in of_latency.flows}
    least = min(flow.min_ns + (1024 if tx == 1 else 102.4) for (tx, _), flow in flows.items() if flow is not None)
    assert latency["min_us"] == pytest.approx(least / 1000, abs=0.001)


def test_groups_of_any_size_can_send_to_each_other() -> None:
    found, specs = measure(Unidirectional(), bed(5), "forwarding", "senders=2", "sweep_start_pct=100")
    assert found.theoretical_pct == 100, "receivers that could take 150 % get no more than a line has"
    (stream,) = specs[0].streams
    assert (stream.tx_ports, stream.rx_ports) == ((1, 2), (3, 4, 5))
    settings = ("senders=2", "bidirectional=true", "search_resolution_pct=0.01")
    found, specs = measure(Unidirectional(), bed(5), "throughput", *settings)
    assert [(stream.tx_ports, stream.rx_ports) for stream in specs[0].streams] == [
        ((1, 2), (3, 4, 5)),
        ((3, 4, 5), (1, 2)),
    ]
    assert found.theoretical_pct == pytest.approx(200 / 3)
    assert found.search.throughput_pct == pytest.approx(200 / 3, abs=0.02)


def test_pairs_keep_their_receiver() -> None:
    _, specs = measure(Unidirectional(), bed(4), "forwarding", "pattern=pairs", "bidirectional=true")
    flows = set().union(*(flow_counts(stream) for stream in specs[0].streams))
    assert flows == {(1, 3), (2, 4), (3, 1), (4, 2)}


@pytest.mark.parametrize(
    ("settings", "message", "hint"),
    [
        (("senders=4",), "senders=4: topology 'fake' has 4 ports", "1 to 3 of them send"),
        (("senders=1", "pattern=pairs"), "pattern=pairs: 1 ports send, 3 receive", "use senders=half"),
    ],
)
def test_groups_that_cannot_be_meant_are_refused(settings: tuple[str, ...], message: str, hint: str) -> None:
    parameters = resolve("rfc2889.unidirectional", Unidirectional.parameters, settings)
    with pytest.raises(ParameterError, match=message) as caught:
        Unidirectional().mesh(bed(4), parameters)
    assert caught.value.hint.endswith(hint)


@pytest.mark.parametrize(
    ("untrusted", "state"), [("", Verdict.MEASURED), ("100.0", Verdict.INVALID), ("70.0", Verdict.INVALID)]
)
def test_the_highest_forwarding_rate_is_between_the_throughput_and_the_maximum_load(
    untrusted: str, state: Verdict
) -> None:
    """Up to 40 % nothing is lost, from there to 70 % one frame of ten, above half of them: 63 %, and 50 % at last."""

    def load_pct(spec: TrialSpec) -> float:
        return float(100 * spec.streams[0].rate_fps / max_rate_fps(512, GIGABIT))

    def carry(spec: TrialSpec, sent: int) -> int:
        return sent if load_pct(spec) <= 40 else sent * 9 // 10 if load_pct(spec) <= 70 else sent // 2

    def status(spec: TrialSpec) -> Verdict:
        return Verdict.INVALID if f"{load_pct(spec):.1f}" == untrusted else Verdict.MEASURED

    measurer, ports = FakeMeasurer(carry, status=status), ("tx_port=2", "rx_port=1", "scaled_frames=1000")
    search = ("search_method=linear_up", "search_min_pct=20", "search_initial_pct=20", "search_step_pct=20")
    found, outcome = run_unit(MaximumForwardingRate(), bed(2), measurer, 512, *ports, *search, "step_pct=15")
    (row,) = outcome.tables[0].rows
    line_fps, frame_fps = float(max_rate_fps(512, GIGABIT)), float(max_rate_fps(512, GIGABIT)) / 1000
    highest_pct = 54 if untrusted == "70.0" else 63
    offered_pct = highest_pct / 0.9
    assert [trial.load_pct for trial in found.rows] == [40, 55, 70, 85, 100]
    assert row["throughput_fps"] == pytest.approx(0.4 * line_fps, rel=1e-9)
    assert row["mfr_fps"] == pytest.approx(highest_pct / 100 * line_fps, abs=frame_fps)
    assert row["load_pct"] == pytest.approx(offered_pct), "of the trial at the MFR, a step of the search or behind it"
    assert row["tx_frames"] == round(10 * offered_pct) and row["rx_frames"] == row["tx_frames"] * 9 // 10
    assert row["loss_pct"] == pytest.approx(10, abs=0.2) and 2 < row["loss_error_pct"] < 3
    keys = [column.key for column in outcome.tables[0].columns]
    assert keys[:2] == ["frame_size_bytes", "throughput_fps"] and len(set(keys)) == len(keys)
    if untrusted == "100.0":
        assert row["frmol_fps"] is row["frmol_offered_pct"] is None
    else:
        assert (row["frmol_fps"], row["frmol_offered_pct"]) == (pytest.approx(line_fps / 2), pytest.approx(100))
    assert outcome.state is found.state is state
    assert {(stream.tx_ports, stream.rx_ports) for spec in measurer.specs for stream in spec.streams} == {((2,), (1,))}


def test_a_device_without_a_throughput_has_rates_all_the_same() -> None:
    lossy = FakeMeasurer(lambda _, sent: sent - 1)
    found, outcome = run_unit(MaximumForwardingRate(), bed(2), lossy, 512, "scaled_frames=1000", "step_pct=50")
    (row,) = outcome.tables[0].rows
    assert (outcome.state, row["throughput_fps"]) == (Verdict.MEASURED, None)
    assert [trial.load_pct for trial in found.rows] == [50, 100]
    assert row["mfr_fps"] == row["frmol_fps"] == pytest.approx(0.999 * float(max_rate_fps(512, GIGABIT)))


@pytest.mark.parametrize(("threshold_pct", "state"), [(30, Verdict.PASS), (60, Verdict.FAIL)])
def test_a_threshold_of_the_throughput_decides_beside_the_rates(threshold_pct: int, state: Verdict) -> None:
    """Of 50 % of the line nothing is lost."""
    measurer = FakeMeasurer(capacity(max_rate_fps(512, GIGABIT) / 2))
    settings = (f"pass_threshold_pct={threshold_pct}", "scaled_frames=1000", "step_pct=50")
    _, outcome = run_unit(MaximumForwardingRate(), bed(2), measurer, 512, *settings)
    assert outcome.state is state
