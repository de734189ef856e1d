"""Benchmarks for IPv6 (RFC 5180): its own test, and its additions to those of RFC 2544."""
