"""Starts the process: from its first line on, an interrupt is one line and never a traceback.

Only a process of its own imports this module.
"""

from __future__ import annotations

import datetime  # noqa: F401  # msgspec asks for it and crashes later where an interrupt ended that
import gc
import os
import signal
import sys

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # NumPy would start a thread per processor, for large matrices alone
gc.set_threshold(400_000, 20, 20)  # modules make many objects that stay: garbage collection among them takes time

_BY_SIGNAL = 128


def _end(number: int, _: object) -> None:
    os.write(2, b"interrupted; nothing was written\n")
    os._exit(_BY_SIGNAL + number)


_IS_WORKER = "multiprocessing.spawn" in sys.modules
"""A run has started this process, which loads the script of its parent: it ends without a word."""

for _number in () if _IS_WORKER else (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    if signal.getsignal(_number) is not signal.SIG_IGN:
        signal.signal(_number, _end)


def entry() -> None:
    """Run the command of this process and end it with its exit code."""
    from p4mesh.cli.main import main

    code = main()
    if code > _BY_SIGNAL:
        # Python would end itself by SIGINT where the interrupt came while it compiled something, caught or not.
        os._exit(code)
    sys.exit(code)
