"""Owns the choice of the next load: bisection, steps, their combination, MLRsearch, loss verification.

Refuses: results and tables, and counts beyond those that a verdict needs.
"""
