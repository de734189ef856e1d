"""Builds the network of a topology from Linux parts: namespaces, veth pairs, bridges, routers and switches.

Owns: network namespaces with their names, the Linux parts that stand for nodes, networks that stay up between
commands. Refuses: the tester program, and what a node of a simulated network has and Linux has not.
"""
