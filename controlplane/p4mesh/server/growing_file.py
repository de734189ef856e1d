"""A file that gets lines: what of it is new, and whether it is another file than before."""

from __future__ import annotations

from p4mesh.store.confined import Folder, Mark

_STEP_BYTES = 64 << 20


class GrowingFile:
    """One file of a run directory; ``offset`` is the end of what was read of it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.offset = 0
        self._mark: Mark | None = None

    @property
    def size(self) -> int:
        """Its bytes at the last look."""
        return self._mark.size if self._mark else 0

    def begins_again(self, folder: Folder) -> bool:
        """Look at the file; return whether it is another one than before, to be read from its beginning."""
        before, mark = self._mark, folder.mark(self.name)
        self._mark = mark
        same = mark is not None and (before is None or mark.inode == before.inode) and mark.size >= self.offset
        if not same:
            self.offset = 0
        return not same and before is not None

    def new_lines(self, folder: Folder) -> list[bytes]:
        """The whole lines that it has got since."""
        if self.size == self.offset:
            return []
        data = folder.read(self.name, _STEP_BYTES, self.offset)
        whole = data[: data.rfind(b"\n") + 1]
        self.offset += len(whole)
        return whole.splitlines()
