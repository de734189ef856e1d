"""Target ``tofino`` on a fake switch: the same trials, with the P4Info and the read-out of the chip.

Method: a two-pipe Tofino 1 in a few lines (fake_tofino.py) behind a real gRPC server. Its device has a latency that
is given by a formula, so that every count and every latency is known beforehand. No chip and no model of one has
run this.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path

import pytest
from support.certificates import make_certificates
from support.fake_tofino import FakeTofino
from support.tofino_beds import (
    DEVICE_PORTS,
    LATENCY_NS,
    MS,
    PROGRAM,
    mesh,
    p4runtime_text,
    p4runtime_topology,
    switch,
)
from support.tofino_chip import CPU, LOOP

from p4mesh.cli.main import main
from p4mesh.errors import ParameterError, TargetError, UnsupportedError
from p4mesh.p4runtime import Client
from p4mesh.target.tofino import switch_of
from p4mesh.tester import opening
from p4mesh.tester.histogram import HistogramPer
from p4mesh.traffic.memberships import Memberships, Version
from p4mesh.traffic.patterns import FullMesh, GroupRange, Multicast, Pairs
from p4mesh.traffic.stream import Stream
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import Learning, TrialSpec
from p4mesh.verdict import Verdict


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "p4mesh.bin"
    path.write_bytes(PROGRAM)
    return path


@pytest.fixture
def fake() -> Iterator[FakeTofino]:
    with FakeTofino(switch()) as chip:
        yield chip


def measured(program: Path, chip: FakeTofino, *specs: TrialSpec, **options: str) -> list[TrialResult]:
    with open_measurer(p4runtime_topology(program, chip.address, **options), "tofino") as measurer:
        results = [measurer.measure(spec) for spec in specs]
    assert chip.faults == []
    return results


def test_a_mesh_over_two_pipes_has_the_counts_and_latencies_of_every_flow(program: Path) -> None:
    """Goal: words of two passes in two pipes become one result; every fifth frame of a port is lost."""
    with FakeTofino(switch(lost=lambda n: n % 5 == 4, step_ns=8)) as chip:
        first, second = measured(program, chip, mesh(), replace(mesh(), histograms=HistogramPer.STREAM))

    for result in (first, second):
        assert (result.status, result.reason) == (Verdict.MEASURED, "")
        assert (result.tx_frames, result.rx_frames, result.lost_frames) == (240, 192, 48)
        assert {(flow.tx_port, flow.rx_port) for flow in result.flows} == {
            (a, b) for a in DEVICE_PORTS for b in DEVICE_PORTS if a != b
        }
        assert {flow.tx_frames for flow in result.flows} == {20}, "60 frames of a port over three receivers"
        latency = result.latency
        assert latency is not None and latency.count == 192
        assert (latency.min_ns, latency.max_ns) == (1000, 1024)
        received = [1000 + 8 * (n % 4) for n in range(60) if n % 5 != 4]
        assert latency.sum_ns == 4 * sum(received)
        assert {port.port: port.rx_frames for port in result.ports} == dict.fromkeys(DEVICE_PORTS, 48)
    assert first.latency is not None and first.latency.percentiles_ns == ()
    assert second.latency is not None and dict(second.latency.percentiles_ns)[50.0] == pytest.approx(1012, rel=1 / 128)


def test_the_switch_gets_the_users_program_and_our_p4info(program: Path, fake: FakeTofino) -> None:
    measured(program, fake, more=", device_id: 7, election_id: 9")
    assert fake.device_config == PROGRAM
    assert fake.elections[0] == (7, 9)
    assert {counter.preamble.alias for counter in fake.info.counters} >= {"latency_histogram", "flow_transmit"}
    assert fake.groups[1] == [(CPU, 1), (LOOP, 0)]


def test_the_connection_uses_the_credentials_of_the_topology(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Goal: a trial over TLS, with files named as the device config is; the server wants to know its clients."""
    made = make_certificates(program.parent)
    with FakeTofino(switch(), tls=made) as chip:
        credentials = ", tls: {ca: ca.pem, certificate: client.pem, key: client_key.pem}"
        (result,) = measured(program, chip, mesh(), more=credentials)
        assert (result.status, result.tx_frames) == (Verdict.MEASURED, 240)
        strange = ", tls: {ca: client.pem, server_name: other.example}"
        monkeypatch.setattr(opening, "Client", partial(Client, timeout_s=1.0))
        with pytest.raises(TargetError, match="no P4Runtime server answers"):
            measured(program, chip, more=strange)


