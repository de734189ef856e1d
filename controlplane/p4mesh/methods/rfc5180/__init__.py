"""RFC 5180 (IPv6): the tests of RFC 2544 over IPv6, and hop-by-hop options.

Its conditions are in :mod:`p4mesh.methods.conditions`.
"""
