"""Messages of n frames: the tests of ATM Forum 97-0178 (MIMO latency) transferred to back-to-back bursts of frames."""
