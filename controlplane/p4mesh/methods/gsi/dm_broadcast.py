"""Throughput of the data master's broadcasts to all other ports (timing network report 3.1, methodology 7.1)."""

from __future__ import annotations

from p4mesh.methods.gsi.defaults import MESSAGE_SIZES_BYTES, SEARCH
from p4mesh.methods.options.parameters import with_defaults
from p4mesh.methods.rfc2889.broadcast import Broadcast


class DmBroadcast(Broadcast):
    """RFC 2889 5.10 with the frames and the search of the report."""

    name = "gsi.dm_broadcast"
    title = "Data master broadcast"
    section = "GSI timing network 3.1"
    frame_sizes_bytes = MESSAGE_SIZES_BYTES
    parameters = with_defaults(Broadcast.parameters, **SEARCH)
