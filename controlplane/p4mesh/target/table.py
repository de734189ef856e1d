"""Every target by its name."""

from __future__ import annotations

from collections.abc import Mapping

from p4mesh.target.base import Target
from p4mesh.target.bmv2 import Bmv2Target
from p4mesh.target.live import LiveTarget
from p4mesh.target.sim import SimTarget
from p4mesh.target.tofino import TofinoTarget

TARGETS: Mapping[str, type[Target]] = {
    target.name: target for target in (SimTarget, Bmv2Target, LiveTarget, TofinoTarget)
}
