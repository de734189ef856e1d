"""The instrument: turns streams into table entries, seeds and read-out, on any target.

Owns: the contract with the P4 program, the allocation of cells, pacing, stations, frames, and the data plane.
Refuses: verdicts, and the phases of a trial.
"""
