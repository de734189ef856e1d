"""``python -m p4mesh``."""

from __future__ import annotations

if __name__ == "__main__":
    from p4mesh.cli.entry import entry

    entry()
