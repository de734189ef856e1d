"""Changes one place of a file after the other, and prints the changes that no test notices.

    python scripts/mutants.py controlplane/p4mesh/methods/rfc3918/delays.py controlplane/tests/methods/rfc3918
    python scripts/mutants.py FILE FILE -- TESTS      several files, and the tests beside them
    python scripts/mutants.py --number 30 --seed 7 FILE -- TESTS      a random part of the mutants of each file

Cosmic Ray makes the mutants. Only tests that run the changed line are run for it: coverage.py tells which. A mutant
that survives is a test that is missing, or an equivalent program. The last lines are the scores: killed of all, for
each file and of all files. The same files, tests, number and seed give the same mutants.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

import pytest
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names
from coverage import CoverageData

REPOSITORY = Path(__file__).resolve().parent.parent
PACKAGE = REPOSITORY / "controlplane" / "p4mesh"
EXCHANGED = {"Add_Sub", "Sub_Add", "Mul_Div", "Div_Mul", "FloorDiv_Mul", "Mod_FloorDiv", "Lt_LtE", "LtE_Lt", "Gt_GtE",
             "GtE_Gt", "Eq_NotEq", "NotEq_Eq", "Is_IsNot", "IsNot_Is"}  # fmt: skip
"""Operators that exchange one sign for another as a slip of the pen does."""
OTHERS = {"AddNot", "ReplaceTrueWithFalse", "ReplaceFalseWithTrue", "ReplaceAndWithOr", "ReplaceOrWithAnd",
          "NumberReplacer", "ReplaceBreakWithContinue", "ReplaceContinueWithBreak", "ZeroIterationForLoop"}  # fmt: skip
TIMEOUT_S, PROCESSOR_S = 1800, 120
"""Limits of one mutant: a loop without an end uses the processor, and a busy machine kills no mutant."""
SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["__main__", "pytest", "numpy", "grpc", "jsonschema", "yaml", "scapy.all"])
"""Its processes begin with the libraries loaded: most of the time of a test of one formula is that of its imports."""


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
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    files = [path.resolve() for path in arguments.files if PACKAGE in path.resolve().parents]
    tests = [path.resolve() for path in arguments.files if PACKAGE not in path.resolve().parents]
    if not files or not tests:
        parser.error("name files below controlplane/p4mesh, and tests")
    choice = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as temporary:
        covering = Coverage(tests, Path(temporary))
        chosen: list[Mutant] = []
        for file in files:
            mutants = [one for one in mutants_of(file) if covering.tests(file, one.line)]
            number = min(arguments.number or len(mutants), len(mutants))
            chosen += sorted(choice.sample(mutants, number), key=lambda one: one.line)
        trees: SimpleQueue[Path] = SimpleQueue()
        for number in range(arguments.jobs):
            trees.put(_copied_tree(Path(temporary) / str(number)))
        tree = trees.get()
        for file in files:
            # Tests that fail in the copy for a reason of their own would kill every mutant.
            of_file = [one for one in chosen if one.file == file]
            tests_of_file = sorted({test for one in of_file for test in covering.of(one)})
            if of_file and not _passes(Mutant(file, 0, file.read_text()), tree, tests_of_file):
                print(f"{file.relative_to(PACKAGE)}: left out, its tests fail in the copy without a mutant", flush=True)
                chosen = [one for one in chosen if one.file != file]
        trees.put(tree)

        def survives(mutant: Mutant) -> bool:
            tree = trees.get()
            try:
                return _passes(mutant, tree, covering.of(mutant))
            finally:
                trees.put(tree)

        survivors: list[Mutant] = []
        with ThreadPoolExecutor(arguments.jobs) as pool:
            for mutant, survived in zip(chosen, pool.map(survives, chosen), strict=True):
                if survived:
                    survivors.append(mutant)
                    print(f"survived: {mutant.described()}", flush=True)
    for file in files:
        all_of_it, left = (sum(one.file == file for one in some) for some in (chosen, survivors))
        print(f"{file.relative_to(PACKAGE)}: {all_of_it - left} of {all_of_it}")
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} mutants killed")
    return 1 if survivors else 0


class Coverage:
    """Which tests run which lines of the product."""

    def __init__(self, tests: Sequence[Path], place: Path) -> None:
        data = place / "coverage"
        command = [
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            f"--cov={PACKAGE}",
            "--cov-context=test",
            "--cov-report=",
        ]
        environment = {**os.environ, "COVERAGE_FILE": str(data)}
        ended = subprocess.run([sys.executable, *command, *tests], cwd=REPOSITORY, env=environment, check=False)
        if ended.returncode:
            sys.exit("the tests fail without a mutant")
        self._data = CoverageData(str(data))
        self._data.read()

    def of(self, mutant: Mutant) -> list[str]:
        """Names of the tests that run the changed line."""
        return self.tests(mutant.file, mutant.line)

    def tests(self, file: Path, line: int) -> list[str]:
        """Names of the tests that run a line; none where only an import does."""
        contexts = self._data.contexts_by_lineno(str(file)).get(line, [])
        return sorted({context.partition("|")[0] for context in contexts if context})


def mutants_of(file: Path) -> Iterator[Mutant]:
    """Every mutant of a file that is another program."""
    text = file.read_text()
    nodes = list(ast_nodes(get_ast(text)))
    for name in operator_names():
        kind = name.partition("/")[2]
        if kind not in OTHERS and kind.partition("_")[2] not in EXCHANGED:
            continue
        operator = get_operator(name)()
        places = [position for node in nodes for position in operator.mutation_positions(node)]
        for number, (begin, _) in enumerate(places):
            mutated = mutate_code(text, operator, number)
            if mutated is not None and _loose(mutated) != _loose(text):
                yield Mutant(file, begin[0], mutated)


def _loose(text: str) -> str:
    """Text in which no sequences are zipped strictly: their lengths agree by construction, so no test can tell."""
    return text.replace("strict=True", "strict=False")


def _copied_tree(place: Path) -> Path:
    """A copy of the package to change, with the compiled engine, in a checkout with the files that come with it."""
    package = place / PACKAGE.relative_to(REPOSITORY)
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(REPOSITORY / "pyproject.toml", place)
    for folder in ("p4src", "profiles", "topologies", "traffic"):
        shutil.copytree(REPOSITORY / folder, place / folder)
    return package.parent


def _passes(mutant: Mutant, tree: Path, tests: Sequence[str]) -> bool:
    changed = tree / mutant.file.relative_to(PACKAGE.parent)
    changed.write_text(mutant.text)
    process = SERVER.Process(target=_run_tests, args=(tree, list(tests)))
    try:
        process.start()
        process.join(TIMEOUT_S)
        return process.exitcode == 0
    finally:
        process.kill()
        process.join()
        changed.write_text(mutant.file.read_text())


def _run_tests(tree: Path, tests: list[str]) -> None:
    """Run tests on the package in a tree, in a process of their own, and exit as pytest does."""
    resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR_S, PROCESSOR_S))
    os.chdir(REPOSITORY)
    sys.path.insert(0, str(tree))
    sys.dont_write_bytecode = True
    os.environ.update({"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"})
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    sys.exit(pytest.main(["-q", "-x", "-p", "no:cacheprovider", *tests]))


if __name__ == "__main__":
    sys.exit(main())
