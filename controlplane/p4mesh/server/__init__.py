"""The live page: run directories shown in a browser of this machine while they grow, and afterwards.

Owns: what a browser may see of a directory of runs, and how it is told of changes. It reads what runs have written, so
that runs of other processes show up, and a restart loses nothing.
Refuses: a runner of its own (a run that it starts is ``p4mesh run`` in a process of its own), following symbolic links,
other machines.
"""
