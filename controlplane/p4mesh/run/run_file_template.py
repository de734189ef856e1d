"""The run file that ``p4mesh init`` writes: complete, with a comment for everything that can be changed."""

from __future__ import annotations

from collections.abc import Sequence

from p4mesh.methods.base import Method
from p4mesh.methods.options.groups import COMMON, grouped
from p4mesh.methods.options.parameters import Parameter, show
from p4mesh.run_file.published import published_path
from p4mesh.target.names import SIMULATED, TARGET_NAMES

TOPOLOGY = """\
# A test set-up of P4Mesh: one switch with four ports, each cabled to a port of the tester. On target sim the switch is
# simulated; topologies/ and docs/DEVICES.md have more devices and every key.
name: four-ports
description: one Ethernet switch with four ports of 1 Gbit/s

tester:
  ports:
    - {numbers: 1-4, rate_bps: 1000000000}

nodes:
  - name: dut
    device: ethernet_switch
    ports:
      - {numbers: 1-4, rate_bps: 1000000000, queue_frames: 64}
    latency_ns: 2000

links:
  - {from: tester:1-4, to: dut:1-4, latency_ns: 10}
"""


def run_file_text(name: str, topology: str, tests: Sequence[Method]) -> str:
    """A run file for tests on the topology in a file."""
    parts = [
        f"# yaml-language-server: $schema={published_path()}\n"
        "# A run file of P4Mesh. Run it with: p4mesh run FILE. What is commented out shows the value that holds\n"
        "# without it. Options of the command line come before what is here; docs/RUN_FILES.md has every key.\n",
        f"name: {name}\n",
        f"# The test set-up; a path begins in the folder of this file.\ntopology: {topology}\n",
        f"# What runs the P4 program: {', '.join(TARGET_NAMES)}.\n# target: {SIMULATED}\n",
        "# Frame sizes in bytes with FCS, of all tests; without this line those of the RFC.\nsizes: [64, 512, 1518]\n",
        "# Tester ports that take part, in this order; without this line all of them.\n# ports: 1-4\n",
        "# Parameters of all tests that have them.\n# parameters:\n#   iterations: 1\n",
        "# What to run, in this order. p4mesh tests lists the tests, p4mesh tests NAME every parameter of one.\n"
        f"tests:\n{''.join(map(_entry, tests))}",
        "# What the cover of a report says; other notes follow these.\n"
        "# notes:\n#   lab: First Lab\n#   customer: Example Networks\n#   operator: Ada\n#   report_number: 2026-17\n"
        "#   vendor: Example Networks\n#   model: EX-48\n#   serial: A1B2\n#   firmware: 1.2.3\n",
    ]
    return "\n".join(parts)


def _entry(test: Method) -> str:
    lines = [f"  # {test.title} ({test.section})", f"  - test: {test.name}", "    # parameters:"]
    for parameter in grouped(test.parameters)[COMMON]:
        lines += [f"    #   # {parameter.summary}: {parameter.valid}", f"    #   {parameter.name}: {_value(parameter)}"]
    return "\n".join(lines) + "\n"


def _value(parameter: Parameter) -> str:
    return show(parameter.default) or '""'
