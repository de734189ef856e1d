"""Where ports look for signatures: the usual places first, then those of frames that a device has changed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from support.frames import FORMATS

from p4mesh.target.base import CountedPayload
from p4mesh.tester.contract import load_contract
from p4mesh.tester.expected_payload import expected_payload
from p4mesh.traffic.stream import COUNTING


def payload_of(*frames: Any, payload: Any = COUNTING) -> CountedPayload:
    streams = [SimpleNamespace(stream=SimpleNamespace(frame=frame, payload=payload)) for frame in frames]
    plan: Any = SimpleNamespace(streams=streams)
    return expected_payload(plan, 7, load_contract())


def test_headers_may_come_or_go_and_a_list_of_segments_may_go_alone() -> None:
    """Of IPv6, UDP and two tags the signature is at byte 70; a list of three segments has 56 bytes, 96 with a header.

    Without that list it is at byte 14, behind Ethernet, and nothing is looked for in front of that.
    """
    found = payload_of(FORMATS[6].tagged(1, 2))
    usual, *others = found.offsets_bytes
    assert usual == 70
    assert others == sorted(set(others)) and usual not in others and min(others) == 14
    assert {70 - 56, 70 - 40, 70 - 4, 70 + 4, 70 + 40, 70 + 96} <= set(others)
    assert 70 + 56 not in others
    assert found.mark == load_contract()["SIGNATURE_MAGIC"].to_bytes(2, "big") + b"\7"


def test_the_usual_places_are_those_of_all_streams_and_none_where_a_payload_does_not_count() -> None:
    found = payload_of(FORMATS[4], FORMATS[None], FORMATS[4])
    assert found.offsets_bytes[:2] == (42, 14)
    assert found.offsets_bytes.count(14) == found.offsets_bytes.count(42) == 1
    assert payload_of(FORMATS[4], payload=bytes(3)).offsets_bytes == ()
