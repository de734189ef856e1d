"""Owns the forms in which other programs take results: JSON, Parquet, JUnit XML. docs/RESULTS.md describes them.

Refuses: measuring and judging again; everything comes from a run directory.
"""
