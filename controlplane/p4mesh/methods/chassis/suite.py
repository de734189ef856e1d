"""The tests of large chassis."""

from __future__ import annotations

from p4mesh.methods.chassis.full_mesh import FullMeshAtLoads
from p4mesh.methods.chassis.multicast import MulticastAtLoads, NToNAtLoads
from p4mesh.methods.composition import Suite
from p4mesh.methods.conditions.under_conditions import UnderConditions

SUITE = Suite("chassis", (FullMeshAtLoads(),), (UnderConditions(),), (MulticastAtLoads(), NToNAtLoads()))
