"""Owns the run directory: configuration echo, trials, results, CSV files, resume.

Refuses: measuring, judging and drawing. Wall-clock facts live in ``timing.jsonl`` only, so all
other files of two runs with the same inputs are byte-identical.
"""
