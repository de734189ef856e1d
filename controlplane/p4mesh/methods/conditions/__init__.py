"""Owns the conditions under which tests of RFC 2544 and RFC 5180 run, as one extension of both suites.

A router as the device, the modifiers of RFC 2544 sections 11 and 12, and IPv6 by RFC 5180. Refuses: tests.
"""