def test_what_the_chip_does_not_measure_is_absent_not_zero(program: Path) -> None:
    with FakeTofino(switch(step_ns=8)) as chip:
        (result,) = measured(program, chip, mesh())
    assert result.latency is not None
    assert result.latency.jitter_count > 0, "RFC 4689 jitter is measured"
    assert (result.latency.ipdv_count, result.latency.rfc3550_jitter_flows) == (0, 0)


def test_reports_that_the_cpu_port_drops_are_read_again_in_smaller_windows(program: Path) -> None:
    """Goal: every record comes where one reading frame gets 40 reports through, and few are asked twice."""
    ports = tuple(DEVICE_PORTS)
    streams = tuple(Stream(f"s{n}", 128, Fraction(10_000), 2, FullMesh(), ports, ports) for n in range(40))
    spec = replace(mesh(), streams=streams, duration_ns=200_000)
    with FakeTofino(switch(), reports_taken=40) as chip:
        (result,) = measured(program, chip, spec)
    assert (result.status, result.tx_frames, result.rx_frames) == (Verdict.MEASURED, 320, 320)
    assert 0 < chip.reports_lost < 64, "the first window loses, those of half its size do not"


def test_frames_are_as_long_as_asked_although_short_packet_outs_are_padded(program: Path, fake: FakeTofino) -> None:
    """Goal: no seed comes to the switch longer than it was made. That of a 64-byte frame is a packet-out of 60."""

    def of_size(size: int) -> TrialSpec:
        return replace(mesh(), streams=tuple(replace(stream, frame_size_bytes=size) for stream in mesh().streams))

    (result,) = measured(program, fake, of_size(64))
    assert (result.status, dict(fake.frame_sizes)) == (Verdict.MEASURED, {0: {64}})
    for size in (60, 63):
        with pytest.raises(UnsupportedError, match=f"'mesh' has frames of {size} bytes, whose seeds would be padded"):
            measured(program, fake, of_size(size))
    assert dict(fake.frame_sizes) == {0: {64}}


def test_records_of_a_flow_in_two_pipes_are_refused_not_joined(program: Path) -> None:
    """Goal: a device that delivers a flow to a port of each pipe, both of which own its address, is found out."""

    def both(port: int, mac: bytes, number: int) -> list[tuple[int, int]]:
        return [(DEVICE_PORTS[2], LATENCY_NS), (DEVICE_PORTS[3], LATENCY_NS)]

    pair = Stream("pair", 128, Fraction(1_000_000), 10, Pairs(), (1,), (2,))
    with FakeTofino(both) as chip:
        chip.owners[DEVICE_PORTS[3]] = DEVICE_PORTS[2]
        with pytest.raises(
            TargetError, match=r"^cell 0 has counts of frames received in pipes 0 and 1, where one pipe is to count$"
        ):
            measured(program, chip, replace(mesh(), streams=(pair,)))


def test_the_shortest_distance_of_frames_is_that_of_the_ports_own_pipe(program: Path, fake: FakeTofino) -> None:
    """Goal: a cell of a port is read by the number of its device port. Port 4 gets a frame each microsecond."""
    stream = Stream("pair", 128, Fraction(1_000_000), 10, Pairs(), (1,), (4,))
    (result,) = measured(program, fake, replace(mesh(), streams=(stream,)))
    assert {port.port: port.min_spacing_ns for port in result.ports} == {1: None, 2: None, 3: None, 4: 1000}


def test_frames_of_the_controller_leave_by_device_ports(program: Path, fake: FakeTofino) -> None:
    measured(program, fake, mesh(learning=Learning(wait_ns=MS, verify=False, frames_per_address=1)))
    assert sorted(fake.sent_frames) == sorted(DEVICE_PORTS.values())


