"""The Linux parts that stand for nodes of a topology, one file each."""
