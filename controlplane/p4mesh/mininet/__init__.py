"""P4Mesh in Mininet: switch classes, a tester node, and networks of topology files.

Owns: Mininet's side of nodes, and where its package is found. Refuses: what a node does, which is in
:mod:`p4mesh.network.nodes`, and measuring, which ``p4mesh run`` does in the tester's namespace.
"""

from p4mesh.mininet.package import load_mininet

load_mininet()

from p4mesh.mininet.network import Mininet, network_of  # noqa: E402 - Mininet must be there first
from p4mesh.mininet.nodes import P4MeshSwitch, SimpleSwitchGrpc, Tester, TopologyNode  # noqa: E402

__all__ = ("Mininet", "P4MeshSwitch", "SimpleSwitchGrpc", "Tester", "TopologyNode", "network_of")
