"""Owns how the next load is chosen: bisection, steps, their combination, MLRsearch, loss verification, sweeps.

Refuses: counts beyond what a verdict needs, tables.
"""
