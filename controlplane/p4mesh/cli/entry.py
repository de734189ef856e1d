"""Where the process begins: from its first line on, an interrupt is one line and never a traceback.

Only a process of its own imports this module.
"""

from __future__ import annotations

import os
import signal
import sys


def _end(number: int, _: object) -> None:
    os.write(2, b"interrupted; nothing was written\n")
    os._exit(128 + number)


for _number in (signal.SIGINT, signal.SIGTERM):
    if signal.getsignal(_number) is not signal.SIG_IGN:
        signal.signal(_number, _end)


def entry() -> None:
    """Run the command of this process and end it with its exit code."""
    from p4mesh.cli.main import main

    sys.exit(main())
