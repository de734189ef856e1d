"""Notices that a link went down during a trial, however short it was down (methodology 0.3, stop_on_los)."""

from __future__ import annotations

from collections.abc import Sequence

from p4mesh.target.base import Target


class LinkLostError(Exception):
    """A trial must not go on without its links; the text says which are missing."""


class LinkWatch:
    """Compares the links of some ports with what they were when the trial began."""

    def __init__(self, target: Target, ports: Sequence[int], *, stops: bool) -> None:
        self._target = target
        self._ports = ports
        self._stops = stops
        links = target.links()
        self._before = {port: links[port].losses for port in ports}
        self._down = [port for port in ports if not links[port].up]

    def losses(self) -> dict[int, int]:
        """Number of times that the link of each port went down since the trial began."""
        links = self._target.links()
        return {port: links[port].losses - self._before[port] for port in self._ports}

    def require_links(self) -> None:
        """Raise LinkLostError when a link was down when the trial began, or has gone down since."""
        if not self._stops:
            return
        if self._down:
            raise LinkLostError(f"no link on {_named(self._down)}")
        if lost := [port for port, losses in self.losses().items() if losses]:
            raise LinkLostError(f"loss of link on {_named(lost)}")


def _named(ports: Sequence[int]) -> str:
    return f"port{'s' if len(ports) > 1 else ''} {', '.join(str(port) for port in ports)}"
