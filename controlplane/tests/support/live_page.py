"""A live page in a process of its own, as a user starts it, and run directories for it to show."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_PATIENCE_S = 60.0
TOKEN = "a-token-of-the-tests-0123456789"


@dataclass(frozen=True)
class Answer:
    """An answer of the server."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode()


@dataclass
class LivePage:
    """A server that runs."""

    address: str
    process: subprocess.Popen[str]

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.address.rsplit(":", 1)[1].strip("/"))

    def get(self, path: str, **headers: str) -> Answer:
        """Ask for a page."""
        return self._ask(path, None, headers)

    def post(self, path: str, data: Any, **headers: str) -> Answer:
        """Send JSON."""
        return self._ask(path, json.dumps(data).encode(), {"content-type": "application/json", **headers})

    def event(self, path: str) -> Any:
        """The data of the first event of a stream."""
        with urllib.request.urlopen(self.address + path.lstrip("/"), timeout=_PATIENCE_S) as stream:
            line = next(line for line in stream if line.startswith(b"data: "))
        return json.loads(line.removeprefix(b"data: "))

    def runs(self) -> dict[str, Any]:
        """The runs that it shows, by their names."""
        return {run["name"]: run for run in self.event("/events")["runs"]}

    def trials(self, name: str, first: int = 0, most: int = 200) -> Any:
        """Trials of the run with this name."""
        key = self.runs()[name]["key"]
        return json.loads(self.get(f"/runs/{key}/trials?first={first}&most={most}").body)

    def memory_kb(self) -> int:
        """The most memory that the server has had so far."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))

    def stop(self) -> int:
        """Interrupt it and return its exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(_PATIENCE_S)

    def _ask(self, path: str, data: bytes | None, headers: Mapping[str, str]) -> Answer:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        request = urllib.request.Request(self.address.rstrip("/") + path, data, named)
        try:
            with urllib.request.urlopen(request, timeout=_PATIENCE_S) as answer:
                return Answer(answer.status, dict(answer.headers), answer.read())
        except urllib.error.HTTPError as refusal:
            return Answer(refusal.code, dict(refusal.headers), refusal.read())


@contextmanager
def serving(root: Path, *options: str, port: int = 0) -> Iterator[LivePage]:
    """Start ``p4mesh serve`` on a directory."""
    words = [sys.executable, "-m", "p4mesh", "serve", str(root), "--json", "--port", str(port), *options]
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, text=True, env={**os.environ, "P4MESH_SERVE_TOKEN": TOKEN}
    )
    assert process.stdout is not None
    try:
        yield LivePage(json.loads(process.stdout.readline())["address"], process)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.wait(_PATIENCE_S)
        process.stdout.close()
