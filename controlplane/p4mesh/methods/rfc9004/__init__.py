"""Back-to-back frames (RFC 9004, which replaces RFC 2544 26.4)."""
