"""Owns run files: what they may say, their JSON Schema, reading them, and the one that ``p4mesh init`` writes.

Refuses: tests and topologies. Whether a test has a parameter, and whether a topology can carry it, is found out where
the run is prepared.
"""
