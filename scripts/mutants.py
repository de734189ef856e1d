"""Changes one place of a file after the other, and prints the changes that no test notices.

    python scripts/mutants.py controlplane/p4mesh/methods/rfc3918/delays.py controlplane/tests/methods/rfc3918
    python scripts/mutants.py FILE FILE -- TESTS      several files, and the tests beside them
    python scripts/mutants.py --number 30 --seed 7 FILE -- TESTS      a random part of the mutants of each file
    python scripts/mutants.py --select by_hand FILE -- TESTS      tests whose names have these words, as -k of pytest

Cosmic Ray makes the mutants, of the bodies of functions. pytest collects the tests once; each mutant is a fork of that
process in which functions have other code, and runs the tests that run the changed line, quick ones first, until one
fails. So tests that start p4mesh as a process of its own see no mutant. One that survives is a test that is missing, or
an equivalent program. The last lines are the scores: killed of all that tests run, for each file and of all files. The
same files, tests, number and seed give the same mutants.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import os
import random
import resource
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import pytest
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

REPOSITORY = Path(__file__).resolve().parent.parent
PACKAGE = REPOSITORY / "controlplane" / "p4mesh"
EXCHANGED = {"Add_Sub", "Sub_Add", "Mul_Div", "Div_Mul", "FloorDiv_Mul", "Mod_FloorDiv", "Lt_LtE", "LtE_Lt", "Gt_GtE",
             "GtE_Gt", "Eq_NotEq", "NotEq_Eq", "Is_IsNot", "IsNot_Is"}  # fmt: skip
"""Operators that exchange one sign for another as a slip of the pen does."""
OTHERS = {"AddNot", "ReplaceTrueWithFalse", "ReplaceFalseWithTrue", "ReplaceAndWithOr", "ReplaceOrWithAnd",
          "NumberReplacer", "ReplaceBreakWithContinue", "ReplaceContinueWithBreak", "ZeroIterationForLoop"}  # fmt: skip
PROCESSOR_S = 120
"""Time of the processor that one mutant may take."""
TIMES_AS_LONG = 10
"""How much longer than without a mutant a test may take, as a loop may have lost its end.

To that come two seconds and the time of the longest test: one that came before paid for what a process does only once,
such as imports and what is cached, and the first test that a mutant meets pays for it again.
"""


@dataclass(frozen=True)
class Mutant:
    """One change of a file."""

    file: Path
    line: int
    text: str
    """The file as changed."""

    def described(self) -> str:
        """The place, and the lines before and after."""
        before, after = self.file.read_text().splitlines(), self.text.splitlines()
        changed = [(old.strip(), new.strip()) for old, new in zip(before, after, strict=False) if old != new]
        return f"{self.file.relative_to(REPOSITORY)}:{self.line}: {changed[0][0]}  ->  {changed[0][1]}"


def main() -> int:
    """Print survivors and score; the exit code is 1 where a mutant survived."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", nargs="+", type=Path, help="files of the product, then the tests that should notice")
    parser.add_argument("--number", type=int, help="mutants of each file, chosen at random; default: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--select", default="", help="words of the names of tests")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    files = [path.resolve() for path in arguments.files if PACKAGE in path.resolve().parents]
    tests = [path.resolve() for path in arguments.files if PACKAGE not in path.resolve().parents]
    if not files or not tests:
        parser.error("name files below controlplane/p4mesh, and tests")
    mutation = Mutation(files, arguments.number, random.Random(arguments.seed), arguments.jobs)
    options = ["-q", "--capture=no", "-p", "no:cacheprovider", "-p", "no:xdist", "-k", arguments.select]
    os.chdir(REPOSITORY)
    ended = pytest.main([*options, *map(str, tests)], plugins=[mutation])
    return 1 if mutation.survived else 0 if mutation.done else int(ended) or 2


