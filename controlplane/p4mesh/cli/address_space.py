"""Address space that commands need: where ``ulimit -v`` leaves less, libraries spin, abort or name another cause."""

from __future__ import annotations

import os
import resource
from collections.abc import Sequence

from p4mesh.errors import EnvironmentFault

_MIB = 1 << 20
_MEASURE_MIB, _PER_PROCESSOR_MIB = 1536, 64
"""Threads of gRPC and of the engine reserve it; there are more of them where there are more processors."""
_FIGURES_MIB = 1024
_PDF_MIB = 72 * 1024
"""The library that draws the figures of a PDF reserves that much at its start, and uses little of it."""
_ANY_MIB = 384
_MEASURING = ("run", "traffic", "calibrate", "doctor", "otg")
_DRAWING = ("report", "compare", "export")


def require_address_space(words: Sequence[str]) -> None:
    """Raise EnvironmentFault where a limit of this process leaves less than the command needs."""
    limit_bytes, _ = resource.getrlimit(resource.RLIMIT_AS)
    needed_mib = _needed_mib(words)
    if limit_bytes == resource.RLIM_INFINITY or limit_bytes >= needed_mib * _MIB:
        return
    command = " ".join(["p4mesh", *words[:1], *(["--pdf"] if needed_mib == _PDF_MIB else [])])
    raise EnvironmentFault(
        f"'{command}' needs {needed_mib} MiB of address space, and may have {limit_bytes // _MIB} MiB",
        hint="ulimit -v unlimited; a limit of a control group bounds the memory that is used, and does no harm",
    )


def _needed_mib(words: Sequence[str]) -> int:
    command = words[0] if words else ""
    if command in _MEASURING:
        return _MEASURE_MIB + _PER_PROCESSOR_MIB * (os.cpu_count() or 1)
    if any(word.partition("=")[0] == "--pdf" for word in words):
        return _PDF_MIB
    return _FIGURES_MIB if command in _DRAWING else _ANY_MIB
