"""P4Mesh: a network tester made from a programmable switch.

The names below are the public Python API, see docs/API.md. Each loads what it needs when it is used first.

Dependencies point one way: ``cli -> run -> methods -> trial -> tester -> target -> p4runtime``; ``store`` and
``report`` see results only.
"""

from __future__ import annotations

from p4mesh._lazy import lazily
from p4mesh.version import __version__ as __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from p4mesh.errors import P4MeshError
    from p4mesh.methods.registry import TESTS
    from p4mesh.methods.results.outcome import Outcome
    from p4mesh.run.calibration import calibrate
    from p4mesh.run.options import RunOptions
    from p4mesh.run.run_files import run_file
    from p4mesh.run.single import run
    from p4mesh.run.suite import run_suite
    from p4mesh.run.traffic import run_traffic
    from p4mesh.store.stored_run import read_run
    from p4mesh.topology.loader import load_topology, parse_topology
    from p4mesh.topology.model import Topology
    from p4mesh.verdict import Verdict

__all__ = [
    "TESTS",
    "Outcome",
    "P4MeshError",
    "RunOptions",
    "Topology",
    "Verdict",
    "calibrate",
    "load_topology",
    "parse_topology",
    "read_run",
    "run",
    "run_file",
    "run_suite",
    "run_traffic",
]

__getattr__ = lazily(
    __name__,
    {
        "errors": ("P4MeshError",),
        "methods.results.outcome": ("Outcome",),
        "methods.registry": ("TESTS",),
        "run.calibration": ("calibrate",),
        "run.options": ("RunOptions",),
        "run.run_files": ("run_file",),
        "run.suite": ("run_suite",),
        "run.traffic": ("run_traffic",),
        "store.stored_run": ("read_run",),
        "topology.loader": ("load_topology", "parse_topology"),
        "topology.model": ("Topology",),
        "verdict": ("Verdict",),
    },
)