class Mutation:
    """Plugin of pytest: it runs the tests on mutants, and not on the program as it is but for a first time."""

    def __init__(self, files: Sequence[Path], number: int | None, choice: random.Random, jobs: int) -> None:
        self._files, self._number, self._choice, self._jobs = files, number, choice, jobs
        self.done, self.survived = False, 0
        self._times_s: dict[int, float] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Print survivors as they are found, and the scores."""
        for file in self._files:
            importlib.import_module(_module_of(file))  # the tests may import it as late as in their forks
        tests_of = self._tests_of_lines(session)
        chosen: list[Mutant] = []
        not_run = dict[Path, int]()
        for file in self._files:
            every = list(mutants_of(file))
            mutants = [one for one in every if (str(file), one.line) in tests_of]
            not_run[file] = len(every) - len(mutants)
            number = min(self._number or len(mutants), len(mutants))
            chosen += sorted(self._choice.sample(mutants, number), key=lambda one: one.line)
        survivors: list[Mutant] = []
        running: dict[int, Mutant] = {}
        for mutant in (*chosen, None):
            while running and (mutant is None or len(running) == self._jobs):
                process, status = os.wait()
                if status == 0:
                    survivors.append(running[process])
                    print(f"survived: {running[process].described()}", flush=True)
                del running[process]
            if mutant is not None:
                tests = tests_of[str(mutant.file), mutant.line]
                running[_forked(lambda mutant=mutant, tests=tests: self._run(session, tests, mutant))] = mutant  # type: ignore[misc]
        for file in self._files:
            all_of_it, left = (sum(one.file == file for one in some) for some in (chosen, survivors))
            more = f"; {not_run[file]} more in lines that no test runs" if not_run[file] else ""
            print(f"{file.relative_to(PACKAGE)}: {all_of_it - left} of {all_of_it}{more}")
        print(f"{len(chosen) - len(survivors)} of {len(chosen)} mutants killed")
        self.done, self.survived = True, len(survivors)
        return True

    def _tests_of_lines(self, session: pytest.Session) -> dict[tuple[str, int], list[int]]:
        """Numbers of the tests that run each line of the files, as (file, line), quick ones first; they must pass."""
        with tempfile.TemporaryDirectory() as folder:
            found = Path(folder) / "lines"
            process = _forked(lambda: self._traced(session, found))
            if os.waitpid(process, 0)[1]:
                pytest.exit("the tests fail without a mutant", 2)
            tests_of: dict[tuple[str, int], list[int]] = {}
            for time_s, number, lines in sorted(json.loads(found.read_text())):
                self._times_s[number] = time_s
                for file, line in lines:
                    tests_of.setdefault((file, line), []).append(number)
        return tests_of

    def _traced(self, session: pytest.Session, found: Path) -> int:
        """Run all tests, and write for each of them its time, its number, and the lines of the files that it runs."""
        files, seen = {*map(str, self._files)}, set[tuple[str, int]]()

        def of_line(frame: FrameType, event: str, _: Any) -> Any:
            seen.add((frame.f_code.co_filename, frame.f_lineno))
            return of_line

        def of_call(frame: FrameType, event: str, argument: Any) -> Any:
            return of_line(frame, event, argument) if frame.f_code.co_filename in files else None

        threading.settrace(of_call)
        sys.settrace(of_call)
        each: list[tuple[float, int, list[tuple[str, int]]]] = []
        for number in range(len(session.items)):
            seen.clear()
            begin_s = time.monotonic()
            if self._run(session, [number]):
                return 1
            each.append((time.monotonic() - begin_s, number, sorted(seen)))
        sys.settrace(None)
        found.write_text(json.dumps(each))
        return 0

    def _run(self, session: pytest.Session, tests: Sequence[int], mutant: Mutant | None = None) -> int:
        """Run tests by their numbers until one fails; 1 if one does."""
        if mutant is not None:
            _exchange_code(mutant)
        for place, number in enumerate(tests):
            following = session.items[tests[place + 1]] if place + 1 < len(tests) else None
            if mutant is not None:
                end_s = time.process_time() + 2 + max(self._times_s.values()) + TIMES_AS_LONG * self._times_s[number]
                resource.setrlimit(resource.RLIMIT_CPU, (min(int(end_s), PROCESSOR_S), PROCESSOR_S))
            session.config.hook.pytest_runtest_protocol(item=session.items[number], nextitem=following)
            if session.testsfailed:
                return 1
        return 0


def mutants_of(file: Path) -> Iterator[Mutant]:
    """Every mutant of the functions of a file that is another program."""
    operators = []
    for name in operator_names():
        kind = name.partition("/")[2]
        if kind in OTHERS or kind.partition("_")[2] in EXCHANGED:
            operators.append(get_operator(name)())
    lines = file.read_text().splitlines()
    for first, body, last, indent in _functions_in(ast.parse(file.read_text()).body):
        # Functions by themselves are parsed again for each mutant in no time; a file takes a tenth of a second.
        text = "\n".join(line[indent:] if not line[:indent].strip() else line for line in lines[first:last]) + "\n"
        nodes = list(ast_nodes(get_ast(text)))
        for operator in operators:
            places = [position for node in nodes for position in operator.mutation_positions(node)]
            for number, (begin, _) in enumerate(places):
                mutated = mutate_code(text, operator, number) if first + begin[0] >= body else None
                if mutated is not None and _loose(mutated) != _loose(text):
                    changed = [" " * indent + line if line.strip() else line for line in mutated.splitlines()]
                    yield Mutant(file, first + begin[0], "\n".join([*lines[:first], *changed, *lines[last:]]))


def _functions_in(body: Sequence[ast.stmt]) -> Iterator[tuple[int, int, int, int]]:
    """Yield number of lines before each function and method, first line of its body, last line, and indent."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _functions_in(node.body)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            yield first - 1, node.body[0].lineno, node.end_lineno or first, node.col_offset


