"""Checks of options that need neither the test nor the topology."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from p4mesh.errors import ParameterError, UsageError
from p4mesh.methods.options.parameters import shortened
from p4mesh.numerals import is_digits
from p4mesh.target.names import WALL_CLOCK_TARGETS
from p4mesh.traffic.imix import MIX_PATTERN, NAMED_MIXES, FrameSize, MixedSize
from p4mesh.traffic.line_rate import LARGEST_FRAME_BYTES, SMALLEST_FRAME_BYTES

NOTE_KEY = "[a-z][a-z0-9_-]{0,39}"
_LONGEST_NOTE = 500
_WITH_INTERFACES = ("live", "bmv2")
_WITH_ACCESS = ("live",)
_SCHEDULER = re.compile(r"(?:tcp|tls)://[^\s/]+:([0-9]{1,5})")
_LARGEST_PORT = 65_535
MOST_JOBS = 1024
"""Processes of one machine; a cluster may have more."""
MOST_CAPTURED_FRAMES = 1000
"""Frames of each reason and trial: more is no picture of a fault, and the controller keeps each of them in memory."""


def check_numbers(jobs: int | None, capture_frames: int | None) -> None:
    """Raise UsageError for numbers of processes or of captured frames that are out of range."""
    if jobs is not None and not 1 <= jobs <= MOST_JOBS:
        raise UsageError(f"--jobs {jobs}: not valid", hint=f"an integer in 1..{MOST_JOBS}")
    if capture_frames is not None and not 1 <= capture_frames <= MOST_CAPTURED_FRAMES:
        raise UsageError(
            f"--capture {capture_frames}: not valid",
            hint=f"an integer in 1..{MOST_CAPTURED_FRAMES}; without --capture nothing is captured",
        )


def check_target(target: str, access: str | None, interfaces: str | None, jobs: int | None, workers: str) -> None:
    """Raise UsageError for a choice that the target does not have."""
    for option, value, targets in (("access", access, _WITH_ACCESS), ("interfaces", interfaces, _WITH_INTERFACES)):
        if value is not None and target not in targets:
            raise UsageError(
                f"--{option} {shortened(value)}: not supported on {target}",
                hint=f"leave it out, or use --target {' or '.join(targets)}",
            )
    if target not in WALL_CLOCK_TARGETS:
        return
    if jobs is not None and jobs > 1:
        raise UsageError(
            f"--jobs {jobs}: not supported on {target}, where trials on the wall clock disturb each other",
            hint="leave --jobs out, or use --target sim",
        )
    if workers:
        raise UsageError(
            f"--workers {shortened(workers)}: not supported on {target}, whose trials run where the switch is",
            hint="leave --workers out, or use --target sim",
        )


def check_cluster(address: str, jobs: int | None) -> None:
    """Raise UsageError for what is no address of a cluster, and for processes of this machine beside it."""
    if jobs is not None:
        raise UsageError(
            f"--workers {shortened(address)}: --jobs {jobs} is given as well",
            hint="leave --jobs out: the cluster says how many workers there are",
        )
    found = _SCHEDULER.fullmatch(address)
    if not found or int(found[1]) > _LARGEST_PORT:
        raise UsageError(
            f"--workers {shortened(address)}: not the address of a Dask scheduler",
            hint="tcp://HOST:PORT, or tls://HOST:PORT",
        )
    if address.startswith("tls://"):
        _require_certificates(address)


def parse_frame_sizes(text: str | None, default: tuple[FrameSize, ...]) -> tuple[FrameSize, ...]:
    """The frame sizes and mixes; raise ParameterError for a word, a repeated or an impossible size."""
    if text is None:
        return default
    valid = (
        f"frame sizes are integers in {SMALLEST_FRAME_BYTES}..{LARGEST_FRAME_BYTES} B with FCS, such as 64,1518, or "
        f"mixes: {', '.join(NAMED_MIXES)}, a genome of RFC 6985 such as a7d4g1"
    )
    sizes: list[FrameSize] = []
    for word in text.split(","):
        if re.fullmatch(MIX_PATTERN, word.strip()):
            mix = MixedSize(word.strip())
            if mix in sizes:
                raise ParameterError(f"--sizes {shortened(text)}: {word.strip()} is given twice", hint=valid)
            sizes.append(mix)
            continue
        known = is_digits(word.strip())
        if not known or not SMALLEST_FRAME_BYTES <= int(word) <= LARGEST_FRAME_BYTES:
            raise ParameterError(f"--sizes {shortened(text)}: '{shortened(word)}' is not valid", hint=valid)
        if int(word) in sizes:
            raise ParameterError(f"--sizes {shortened(text)}: {int(word)} is given twice", hint=valid)
        sizes.append(int(word))
    return tuple(sizes)


def notes_of(notes: Sequence[str]) -> dict[str, str]:
    """Notes by their keys; raise UsageError for one that is not ``key=text`` or comes twice."""
    found: dict[str, str] = {}
    for note in notes:
        key, _, text = note.partition("=")
        printable = all(line.isprintable() for line in text.split("\n"))
        if not re.fullmatch(NOTE_KEY, key) or not text.strip() or len(text) > _LONGEST_NOTE or not printable:
            raise UsageError(
                f"--note {shortened(note)}: not valid",
                hint=f"key=text, such as operator=Ada; text has at most {_LONGEST_NOTE} characters",
            )
        if key in found:
            raise UsageError(f"--note {key}: given twice", hint="one note per key")
        found[key] = text.strip()
    return found


def _require_certificates(address: str) -> None:
    """Raise UsageError where Dask has no certificates to show; the run says it where there is no Dask."""
    try:
        from dask import config
    except ImportError:
        return
    for key in ("ca-file", "client.cert"):
        path = config.get(f"distributed.comm.tls.{key}", None)
        if not path or not Path(path).is_file():
            name = key.upper().replace("-", "_").replace(".", "__")
            raise UsageError(
                f"--workers {shortened(address)}: Dask has no {key} for TLS" + (f": no file {path}" if path else ""),
                hint=f"set distributed.comm.tls.{key} in its configuration, or DASK_DISTRIBUTED__COMM__TLS__{name}",
            )
