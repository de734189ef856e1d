"""Owns what is added to every test: resets between trials, the note on clocks, iterations.

Refuses: what only one suite has.
"""
