"""Declares the options of a run, each once: its field, and the argument of commands that sets it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from p4mesh.numerals import integer
from p4mesh.target.names import ACCESSES, SIMULATED, TARGET_NAMES, WALL_CLOCK_TARGETS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from p4mesh.topology import Topology

_FILE_SUFFIXES = (".yaml", ".yml")
ARGUMENT = "argument"
"""Key of the metadata of a field: its flag, and what argparse has to know of it."""


def _set_by(flag: str, help: str, **how: Any) -> Any:
    """Declare that ``flag`` sets a field; ``how`` is what argparse has to know beside the help text and the default."""
    return {ARGUMENT: (flag, {"help": help, **how})}


@dataclass(frozen=True)
class RunOptions:
    """One run, as a user asks for it: of a test, a suite, a run file, a traffic file, or a measurement of wires.

    What is given here comes before what a run file says. Not every command has every option. Making one checks what
    needs neither the test nor the topology: UsageError names the option, and what is valid.
    """

    test: str | Path
    """Name of a test or a suite, such as ``rfc2544.throughput``; the path of a run file or of a traffic file."""
    topology: str | Path | Topology | None = field(
        default=None, metadata=_set_by("--topology", "test set-up: a file, or such as wrs-18x1g", metavar="FILE")
    )
    """A topology, or the file that it is in; None: that of the run file."""
    sizes: str | None = field(
        default=None,
        metadata=_set_by(
            "--sizes", "frame sizes in bytes with FCS, or mixes such as imix; default: those of the RFC", metavar="B,B"
        ),
    )
    """Frame sizes in bytes with FCS and mixes, separated by commas; None: those of the RFC."""
    settings: tuple[str, ...] = field(
        default=(), metadata=_set_by("--set", "set a test parameter", metavar="KEY=VALUE", action="append")
    )
    """Test parameters as ``name=value``; of a traffic file its values, as ``class.key=value``."""
    out: str | Path | None = field(
        default=None, metadata=_set_by("--out", "run directory; an interrupted run in it is resumed", metavar="DIR")
    )
    """Run directory; an interrupted run in it is resumed. None: a new one below ``runs``. Of wires: their file."""
    jobs: int | None = field(
        default=None,
        metadata=_set_by("--jobs", "worker processes; default: one per processor", metavar="N", type=integer),
    )
    """Worker processes on this machine; None: one per processor on sim, one elsewhere."""
    workers: str | None = field(
        default=None,
        metadata=_set_by(
            "--workers", "measure on a Dask cluster instead; its scheduler, such as tcp://host:8786", metavar="ADDRESS"
        ),
    )
    """Address of the scheduler of a Dask cluster, such as ``tcp://host:8786``, whose workers measure instead."""
    target: str = field(
        default="",
        metadata=_set_by("--target", f"what runs the P4 program; default: {SIMULATED}", choices=TARGET_NAMES),
    )
    """Target, which runs the P4 program; empty: that of the run file, else sim."""
    calibration: str | Path | None = field(
        default=None,
        metadata=_set_by("--calibration", "wires measured by p4mesh calibrate, shown beside latencies", metavar="FILE"),
    )
    """File of measured wires, to be shown beside latencies."""
    notes: tuple[str, ...] = field(
        default=(),
        metadata=_set_by(
            "--note",
            "note for the report, such as operator=Ada; a topology can have notes, too",
            metavar="KEY=TEXT",
            action="append",
        ),
    )
    """Notes for the report, as ``key=text``; they come before those of the topology."""
    opener: str = ""
    """Function that opens the measurer in place of the target, as ``module:function``."""
    require_all: bool = field(
        default=False,
        metadata=_set_by(
            "--require-all", "exit with 1 when tests of a suite cannot run on this topology", action="store_true"
        ),
    )
    """For suites: whether tests that cannot run here keep it from passing."""
    ports: str | None = field(
        default=None,
        metadata=_set_by("--ports", "tester ports that take part, such as 1-4,7; default: all", metavar="PORTS"),
    )
    """Tester ports that take part, in this order, such as ``1-4,7`` or the name of a role; None: all ports."""
    capture_frames: int | None = field(
        default=None,
        metadata=_set_by(
            "--capture",
            "write the first N damaged, stale, misdirected, flooded and foreign frames of each trial as pcap-ng, and "
            "name lost frames",
            metavar="N",
            type=integer,
        ),
    )
    """Faulty frames of each reason that are captured of each trial; None: none."""
    access: str | None = field(
        default=None,
        metadata=_set_by(
            "--access", "how --target live reaches interfaces; default: that of the topology", choices=ACCESSES
        ),
    )
    """How ``live`` reaches interfaces: ``best``, ``af_xdp`` or ``af_packet``; None: as the topology says."""
    interfaces: str | None = field(
        default=None,
        metadata=_set_by(
            "--interfaces",
            "interfaces of this machine for the tester's ports in their order, with --target live or bmv2",
            metavar="NAME,NAME",
        ),
    )
    """Interfaces of this machine for the tester's ports in their order, such as ``enp3s0f0,enp3s0f1``, for ``live`` and
    ``bmv2``; None: those that the topology names, else such as P4Mesh makes."""
    device: str | None = field(
        default=None,
        metadata=_set_by(
            "--device",
            "what is at the --interfaces where no topology says it; default: switch",
            choices=("switch", "router"),
        ),
    )
    """Device at the ``interfaces`` where no topology describes one: ``switch`` or ``router``."""
    allow_hooks: bool = field(
        default=False,
        metadata=_set_by(
            "--allow-hooks", "run commands of this machine that a topology or a run file names", action="store_true"
        ),
    )
    """Whether commands of this machine run that a topology or a run file names; those in ``settings`` always do."""
    load_pct: str = field(
        default="1", metadata=_set_by("--load-pct", "rate of the frames in %% of line rate; default 1", metavar="P")
    )
    """For measurements of wires: rate of the frames in percent of line rate."""

    def __post_init__(self) -> None:
        from p4mesh.run import checks  # a command line without a run does not need it

        checks.parse_frame_sizes(self.sizes, ())
        checks.notes_of(self.notes)
        checks.check_numbers(self.jobs, self.capture_frames)
        if self.workers is not None:
            checks.check_cluster(self.workers, self.jobs)
        if self.target or not self.names_file:  # else the file names the target
            checks.check_target(self.target_name, self.access, self.interfaces, self.jobs, self.workers or "")

    @property
    def target_name(self) -> str:
        """The target where no run file names another."""
        return self.target or SIMULATED

    @property
    def processes(self) -> int:
        """Processes of this machine that measure: one where trials on the wall clock would disturb each other."""
        return 1 if self.target_name in WALL_CLOCK_TARGETS else self.jobs or os.cpu_count() or 1

    @property
    def names_file(self) -> bool:
        """Whether ``test`` is a file, which may name the target, where the name of a test could stand as well."""
        return isinstance(self.test, Path) or self.test.endswith(_FILE_SUFFIXES) or "/" in self.test
