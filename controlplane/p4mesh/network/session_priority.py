"""Remembers the priority that the session of a run had, so that the session gets it back after ``kill -9``, too.

The engine lets the session come first while its loop runs (autogroups, sched(7)), and gives it its former place at the
end of an orderly run.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from p4mesh.network.namespaces import STATE, started

_FIRST = -20
"""Nice value of a session that comes first."""
_USUAL = 0


@contextmanager
def remembered() -> Iterator[None]:
    """Keep a record of the session's priority while the context lasts."""
    record = STATE / f"session-{os.getpid()}-{started(os.getpid())}.json"
    before = _nice(os.getpid())
    if before is None:
        yield
        return
    record.parent.mkdir(parents=True, exist_ok=True)
    # A session that comes first already has another run, or has had one that was killed.
    data = {"session": os.getsid(0), "nice": _USUAL if before == _FIRST else before}
    record.write_text(json.dumps(data), encoding="utf-8")
    try:
        yield
    finally:
        record.unlink(missing_ok=True)


def restore_abandoned() -> tuple[int, ...]:
    """Give sessions whose runs are gone their priority back; return the numbers of those sessions."""
    dead, living = {}, set()
    for record in STATE.glob("session-*-*.json"):
        process, start = map(int, record.stem.split("-")[1:])
        with suppress(OSError, ValueError):
            data = json.loads(record.read_text(encoding="utf-8"))
            if started(process) == start:
                living.add(data["session"])
            else:
                dead[record] = data
    restored = set()
    for record, data in dead.items():
        session = int(data["session"])
        if session not in living:
            if _restore(session, int(data["nice"])):
                restored.add(session)
            record.unlink(missing_ok=True)
    return tuple(sorted(restored))


def _restore(session: int, nice: int) -> bool:
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdecimal() and os.getsid(int(entry.name)) == session and _nice(int(entry.name)) == _FIRST:
                (entry / "autogroup").write_text(str(nice), encoding="ascii")
                return True
    return False


def _nice(process: int) -> int | None:
    """Nice value of the session of a process, the last word of ``/autogroup-7 nice 0``."""
    try:
        return int(Path(f"/proc/{process}/autogroup").read_text(encoding="ascii").split()[-1])
    except (OSError, IndexError, ValueError):
        return None
