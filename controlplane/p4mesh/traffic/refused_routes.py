"""Routes that a device has no room for, as its management tells."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RefusedRoutes:
    """Networks of one IP version that were announced to a device and did not fit into its table."""

    device: str
    ip_version: int
    networks: int
    """Different networks; one that was announced again counts once."""
    limit: int
    """Routes of this version that fit."""

    @property
    def text(self) -> str:
        """Say who refused how many networks, and why."""
        return (
            f"device '{self.device}' refused {self.networks} of the announced IPv{self.ip_version} networks, its limit "
            f"is {self.limit} IPv{self.ip_version} routes"
        )
