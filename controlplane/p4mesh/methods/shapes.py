"""The usual shapes of tests over one mesh of ports, with what they have in common.

A test says which ports send where (``mesh``), measures a unit, by default one frame size (``run_unit``), and makes the
report of all of them (``assemble``). A test that fits no shape implements :class:`MethodOf` itself.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable

from p4mesh.methods.base import MethodOf, Result, Unit
from p4mesh.methods.bed import Bed
from p4mesh.methods.mesh import Mesh
from p4mesh.methods.options import shared
from p4mesh.methods.options.parameters import ParameterSet


class MeshTest(MethodOf[Result]):
    """A test whose trials send over one mesh, such as a sweep of the load."""

    duration_s: int = shared.RFC_2889_DURATION_S
    """Duration of trials in the standard."""
    duration_clause: str = "RFC 2889 5.1.2"

    @abstractmethod
    def mesh(self, bed: Bed, parameters: ParameterSet) -> Mesh:
        """Senders and receivers; raises TopologyError or ParameterError where the ports do not allow the test."""

    def check(self, bed: Bed, parameters: ParameterSet) -> None:
        """Refuse beds whose ports do not allow the test."""
        self.mesh(bed, parameters)

    def short_trials(self, bed: Bed, parameters: ParameterSet, units: Iterable[Unit]) -> str:
        """The deviation of trials that are shorter than those of the standard; empty without one."""
        sizes = [unit.frame_size for unit in units]
        rate_bps = self.mesh(bed, parameters).line_rate_bps
        return shared.duration_deviation(parameters, sizes, rate_bps, self.duration_s, self.duration_clause)


class SearchTest(MeshTest[Result]):
    """A test that searches the throughput of each frame size, and may measure something at it or from it on."""

    def check(self, bed: Bed, parameters: ParameterSet) -> None:
        """Refuse beds whose ports do not allow the test, and contradicting bounds of the search."""
        super().check(bed, parameters)
        shared.search_of(parameters)

    def trials_after(self, parameters: ParameterSet) -> int:
        """Trials that follow a search, typically; none by default."""
        return 0

    def trials_expected(self, unit: Unit, parameters: ParameterSet) -> int:
        return shared.search_of(parameters).trials_expected + self.trials_after(parameters)
