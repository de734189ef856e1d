"""Owns the results: records of searches, metrics, latency and its variation, tables, figures, verdicts.

Refuses: measuring.
"""
