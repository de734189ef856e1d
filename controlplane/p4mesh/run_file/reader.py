"""Reads a run file and checks it against its schema."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec

from p4mesh.config_files.validation import require_valid
from p4mesh.config_files.yaml_source import FileKind, YamlSource
from p4mesh.config_files.yaml_source import Path as Place
from p4mesh.errors import RunFileError
from p4mesh.run_file.model import RequestedTest, RunFile
from p4mesh.run_file.schema import schema
from p4mesh.run_file.text import EXAMPLES, read_run_text

KIND = FileKind(RunFileError, EXAMPLES)


@dataclass(frozen=True)
class RunText:
    """A run file as it was read."""

    source: YamlSource
    file: RunFile
    folder: Path
    """Paths in the file begin here."""

    def entries(self) -> tuple[tuple[Place, RequestedTest], ...]:
        """The tests in their order, each with its place in the file."""
        return tuple(
            (("tests", number), RequestedTest(test=entry) if isinstance(entry, str) else entry)
            for number, entry in enumerate(self.file.tests)
        )

    def error(self, place: Place, problem: str, hint: str) -> RunFileError:
        """The error about a value: file, line, key, what is wrong, what is valid."""
        return RunFileError(f"{self.source.where(place)}: {problem}", hint=hint)


def load_run_file(path: str | Path) -> RunText:
    """The file; raises RunFileError with file, line and what is valid."""
    return parse_run_file(str(path), read_run_text(path))


def parse_run_file(name: str, text: str) -> RunText:
    """The file that ``text`` is; ``name`` is its path, for messages and for the paths in it."""
    source = YamlSource(name, text, KIND)
    require_valid(source, schema)
    return RunText(source, msgspec.convert(source.data, RunFile), Path(name).parent)
