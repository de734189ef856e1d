"""Messages of P4Runtime 1.5 as published. The client's stubs are those of 1.4 and keep fields that they do not know."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

_PUBLISHED = Path(__file__).parents[1] / "fixtures" / "p4runtime-1.5.binpb"


@cache
def published_files() -> FileDescriptorSet:
    """The published descriptors."""
    return FileDescriptorSet.FromString(_PUBLISHED.read_bytes())


@cache
def published_pool() -> DescriptorPool:
    """The types of the published descriptors."""
    pool = DescriptorPool()
    for file in published_files().file:
        pool.Add(file)
    return pool


def published(message: Any) -> Any:
    """The same message as one of the published type, which has all fields."""
    kind = published_pool().FindMessageTypeByName(message.DESCRIPTOR.full_name)
    return GetMessageClass(kind).FromString(message.SerializeToString())
