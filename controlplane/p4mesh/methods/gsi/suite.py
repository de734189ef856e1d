"""The tests of the GSI timing network."""

from __future__ import annotations

from p4mesh.methods.composition import Suite
from p4mesh.methods.gsi.b2b import B2b
from p4mesh.methods.gsi.dm_broadcast import DmBroadcast
from p4mesh.methods.gsi.mixed import Mixed

SUITE = Suite("gsi", (DmBroadcast(), B2b(), Mixed()))
