"""Owns traffic files: what they may say, their JSON Schema, and reading them with settings and sweeps.

Refuses: ports and targets. Who a port, a role or a rate is on a test set-up is resolved by the traffic method.
"""
