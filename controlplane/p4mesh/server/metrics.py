"""Runs below the directory as Prometheus reads them: states, trials, and the last look at each trial that runs."""

from __future__ import annotations

from collections.abc import Iterable

from p4mesh.methods.results import fields
from p4mesh.report.export.prometheus import Metrics
from p4mesh.server.run_view import RunView
from p4mesh.traffic.line_rate import NS_PER_US


def metrics_text(runs: Iterable[RunView]) -> str:
    """Text for ``/metrics``; numbers of finished runs are those of ``p4mesh export --format prometheus``."""
    metrics = Metrics()
    for run in runs:
        known = run.summary()
        labels = {"run": known["name"], **{key: known[key] for key in ("test", "topology", "target")}}
        verdict = known["verdict"]["text"] if known["verdict"] else ""
        metrics.add(fields.STATE.key, {**labels, "state": known["state"], "verdict": verdict}, 1)
        metrics.add(fields.TRIALS.key, labels, known["trials"])
        for trial in known["live"]:
            where = {**labels, "unit": trial["unit"], "trial": trial["trial"]}
            for look in trial["looks"][-1:]:
                metrics.add(fields.TX_FRAMES.key, where, look["tx_frames"])
                metrics.add(fields.RX_FRAMES.key, where, look["rx_frames"])
                if frames := look["latency_frames"]:
                    metrics.add(fields.AVG_US.key, where, look["latency_sum_ns"] / frames / NS_PER_US)
                    metrics.add(fields.MAX_US.key, where, look["latency_max_ns"] / NS_PER_US)
    return metrics.text()
