"""The protobuf stubs, imported in one place.

They come from finsy, which ships current ones; nothing else of finsy is used. Importing them costs
about 50 ms more than importing grpc alone.
"""

from __future__ import annotations

from finsy.proto import p4d, p4i, p4r, rpc_status

__all__ = ["Entity", "p4d", "p4i", "p4r", "rpc_status"]

Entity = p4r.Entity
"""One P4 entity, as writes take it and reads return it."""
