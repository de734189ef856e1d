"""The test set-up as methods see it: rates by clocks, what stamps allow, and beds on which a test cannot run."""

from __future__ import annotations

from fractions import Fraction

import pytest
from support.beds import GIGABIT, make_bed

from p4mesh.errors import ParameterError, TopologyError
from p4mesh.methods.bed import TimeStamps
from p4mesh.traffic.stamps import StampKind
from p4mesh.trial.calibration import Calibration


def test_the_slowest_clock_is_100_percent_of_a_load_that_all_ports_carry() -> None:
    """20 ppm of 1 Gbit/s are 20,000 bit/s; nominal rates are the same."""
    bed = make_bed(3, clocks_ppm=(0, -20, 30))
    assert [port.own_rate_bps for port in bed.ports] == [GIGABIT, GIGABIT - 20_000, GIGABIT + 30_000]
    assert (bed.slowest_rate_bps, bed.common_rate_bps("t"), bed.mixed_rates) == (999_980_000, 999_980_000, False)
    assert [bed.rate_bps(port) for port in bed.port_numbers] == [GIGABIT] * 3


def test_ports_of_several_rates_have_none_in_common() -> None:
    bed = make_bed(rates_bps=(10 * GIGABIT, GIGABIT, 10 * GIGABIT), topology="mixed")
    assert (bed.mixed_rates, bed.rate_bps(1), bed.rate_bps(2), bed.slowest_rate_bps) == (
        *(True, 10 * GIGABIT, GIGABIT, GIGABIT),
    )
    with pytest.raises(TopologyError, match="t needs tester ports of one line rate") as caught:
        bed.common_rate_bps("t")
    assert caught.value.message.endswith("topology 'mixed' has 1000000000 bit/s, 10000000000 bit/s")


@pytest.mark.parametrize(
    ("kind", "calibrated", "keeps", "defined", "departures"),
    [
        (StampKind.FIRST_BIT, False, True, True, False),
        (StampKind.PARSER, False, True, False, True),
        (StampKind.PARSER, True, True, True, True),
        (StampKind.PARSER, True, False, True, False),
        (StampKind.SOFTWARE, True, True, False, False),
    ],
)
def test_latency_is_defined_from_first_bits_or_over_wires_to_a_parser(
    kind: StampKind, calibrated: bool, keeps: bool, defined: bool, departures: bool
) -> None:
    known = Calibration((), ()) if calibrated else None
    stamps = TimeStamps(Fraction(1), kind)
    bed = make_bed(stamps=stamps, calibration=known, stamps_controller_frames=keeps)
    assert (bed.defines_latency, bed.keeps_departures) == (defined, departures)


def test_ports_that_there_are_not_are_refused_with_those_that_there_are() -> None:
    bed = make_bed(3, topology="small")
    assert bed.require_port("source_port", 3) == 3
    with pytest.raises(ParameterError, match="source_port=4: topology 'small' has no such port") as caught:
        bed.require_port("source_port", 4)
    assert caught.value.hint == "ports are 1 to 3"
    bed.require_ports("t", 3)
    with pytest.raises(TopologyError, match="t needs at least 4 tester ports, topology 'small' has 3"):
        bed.require_ports("t", 4)
