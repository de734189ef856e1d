"""Declares the traffic patterns of methodology 0.4 for all tests, and lays a pattern over the ports of RFC 2544.

Tests that take a pattern declare it here: one name, the same words and meanings everywhere. What is a mesh of its own
standard, such as the uplink of RFC 2889 5.3, says itself which ports send.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from p4mesh.errors import ParameterError, TopologyError
from p4mesh.methods.bed import Bed, Port
from p4mesh.methods.mesh import Leg, Mesh
from p4mesh.methods.options.parameters import Parameter, ParameterSet, boolean, choice, integer
from p4mesh.quantities import number_text
from p4mesh.traffic.patterns import FullMesh, InPhase, MeshStreams, Pairs, Pattern, Rotate

RFC_DURATION_S, DURATION_CLAUSE = 60, "RFC 2544 24"
MIN_PORTS = 2
PATTERN, PORTS_IN_STEP = "pattern", "ports_in_step"
ONE_TO_MANY, MANY_TO_ONE = "one_to_many", "many_to_one"
ALL, FIRST_PAIR = "all", "first_pair"
_MOST_IN_STEP = 512

_PATTERNS: dict[str, tuple[Pattern, str]] = {
    Pairs.kind: (Pairs(), "each sender has a receiver of its own"),
    InPhase.kind: (InPhase(), "senders go through the receivers in the same order"),
    Rotate.kind: (Rotate(), "senders go through the receivers, each beginning with another one"),
    ONE_TO_MANY: (Rotate(), "the first port sends to the others in turn"),
    MANY_TO_ONE: (Rotate(), "the others send to the first port"),
    FullMesh.kind: (FullMesh(), "each port sends to all others in the order of RFC 2889 5.1.3, ports in step"),
    MeshStreams.kind: (MeshStreams(), "the same mesh of ports without a common phase"),
}


def pattern_parameters(section: str, *kinds: str) -> tuple[Parameter, ...]:
    """The parameters that choose one of ``kinds``, by default the first; ``section`` asks for them."""
    meanings = "; ".join(f"{kind}: {_PATTERNS[kind][1]}" for kind in kinds)
    asked = choice(PATTERN, kinds[0], section, meanings, kinds)
    if MeshStreams.kind not in kinds:
        return (asked,)
    in_step = integer(
        PORTS_IN_STEP,
        1,
        "ports",
        section,
        f"neighbouring ports with a common phase in {MeshStreams.kind}, as those of one module of a tester",
        (1, _MOST_IN_STEP),
    )
    return asked, in_step


PARAMETERS: tuple[Parameter, ...] = (
    *pattern_parameters("RFC 2544 15, 16", *_PATTERNS),
    choice("ports", ALL, "RFC 2544 15", "ports that take part: all, or the first two alone", (ALL, FIRST_PAIR)),
    boolean("bidirectional", True, "RFC 2544 14", "receivers send to the senders as well"),
)
"""A test of RFC 2544 takes every pattern."""


def pattern_of(test: str, parameters: ParameterSet) -> Pattern:
    """The pattern; raises ParameterError for a common phase of ports that are in step anyway."""
    kind = parameters.text(PATTERN)
    in_step = parameters.values.get(PORTS_IN_STEP, 1)
    if kind == MeshStreams.kind:
        return MeshStreams(ports_in_step=int(in_step))
    if in_step != 1:
        raise ParameterError(
            f"{test}: {PORTS_IN_STEP}={in_step} with {PATTERN}={kind}, where all ports are in step",
            hint=f"use {PATTERN}={MeshStreams.kind}, or leave {PORTS_IN_STEP} out",
        )
    return _PATTERNS[kind][0]


def full_mesh(test: str, bed: Bed, parameters: ParameterSet) -> Mesh:
    """A mesh of all ports, in step or not; raises TopologyError without two ports of one line rate."""
    bed.require_ports(test, MIN_PORTS)
    ports = bed.port_numbers
    return Mesh((Leg(pattern_of(test, parameters), ports, ports),), bed.common_rate_bps(test))


def mesh_of(test: str, bed: Bed, parameters: ParameterSet) -> Mesh:
    """The traffic of a test of RFC 2544; raises TopologyError when the ports do not allow the pattern.

    Pairs are neighbours, and the last of an odd number of ports has no partner; other patterns go from the first half
    of the ports to the second one. Ports may have different rates: 100 % is the rate of the slower port of a pair, or
    of the slowest one in use, which every port can send and receive.
    """
    pattern = pattern_of(test, parameters)
    bed.require_ports(test, MIN_PORTS)
    used = _used(bed, parameters)
    ports = tuple(port.number for port in used)
    slowest_bps = min(port.own_rate_bps for port in used)
    if isinstance(pattern, FullMesh):
        if not parameters.flag("bidirectional"):
            raise ParameterError(
                f"{test}: {PATTERN}={pattern.kind} with bidirectional=false: in a full mesh every port transmits",
                hint=f"leave bidirectional out, or use {PATTERN}={Pairs.kind}",
            )
        return Mesh((Leg(pattern, ports, ports),), slowest_bps)
    if isinstance(pattern, Pairs):
        return _pairs(used, both_ways=parameters.flag("bidirectional"))
    first, second = _sides(test, bed, parameters.text(PATTERN), ports)
    legs = [Leg(pattern, first, second)]
    if parameters.flag("bidirectional"):
        legs.append(Leg(pattern, second, first))
    limit = min(Fraction(1), *(Fraction(len(leg.rx_ports), len(leg.tx_ports)) for leg in legs))
    return Mesh(tuple(legs), slowest_bps, 100 * limit)


def _pairs(used: Sequence[Port], *, both_ways: bool) -> Mesh:
    """Pairs of neighbours, those of each rate in legs of their own."""
    of_rate = _pairs_by_rate(used)
    slowest_bps = min(of_rate)
    legs: list[Leg] = []
    for rate_bps, pairs in of_rate.items():
        sides = [tuple(port.number for port in side) for side in zip(*pairs, strict=True)]
        ways = (sides, sides[::-1]) if both_ways else (sides,)
        of_leg = None if rate_bps == slowest_bps else rate_bps
        legs += [Leg(Pairs(), first, second, of_leg) for first, second in ways]
    lines = sum(Fraction(len(leg.tx_ports) * (leg.line_rate_bps or slowest_bps), slowest_bps) for leg in legs)
    return Mesh(tuple(legs), slowest_bps, limit_lines=None if len(of_rate) == 1 else Fraction(lines))


def _pairs_by_rate(used: Sequence[Port]) -> dict[int, list[tuple[Port, Port]]]:
    """Pairs of neighbours by what both of their ports carry: those of one nominal rate by the slowest clock."""
    of_nominal: dict[int, list[tuple[Port, Port]]] = {}
    for pair in zip(used[::2], used[1::2], strict=False):
        of_nominal.setdefault(min(port.rate_bps for port in pair), []).append(pair)
    return {min(port.own_rate_bps for pair in pairs for port in pair): pairs for pairs in of_nominal.values()}


def _sides(test: str, bed: Bed, kind: str, ports: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The ports that send and those that receive, before the other direction is added."""
    if kind in (ONE_TO_MANY, MANY_TO_ONE):
        one, many = ports[:1], ports[1:]
        return (one, many) if kind == ONE_TO_MANY else (many, one)
    if len(ports) % 2:
        raise TopologyError(
            f"{test} with {PATTERN}={kind} needs an even number of tester ports, topology '{bed.topology}' has "
            f"{len(ports)}",
            hint=f"--set ports={FIRST_PAIR} uses ports 1 and 2 alone; {PATTERN}={Pairs.kind}, {FullMesh.kind}, "
            f"{ONE_TO_MANY} and {MANY_TO_ONE} take any number",
        )
    half = len(ports) // 2
    return ports[:half], ports[half:]


