"""Refuses mixes of frame sizes where a test, its parameters or its ports need one size."""

from __future__ import annotations

from collections.abc import Sequence

from p4mesh.errors import ParameterError
from p4mesh.methods.base import Method
from p4mesh.methods.bed import Bed
from p4mesh.methods.extensions.load_axis import FULL_LOAD
from p4mesh.methods.options.parameters import ParameterSet, resolve
from p4mesh.methods.registry import suites
from p4mesh.methods.results.latency import LATENCY_DEFINITION, definition_of, shift_ns
from p4mesh.traffic.imix import FrameSize, MixedSize


def check_mixes(
    method: Method, bed: Bed, parameters: ParameterSet, sizes: Sequence[FrameSize], *, calibrated: bool
) -> None:
    """Raise ParameterError for a mix where a test, its parameters or its ports allow one frame size alone."""
    for mix in sizes:
        if isinstance(mix, MixedSize):
            _check(method, bed, parameters, mix, calibrated)


def _check(method: Method, bed: Bed, parameters: ParameterSet, mix: MixedSize, calibrated: bool) -> None:
    where = f"--sizes {mix.name}: {method.name}"
    if reason := method.refuses_mix(parameters):
        others = [test.name for tests in suites().values() for test in tests if _takes_mixes(test)]
        raise ParameterError(f"{where}: {reason}", hint=f"by default, mixes are for {', '.join(others)}")
    if (burst := parameters.values["burst_frames"]) != 1:
        raise ParameterError(f"{where}: burst_frames={burst} of several sizes", hint="leave burst_frames out")
    if full := parameters.values.get(FULL_LOAD.name):
        raise ParameterError(f"{where}: {FULL_LOAD.name}={full} is for one size", hint="give loads in % of line rate")
    if calibrated:
        raise ParameterError(f"{where}: wires are measured for one size", hint="leave --calibration out")
    if LATENCY_DEFINITION.name not in parameters.values:
        return
    definition = definition_of(parameters)
    for tx_port, rx_port in method.latency_pairs(bed, parameters):
        if len({shift_ns(bed, definition, size, tx_port, rx_port) for size in mix.sizes}) > 1:
            raise ParameterError(
                f"{where}: {LATENCY_DEFINITION.name}={definition.value} is not the measured latency plus the same time "
                f"for each size from port {tx_port} to port {rx_port}",
                hint=f"use {LATENCY_DEFINITION.name}=FIFO",
            )


def _takes_mixes(method: Method) -> bool:
    return not method.refuses_mix(resolve(method.name, method.parameters, ()))
