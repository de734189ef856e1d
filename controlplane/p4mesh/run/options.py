"""Defines the options of a run, before they are checked."""

from __future__ import annotations

from dataclasses import dataclass

from p4mesh.target.names import SIMULATED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

    from p4mesh.topology import Topology


@dataclass(frozen=True)
class RunOptions:
    """One run of a test or of a suite; the fields are the options of ``p4mesh run``."""

    test: str
    """Name of a test, such as ``rfc2544.throughput``; for :func:`p4mesh.run.run_suite` that of a suite."""
    topology: str | Path | Topology
    """A topology, or the file that it is in."""
    sizes: str | None = None
    """Frame sizes in bytes with FCS, separated by commas; None: those of the RFC."""
    settings: tuple[str, ...] = ()
    """Test parameters as ``name=value``."""
    out: str | Path | None = None
    """Run directory; an interrupted run in it is resumed. None: a new directory below ``runs``."""
    jobs: int | None = None
    """Worker processes on this machine; None: one per processor on sim, one elsewhere."""
    workers: str | None = None
    """Address of the scheduler of a Dask cluster, such as ``tcp://host:8786``, whose workers measure instead."""
    target: str = SIMULATED
    calibration: str | Path | None = None
    """File of measured wires, to be shown beside latencies."""
    notes: tuple[str, ...] = ()
    """Notes for the report, as ``key=text``; they come before those of the topology."""
    opener: str = ""
    """Function that opens the measurer in place of the target, as ``module:function``."""
    require_all: bool = False
    """Of a suite: whether tests that cannot run here keep it from passing."""
    ports: str | None = None
    """Tester ports that take part, in this order, such as ``1-4,7`` or the name of a role; None: all ports."""
    capture_frames: int = 0
    """Faulty frames of each reason that are captured of each trial; 0: none."""
    access: str | None = None
    """How ``live`` reaches interfaces: ``best``, ``af_xdp`` or ``af_packet``; None: as the topology says."""
    interfaces: str | None = None
    """Interfaces of this machine for the tester's ports in their order, such as ``enp3s0f0,enp3s0f1``, for ``live`` and
    ``bmv2``; None: those that the topology names, else such as P4Mesh makes."""


@dataclass(frozen=True)
class RunFileOptions:
    """One run of a run file; what is given here comes before what the file says."""

    file: str | Path
    topology: str | Path | Topology | None = None
    sizes: str | None = None
    """Frame sizes of all tests."""
    ports: str | None = None
    """Tester ports that take part in all tests."""
    settings: tuple[str, ...] = ()
    """Test parameters as ``name=value``, for the tests that have them."""
    out: str | Path | None = None
    """Directory of the run; an interrupted run in it is resumed. None: a new directory below ``runs``."""
    jobs: int | None = None
    workers: str | None = None
    target: str | None = None
    calibration: str | Path | None = None
    notes: tuple[str, ...] = ()
    opener: str = ""
    """Function that opens the measurer in place of the target, as ``module:function``."""
    require_all: bool = False
    """Whether tests of a suite that cannot run here keep the run from passing."""
    capture_frames: int = 0
    """Faulty frames of each reason that are captured of each trial; 0: none."""
    access: str | None = None
    """How ``live`` reaches interfaces: ``best``, ``af_xdp`` or ``af_packet``; None: as the topology says."""
    interfaces: str | None = None
    """Interfaces of this machine for the tester's ports in their order, such as ``enp3s0f0,enp3s0f1``, for ``live`` and
    ``bmv2``; None: those that the topology names, else such as P4Mesh makes."""


@dataclass(frozen=True)
class TrafficOptions:
    """One run of a traffic file; the fields are the options of ``p4mesh traffic``."""

    traffic: str | Path
    topology: str | Path | Topology
    """A topology, or the file that it is in."""
    settings: tuple[str, ...] = ()
    """Values instead of those of the file, as ``class.key=value``."""
    out: str | Path | None = None
    """Run directory; an interrupted run in it is resumed. None: a new directory below ``runs``."""
    jobs: int | None = None
    """Worker processes on this machine, at most one per run of a sweep; None: one per processor on sim."""
    workers: str | None = None
    """Address of the scheduler of a Dask cluster."""
    target: str = SIMULATED
    notes: tuple[str, ...] = ()
    """Notes for the report, as ``key=text``."""
    opener: str = ""
    """Function that opens the measurer in place of the target, as ``module:function``."""
    capture_frames: int = 0
    """Faulty frames of each reason that are captured of each trial; 0: none."""
    access: str | None = None
    """How ``live`` reaches interfaces: ``best``, ``af_xdp`` or ``af_packet``; None: as the topology says."""
    interfaces: str | None = None
    """Interfaces of this machine for the tester's ports in their order, such as ``enp3s0f0,enp3s0f1``, for ``live`` and
    ``bmv2``; None: those that the topology names, else such as P4Mesh makes."""


@dataclass(frozen=True)
class CalibrationOptions:
    """One measurement of wires; the fields are the options of ``p4mesh calibrate``."""

    topology: str | Path | Topology
    out: str | Path
    """Calibration file; wires are appended to those that are in it."""
    sizes: str | None = None
    """Frame sizes in bytes with FCS, separated by commas; None: those of RFC 2544."""
    load_pct: str = "1"
    """Rate of the frames in percent of line rate."""
    target: str = SIMULATED
    opener: str = ""
    """Function that opens the measurer in place of the target, as ``module:function``."""
    access: str | None = None
    """How ``live`` reaches interfaces: ``best``, ``af_xdp`` or ``af_packet``; None: as the topology says."""
    interfaces: str | None = None
    """Interfaces of this machine for the tester's ports in their order, such as ``enp3s0f0,enp3s0f1``, for ``live`` and
    ``bmv2``; None: those that the topology names, else such as P4Mesh makes."""
