"""Comparison of runs: differences of their numbers with confidence, as a document."""
