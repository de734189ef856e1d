"""TrialSpec -> TrialResult on any target.

Owns: the phases of a trial, its features, the conservation checks, resets, the watch over links. Refuses: searching,
the meaning of registers (:mod:`p4mesh.measurement`), and knowing which target it drives.
"""
