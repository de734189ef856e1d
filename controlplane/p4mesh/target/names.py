"""The names of :data:`p4mesh.target.table.TARGETS`: arguments are checked before the targets themselves are loaded."""

from __future__ import annotations

SIMULATED = "sim"
"""The one target whose time and devices are simulated."""
WALL_CLOCK_TARGETS = ("bmv2", "live", "tofino")
ACCESSES = ("best", "af_xdp", "af_packet")
"""How ``live`` reaches interfaces."""
TARGET_NAMES = ("bmv2", "live", SIMULATED, "tofino")
