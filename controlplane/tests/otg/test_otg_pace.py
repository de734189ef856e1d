"""Virtual time of the OTG server: how much of it passes in a request."""

from __future__ import annotations

import time
from typing import cast

from p4mesh.otg.pace import OnDemand
from p4mesh.tester import instrument


class SlowFlows:
    """A tester whose virtual second takes so many of the machine."""

    seconds_each = 0.0

    def wait(self, duration_ns: int) -> None:
        time.sleep(self.seconds_each * duration_ns / 1e9)


def test_a_request_after_flows_were_started_takes_no_longer_than_others() -> None:
    """While nothing runs an hour passes at once; of flows that take 30 s for a second, as much as fits passes."""
    tester = SlowFlows()
    pace = OnDemand(cast(instrument.Tester, tester))
    assert pace.pass_time(3600 * 10**9, 5) == 3600 * 10**9
    tester.seconds_each = 30
    began_s = time.monotonic()
    passed_ns = pace.pass_time(10**9, 0.5)
    assert time.monotonic() - began_s < 1.5
    assert 0 < passed_ns < 5 * 10**7
