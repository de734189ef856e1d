"""Traffic file to runs: puts in the settings of the user and the values of the sweep, then checks the whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import msgspec
import yaml
from msgspec import UNSET

from p4mesh.config_files.validation import require_valid
from p4mesh.config_files.yaml_source import FileKind, YamlSource
from p4mesh.config_files.yaml_source import Path as Place
from p4mesh.errors import TrafficFileError
from p4mesh.traffic_file.capture import CaptureError, Recording, read_capture
from p4mesh.traffic_file.model import Sweep, TrafficFile
from p4mesh.traffic_file.schema import schema
from p4mesh.traffic_file.text import EXAMPLES, read_traffic_text

MOST_RUNS = 1000
"""Runs of one sweep, at most; each is a start of the device and a row per class."""
KIND = FileKind(TrafficFileError, EXAMPLES)
_LONGEST_SHOWN = 60
Setting = tuple[Place, Any, str]
"""Path, value and origin of a value that replaces one of the file."""


@dataclass(frozen=True)
class FileRun:
    """One run of a traffic file."""

    label: str
    """The values of the sweep; the name of the traffic without a sweep."""
    traffic: TrafficFile
    source: YamlSource
    recordings: Mapping[str, Recording]
    """Captures that classes replay, by the name of the class."""

    def error(self, place: Sequence[str | int], problem: str, hint: str) -> TrafficFileError:
        """Error about a value: its origin, the fault, the valid values."""
        return TrafficFileError(f"{self.source.where(tuple(place))}: {problem}", hint=hint)


@dataclass(frozen=True)
class TrafficText:
    """A traffic file as it was read, and the settings on top of it."""

    name: str
    text: str
    settings: tuple[str, ...]
    runs: tuple[FileRun, ...]

    @property
    def traffic(self) -> TrafficFile:
        """Settings of all runs; the keys of the sweep have the values of the first run."""
        return self.runs[0].traffic


def load_traffic(path: str | Path, settings: Sequence[str] = ()) -> TrafficText:
    """Reads the runs of a traffic file; raises TrafficFileError with file, line and what is valid."""
    return parse_traffic(str(path), read_traffic_text(path), settings)


def parse_traffic(name: str, text: str, settings: Sequence[str] = ()) -> TrafficText:
    """Reads the runs that ``text`` describes with ``settings`` (``dm.rate=10 %``); ``name`` is for messages."""
    source = YamlSource(name, text, KIND)
    if not isinstance(source.data, dict):
        require_valid(source, schema)
    given = list(_each_once(_setting(source, setting) for setting in settings))
    source = source.with_values(given)
    sweep = _checked(source).sweep or Sweep()
    _require_effect(source, sweep, given)
    folder = Path(name).parent
    runs = tuple(_each_label_once(source, (_run(source, values, folder) for values in _rows(source, sweep))))
    return TrafficText(name, text, tuple(settings), runs)


def _checked(source: YamlSource) -> TrafficFile:
    require_valid(source, schema)
    return msgspec.convert(source.data, TrafficFile)


def _run(source: YamlSource, values: Mapping[str, tuple[Any, str]], folder: Path) -> FileRun:
    if not values:
        traffic = _checked(source)
        return FileRun(traffic.name, traffic, source, _recordings(source, traffic, folder))
    changed = source.with_values(
        [(_place(source, key, origin), value, origin) for key, (value, origin) in values.items()]
    )
    label = ", ".join(f"{key}={_shown(value)}" for key, (value, _) in values.items())
    traffic = _checked(changed)
    return FileRun(label, traffic, changed, _recordings(changed, traffic, folder))


def _recordings(source: YamlSource, traffic: TrafficFile, folder: Path) -> dict[str, Recording]:
    """The captures of all classes; raises TrafficFileError for one that cannot be replayed."""
    found = {}
    for name, given in traffic.classes.items():
        if given.arrivals is UNSET or given.arrivals.pcap is UNSET:
            continue
        try:
            found[name] = read_capture(folder / given.arrivals.pcap)
        except CaptureError as error:
            where = source.where(("classes", name, "arrivals", "pcap"))
            raise TrafficFileError(f"{where}: {given.arrivals.pcap}: {error}", hint=error.hint) from None
    return found


def _each_once(settings: Iterable[Setting]) -> Iterator[Setting]:
    seen: set[Place] = set()
    for place, value, origin in settings:
        if place in seen:
            raise TrafficFileError(f"{origin}: '{_key(place)}' is set twice", hint="give each key once")
        seen.add(place)
        yield place, value, origin


def _require_effect(source: YamlSource, sweep: Sweep, settings: Iterable[Setting]) -> None:
    """Raise TrafficFileError for a setting that every value of the sweep would replace."""
    keys: list[tuple[Place, str]] = [(("sweep", "product", key), key) for key in sweep.product]
    if sweep.rows:
        shared = [key for key in sweep.rows[0] if all(key in row for row in sweep.rows)]
        keys += [(("sweep", "list", 0, key), key) for key in shared]
    for where, key in keys:
        swept = _place(source, key, source.where(where))
        for place, _, origin in settings:
            if place[: len(swept)] == swept:
                raise TrafficFileError(
                    f"{origin}: the sweep gives every run a '{_key(swept)}' of its own",
                    hint=f"change the sweep ({source.where(where)}), or leave --set out",
                )


def _each_label_once(source: YamlSource, runs: Iterable[FileRun]) -> Iterator[FileRun]:
    seen: set[str] = set()
    for run in runs:
        if run.label in seen:
            raise TrafficFileError(
                f"{source.where(('sweep',))}: the run {_cut(run.label)} is there twice",
                hint="give each run once; repeat at the top of the file runs everything several times",
            )
        seen.add(run.label)
        yield run


def _key(place: Place) -> str:
    """A path as users write it: a class without ``classes``."""
    words = place[1:] if place[0] == "classes" and len(place) > 1 else place
    return _cut(".".join(map(str, words)))


def _setting(source: YamlSource, setting: str) -> Setting:
    key, equals, text = setting.partition("=")
    origin = f"--set {_cut(setting)}"
    if not equals:
        raise TrafficFileError(f"{origin}: no '='", hint="write --set class.key=value")
    try:
        value = YamlSource(origin, f"value: {text}\n", KIND).data["value"]
    except (TrafficFileError, yaml.YAMLError):
        raise TrafficFileError(f"{origin}: not a YAML value", hint="write --set class.key=value") from None
    return _place(source, key, origin), value, origin


def _place(source: YamlSource, key: str, origin: str) -> Place:
    """Path of a key such as ``dm.rate`` or ``duration_s``; a class may be named without ``classes``."""
    words = key.split(".")
    classes = source.data.get("classes")
    known = list(classes) if isinstance(classes, dict) else []
    if words[0] in known:
        words = ["classes", *words]
    top = list(schema()["$defs"]["TrafficFile"]["properties"])
    if not all(words) or words[0] not in top or words[0] == "sweep":
        raise TrafficFileError(
            f"{origin}: the traffic has no class or key '{_cut(words[0])}'",
            hint=f"classes are {', '.join(known)}; keys are {', '.join(word for word in top if word != 'sweep')}",
        )
    return tuple(words)


def _rows(source: YamlSource, sweep: Sweep) -> Iterator[dict[str, tuple[Any, str]]]:
    """Yield the values of each run, with where they come from."""
    listed = len(sweep.rows) or 1
    wanted = listed * prod(len(values) for values in sweep.product.values())
    if wanted > MOST_RUNS:
        raise TrafficFileError(
            f"{source.where(('sweep',))}: {wanted} runs", hint=f"a sweep has at most {MOST_RUNS} runs"
        )
    for number in range(listed):
        row = sweep.rows[number] if sweep.rows else {}
        base = {key: (value, source.where(("sweep", "list", number, key))) for key, value in row.items()}
        if twice := next((key for key in row if key in sweep.product), None):
            raise TrafficFileError(f"{base[twice][1]}: also in product", hint="keep one of the two")
        for places in product(*(range(len(values)) for values in sweep.product.values())):
            chosen = {
                key: (values[place], source.where(("sweep", "product", key, place)))
                for (key, values), place in zip(sweep.product.items(), places, strict=True)
            }
            yield base | chosen


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."
