"""The checks of every target, in the order in which they are made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from p4mesh.causes import file_hint
from p4mesh.doctor import namespaces, software, tofino
from p4mesh.doctor.finding import Asked, Check, Finding, Health
from p4mesh.errors import P4MeshError

ITSELF = "p4mesh"
"""Heading of the checks that every target needs."""
_LINUX: tuple[Check, ...] = (namespaces.linux, namespaces.namespaces, namespaces.raw_sockets)
CHECKS: Mapping[str, tuple[Check, ...]] = {
    ITSELF: (
        software.python,
        software.engine,
        software.program,
        software.run_directories,
        software.optional_packages,
    ),
    "sim": (software.simulated_trial,),
    "live": _LINUX,
    "bmv2": (*_LINUX, namespaces.simple_switch),
    "tofino": (tofino.switch, tofino.server, tofino.bf_runtime),
}


def examine(part: str, asked: Asked) -> Iterator[Finding]:
    """Yield the findings of one target, or of P4Mesh itself."""
    for check in CHECKS[part]:
        try:
            yield from check(asked)
        except (P4MeshError, OSError) as error:
            found = error.message if isinstance(error, P4MeshError) else str(error)
            mend = error.hint if isinstance(error, P4MeshError) else file_hint(error.errno)
            yield Finding(check.__name__.replace("_", " "), Health.MISSING, found, mend)
