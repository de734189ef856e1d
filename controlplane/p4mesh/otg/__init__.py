"""The Open Traffic Generator API over the tester: ``p4mesh otg`` serves it by HTTP and gRPC.

Its messages, and what is valid in them, come from the package snappi. Refuses: counting and pacing of its own, and
every element of a configuration that the tester does not have.
"""
