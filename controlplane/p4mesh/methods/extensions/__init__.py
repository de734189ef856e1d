"""Owns the additions to every test: resets between trials, the note on clocks, iterations.

Refuses: additions of one suite alone.
"""
