"""Owns the presentation of stored results: text tables, CSV columns, one self-contained HTML page with plots.

Refuses: measuring and judging again; everything shown comes from a run directory.
"""
