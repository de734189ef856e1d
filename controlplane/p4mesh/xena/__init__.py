"""Owns the import of files of Xena2889 and Valkyrie2889: to a topology and a run file, nothing dropped in silence.

Refuses: running tests. What it writes is run with ``p4mesh run``.
"""
