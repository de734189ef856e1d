"""Owns the test methods: searches, sweeps, the RFC suites, their parameters and verdict rules.

Refuses: talking to a switch, files, clocks and sleeping. A method sees a test bed (ports and their
rates), its parameters and ``measure(spec) -> result``, nothing else.
"""
