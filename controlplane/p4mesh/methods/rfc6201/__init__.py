"""Resets of a device (RFC 6201, which replaces RFC 2544 26.6)."""
