#!/usr/bin/env python3
"""Measures on the shipped topologies what reports have published, and writes both side by side to docs/PUBLISHED.md.

``compare_published.py [TABLE ...]`` measures these tables, by default all, which takes some 10 minutes of a processor;
the cells that it does not measure stay as they are. ``compare_published.py --document`` writes the document alone.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from published import atm, timing_network, white_rabbit
from published.table import Comparison

_ROOT = Path(__file__).resolve().parents[1]
DOCUMENT = _ROOT / "docs" / "PUBLISHED.md"
MODELLED = _ROOT / "docs" / "published.json"
_HEAD = """# Published measurements and what the models predict

Numbers that reports have printed, beside those that P4Mesh measures on `sim` with the shipped topologies: published,
modelled, and the difference. Made by `scripts/compare_published.py`; a test measures some cells again.
"Parameters from cells" names the cells of a report that a model has parameters from: those agree because they were
fitted. All other cells are predictions.

## Cisco Nexus 9508 (2016): 256 ports of 100 Gbit/s

`topologies/nexus9508-*.yaml`; its tables are in [CHASSIS](CHASSIS.md), since `profiles/nexus9508.yaml` takes an hour.

Parameters from cells: latencies within a module and between modules from the smallest and average ones of short frames;
the stage from 1,518 and 9,216 bytes of multicast; the numbers of links from averages of 1,518 and 9,216 bytes (layer
2) and 128, 1,518 and 9,216 (layer 3); the slots from the throughput of 64 and 86 bytes. Predictions are the averages of
the other sizes, all largest latencies, all jitter, and N-to-N.

Sampling: rates, smallest latencies and multicast from one port have none. For the others CHASSIS has the standard
deviation of each cell at the throughput: of averages 0.29 us for 9,216 bytes on layer 2, at most 0.05 elsewhere.

For each deviation, its mechanism, or why there is none:

* N-to-N, 16.5 us for 2.76 at 1,518 bytes: ports start 448 us apart, as in the report. Now 3.12 +- 1.05 us; no parameter
  is from these cells.
* Averages under BGP, 6.5 us for 11.3 at 9,216 bytes: none. Tables of constant time cannot give it, slower ones would
  delay short frames, too; 21 links instead of 32 would, one number for one cell.
* Jitter, 3.86 us for 0.50 at 9,216 bytes of layer 2: none. A link for each flow makes it 0.03 us, but then one of 18
  links gets more than it carries, and 19 give an average of 14 us for 23.
* Jitter without a device, 0 for 5 ns: none of a device. The report's time stamps have steps of 2.5 ns.
* Largest latencies of multicast, 2.67 us for 3.47 at 1,518 bytes: a frame of the chassis itself is in the way for 0.7
  us, the largest jitter of unicast frames of 64 bytes. CHASSIS says what it predicts.
* Error correction, 102 ns for 319 to 372: two code words, the least that decoders wait. How long they correct no
  standard says; `line_code_ns` is for a measured value.
"""
COMPARISONS: Sequence[Comparison] = (*white_rabbit.COMPARISONS, *timing_network.COMPARISONS, *atm.COMPARISONS)
Modelled = dict[str, dict[str, Any]]
"""Per table and cell, the columns that were measured."""


def document(modelled: Mapping[str, Mapping[str, Any]]) -> str:
    """The whole document."""
    parts, report = [_HEAD], ""
    for comparison in COMPARISONS:
        if comparison.report != report:
            report = comparison.report
            parts.append(f"## {report}\n\n{comparison.about}\n")
        parts.append(comparison.markdown(modelled.get(comparison.name, {})))
    return "\n".join(parts)


def measure(comparison: Comparison, cells: Sequence[str] | None = None) -> dict[str, Any]:
    """The columns of some cells of a table, by default of all, measured on ``sim``."""
    found = {}
    for cell in cells or comparison.cells:
        with tempfile.TemporaryDirectory() as folder:
            found[cell] = comparison.measure(cell, Path(folder))
    return found


def main(arguments: Sequence[str], say: Callable[[str], object] = print) -> int:
    modelled: Modelled = json.loads(MODELLED.read_text()) if MODELLED.exists() else {}
    for comparison in COMPARISONS:
        if arguments and comparison.name not in arguments:
            continue
        for cell in comparison.cells:
            modelled.setdefault(comparison.name, {}).update(measure(comparison, [cell]))
            say(f"{comparison.name} {cell}: {modelled[comparison.name][cell]}")
            MODELLED.write_text(json.dumps(modelled, indent=1) + "\n")
    DOCUMENT.write_text(document(modelled))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
