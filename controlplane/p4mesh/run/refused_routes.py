"""Findings and the table on announced networks that devices had no room for: frames to them are lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from p4mesh.methods.results import fields
from p4mesh.methods.results.outcome import Table
from p4mesh.methods.results.record import table_of
from p4mesh.store.codec import decode
from p4mesh.store.run_files import StoredTrial
from p4mesh.traffic.refused_routes import RefusedRoutes

_COLUMNS = (
    fields.UNIT,
    fields.DEVICE,
    fields.IP_VERSION,
    fields.LIMIT_ROUTES,
    fields.REFUSED_NETWORKS,
    fields.REFUSING_TRIALS,
    fields.TRIALS,
)


def refused_routes_findings(trials: Sequence[StoredTrial]) -> tuple[str, ...]:
    """A finding per device and IP version that refused networks: how many, its limit, and in which trials."""
    return tuple(
        f"{worst.text} (in {count} of {len(trials)} trials); frames to refused networks are lost"
        for worst, count in _worst(trials)
    )


def refused_routes_tables(trials_of: Mapping[str, Sequence[StoredTrial]]) -> tuple[Table, ...]:
    """The table of refused networks by unit; none where nothing was refused."""
    rows = [
        {
            "unit": unit,
            "device": worst.device,
            "ip_version": worst.ip_version,
            "limit_routes": worst.limit,
            "refused_networks": worst.networks,
            "refusing_trials": count,
            "trials": len(trials),
        }
        for unit, trials in trials_of.items()
        for worst, count in _worst(trials)
    ]
    if not rows:
        return ()
    note = "Announced networks that a device had no room for: those of the trial with most of them."
    return (table_of("refused_routes", "Refused routes", _COLUMNS, rows, note, keys=_COLUMNS[:3]),)


def _worst(trials: Sequence[StoredTrial]) -> list[tuple[RefusedRoutes, int]]:
    """The most that a trial had refused of each device and IP version, and the number of trials that had some."""
    told: dict[tuple[str, int], list[RefusedRoutes]] = {}
    for trial in trials:
        for routes in decode(tuple[RefusedRoutes, ...], trial.result.get("refused_routes", [])):
            told.setdefault((routes.device, routes.ip_version), []).append(routes)
    return [(max(each, key=lambda routes: routes.networks), len(each)) for _, each in sorted(told.items())]
