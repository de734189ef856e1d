"""Comparisons of published tables with what P4Mesh measures on the shipped topologies."""
