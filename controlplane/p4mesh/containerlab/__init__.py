"""Owns the reading of containerlab files: which node is the tester, its ports, and the addresses of their routers.

Refuses: starting labs, running tests, and files of nodes that a lab mounts: addresses in them are not read.
"""
