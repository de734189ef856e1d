"""Writes the findings of a throughput search: limits of its result that a reader must know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil, floor, log10

from p4mesh.methods.results.queues import queue_findings
from p4mesh.methods.results.rare_loss import RareLoss
from p4mesh.methods.results.searched import HasSearch, Searched, SearchRow

_PPM = 1_000_000
_MARGIN = 3
"""How far above the ratio of a device its loss limit should be, so that chance does not exceed it in a trial."""


def search_findings(results: Sequence[HasSearch]) -> Iterator[str]:
    """Yield rare losses, loads that only a buffer carries, and loads that could not be sent."""
    for result in results:
        where = f"{result.frame_size_bytes} B"
        if result.search.rare_loss is not None:
            yield f"{where}: {_loss_text(result.search.rare_loss)}"
        yield from _delivery(where, result.search)
        if result.search.result_pct is not None:
            yield from queue_findings(f"{where}, throughput", [result.search.shown])


def excluded_note(results: Sequence[HasSearch]) -> str:
    """Return the sentence that says which loss the passing trials exclude; empty where nothing passed."""
    sizes: dict[str, list[str]] = {}
    for result in results:
        if result.search.excluded_loss_ppm is not None:
            ratio = f"{result.search.excluded_loss_ppm / _PPM:.1e}"
            sizes.setdefault(ratio, []).append(str(result.frame_size_bytes))
    if not sizes:
        return ""
    ratios = [f"{ratio} ({', '.join(found)} B)" for ratio, found in sizes.items()] if len(sizes) > 1 else list(sizes)
    return f"With 95 % confidence, PASS excludes a loss ratio above 3/n of the n frames sent: {', '.join(ratios)}."


def _loss_text(found: RareLoss) -> str:
    low, high = found.interval
    loads = f"{found.lowest_pct:.4g} to {found.highest_pct:.4g} % of line"
    counts = f"{found.lost_frames} of {found.frames} frames, 95 % interval {low:.1e} to {high:.1e}"
    if found.independent:
        said = f"loses about {found.ratio:.1e} of the frames at every load, independent of load ({loads}; {counts})"
    else:
        said = f"loses about {found.ratio:.1e} of the frames at loads far below what it forwards ({loads}; {counts})"
    limit_pct = _rounded_up(100 * _MARGIN * found.ratio)
    return (
        f"{said}. This is not a lack of capacity: the device has forwarded {found.forwarded_pct:.4g} % of line. Where "
        f"single losses are known and accepted, set acceptable_loss_pct={limit_pct:g}, or search_method=mlr "
        "(MLRsearch) with it"
    )


def _rounded_up(value: float) -> float:
    """Return ``value`` rounded up to one digit."""
    digit = 10.0 ** floor(log10(value))
    return round(ceil(round(value / digit, 6)) * digit, 12)


def _delivery(where: str, search: Searched[SearchRow]) -> Iterator[str]:
    limit = search.undelivered_pct
    if limit is None or search.upper_pct is not None:
        return
    if search.result_pct is None:
        yield f"{where}: no result; the tester could not send {limit:.4f} % of line, the lowest load tried"
    else:
        least = f"at least {search.result_pct:.4f} % of line"
        yield f"{where}: {least}; the tester delivers no more than {limit:.4f} %"
