"""Tells after an interrupt where the run directory is and how to resume the run."""

from __future__ import annotations

from pathlib import Path


class Notice:
    """Knows the directory of the run, once there is one."""

    def __init__(self) -> None:
        self._directory: Path | None = None
        self.may_end = False
        """Whether the command ends with the results so far at a first signal; else it is given up at once."""
        self.wants_end = False
        """Whether such a signal has come."""

    def place(self, directory: Path) -> None:
        """Note where the run lies; the first place is that of the whole command."""
        self._directory = self._directory or directory

    def line(self) -> str:
        """The line that an interrupt prints."""
        if self._directory is None:
            return "interrupted; nothing was written"
        return f"interrupted; the same command with --out {self._directory} resumes the run"