def test_streams_circulate_in_front_ports_where_one_loop_is_too_narrow(program: Path, fake: FakeTofino) -> None:
    """Goal: two streams of 60 % of the recirculation port; each has one loop, and its group the copies alone."""
    fast = Fraction(60_000_000_000, 8 * 1538)
    streams = tuple(Stream(f"s{n}", 1518, fast, 40, Pairs(), (n,), (n + 2,)) for n in (1, 2))
    spec = replace(mesh(), streams=streams, duration_ns=10_000)
    with pytest.raises(
        UnsupportedError, match=r"^not supported on tofino: the streams need 120\.0 % of the recirculation"
    ):
        measured(program, fake, spec)

    loops = ", front_loops: [{device_port: 8, rate_bps: 100000000000}]"
    (result,) = measured(program, fake, spec, more=loops)
    assert fake.loop_ports == [8]
    assert (result.status, result.tx_frames, result.lost_frames) == (Verdict.MEASURED, 80, 0)
    assert sorted(fake.loop_of.values()) == [8, LOOP]
    assert all(replica for group in (2, 3) for _, replica in fake.groups[group])


def test_hosts_have_rules_for_queries_and_send_reports(program: Path) -> None:
    """Goal: with P4Runtime, too, frames to hosts are punted, and each port that joins and leaves sends its reports."""
    members = (2, 4)

    def forward(port: int, mac: bytes, _: int) -> list[tuple[int, int]]:
        return [(DEVICE_PORTS[member], LATENCY_NS) for member in members]

    groups = (GroupRange("225.1.1.1", 2, members),)
    stream = Stream("groups", 128, Fraction(1_000_000), 10, Multicast(groups), (1,), members)
    memberships = Memberships(Version.IGMPV3, groups, robustness=1, join_wait_ns=MS, leave_wait_ns=MS, verify=False)
    spec = replace(mesh(), streams=(stream,), duration_ns=10_000, memberships=memberships)
    with FakeTofino(forward) as chip:
        (result,) = measured(program, chip, spec)
        assert (result.status, result.reason, result.rx_frames) == (Verdict.MEASURED, "", 20)
        assert chip.sent_frames == [DEVICE_PORTS[port] for port in members] * 2, "a join and a leave of each"


def test_a_server_without_value_sets_is_one_clear_message(program: Path) -> None:
    with (
        FakeTofino(switch(), value_sets=False) as chip,
        pytest.raises(TargetError, match=r"the switch refuses the front ports in loopback: .*value set") as caught,
    ):
        measured(program, chip, more=", front_loops: [{device_port: 8, rate_bps: 100000000000}]")
    assert caught.value.hint.startswith("leave tester.tofino.front_loops and inner_loops out")


def test_bad_fcs_is_a_bit_of_the_transmitter_where_the_program_has_it(program: Path, fake: FakeTofino) -> None:
    streams = tuple(
        Stream(name, 128, Fraction(500_000), 10, Pairs(), (1,), (2,), bad_fcs=name == "bad") for name in ("good", "bad")
    )
    spec = replace(mesh(), streams=streams, duration_ns=20_000)
    with pytest.raises(UnsupportedError, match="not supported on tofino: stream 'bad' asks for frames with a bad FCS"):
        measured(program, fake, spec)

    seen: list[int] = []
    with (
        FakeTofino(lambda *_: []) as chip,
        open_measurer(p4runtime_topology(program, chip.address, more=", bad_fcs: true"), "tofino") as it,
    ):
        result = it.measure(spec)
        seen = [entry["modified"] for entry in chip.tables["transmitter"].values()]
    assert sorted(seen) == [0, 4]
    assert {port.bad_fcs_frames for port in result.ports} == {None}, "its MACs do not tell the controller"


def test_a_trial_that_needs_more_than_the_chip_has_is_refused(program: Path, fake: FakeTofino) -> None:
    streams = tuple(Stream(f"s{n}", 128, Fraction(1), 1, Pairs(), (1,), (2,), addresses_per_port=1) for n in range(257))
    with pytest.raises(
        UnsupportedError, match="not supported on tofino: the trial needs 257 streams, the program has 256"
    ):
        measured(program, fake, replace(mesh(), streams=streams))
    with (
        open_measurer(p4runtime_topology(program, fake.address), "tofino") as measurer,
        pytest.raises(UnsupportedError, match="toggle_link is not supported on tofino"),
    ):
        measurer.tester.target.set_links(up=False)


