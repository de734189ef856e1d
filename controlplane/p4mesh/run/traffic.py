"""Runs a traffic file: all of its runs are checked, against ports and tester too, before the first one starts."""

from __future__ import annotations

from p4mesh.errors import ParameterError
from p4mesh.methods.composition import Composed
from p4mesh.methods.options.parameters import resolve
from p4mesh.methods.registry import EVERY_TEST
from p4mesh.methods.traffic.method import Traffic, laid_over
from p4mesh.run.checks import cluster_of, jobs_of
from p4mesh.run.events import Observer, unobserved
from p4mesh.run.options import RunOptions, TrafficOptions
from p4mesh.run.preparation import Prepared, bed_of, check_settings, job_of
from p4mesh.run.single import FinishedRun, directory_path, execute, topology_of
from p4mesh.target.table import TARGETS
from p4mesh.tester.histogram_plan import with_histograms
from p4mesh.tester.plan import limits_of, make_plan
from p4mesh.tester.programs import contract_of
from p4mesh.tester.stream_checks import check_stream, require_line_rates
from p4mesh.topology import Topology
from p4mesh.traffic_file.reader import TrafficText, load_traffic


def run_traffic(options: TrafficOptions, observer: Observer = unobserved) -> FinishedRun:
    """Run a traffic file, or finish the run that ``options.out`` holds; a finished one is returned as it is.

    Raises a P4MeshError: UsageError for files and options that cannot be used, EnvironmentFault for what the machine,
    the target or the cluster cannot do.
    """
    text = load_traffic(options.traffic, options.settings)
    prepared = _prepare(text, topology_of(options.topology), options)
    return execute(prepared, directory_path(options.out, text.traffic.name), observer)


def _prepare(text: TrafficText, topology: Topology, options: TrafficOptions) -> Prepared:
    check_settings(topology)
    bed = bed_of(topology, options.target)
    traffic = laid_over(text, bed)
    method = Composed(traffic, EVERY_TEST)
    parameters = resolve(method.name, method.parameters, (f"iterations={text.traffic.repeat}",))
    method.check(bed, parameters)
    if not options.opener:
        TARGETS[options.target].check(topology)
    _require_room(text, traffic, topology, options.target)
    whole = RunOptions(
        method.name,
        topology,
        out=options.out,
        jobs=options.jobs,
        workers=options.workers,
        target=options.target,
        opener=options.opener,
    )
    units = method.units(parameters, method.frame_sizes_bytes)
    return Prepared(
        method,
        job_of(method, topology, bed, parameters, whole),
        method.frame_sizes_bytes,
        min(jobs_of(whole), len(units)),
        cluster_of(whole),
        options.target,
        {"traffic": {"name": text.traffic.name, "text": text.text, "settings": list(text.settings)}},
    )


def _require_room(text: TrafficText, traffic: Traffic, topology: Topology, target: str) -> None:
    """Raise what the lines of the ports, or the program and the loop of the tester, have no room for."""
    kind = TARGETS[target]
    limits = limits_of(contract_of(kind, topology), kind.declare(topology))
    rates = {port.number: port.own_rate_bps for port in topology.tester_ports}
    for given, run in zip(text.runs, traffic.runs, strict=True):
        for stream in run.spec.streams:
            try:
                check_stream(stream)
            except ParameterError as error:
                raise given.error(("classes", stream.traffic_class), error.message, error.hint) from None
        try:
            require_line_rates(run.spec.streams, topology.tester_ports)
        except ParameterError as error:
            raise given.error(("classes",), error.message, error.hint) from None
        with_histograms(make_plan(run.spec.streams, limits, rates), run.spec.histograms, (), limits)
