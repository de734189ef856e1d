"""Owns what is made of counts: metrics, latency and its variation, tables, figures, verdicts.

Refuses: measuring.
"""
