"""Topologies that clients may name in the locations of ports: ``p4mesh://TOPOLOGY/PORT``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from p4mesh.errors import OtgError
from p4mesh.topology import Topology, load_topology

SCHEME = "p4mesh://"
_ENDING = ".yaml"


class Topologies:
    """The topology of the server, and those of a folder by their names."""

    def __init__(self, own: Topology, folder: Path) -> None:
        self._own = own
        self._folder = folder
        self._loaded: dict[str, Topology] = {Path(own.source).stem: own}

    def of(self, locations: Sequence[str]) -> Topology:
        """The topology that the locations of a configuration name, the server's where none does; raises OtgError."""
        named = {location.removeprefix(SCHEME).rpartition("/")[0] for location in locations if SCHEME in location}
        if not named:
            return self._own
        if len(named) > 1 or not all(SCHEME in location for location in locations):
            raise OtgError("ports are of several topologies", hint=f"name one in all locations: {SCHEME}TOPOLOGY/PORT")
        return self._of_name(named.pop().removesuffix(_ENDING))

    def _of_name(self, name: str) -> Topology:
        if name not in self._loaded:
            valid = sorted(path.stem for path in self._folder.glob(f"*{_ENDING}"))
            # Names alone: nothing else of the machine is read.
            if name not in valid:
                raise OtgError(f"'{name}' is no topology of the server", hint=f"valid: {', '.join(valid)}")
            self._loaded[name] = load_topology(self._folder / f"{name}{_ENDING}")
        return self._loaded[name]
