"""Owns the import of Xena's RFC 2544 and RFC 2889 files: to a topology and a run file, nothing dropped in silence.

Refuses: running tests. What it writes is run with ``p4mesh run``.
"""
