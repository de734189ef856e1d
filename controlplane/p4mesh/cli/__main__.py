"""``python -m p4mesh.cli``."""

from __future__ import annotations

from p4mesh.cli.entry import entry

if __name__ == "__main__":
    entry()
