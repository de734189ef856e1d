"""Data master, bunch-to-bucket and service traffic together (timing network report 3.3, methodology 7.3).

The classes are those of the shipped traffic file; the parameters are the axes of its sweep.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache

import yaml

from p4mesh import numerals
from p4mesh.errors import ParameterError
from p4mesh.methods.base import MethodOf, Session, Unit
from p4mesh.methods.bed import Bed
from p4mesh.methods.options.parameters import ParameterSet, decimal, shortened, show, text
from p4mesh.methods.results.latency import LATENCY_DEFINITION, check_definition
from p4mesh.methods.results.outcome import Outcome
from p4mesh.methods.traffic.method import ACCEPTED, laid_over
from p4mesh.methods.traffic.results import RunResult
from p4mesh.shipped import shipped
from p4mesh.traffic.imix import FrameSize
from p4mesh.traffic_file.reader import TrafficText, parse_traffic

_SECTION = "GSI timing network 3.3"
_FILE = "gsi-mixed.yaml"
_AXES = {
    "dm_rates_mbps": ("dm.rate", "rates of the data master, L1", "10,100"),
    "dm_sizes": ("dm.sizes", "frame sizes of the data master", "90,134"),
    "b2b_rates_mbps": ("b2b.rate", "rates of each bunch-to-bucket port, L1", "2,4,32"),
    "b2b_sizes": ("b2b.sizes", "frame sizes of the bunch-to-bucket ports", "90"),
}
_LARGEST = {"mbps": 400_000, "sizes": 9216}
_SMALLEST = {"mbps": Fraction(1, 1000), "sizes": Fraction(64)}


class Mixed(MethodOf[RunResult]):
    """Every combination of the rates and sizes, each a run with a verdict per class."""

    name = "gsi.mixed"
    title = "Mixed traffic of a timing network"
    section = _SECTION
    frame_sizes_bytes = (90,)
    parameters = (
        *(
            replace(
                text(name, _SECTION, f"{summary}, separated by commas"),
                default=default,
                unit="Mbit/s" if name.endswith("mbps") else "bytes",
            )
            for name, (_, summary, default) in _AXES.items()
        ),
        decimal(
            "run_s",
            "0.5",
            "s",
            _SECTION,
            "length of a run. The report took 300 s; 0.5 s show no loss ratio below some 1e-4, and the bound says so",
            ("0.001", "86400"),
        ),
        LATENCY_DEFINITION,
    )

    def goal(self, parameters: ParameterSet) -> str:
        """The criteria of the shipped file."""
        return ACCEPTED

    def check(self, bed: Bed, parameters: ParameterSet) -> None:
        """Refuse values that are no rates or sizes, and ports that do not have the roles of the timing network."""
        laid_over(_text(parameters), bed)
        check_definition(self.name, bed, parameters)

    def units(self, parameters: ParameterSet, sizes: Sequence[FrameSize]) -> tuple[Unit, ...]:
        return tuple(Unit(0, run.label) for run in _text(parameters).runs)

    def trials_expected(self, unit: Unit, parameters: ParameterSet) -> int:
        return 1

    def run_unit(self, unit: Unit, bed: Bed, parameters: ParameterSet, session: Session) -> RunResult:
        """Send the classes of one combination together."""
        return laid_over(_text(parameters), bed).run_unit(unit, bed, parameters, session)

    def assemble(self, bed: Bed, parameters: ParameterSet, results: Mapping[Unit, RunResult]) -> Outcome:
        """The tables of all combinations and the worst of their verdicts."""
        return laid_over(_text(parameters), bed).assemble(bed, parameters, results)


def _text(parameters: ParameterSet) -> TrafficText:
    axes = {}
    for name, (key, _, _) in _AXES.items():
        unit = name.rpartition("_")[2]
        values = [_number(parameters, name, word, unit) for word in parameters.text(name).split(",")]
        axes[key] = [f"{show(value)} Mbit/s L1" if unit == "mbps" else int(value) for value in values]
    changes = {
        "duration_s": float(parameters.number("run_s")),
        "sweep": {"product": axes},
        LATENCY_DEFINITION.name: parameters.text(LATENCY_DEFINITION.name),
    }
    return _loaded(json.dumps(changes))


def _number(parameters: ParameterSet, name: str, word: str, unit: str) -> Fraction:
    try:
        value = numerals.decimal(word.strip())
    except ValueError:
        value = Fraction(-1)
    whole = unit == "mbps" or value.denominator == 1
    if not (_SMALLEST[unit] <= value <= _LARGEST[unit] and whole):
        raise ParameterError(
            f"--set {name}={shortened(parameters.text(name))}: '{shortened(word)}' is not valid",
            hint=f"numbers from {show(_SMALLEST[unit])} to {_LARGEST[unit]}, separated by commas",
        )
    return value


@cache
def _loaded(values: str) -> TrafficText:
    """The runs of the shipped file with other values of some of its keys."""
    path = shipped("traffic") / _FILE
    whole = yaml.safe_load(path.read_text()) | json.loads(values)
    return parse_traffic(path.name, yaml.safe_dump(whole, sort_keys=False))
