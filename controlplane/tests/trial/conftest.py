"""Fixtures of the tests of trials: the frames that came."""

from __future__ import annotations

import pytest

from p4mesh.trial.parts import headers


@pytest.fixture
def came(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Frames that the program gave to the controller to compare their headers."""
    found: list[bytes] = []

    def kept(data: bytes, _: str) -> bool:
        found.append(bytes(data))
        return True

    monkeypatch.setattr(headers, "has_headers", kept)
    return found
