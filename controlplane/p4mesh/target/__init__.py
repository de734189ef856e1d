"""Owns the targets: starting and stopping them, their clocks, their capabilities.

Refuses: test methodology, and P4Runtime beyond handing out an address.
"""
