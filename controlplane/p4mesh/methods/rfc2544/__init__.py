"""RFC 2544, benchmarking methodology for network interconnect devices: one file per test.

Back-to-back frames follow RFC 9004, resets RFC 6201, IPv6 RFC 5180.
"""
