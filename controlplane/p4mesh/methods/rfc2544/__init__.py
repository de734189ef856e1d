"""RFC 2544, benchmarking methodology for network interconnect devices: one file per test.

Back-to-back frames follow RFC 9004. Reset (26.6) is not implemented.
"""
