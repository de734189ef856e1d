"""Writes the findings of the address tests (RFC 2889 5.7, 5.8) about their iterations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from p4mesh.methods.options.parameters import ParameterSet
from p4mesh.methods.rfc2889.address_results import AddressUnit, Iteration
from p4mesh.methods.rfc2889.address_trial import age_s
from p4mesh.quantities import number_text, typed_text
from p4mesh.verdict import Verdict


def all_findings(
    units: Sequence[AddressUnit], iterations: Sequence[Iteration], parameters: ParameterSet
) -> Iterator[str]:
    """Yield devices that do not forget or that lose at random, untrusted iterations and too slow ones."""
    yield from _contradictions(units)
    yield from _too_few(units, parameters)
    yield from _flooded(units, parameters)
    yield from _nowhere(iterations)
    yield from _lost(iterations)
    yield from _size_dependence(units)
    yield from _untrusted(iterations)
    yield from _slow(iterations, parameters)


def _contradictions(units: Sequence[AddressUnit]) -> Iterator[str]:
    """Yield values that passed once and failed in the same search: a device that does not forget, or that loses at
    random.
    """
    for unit in units:
        for search in unit.searches:
            verdicts: dict[tuple[int, float], set[Verdict]] = {}
            for row in search.rows:
                verdicts.setdefault((row.addresses, row.learning_rate_fps), set()).add(row.verdict)
            for (addresses, rate_fps), found in verdicts.items():
                if {Verdict.PASS, Verdict.FAIL} <= found:
                    yield (
                        f"{unit.frame_size_bytes} B, base {unit.repetition}: {addresses:,} addresses at "
                        f"{number_text(rate_fps)} frames/s passed and failed: the device keeps entries that it should "
                        "have "
                        "forgotten (aging_s, reset_between), or learning loses some at random"
                    )


def _too_few(units: Sequence[AddressUnit], parameters: ParameterSet) -> Iterator[str]:
    """Yield the smallest iteration of each search that held less than half of what one with no more addresses did, or
    nothing after one that held some: a full table keeps what it has.
    """
    for unit in units:
        for search in unit.searches:
            found = [(row, most) for place, row in enumerate(search.rows) if (most := _held_more(search.rows, place))]
            if not found:
                continue
            row, most = min(found, key=lambda pair: pair[0].addresses)
            age, before = (_age(one, parameters) for one in (row, most))
            forgets = f"forgets addresses, as these were {number_text(age, 4)} s old or more when frames were sent, or "
            yield (
                f"{unit.frame_size_bytes} B, base {unit.repetition}: {row.held_addresses:,} of {row.addresses:,} "
                f"addresses were held, and {most.held_addresses:,} of {most.addresses:,}: the device "
                f"{forgets if age > before else ''}keeps entries that it should have forgotten (aging_s, "
                "reset_between), so this result is not its capacity"
            )


def _held_more(rows: Sequence[Iteration], place: int) -> Iteration | None:
    """The iteration that shows that the one at this place held too few."""
    row = rows[place]
    others = [
        other
        for number, other in enumerate(rows)
        if other.learning_rate_fps == row.learning_rate_fps
        and (other.addresses <= row.addresses or (number < place and not row.held_addresses))
    ]
    most = max(others, key=lambda other: other.held_addresses)
    too_few = 2 * row.held_addresses < most.held_addresses - row.lost_frames
    return most if row.verdict is Verdict.FAIL and too_few else None


def _age(row: Iteration, parameters: ParameterSet) -> Fraction:
    return age_s(row.addresses, Fraction(row.learning_rate_fps), parameters)


def _flooded(units: Sequence[AddressUnit], parameters: ParameterSet) -> Iterator[str]:
    """Yield searches in which even the last value, the smallest one, failed by flooded frames."""
    for unit in units:
        for search in unit.searches:
            row = search.rows[-1]
            if row.monitor_flood_frames and all(tried.verdict is Verdict.FAIL for tried in search.rows):
                age = number_text(_age(row, parameters), 4)
                yield (
                    f"{unit.frame_size_bytes} B, base {unit.repetition}: {row.held_addresses:,} of {row.addresses:,} "
                    f"addresses at {number_text(row.learning_rate_fps)} frames/s were held, the least that was tried: "
                    "the device holds fewer, learns more slowly, or forgets them before they are tested, "
                    f"{age} s old or more"
                )


def _nowhere(iterations: Sequence[Iteration]) -> Iterator[str]:
    """Yield the first iteration whose frames came neither to L nor to another port."""
    for row in iterations:
        flooded = row.test_flood_frames or row.learning_flood_frames or row.monitor_flood_frames
        if row.test_tx_frames and not row.learning_rx_frames and not flooded:
            yield (
                f"{row.frame_size_bytes} B, base {row.repetition}: frames to {row.addresses:,} addresses came "
                "to no port: the device looks for them where they were before (reset_between), or drops all"
            )
            return


def _lost(iterations: Sequence[Iteration]) -> Iterator[str]:
    """Yield the smallest iteration that failed as frames were lost: a table that is full floods them."""
    lost = [row for row in iterations if row.verdict is Verdict.FAIL and row.lost_frames and row.learning_rx_frames]
    if lost:
        row = min(lost, key=lambda row: (row.learning_rate_fps, row.addresses))
        yield (
            f"{row.frame_size_bytes} B: {len(lost)} of {len(iterations)} iterations failed in which frames were lost, "
            f"such as {row.lost_frames:,} with {row.addresses:,} addresses at {number_text(row.learning_rate_fps)} "
            "frames/s: a full table floods frames and loses none, so the device may hold more, and learn faster"
        )


def _size_dependence(units: Sequence[AddressUnit]) -> Iterator[str]:
    """Yield address bases whose searches end differently at different frame sizes: tables do not know the size."""
    found: dict[tuple[int, str, int | None], dict[int, float | None]] = {}
    for unit in units:
        for search in unit.searches:
            key = (unit.repetition, search.search, search.addresses)
            found.setdefault(key, {})[unit.frame_size_bytes] = search.result
    for (base, subject, addresses), results in found.items():
        if len(set(results.values())) > 1:
            where = f"{addresses:,} addresses of base {base}" if addresses else f"base {base}"
            sizes = ", ".join(
                f"{size} B: {'-' if value is None else number_text(value)}" for size, value in results.items()
            )
            yield (
                f"{where}: the {subject} depends on the frame size ({sizes}). A table of addresses does not: "
                "learning loses some of them at random, repeat the test"
            )


def _untrusted(iterations: Sequence[Iteration]) -> Iterator[str]:
    for row in iterations:
        if row.reason:
            rate = f"{row.addresses:,} addresses at {number_text(row.learning_rate_fps)} frames/s"
            yield f"{row.frame_size_bytes} B, {rate}: {row.reason}"


def _slow(iterations: Sequence[Iteration], parameters: ParameterSet) -> Iterator[str]:
    """Yield iterations that learned so slowly that the first addresses were old before the last one was sent."""
    if "aging_s" not in parameters.values:
        return
    aging_s = parameters.number("aging_s")
    for size, addresses, rate_fps in dict.fromkeys(
        (row.frame_size_bytes, row.addresses, row.learning_rate_fps) for row in iterations
    ):
        if addresses / rate_fps >= aging_s:
            yield (
                f"{size} B: {addresses:,} addresses at {number_text(rate_fps)} frames/s take "
                f"{number_text(addresses / rate_fps, 4)} s to "
                f"learn, longer than aging_s={typed_text(aging_s)}: the first ones may have aged before they were "
                "tested"
            )
