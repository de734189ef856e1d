"""Owns how the next load is chosen (bisection, steps, their combination, MLRsearch, loss verification, sweeps), and the
record of a search.

Refuses: tables, and counts beyond what a verdict needs.
"""
