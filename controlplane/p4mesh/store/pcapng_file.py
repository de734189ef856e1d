"""Captured frames as a pcap-ng file: an interface per tester port, and what is wrong with a frame as its comment."""

from __future__ import annotations

import io
from collections.abc import Sequence

from p4mesh.measurement.faults import FaultyFrame
from p4mesh.store.fault_file import CapturedTrial

CAPTURE = "captures.pcapng"
_ETHERNET = 1
_NANOSECONDS = bytes([9])
_FIRST_DEPARTURE_NS = 1_000_000_000
"""Time stamps cannot be negative; a frame may come before the first departure of its trial."""


def pcapng_of(trials: Sequence[CapturedTrial]) -> bytes:
    """Bytes of the file. The first departure of each trial is at 1 s."""
    import pcapng.blocks as blocks  # only runs that capture need it
    from pcapng import FileWriter

    section = blocks.SectionHeader(
        options={
            "shb_userappl": "P4Mesh",
            "opt_comment": "Times are those of the target; the first departure of each trial is at 1 s.",
        }
    )
    ports = sorted({frame.port for trial in trials for frame in trial.faults.frames})
    interfaces = {
        port: section.new_member(
            blocks.InterfaceDescription,
            link_type=_ETHERNET,
            options={"if_name": f"port {port}", "if_tsresol": _NANOSECONDS},
        )
        for port in ports
    }
    data = io.BytesIO()
    writer = FileWriter(data, section)
    for trial in trials:
        for frame in trial.faults.frames:
            time_ns = max(0, _FIRST_DEPARTURE_NS + int(frame.at_ns))
            writer.write_block(
                section.new_member(
                    blocks.EnhancedPacket,
                    interface_id=interfaces[frame.port].interface_id,
                    timestamp_high=time_ns >> 32,
                    timestamp_low=time_ns & 0xFFFFFFFF,
                    packet_data=frame.frame,
                    options={"opt_comment": comment(trial, frame)},
                )
            )
    return data.getvalue()


def comment(trial: CapturedTrial, frame: FaultyFrame) -> str:
    """Facts of a frame for a person: reason, port, time, then whose frame it is."""
    when = f"{abs(frame.at_ns) / 1000:.3f} us {'before' if frame.at_ns < 0 else 'after'} the first departure"
    parts = [frame.reason, f"port {frame.port}", when]
    if frame.flow:
        parts.append(f"flow {frame.flow}")
    if frame.sequence is not None:
        parts.append(f"sequence {frame.sequence}")
    return ", ".join([*parts, f"trial {trial.trial} of {trial.unit}"])
