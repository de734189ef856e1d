"""TrialSpec -> TrialResult on any target.

Owns: the phases of a trial, classification and the conservation checks, latency statistics, resets, the watch over
links. Refuses: searching, and knowing which target it drives.
"""
