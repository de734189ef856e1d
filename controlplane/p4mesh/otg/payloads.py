"""The payload of the frames of a flow: bytes that follow the signature."""

from __future__ import annotations

from p4mesh.otg.elements import Element
from p4mesh.traffic.stream import COUNTING

_WORD_BYTES = 2
_WORDS = 1 << 8 * _WORD_BYTES


def read_payload(element: Element, frame_bytes: int) -> bytes:
    """Read the object ``payload`` of a flow: a pattern that comes again and again in frames of this length."""
    kinds = ("increment_byte", "decrement_byte", "increment_word", "decrement_word", "fixed")
    with element.whole():
        kind = element.choice(*kinds, default="fixed")
        if kind == "fixed":
            with element.element("fixed").whole() as fixed:
                pattern, repeats = fixed.octets("pattern", "00"), fixed.flag("repeat", True)
            return pattern if repeats else pattern + bytes(max(0, frame_bytes - len(pattern)))
    if kind == "increment_byte":
        return COUNTING
    if kind == "decrement_byte":
        return COUNTING[::-1]
    words = range(-(-frame_bytes // _WORD_BYTES))
    sign = 1 if kind == "increment_word" else -1
    first = 0 if kind == "increment_word" else _WORDS - 1
    return b"".join(((first + sign * word) % _WORDS).to_bytes(_WORD_BYTES, "big") for word in words)