def pattern_notes(mesh: Mesh) -> tuple[str, ...]:
    """The sentences of a report about a pattern that over-subscribes outputs, all the time or for moments."""
    noted = []
    if mesh.theoretical_pct < 100:
        noted.append(
            f"The pattern over-subscribes an output above {number_text(mesh.theoretical_pct, 4)} % of line rate per "
            "port: "
            "no device has a higher throughput."
        )
    if any(not leg.pattern.in_step for leg in mesh.legs):
        noted.append(
            "Pattern mesh_streams: the ports have no common phase, so outputs are over-subscribed for short times "
            "(RFC 2889 5.1.3 asks for ports in step)."
        )
    return tuple(noted)


def mesh_notes(test: str, bed: Bed, parameters: ParameterSet) -> tuple[str, ...]:
    """The sentences of a report about the pattern, about ports of different rates, and about one left over."""
    used = _used(bed, parameters)
    mesh = mesh_of(test, bed, parameters)
    busy = {number for pair in mesh.pairs for number in pair}
    paired = [port for port in used if port.number in busy]
    rates = rates_text(paired) if mesh.limit_lines is None else _rates_of_pairs(paired)
    left = (f"Port {port.number} has no partner and takes no part." for port in used if port.number not in busy)
    return (*pattern_notes(mesh), *rates, *left)


def ports_used(bed: Bed, parameters: ParameterSet) -> int:
    """The number of ports that send or receive: a pattern of pairs leaves out one of an odd number."""
    used = len(_used(bed, parameters))
    return used - used % 2 if parameters.text(PATTERN) == Pairs.kind else used


def rates_text(ports: Sequence[Port]) -> tuple[str, ...]:
    """The sentence about ports of different nominal rates; empty where they are the same."""
    rates = sorted({port.rate_bps for port in ports})
    if len(rates) == 1:
        return ()
    slowest = min(port.own_rate_bps for port in ports) / 1e9
    return (f"{_listed(rates)} Loads are percent of the slowest port's line rate, {number_text(slowest)} Gbit/s.",)


def _rates_of_pairs(ports: Sequence[Port]) -> tuple[str, ...]:
    """The sentence about pairs of different rates."""
    of_pairs = "; ".join(
        f"{number_text(rate_bps / 1e9)} Gbit/s for "
        f"{', '.join(f'{one.number} and {other.number}' for one, other in pairs)}"
        for rate_bps, pairs in _pairs_by_rate(ports).items()
    )
    rates = sorted({port.rate_bps for port in ports})
    return (f"{_listed(rates)} Loads are percent of the line rate of the slower port of each pair: {of_pairs}.",)


def _listed(rates_bps: Sequence[int]) -> str:
    *others, last = (number_text(rate / 1e9) for rate in rates_bps)
    return f"Ports have {', '.join(others)} and {last} Gbit/s."


def _used(bed: Bed, parameters: ParameterSet) -> tuple[Port, ...]:
    return bed.ports[:MIN_PORTS] if parameters.text("ports") == FIRST_PAIR else bed.ports
