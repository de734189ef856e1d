"""``p4mesh switch``: a P4Runtime server over the engine on interfaces or pcap files.

Owns: the command's options, which are those of simple_switch_grpc where both have them, and the
process. Refuses: any P4 state of its own; forwarding and P4Runtime are the engine's.
"""
