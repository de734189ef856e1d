"""Composes a test from a method and the extensions of its suite and of all tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from p4mesh.methods.base import Method, MethodOf, Session, Unit
from p4mesh.methods.bed import Bed
from p4mesh.methods.options.parameters import Parameter, ParameterSet
from p4mesh.methods.results.outcome import Outcome
from p4mesh.methods.results.record import Record
from p4mesh.traffic.imix import FrameSize

Run = Callable[[Session], Record]
"""Measures one unit with a session."""
Results = Mapping[Unit, Record]
Assemble = Callable[[Results], Outcome]


@dataclass(frozen=True)
class Case:
    """A method, and the bed and the parameters that it is asked to run with."""

    method: Method
    bed: Bed
    parameters: ParameterSet


class Extension:
    """An addition to a test. Functions that a subclass does not override change nothing."""

    def parameters_of(self, method: Method) -> tuple[Parameter, ...]:
        """The parameters that ``method`` gets in addition."""
        return ()

    def derived(self, test: str, parameters: ParameterSet) -> ParameterSet:
        """The parameters with those that follow from others; raises ParameterError for those that contradict."""
        return parameters

    def check(self, case: Case) -> None:
        """Raise TopologyError or ParameterError when the additional parameters cannot be used on this bed."""

    def parameters_for(self, unit: Unit, case: Case) -> ParameterSet:
        """The parameters that the method gets for one unit."""
        return case.parameters

    def units(self, units: Sequence[Unit], parameters: ParameterSet) -> tuple[Unit, ...]:
        """The units that are run instead of ``units``."""
        return tuple(units)

    def run_unit(self, run: Run, unit: Unit, case: Case, session: Session) -> Record:
        """Measure one unit by calling ``run``, perhaps with another session."""
        return run(session)

    def assemble(self, assemble: Assemble, case: Case, results: Results) -> Outcome:
        """The outcome that ``assemble`` makes of the results, perhaps with more in it."""
        return assemble(results)


class Composed(MethodOf[Record]):
    """A method within its extensions, from the innermost one to the outermost one."""

    def __init__(self, method: Method, extensions: Sequence[Extension]) -> None:
        self._method = method
        self._extensions = tuple(extensions)
        self.name, self.title, self.section = method.name, method.title, method.section
        self.terms = method.terms
        self.frame_sizes_bytes, self.reset_between = method.frame_sizes_bytes, method.reset_between
        added = (parameter for extension in extensions for parameter in extension.parameters_of(method))
        self.parameters = (*method.parameters, *added)

    def check(self, bed: Bed, parameters: ParameterSet) -> None:
        """Run the checks of the extensions, the outermost one first, and at last that of the method itself."""
        for extension in reversed(self._extensions):
            extension.check(Case(self._method, bed, parameters))
        self._method.check(bed, parameters)

    def derived(self, parameters: ParameterSet) -> ParameterSet:
        for extension in self._extensions:
            parameters = extension.derived(self.name, parameters)
        return self._method.derived(parameters)

    def refuses_mix(self, parameters: ParameterSet) -> str:
        return self._method.refuses_mix(parameters)

    def goal(self, parameters: ParameterSet) -> str:
        return self._method.goal(parameters)

    def latency_pairs(self, bed: Bed, parameters: ParameterSet) -> tuple[tuple[int, int], ...]:
        return self._method.latency_pairs(bed, parameters)

    def units(self, parameters: ParameterSet, sizes: Sequence[FrameSize]) -> tuple[Unit, ...]:
        """Units as the extensions change them."""
        units = self._method.units(parameters, sizes)
        for extension in self._extensions:
            units = extension.units(units, parameters)
        return units

    def follows(self, unit: Unit) -> Unit | None:
        """The unit of the method; extensions keep it in the same iteration."""
        return self._method.follows(unit)

    def trials_expected(self, unit: Unit, parameters: ParameterSet) -> int:
        return self._method.trials_expected(unit, parameters)

    def run_unit(self, unit: Unit, bed: Bed, parameters: ParameterSet, session: Session) -> Record:
        """Measure one unit; a trial passes the innermost extension first on its way to the device."""
        for extension in self._extensions:
            parameters = extension.parameters_for(unit, Case(self._method, bed, parameters))
        case = Case(self._method, bed, parameters)
        run: Run = partial(self._method.run_unit, unit, bed, parameters)
        for extension in self._extensions:
            run = partial(extension.run_unit, run, unit, case)
        return run(session)

    def assemble(self, bed: Bed, parameters: ParameterSet, results: Results) -> Outcome:
        """The outcome of the method with what each extension adds."""
        case = Case(self._method, bed, parameters)
        assemble: Assemble = partial(self._method.assemble, bed, parameters)
        for extension in self._extensions:
            assemble = partial(extension.assemble, assemble, case)
        return assemble(results)


@dataclass(frozen=True)
class Suite:
    """The tests of one standard and their extensions. Test names begin with the name of the suite."""

    name: str
    methods: tuple[Method, ...]
    extensions: tuple[Extension, ...] = ()
    plain_methods: tuple[Method, ...] = ()
    """Tests without the extensions of the suite; they come last."""

    def tests(self, extensions: Sequence[Extension]) -> tuple[Method, ...]:
        """The tests within the extensions of the suite, and those within the given ones."""
        extended = tuple(Composed(method, (*self.extensions, *extensions)) for method in self.methods)
        return (*extended, *(Composed(method, extensions) for method in self.plain_methods))
