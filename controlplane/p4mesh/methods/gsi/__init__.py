"""Tests of the GSI timing network (2025): data master broadcasts, bunch-to-bucket measurements, and both mixed."""
