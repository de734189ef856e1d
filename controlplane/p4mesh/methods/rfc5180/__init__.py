"""The test of RFC 5180 (IPv6) that RFC 2544 does not have; its conditions are in :mod:`p4mesh.methods.conditions`."""
