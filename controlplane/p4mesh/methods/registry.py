"""All tests, by name."""

from __future__ import annotations

import difflib

from p4mesh.errors import UnknownTestError
from p4mesh.methods.base import Method
from p4mesh.methods.extensions.clocks import with_clock_note
from p4mesh.methods.extensions.iterations import repeated
from p4mesh.methods.extensions.resets import with_resets
from p4mesh.methods.rfc2544.conditions import under_conditions
from p4mesh.methods.rfc2544.frame_loss import FrameLoss
from p4mesh.methods.rfc2544.latency import Latency
from p4mesh.methods.rfc2544.system_recovery import SystemRecovery
from p4mesh.methods.rfc2544.throughput import Throughput
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
from p4mesh.methods.rfc5180.hop_by_hop import HopByHop
from p4mesh.methods.rfc6201.reset import Reset
from p4mesh.methods.rfc9004.back_to_back import BackToBack

_ONCE: tuple[Method, ...] = (
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
    under_conditions(Throughput()),
    under_conditions(Latency()),
    under_conditions(FrameLoss()),
    under_conditions(BackToBack()),
    under_conditions(SystemRecovery()),
    under_conditions(Reset()),
    under_conditions(HopByHop()),
)

TESTS: tuple[Method, ...] = tuple(repeated(with_clock_note(with_resets(test))) for test in _ONCE)
"""Every test can reset the device between its trials, and be repeated as a whole."""


def suites() -> dict[str, tuple[Method, ...]]:
    """Return the tests of each suite, in the order of the RFC; a suite is what a test name begins with."""
    grouped: dict[str, tuple[Method, ...]] = {}
    for test in TESTS:
        name = test.name.partition(".")[0]
        grouped[name] = (*grouped.get(name, ()), test)
    return grouped


def find_test(name: str) -> Method:
    """Return the test called ``name``; raise UnknownTestError with the nearest or all names."""
    for test in TESTS:
        if test.name == name:
            return test
    names = [test.name for test in TESTS]
    close = difflib.get_close_matches(name, names, n=1)
    guess = f"did you mean {close[0]}? " if close else ""
    whole = ", ".join(suites())
    raise UnknownTestError(
        f"unknown test '{name}'", hint=f"{guess}valid tests: {', '.join(names)}; whole suites: {whole}"
    )
