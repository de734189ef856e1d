"""The session of a killed run gets the priority back that it had; that of a running one keeps its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from p4mesh.cli.main import main

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="the priority of a session needs root"),
    pytest.mark.skipif(not Path("/proc/self/autogroup").exists(), reason="this kernel does not group sessions"),
]
RUN = """
import os, time
from pathlib import Path
from p4mesh.network.session_priority import remembered
with remembered():
    Path("/proc/self/autogroup").write_text("-20")
    print(os.getpid(), flush=True)
    time.sleep(600)
"""


def nice(process: int) -> int:
    return int(Path(f"/proc/{process}/autogroup").read_text().split()[-1])


def test_net_clean_gives_a_session_its_priority_back(capsys: pytest.CaptureFixture[str]) -> None:
    shell = subprocess.Popen(
        ["sh", "-c", '"$0" -c "$1" & read wait', sys.executable, RUN],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with shell:
        assert shell.stdout is not None
        Path(f"/proc/{shell.pid}/autogroup").write_text("5")
        run = int(shell.stdout.readline())
        assert nice(shell.pid) == -20
        assert main(["net", "clean"]) == 0
        assert nice(shell.pid) == -20, "the run goes on"
        os.kill(run, signal.SIGKILL)
        assert main(["net", "clean"]) == 0
        assert nice(shell.pid) == 5
        assert f"session {shell.pid} has its priority back" in capsys.readouterr().out
        shell.kill()
