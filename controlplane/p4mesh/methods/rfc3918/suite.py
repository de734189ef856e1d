"""The tests of RFC 3918, in the order of the text."""

from __future__ import annotations

from p4mesh.methods.composition import Suite
from p4mesh.methods.rfc3918.aggregated import Aggregated
from p4mesh.methods.rfc3918.delays import BurdenedJoinDelay, GroupJoinDelay, GroupLeaveDelay
from p4mesh.methods.rfc3918.group_capacity import GroupCapacity
from p4mesh.methods.rfc3918.latency import BurdenedLatency, MinMaxLatency, MulticastLatency
from p4mesh.methods.rfc3918.mixed_class import MixedClass
from p4mesh.methods.rfc3918.n_to_n import NToN
from p4mesh.methods.rfc3918.scaled_matrix import ScaledMatrix
from p4mesh.methods.rfc3918.tunnels import Decapsulation, Encapsulation, Reencapsulation

SUITE = Suite(
    "rfc3918",
    (
        MixedClass(),
        ScaledMatrix(),
        Aggregated(),
        NToN(),
        Encapsulation(),
        Decapsulation(),
        Reencapsulation(),
        MulticastLatency(),
        MinMaxLatency(),
        GroupJoinDelay(),
        GroupLeaveDelay(),
        GroupCapacity(),
        BurdenedLatency(),
        BurdenedJoinDelay(),
    ),
)