def test_a_chip_may_have_other_pipes(program: Path) -> None:
    four = (0, 4, 128, 384)
    assert switch_of(p4runtime_topology(program, "127.0.0.1:1", ports=four, more=", pipes: 4")).pipes == 4
    with pytest.raises(ParameterError, match=re.escape("port 384 is in pipe 3: tofino has 3 pipes")):
        switch_of(p4runtime_topology(program, "127.0.0.1:1", ports=four, more=", pipes: 3"))


def test_a_tofino_1_with_four_pipes_has_its_cpu_port_in_pipe_2(program: Path) -> None:
    """Goal: records come by port 320, which the program for four pipes knows; 192 recirculates there."""
    with FakeTofino(switch(), cpu=320) as chip:
        (result,) = measured(program, chip, mesh(), more=", pipes: 4")
        assert chip.groups[1][0] == (320, 1)
    assert (result.status, result.rx_frames) == (Verdict.MEASURED, 240)


@pytest.mark.parametrize(("pipes", "inner"), [(2, 192), (4, 192), (4, 199), (4, 320), (2, 68), (2, 64)])
def test_device_ports_that_are_no_front_ports_are_refused(program: Path, pipes: int, inner: int) -> None:
    message = f"port {inner} is not a front port of tofino: it recirculates or leads to the CPU"
    with pytest.raises(ParameterError, match=re.escape(message)):
        switch_of(p4runtime_topology(program, "127.0.0.1:1", ports=(0, 4, 128, inner), more=f", pipes: {pipes}"))


def test_more_frames_than_a_pipe_passes_are_refused_before_traffic(program: Path, fake: FakeTofino) -> None:
    """Goal: four ports of 10 million frames/s, two in each pipe; in pipe 0 the passes of seeds come on top.

    Nine seeds of 128 bytes go round in 700 ns and 136 bytes of 100 Gbit/s: 12.66 million passes/s.
    """
    spec = mesh(10)
    fast = replace(spec, streams=tuple(replace(stream, rate_fps=Fraction(10_000_000)) for stream in spec.streams))
    with pytest.raises(UnsupportedError) as caught:
        measured(program, fake, fast, more=", pipe_frames_per_s: 25000000")
    assert str(caught.value) == (
        "not supported on tofino: ingress of pipe 0 would have to pass 32,660,365 frames/s, it passes 25,000,000"
    )
    assert not fake.seeds
    (result,) = measured(program, fake, fast, more=", pipe_frames_per_s: 90000000")
    assert (result.status, result.tx_frames) == (Verdict.MEASURED, 40)


def test_headers_that_take_longer_than_their_frames_are_refused_before_traffic(program: Path, fake: FakeTofino) -> None:
    """Goal: at 40 MHz seven states of the parser take longer than 128 bytes at 10 million frames/s."""
    streams = tuple(replace(stream, rate_fps=Fraction(10_000_000)) for stream in mesh(10).streams)
    with pytest.raises(UnsupportedError, match="with 128 bytes, whose headers take 7 states of the parser"):
        measured(program, fake, replace(mesh(10), streams=streams), more=", pipe_frames_per_s: 40000000")
    assert not fake.seeds


def test_a_whole_test_says_what_is_not_supported(
    program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Goal: the command line runs RFC 2544 latency on the switch; its tables have no IPDV and say so."""
    with FakeTofino(switch(step_ns=8)) as chip:
        (tmp_path / "wedge.yaml").write_text(p4runtime_text(chip.address))
        words = ["run", "rfc2544.latency", "--topology", str(tmp_path / "wedge.yaml"), "--target", "tofino"]
        words += ["--sizes", "128", "--out", str(tmp_path / "run")]
        settings = (
            "duration_ms=0.2",
            "settle_ms=1",
            "restabilise_ms=0",
            "runs=1",
            "search_initial_pct=0.1",
            "search_try_max_first=false",
            "search_max_pct=0.1",
            "learning_wait_ms=1",
        )
        assert main(words + [part for setting in settings for part in ("--set", setting)]) == 0
    out = capsys.readouterr().out
    assert "IPDV, RFC 3550 jitter: not supported on tofino." in out
    assert "IPDV p99" not in out
    assert chip.faults == []
