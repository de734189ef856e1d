"""Owns the traffic: streams, patterns, bursts, addresses and line-rate arithmetic.

Refuses: input and output, targets, clocks. Everything here is a pure function or a frozen value.
"""
