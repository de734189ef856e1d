"""Destination sequences: the tables of the RFCs, and the properties that the tests rely on."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest

from p4mesh.traffic import patterns
from p4mesh.traffic.stream import PatternKind, Stream


def stream(kind: PatternKind, tx: tuple[int, ...], rx: tuple[int, ...], count: int) -> Stream:
    return Stream("s", 64, Fraction(1000), count, kind, tx, rx)


def test_full_mesh_is_the_table_of_rfc_2889() -> None:
    table = {1: "23456", 2: "34561", 3: "45612", 4: "56123", 5: "61234", 6: "12345"}
    for source, row in table.items():
        sent = "".join(str(patterns.full_mesh(source, k, 6)) for k in range(10))
        assert sent == row + row


@pytest.mark.parametrize("ports", [2, 3, 6, 18, 256])
def test_full_mesh_is_a_permutation_at_every_step_and_never_hairpins(ports: int) -> None:
    for k in range(2 * ports):
        targets = [patterns.full_mesh(source, k, ports) for source in range(1, ports + 1)]
        assert sorted(targets) == list(range(1, ports + 1))
        assert all(target != source for source, target in enumerate(targets, start=1))


def test_partial_mesh_starts_each_source_at_its_own_receiver() -> None:
    receivers = (4, 5, 6)
    assert [patterns.rotate(2, k, receivers) for k in range(4)] == [5, 6, 4, 5]


def test_two_groups_visit_the_whole_other_group() -> None:
    assert [patterns.two_groups(1, k, (11, 12, 13)) for k in range(4)] == [12, 13, 11, 12]


def test_in_phase_sources_collide() -> None:
    both = stream(PatternKind.IN_PHASE, (1, 2), (3, 4), 4)
    assert patterns.destinations(both, 0, 1) == patterns.destinations(both, 1, 1) == (4,)


def test_broadcast_reaches_every_receiver_but_the_source() -> None:
    assert patterns.destinations(stream(PatternKind.BROADCAST, (1,), (1, 2, 3), 1), 0, 0) == (2, 3)


@pytest.mark.parametrize(
    ("kind", "tx", "rx"),
    [
        (PatternKind.FULL_MESH, (1, 2, 5, 9), (1, 2, 5, 9)),
        (PatternKind.ROTATE, (1, 2), (3, 4, 5)),
        (PatternKind.PAIRS, (1, 2), (3, 4)),
        (PatternKind.IN_PHASE, (1, 2), (3, 4, 5)),
        (PatternKind.BROADCAST, (1,), (2, 3, 4)),
    ],
)
@pytest.mark.parametrize("count", [1, 2, 3, 7, 100])
def test_flow_counts_equal_a_walk_over_all_frames(
    kind: PatternKind, tx: tuple[int, ...], rx: tuple[int, ...], count: int
) -> None:
    given = stream(kind, tx, rx, count)
    walked: Counter[tuple[int, int]] = Counter()
    for index, source in enumerate(tx):
        for k in range(count):
            walked.update((source, target) for target in patterns.destinations(given, index, k))
    assert patterns.flow_counts(given) == walked
