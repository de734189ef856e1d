"""Owns the forms in which other programs take results, from JSON to HdrHistogram logs; docs/RESULTS.md describes them.

Refuses: measuring and judging again; everything comes from a run directory.
"""
