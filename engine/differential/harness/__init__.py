"""The differential harness: the same program, entries and frames into two switches, whose outputs are compared.

Owns: the corpus of small programs, scenarios from seeds, running a scenario on simple_switch_grpc or on the embedded
engine, and comparing. Refuses: knowledge of how either of them works inside.
"""
