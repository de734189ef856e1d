"""The command line: arguments in, text and an exit code out; an observer of :mod:`p4mesh.run`.

Refuses: running anything itself. What a command needs is loaded when it runs, so that wrong arguments are answered at
once.
"""
