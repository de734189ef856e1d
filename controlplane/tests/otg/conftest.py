"""One server on a wire for all files: each start of one takes a second of processor time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.otg import OtgServer, serving_otg


@pytest.fixture(scope="session")
def back_to_back() -> Iterator[OtgServer]:
    with serving_otg("back-to-back") as served:
        yield served


@pytest.fixture(scope="module")
def server(back_to_back: OtgServer) -> OtgServer:
    """The server, on which nothing of another file runs."""
    api = back_to_back.api()
    nothing = api.config()
    nothing.options.port_options.location_preemption = True
    api.set_config(nothing)
    return back_to_back
