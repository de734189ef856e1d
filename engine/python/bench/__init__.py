"""``make bench``: frames per second of the engine beside simple_switch_grpc, and the control plane.

Each measurement runs in a process of its own, bound to one core, and prints one JSON object; the
driver (``python -m bench``) starts them, compares, and writes the report. Times are processor time
of the process that does the work, so other work on the machine does not show.
"""
