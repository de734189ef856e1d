"""RFC 2544, benchmarking methodology for network interconnect devices: one file per test.

Back-to-back frames follow RFC 9004. System recovery (26.5) and reset (26.6) are not implemented.
"""
