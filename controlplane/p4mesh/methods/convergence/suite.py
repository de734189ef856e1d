"""The tests of convergence: one per event."""

from __future__ import annotations

from p4mesh.methods.composition import Suite
from p4mesh.methods.convergence.routes import Announcement, Flap, LossOfLink, Silence, Withdrawal

SUITE = Suite("convergence", (Announcement(), Withdrawal(), Flap(), LossOfLink(), Silence()))
