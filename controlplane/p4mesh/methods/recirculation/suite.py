"""The tests of recirculating devices."""

from __future__ import annotations

from p4mesh.methods.composition import Suite
from p4mesh.methods.recirculation.delta import RecirculationDelta

SUITE = Suite("recirculation", (RecirculationDelta(),))
