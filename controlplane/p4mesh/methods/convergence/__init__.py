"""Convergence of a router that learns its routes by BGP (RFC 4098, RFC 7747), and detection by BFD (RFC 5880)."""
