"""Owns traffic files: their classes, their JSON Schema, and reading them with settings and sweeps.

Refuses: ports and targets. The traffic method finds the ports, roles and rates of a test set-up.
"""
