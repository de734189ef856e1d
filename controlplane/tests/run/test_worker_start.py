"""Workers that cannot be started are one message."""

from __future__ import annotations

import os
import signal
from multiprocessing import forkserver
from typing import Any

import pytest
from support.networks import parsed, switch

from p4mesh.errors import TargetError
from p4mesh.run import RunOptions, run


def test_a_server_of_workers_that_dies_at_its_start_is_one_message(
    monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    """As when the machine has no memory left: it is there when it is asked for a process, and does not answer."""
    server: Any = forkserver._forkserver
    connect = forkserver.connect_to_new_process

    def connect_to_a_dead_one(descriptors: list[int]) -> object:
        server.ensure_running()
        os.kill(server._forkserver_pid, signal.SIGKILL)
        monkeypatch.setattr(server, "ensure_running", lambda: None)
        return connect(descriptors)

    monkeypatch.setattr(forkserver, "connect_to_new_process", connect_to_a_dead_one)
    options = RunOptions(
        "rfc2544.throughput", parsed(switch()), "64,128", ("scaled_frames=50",), f"{tmp_path}/run", jobs=2
    )
    with pytest.raises(TargetError, match="the process that starts workers ended") as caught:
        run(options)
    assert caught.value.hint == "the same command with --out resumes the run; --jobs 1 runs it in one process"
