"""Checks a run without starting it: what a run refuses before it writes anything, this refuses."""

from __future__ import annotations

from p4mesh.methods.base import Method
from p4mesh.methods.names import NAMES
from p4mesh.methods.registry import find_test
from p4mesh.run.chosen_interfaces import chosen_topology
from p4mesh.run.options import RunOptions
from p4mesh.run.preparation import prepare
from p4mesh.run.run_files import plan_file
from p4mesh.run.suite import plan_suite
from p4mesh.run_file.reader import load_run_file


def planned_tests(options: RunOptions) -> tuple[Method, ...]:
    """The tests that a run with these options has, also those that its topology cannot carry.

    Raises a P4MeshError as the run would: for options, for files, and for what the machine cannot do.
    """
    if options.names_file:
        return tuple(plan.method for plan in plan_file(load_run_file(options.test), options))
    name = str(options.test)
    if name in NAMES:
        return tuple(plan.method for plan in plan_suite(options))
    method = find_test(name)
    prepare(method, chosen_topology(options), options)
    return (method,)
