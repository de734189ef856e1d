"""Notices that a link went down during a trial, however short it was down (methodology 0.3, stop_on_los)."""

from __future__ import annotations

from collections.abc import Sequence

from p4mesh.target.base import Target


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
        """Return how often the link of each port went down since the trial began."""
        links = self._target.links()
        return {port: links[port].losses - self._before[port] for port in self._ports}

    def reason(self) -> str:
        """Return why the trial must stop, or an empty text."""
        if not self._stops:
            return ""
        if self._down:
            return f"no link on {_named(self._down)}"
        lost = [port for port, losses in self.losses().items() if losses]
        return f"loss of link on {_named(lost)}" if lost else ""


def _named(ports: Sequence[int]) -> str:
    return f"port{'s' if len(ports) > 1 else ''} {', '.join(str(port) for port in ports)}"
