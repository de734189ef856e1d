"""Owns the command line: arguments, progress on stderr, data on stdout, exit codes.

Refuses: methodology and measuring. It joins a test, a topology, a run directory and measurers.
"""
