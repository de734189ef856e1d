"""Tests of RFC 3918: IP multicast, with hosts that join the groups of every trial."""
