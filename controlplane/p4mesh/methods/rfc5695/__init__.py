"""RFC 5695 (MPLS): the tests of RFC 2544 for a device that pushes, swaps and pops labels."""
