"""RFC 2889, benchmarking methodology for LAN switching devices: one file per test."""
