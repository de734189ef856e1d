"""The tests of RFC 2889, in the order of the text."""

from __future__ import annotations

from p4mesh.methods.composition import Suite
from p4mesh.methods.rfc2889.address_caching import AddressCaching
from p4mesh.methods.rfc2889.address_learning import AddressLearning
from p4mesh.methods.rfc2889.broadcast import Broadcast
from p4mesh.methods.rfc2889.congestion_control import CongestionControl
from p4mesh.methods.rfc2889.errored_frames import ErroredFrames
from p4mesh.methods.rfc2889.forward_pressure import ForwardPressure
from p4mesh.methods.rfc2889.fully_meshed import FullyMeshed
from p4mesh.methods.rfc2889.maximum_forwarding_rate import MaximumForwardingRate
from p4mesh.methods.rfc2889.multiple_devices import MultipleDevices
from p4mesh.methods.rfc2889.partially_meshed import PartiallyMeshed
from p4mesh.methods.rfc2889.unidirectional import Unidirectional

SUITE = Suite(
    "rfc2889",
    (
        FullyMeshed(),
        PartiallyMeshed(),
        MultipleDevices(),
        Unidirectional(),
        CongestionControl(),
        ForwardPressure(),
        MaximumForwardingRate(),
        AddressCaching(),
        AddressLearning(),
        ErroredFrames(),
        Broadcast(),
    ),
)
