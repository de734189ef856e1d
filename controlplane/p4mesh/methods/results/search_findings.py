"""Writes the findings of a throughput search: limits of its result that a reader must know."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from p4mesh.methods.results.queues import queue_findings
from p4mesh.methods.results.rare_loss import RareLoss
from p4mesh.methods.results.searched import HasSearch, Searched, SearchRow
from p4mesh.quantities import number_text, typed_text

_PPM = 1_000_000
_MARGIN = 3
"""How far above the ratio of a device its loss limit should be, so that chance does not exceed it in a trial."""


def search_findings(results: Sequence[HasSearch]) -> Iterator[str]:
    """Yield untrusted trials, rare losses, loads that only a buffer carries, and loads that could not be sent."""
    for result in results:
        where = f"{result.frame_size_bytes} B"
        yield from untrusted_trials(f"throughput {where}", result.search.rows)
        if result.search.rare_loss is not None:
            yield f"{where}: {rare_loss_text(result.search.rare_loss)}"
        yield from _delivery(where, result.search)
        if result.search.of_copies_pct is not None:
            yield f"{where}: {of_copies_text(result.search.of_copies_pct)}"
        if result.search.throughput_pct is not None:
            yield from queue_findings(f"{where}, throughput", [result.search.shown])


def untrusted_trials(where: str, rows: Iterable[SearchRow]) -> Iterator[str]:
    """Yield why trials cannot be trusted; ``where`` names the part of the test and the frames."""
    for row in rows:
        if not row.trusted:
            yield f"{row.status.value} trial, {where} at {number_text(row.load_pct)} %: {row.reason}"


@dataclass(frozen=True)
class Excluded:
    """The loss ratio that the trial of a result excludes."""

    where: str
    """The frames that it is about, such as their size."""
    loss_ppm: float
    lost_frames: int
    """Accepted ones, in this trial."""


def excluded_note(results: Sequence[HasSearch]) -> str:
    """The sentence that says which loss the passing trials exclude; empty where nothing passed."""
    searches = [(f"{result.frame_size_bytes} B", result.search) for result in results]
    return excluded_text(
        [
            Excluded(where, search.excluded_loss_ppm, search.shown.lost_frames)
            for where, search in searches
            if search.excluded_loss_ppm is not None
        ]
    )


def excluded_text(found: Sequence[Excluded]) -> str:
    """The sentences for trials without loss, and for those whose loss was accepted."""
    bounds = {
        "3/n of the n frames sent": _ratios([one for one in found if not one.lost_frames]),
        "the upper end of the interval of the accepted losses": _ratios([one for one in found if one.lost_frames]),
    }
    return " ".join(
        f"With 95 % confidence, a result excludes a loss ratio above {bound}: {ratios}."
        for bound, ratios in bounds.items()
        if ratios
    )


def _ratios(found: Sequence[Excluded]) -> str:
    places: dict[str, list[str]] = {}
    for one in found:
        places.setdefault(f"{_percent(one.loss_ppm / _PPM)} %", []).append(one.where)
    return ", ".join(f"{ratio} ({', '.join(where)})" if len(places) > 1 else ratio for ratio, where in places.items())


def _percent(ratio: float) -> str:
    """A ratio in per cent with two digits: it is an estimate, or a bound."""
    return number_text(100 * ratio, 2)


def of_copies_text(load_pct: float) -> str:
    """The finding on a load from which on a queue fills by copies alone."""
    return (
        f"from {number_text(load_pct)} % of line a queue fills, by no more frames than came twice, and was not full in "
        "the longest trial: a device that loses only such copies carries more"
    )


def rare_loss_text(found: RareLoss) -> str:
    """The finding on a device that loses frames at loads far below its capacity."""
    low, high = found.interval
    ratio_pct = _percent(found.ratio)
    loads = f"{number_text(found.lowest_pct, 4)} to {number_text(found.highest_pct, 4)} % of line"
    corrupted = f", {found.corrupted_frames:,} of them received corrupted" if found.corrupted_frames else ""
    counts = f"{found.lost_frames:,} of {found.frames:,} frames{corrupted}"
    counts += f", 95 % interval {_percent(low)} to {_percent(high)} %"
    forwarded = f"{number_text(found.forwarded_pct, 4)} % of line were forwarded in the search"
    if found.independent:
        said = f"loses about {ratio_pct} % of the frames at every load, independent of load ({loads}; {counts})"
        why = f"This is not a lack of capacity: {forwarded}"
    else:
        said = f"loses about {ratio_pct} % of the frames at loads far below what it forwards ({loads}; {counts})"
        why = f"In all {forwarded}: either single frames are lost, or a link or port carries far less than others"
    limit_pct = _rounded_up(100 * _MARGIN * found.ratio)
    return (
        f"{said}. {why}. Where single losses are known and accepted, set acceptable_loss_pct={typed_text(limit_pct)}, "
        "or "
        "search_method=mlr (MLRsearch) with it"
    )


def _rounded_up(value: float) -> float:
    """``value`` rounded up to one digit."""
    digit = 10.0 ** floor(log10(value))
    return round(ceil(round(value / digit, 6)) * digit, 12)


def _delivery(where: str, search: Searched[SearchRow]) -> Iterator[str]:
    limit = search.undelivered_pct
    if limit is None or search.upper_pct is not None:
        return
    if search.throughput_pct is None:
        yield f"{where}: no result; the tester could not send {limit:.4f} % of line, the lowest load tried"
    else:
        least = f"at least {search.throughput_pct:.4f} % of line"
        yield f"{where}: {least}; the tester delivers no more than {limit:.4f} %"
