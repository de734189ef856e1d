"""Owns what is particular to a target: starting and stopping it, its clock, its capabilities.

Refuses: test methodology, and P4Runtime beyond handing out an address.
"""
