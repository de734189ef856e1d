"""SRv6 (draft-ietf-bmwg-sr-bench-meth): the tests of RFC 2544 for a source, and for a segment end point."""
