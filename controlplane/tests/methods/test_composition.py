"""A test is a method within extensions, from the innermost one to the outermost one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import pytest
from support.beds import make_bed
from support.fakes import FakeMeasurer

from p4mesh.errors import ParameterError
from p4mesh.methods.base import Method, MethodOf, Session, TrialNote, Unit
from p4mesh.methods.bed import Bed
from p4mesh.methods.composition import Assemble, Case, Composed, Extension, Results, Run, Suite
from p4mesh.methods.options.parameters import Parameter, ParameterSet, boolean
from p4mesh.methods.registry import suites
from p4mesh.methods.results.outcome import Outcome
from p4mesh.methods.results.record import Record
from p4mesh.traffic.imix import FrameSize
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import Stream
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

BED = make_bed(2)


@dataclass(frozen=True, kw_only=True)
class Count(Record):
    trials: int


class Plain(MethodOf[Count]):
    """One trial, which is called 'trial'."""

    name = "fake.plain"
    title = "Plain"
    section = "none"
    parameters = (boolean("own", True, "none", "of the method"),)

    def check(self, bed: Bed, parameters: ParameterSet) -> None:
        raise ParameterError("the method", hint="")

    def units(self, parameters: ParameterSet, sizes: Sequence[FrameSize]) -> tuple[Unit, ...]:
        return tuple(Unit(size, "plain") for size in sizes)

    def trials_expected(self, unit: Unit, parameters: ParameterSet) -> int:
        return 1

    def run_unit(self, unit: Unit, bed: Bed, parameters: ParameterSet, session: Session) -> Count:
        stream = Stream("stream", 64, Fraction(1000), 10, Pairs(), (1,), (2,))
        session.measure(TrialSpec("trial", (stream,), 10_000_000), TrialNote(Fraction(100), 0))
        return Count(trials=1)

    def assemble(self, bed: Bed, parameters: ParameterSet, results: Mapping[Unit, Count]) -> Outcome:
        return Outcome(Verdict.MEASURED, "method", (), ())


class Naming(Extension):
    """Puts its name around labels of trials and summaries, and doubles the units."""

    def __init__(self, name: str, *, refuses: bool = False) -> None:
        self._name = name
        self._refuses = refuses

    def parameters_of(self, method: Method) -> tuple[Parameter, ...]:
        return (boolean(f"of_{self._name}", False, "none", f"beside those of {method.name}"),)

    def check(self, case: Case) -> None:
        if self._refuses:
            raise ParameterError(self._name, hint="")

    def units(self, units: Sequence[Unit], parameters: ParameterSet) -> tuple[Unit, ...]:
        return tuple(replace(unit, part=f"{unit.part}-{self._name}") for unit in units)

    def run_unit(self, run: Run, unit: Unit, case: Case, session: Session) -> Record:
        return run(NamingSession(self._name, session))

    def assemble(self, assemble: Assemble, case: Case, results: Results) -> Outcome:
        outcome = assemble(results)
        return replace(outcome, summary=f"{self._name}({outcome.summary})")


@dataclass
class NamingSession:
    name: str
    session: Session

    def announce(self, specs: Sequence[TrialSpec]) -> None:
        self.session.announce(specs)

    def measure(self, spec: TrialSpec, note: TrialNote) -> TrialResult:
        return self.session.measure(replace(spec, label=f"{self.name}({spec.label})"), note)


def composed(*refusing: str) -> Composed:
    return Composed(Plain(), [Naming(name, refuses=name in refusing) for name in ("inner", "outer")])


PARAMETERS = ParameterSet({})


def test_parameters_of_the_method_come_first_then_those_of_each_extension() -> None:
    assert [parameter.name for parameter in composed().parameters] == ["own", "of_inner", "of_outer"]
    assert (composed().name, composed().title, composed().section) == ("fake.plain", "Plain", "none")


def test_a_trial_passes_the_innermost_extension_first() -> None:
    measurer, test = FakeMeasurer(), composed()
    (unit,) = test.units(PARAMETERS, (64,))
    assert unit.part == "plain-inner-outer"
    result = test.run_unit(unit, BED, PARAMETERS, measurer)
    assert [spec.label for spec in measurer.specs] == ["outer(inner(trial))"]
    assert test.assemble(BED, PARAMETERS, {unit: result}).summary == "outer(inner(method))"


@pytest.mark.parametrize(("refusing", "first"), [(("inner", "outer"), "outer"), (("inner",), "inner"), ((), "method")])
def test_the_outermost_extension_refuses_first(refusing: tuple[str, ...], first: str) -> None:
    with pytest.raises(ParameterError, match=first):
        composed(*refusing).check(BED, PARAMETERS)


def test_extensions_of_a_suite_are_inside_of_those_of_every_test() -> None:
    (test,) = Suite("fake", (Plain(),), (Naming("suite"),)).tests([Naming("every")])
    assert [parameter.name for parameter in test.parameters] == ["own", "of_suite", "of_every"]


def test_every_test_is_called_after_its_suite() -> None:
    assert list(suites()) == [
        "rfc2889",
        "rfc2544",
        "rfc5180",
        "rfc3918",
        "rfc5695",
        "srv6",
        "messages",
        "recirculation",
        "chassis",
        "convergence",
        "gsi",
    ]
    for name, tests in suites().items():
        assert tests and all(test.name.partition(".")[0] == name for test in tests)
