"""Bytes that no protocol here describes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from p4mesh.layers.layer import Layer, tail


@dataclass(frozen=True)
class OwnBytes(Layer):
    """Bytes of one's own, whose number the layer in front has to give; a frame that is read has none."""

    kind: ClassVar[str] = "bytes"
    content: bytes = tail(b"")
