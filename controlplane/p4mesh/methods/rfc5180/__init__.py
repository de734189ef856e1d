"""Benchmarks for IPv6 (RFC 5180): its own test, and what it adds to those of RFC 2544."""
