"""Owns the checks of ``p4mesh doctor``: what works on this machine, target by target, and how to mend the rest.

A target has a list of checks in ``table.py``; a check looks at one thing and changes nothing that lasts.
Refuses: mending. It says which command does.
"""
