"""Runs the tests of a run file: all of them are checked before the first one starts."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from p4mesh.config_files.yaml_source import Path as Place
from p4mesh.config_files.yaml_source import as_written
from p4mesh.errors import P4MeshError, ParameterError, TopologyError, UnknownTestError, UnsupportedError, UsageError
from p4mesh.methods.base import Method
from p4mesh.methods.names import NAMES, require_known
from p4mesh.methods.registry import find_test, suites
from p4mesh.run.chosen_interfaces import topology_of
from p4mesh.run.delivery import DeliveryLimits
from p4mesh.run.events import Observer, unobserved
from p4mesh.run.options import RunOptions
from p4mesh.run.preparation import ALLOW_HOOKS, Prepared, check_settings, prepare, refusal_of
from p4mesh.run.single import FinishedRun, directory_path, execute
from p4mesh.run.suite import FinishedSuite, Planned, for_test, run_planned
from p4mesh.run_file.model import RequestedTest
from p4mesh.run_file.reader import RunText, load_run_file
from p4mesh.shipped import topology_file
from p4mesh.target.table import TARGETS
from p4mesh.topology import Topology

_SET = "--set "


def run_file(options: RunOptions, observer: Observer = unobserved) -> FinishedRun | FinishedSuite:
    """Run the tests of a file, or finish the run that ``options.out`` holds.

    A file with one test leaves the directory of a run, any other one that of a suite. Raises a P4MeshError:
    RunFileError with file and line for what the file says, others for options and for what the machine cannot do.
    """
    text = load_run_file(options.test)
    planned = plan_file(text, options)
    first = planned[0].prepared
    if len(planned) == 1 and isinstance(first, Prepared):
        return execute(first, directory_path(options.out, text.file.name), observer, DeliveryLimits())
    return run_planned(text.file.name, planned, options.out, observer)


def plan_file(text: RunText, options: RunOptions) -> tuple[Planned, ...]:
    """The tests of a file in their order, checked against their topology; raises what cannot be run."""
    options = replace(options, target=options.target or text.file.target)
    topologies = {path: _topology(text, options, place, path) for place, path in _topology_paths(text)}
    for topology in topologies.values():
        check_settings(topology)
        if not options.opener:
            TARGETS[options.target].check(topology)
    plan = _Plan(text, options, topologies)
    plan.check_names()
    planned = [item for place, entry in text.entries() for item in plan.tests_of(place, entry)]
    _require_different_names(text, planned)
    return tuple(item.planned for item in planned)


def _topology_paths(text: RunText) -> Iterator[tuple[Place, str]]:
    """Yield the topology of the file and those of single tests, with their places."""
    yield ("topology",), text.file.topology
    yield from (((*place, "topology"), entry.topology) for place, entry in text.entries() if entry.topology)


def _topology(text: RunText, options: RunOptions, place: Place, name: str) -> Topology:
    if options.topology is not None:
        return topology_of(options.topology, options.access, options.interfaces)
    path = topology_file(name) or text.folder / name
    if not path.exists():
        raise text.error(place, f"{path}: no such topology file", "a path begins in the folder of the run file")
    return topology_of(path, options.access, options.interfaces)


@dataclass(frozen=True)
class _Placed:
    """A planned test, and the entry of the file that it comes from."""

    place: Place
    planned: Planned


@dataclass(frozen=True)
class _Plan:
    text: RunText
    options: RunOptions
    topologies: Mapping[str, Topology]
    """Topologies by their paths in the file."""

    def check_names(self) -> None:
        """Raise RunFileError for a test that there is not, and for a parameter that no test has."""
        wanted: dict[str, Method] = {}
        for place, entry in self.text.entries():
            try:
                require_known(entry.test)
            except UnknownTestError as error:
                raise self.text.error(_place_of_test(self.text, place), error.message, error.hint) from None
            tests = _tests_of(entry)
            self._require_parameters(entry.parameters, (*place, "parameters"), tests, entry.test)
            wanted |= {test.name: test for test in tests}
        every = tuple(wanted.values())
        self._require_parameters(self.text.file.parameters, ("parameters",), every, "the tests of this file")
        known = {parameter.name for test in every for parameter in test.parameters}
        for setting in self.options.settings:
            if setting.partition("=")[0] not in known:
                raise ParameterError(
                    f"{_SET}{setting}: none of the tests of {self.text.source.name} has this parameter",
                    hint="p4mesh tests NAME lists the parameters of a test",
                )

    def _require_parameters(
        self, given: Mapping[str, object], place: Place, tests: Sequence[Method], whose: str
    ) -> None:
        known = {parameter.name: parameter for test in tests for parameter in test.parameters}
        asked = {setting.partition("=")[0] for setting in self.options.settings}
        for name, value in given.items():
            if name not in known:
                close = difflib.get_close_matches(name, known, n=1)
                guess = f"did you mean {close[0]}? " if close else ""
                raise self.text.error(
                    (*place, name),
                    "unknown parameter",
                    f"{guess}valid parameters of {whose}: {', '.join(known)}",
                )
            if known[name].is_command and str(value).strip() and not (self.options.allow_hooks or name in asked):
                raise self.text.error((*place, name), refusal_of(name, str(value)).partition(": ")[2], ALLOW_HOOKS)

    def tests_of(self, place: Place, entry: RequestedTest) -> list[_Placed]:
        """The test of an entry, or those of its suite; tests of a suite that cannot run here are refused."""
        tests = _tests_of(entry)
        planned = [_Placed(place, self._planned(place, entry, test)) for test in tests]
        refusals = [item.planned.prepared for item in planned if isinstance(item.planned.prepared, P4MeshError)]
        if len(refusals) == len(tests):
            raise refusals[0]
        return planned

    def _planned(self, place: Place, entry: RequestedTest, test: Method) -> Planned:
        label = _label(entry, test)
        prepared: Prepared | P4MeshError
        try:
            prepared = prepare(test, self._topology_of(entry), self._options(entry, test))
        except (TopologyError, UnsupportedError) as refusal:
            prepared = refusal if isinstance(refusal, UnsupportedError) else self._located(refusal, place, entry)
            if entry.test not in NAMES:
                raise prepared from None
        except UsageError as error:
            raise self._located(error, place, entry) from None
        else:
            named = {"label": label} if label != test.name else {}
            prepared = replace(prepared, echo={**prepared.echo, **named})
        return Planned(label, label, test, prepared)

    def _topology_of(self, entry: RequestedTest) -> Topology:
        return self.topologies[entry.topology or self.text.file.topology]

    def _options(self, entry: RequestedTest, test: Method) -> RunOptions:
        """The options of one test: those of the command line, else of the entry, else of the whole file."""
        file, given = self.text.file, self.options
        known = {parameter.name for parameter in test.parameters}
        values = {**file.parameters, **entry.parameters}
        asked = [setting for setting in given.settings if setting.partition("=")[0] in known]
        taken = {setting.partition("=")[0] for setting in asked}
        own = [f"{key}={as_written(value)}" for key, value in values.items() if key in known and key not in taken]
        sizes = entry.sizes or file.sizes or ()
        ports = entry.ports or file.ports
        noted = {note.partition("=")[0] for note in given.notes}
        notes = [f"{key}={text}" for key, text in file.notes.items() if key not in noted]
        calibration = self.text.folder / file.calibration if file.calibration else None
        options = replace(
            given,
            test=test.name,
            topology=self._topology_of(entry),
            sizes=given.sizes or (",".join(map(str, sizes)) or None),
            ports=given.ports or (str(ports) if ports else None),
            calibration=given.calibration or calibration,
            notes=(*given.notes, *notes),
            access=None,  # The topology was made with access and interfaces.
            interfaces=None,
        )
        return for_test(options, test, (*asked, *own))

    def _located(self, error: UsageError, place: Place, entry: RequestedTest) -> UsageError:
        """An error about an option as one about the place in the file that has it."""
        option, _, rest = error.message.partition(": ")
        name = option.partition("=")[0]
        if name.startswith(_SET):
            name = name.removeprefix(_SET)
            if any(setting.partition("=")[0] == name for setting in self.options.settings):
                return error
            where = (*place, "parameters", name) if name in entry.parameters else ("parameters", name)
            return self.text.error(where, error.message.removeprefix(_SET).removeprefix(f"{name}: "), error.hint)
        for option_name in ("sizes", "ports"):
            if name.partition(" ")[0] == f"--{option_name}":
                if getattr(self.options, option_name) is not None:
                    return error
                where = (*place, option_name) if getattr(entry, option_name) else (option_name,)
                return self.text.error(where, rest, error.hint)
        source = self._topology_of(entry).source
        if name.startswith("--") or (isinstance(error, TopologyError) and error.message.startswith(f"{source}:")):
            return error
        return self.text.error(place, error.message, error.hint)


def _tests_of(entry: RequestedTest) -> tuple[Method, ...]:
    return suites()[entry.test] if entry.test in NAMES else (find_test(entry.test),)


def _place_of_test(text: RunText, place: Place) -> Place:
    """The place of the name of a test, which is the entry itself where it is nothing else."""
    number = place[-1]
    assert isinstance(number, int)
    return place if isinstance(text.file.tests[number], str) else (*place, "test")


def _label(entry: RequestedTest, test: Method) -> str:
    if not entry.name:
        return test.name
    return f"{entry.name}-{test.name.partition('.')[2]}" if entry.test in NAMES else entry.name


def _require_different_names(text: RunText, planned: Sequence[_Placed]) -> None:
    seen: set[str] = set()
    for item in planned:
        label = item.planned.label
        if label in seen:
            raise text.error(
                item.place,
                f"a second run with the name {label}",
                "give one of them a name of its own: {test: ..., name: ...}",
            )
        seen.add(label)