def _loose(text: str) -> str:
    """Text in which no sequences are zipped strictly: their lengths agree by construction, so no test can tell."""
    return text.replace("strict=True", "strict=False")


def _forked(work: Callable[[], int]) -> int:
    """Run something silently in a process of its own, which exits with what it gives; the number of the process."""
    process = os.fork()
    if process:
        return process
    status = 1
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR_S, PROCESSOR_S))
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        status = work()
    finally:
        os._exit(status)


def _exchange_code(mutant: Mutant) -> None:
    """Give the functions of the module their code in the mutant: whoever has imported them has it, too."""
    code = dict(_codes_in(compile(mutant.text, str(mutant.file), "exec", dont_inherit=True)))
    for function in _functions_of(sys.modules[_module_of(mutant.file)], str(mutant.file)):
        function.__code__ = code[function.__qualname__]


def _module_of(file: Path) -> str:
    """Name of the module that a file is."""
    return ".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


def _codes_in(code: CodeType, outer: str = "") -> Iterator[tuple[str, CodeType]]:
    """Yield the functions and methods of a module by their names; ``outer`` is that of a class, with a dot."""
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield outer + part.co_name, part
            if not part.co_flags & CO_OPTIMIZED:  # the body of a class
                yield from _codes_in(part, f"{outer}{part.co_name}.")


def _functions_of(owner: Any, file: str) -> Iterator[FunctionType]:
    """Yield functions and methods of a module, or of a class, that its file defines."""
    for value in list(vars(owner).values()):
        if isinstance(value, type) and value.__module__ == getattr(owner, "__module__", owner.__name__):
            yield from _functions_of(value, file)
        found = getattr(value, "fget", None) or getattr(value, "func", None) or value
        while hasattr(found, "__wrapped__"):
            found = found.__wrapped__
        if isinstance(found, FunctionType) and found.__code__.co_filename == file and "<" not in found.__qualname__:
            yield found


if __name__ == "__main__":
    sys.exit(main())
