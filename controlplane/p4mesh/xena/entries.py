"""One test of a Xena file as an entry of a run file, and what tests of every standard have in such files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from p4mesh.methods.registry import find_test
from p4mesh.quantities import number_text
from p4mesh.xena.document import Node
from p4mesh.xena.ports import XenaPort

Parameters = dict[str, str | int | float | bool]
Ports = Mapping[str, XenaPort]
_TIME_UNITS_MS = {"seconds": 1_000, "minutes": 60_000, "hours": 3_600_000, "days": 86_400_000}
_FRAME_UNITS = {"frames": 1, "kframes": 1_000, "mframes": 1_000_000, "gframes": 1_000_000_000}
_BOOKKEEPING = ("$type", "TestType", "ItemID", "ParentID", "Label")
_LONGEST_NAME = 30
_USUAL_DURATION = 30


@dataclass
class Entry:
    """One test, enabled in the file or not."""

    test: str
    name: str
    enabled: bool
    ports: list[int]
    parameters: Parameters
    comments: list[str] = field(default_factory=list)
    problem: str = ""
    """Reason why the test cannot have these ports; empty where it can."""


def name_all(entries: list[Entry]) -> None:
    """Give names of their own to runs of a test that comes more than once, and to those that have a label."""
    taken: set[str] = set()
    for entry in entries:
        wanted = re.sub("[^a-z0-9_]+", "-", entry.name.lower()).strip("-").lstrip("0123456789_-")[:_LONGEST_NAME]
        name, number = wanted, 1
        while (name or entry.test) in taken:
            number += 1
            name = f"{wanted or entry.test.partition('.')[2]}-{number}"[-_LONGEST_NAME:].lstrip("-_")
        taken.add(name or entry.test)
        entry.name = name


def repetitions_and_bookkeeping(options: Node, entry: Entry, key: str = "iterations") -> None:
    """Translate how often a test is repeated, which is the parameter ``key``, and name what says nothing about it."""
    repeated = round(options.number("Iterations", 1))
    if repeated != 1 or key != "iterations":
        entry.parameters[key] = repeated
    options.leave_out("bookkeeping of the Xena program", *_BOOKKEEPING)


def duration(options: Node, entry: Entry) -> None:
    """Translate the length of trials: frames, or a time.

    A time that the test has anyway where time is real is not written, so that trials are scaled on ``sim``.
    """
    if counts_frames(options):
        entry.parameters["scaled_frames"] = frames(options)
        options.leave_out("the test counts frames", "Duration", "DurationTimeUnit")
        return
    duration_ms = plain(time_ms(options))
    usual = next(item for item in find_test(entry.test).parameters if item.name == "duration_ms")
    if duration_ms == usual.default_in(real_time=True):
        entry.comments.append(f"trials of {number_text(duration_ms / 1000)} s; on sim they are scaled")
    else:
        entry.parameters["duration_ms"] = duration_ms
    options.leave_out("the test has a duration in time", "DurationFrames", "DurationFrameUnit")


def counts_frames(options: Node) -> bool:
    """Whether a duration is a number of frames."""
    return options.text("DurationType", "Seconds").lower().startswith("frame")


def frames(options: Node) -> int:
    """The duration as a number of frames."""
    unit = options.word("DurationFrameUnit", "Frames", _FRAME_UNITS)
    return round(options.number("DurationFrames", 1) * _FRAME_UNITS[unit])


def time_ms(options: Node) -> float:
    """The duration as a time in milliseconds."""
    unit = options.word("DurationTimeUnit", "Seconds", _TIME_UNITS_MS)
    return options.number("Duration", _USUAL_DURATION) * _TIME_UNITS_MS[unit]


def search(options: Node) -> Parameters:
    """The parameters of a search for the highest load."""
    return {
        "search_initial_pct": plain(options.number("InitialValue", 100)),
        "search_min_pct": plain(options.number("MinimumValue", 0.1)),
        "search_max_pct": plain(options.number("MaximumValue", 100)),
        "search_resolution_pct": plain(options.number("ValueResolution", 0.5)),
        "search_try_max_first": False,
        "search_method": "bisect",
    }


def goal(options: Node) -> Parameters:
    """The result below which a search is a FAIL; nothing where the file has none."""
    threshold = plain(options.number("PassThreshold", 0))
    return {"pass_threshold_pct": threshold} if options.flag("UsePassThreshold", False) else {}


def toggled(options: Node) -> Parameters:
    """The reset that switches links off and on before each trial."""
    return {
        "reset_between": "toggle_link",
        "link_off_s": plain(options.number("SyncOffDuration", 1)),
        "link_on_delay_s": plain(options.number("SyncOnDuration", 1)),
    }


def plain(number: float) -> int | float:
    """A number without a fraction that says nothing."""
    return int(number) if number == int(number) else number
