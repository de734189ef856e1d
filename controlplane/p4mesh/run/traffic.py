"""Runs a traffic file: all of its runs are checked, against ports and tester too, before the first one starts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from p4mesh.errors import ParameterError
from p4mesh.methods.composition import Composed
from p4mesh.methods.options.parameters import resolve
from p4mesh.methods.registry import EVERY_TEST
from p4mesh.methods.results.latency import LATENCY_DEFINITION
from p4mesh.methods.traffic.method import Traffic, laid_over
from p4mesh.quantities import least_text, number_text
from p4mesh.run.chosen_interfaces import chosen_topology
from p4mesh.run.delivery import DeliveryLimits
from p4mesh.run.events import Observer, unobserved
from p4mesh.run.options import RunOptions
from p4mesh.run.preparation import Prepared, bed_of, check_settings, echo_of, job_of
from p4mesh.run.sampling_cost import MOST_BYTES, MOST_OF_THE_TIME, sampling_cost
from p4mesh.run.session import opened
from p4mesh.run.single import FinishedRun, directory_path, execute
from p4mesh.run.time_needed import is_long, real_time_text, simulated_text
from p4mesh.target.table import TARGETS
from p4mesh.tester.planning import Planner
from p4mesh.tester.programs import contract_of
from p4mesh.tester.stream_checks import check_stream
from p4mesh.topology import Topology
from p4mesh.traffic_file.reader import TrafficText, load_traffic


def run_traffic(
    options: RunOptions, observer: Observer = unobserved, wants_end: Callable[[], bool] = lambda: False
) -> FinishedRun:
    """Run a traffic file, or finish the run that ``options.out`` holds; a finished one is returned as it is.

    On targets in real time ``wants_end`` is asked while traffic runs: a run that is to end ends with its counts so far,
    as ABORT. On sim a run that is broken off can be resumed instead.

    Raises a P4MeshError: UsageError for files and options that cannot be used, EnvironmentFault where the machine, the
    target or the cluster fails.
    """
    text = load_traffic(options.test, options.settings)
    options = replace(options, target=options.target_name)
    topology = chosen_topology(options)
    prepared = _prepare(text, topology, options, wants_end)
    return execute(prepared, directory_path(options.out, text.traffic.name), observer, DeliveryLimits())


def _prepare(text: TrafficText, topology: Topology, options: RunOptions, wants_end: Callable[[], bool]) -> Prepared:
    check_settings(topology)
    bed = bed_of(topology, options.target_name)
    traffic = laid_over(text, bed)
    method = Composed(traffic, EVERY_TEST)
    parameters = resolve(method.name, method.parameters, (f"iterations={text.traffic.repeat}",))
    method.check(bed, parameters)
    if not options.opener:
        TARGETS[options.target_name].check(topology)
    sampling = _require_room(text, traffic, topology, options.target_name)
    units = method.units(parameters, method.frame_sizes_bytes)
    job = job_of(method, topology, bed, parameters, options)
    real_time = TARGETS[options.target_name].declare(topology).real_time
    specs = [run.spec for run in traffic.runs] * text.traffic.repeat

    def time_needed() -> str:
        if real_time:
            return real_time_text(specs)
        if not is_long(specs):
            return ""
        with opened(job, 1) as measurer:
            return simulated_text(specs, options.processes, measurer)

    return Prepared(
        method,
        job,
        method.frame_sizes_bytes,
        min(options.processes, len(units)),
        options.workers or "",
        options.target_name,
        {
            "traffic": {
                "name": text.traffic.name,
                "text": text.text,
                "settings": list(text.settings),
                LATENCY_DEFINITION.name: text.traffic.latency_definition,
            }
        }
        | echo_of(topology, options),
        sampling,
        time_needed,
        wants_end if real_time else None,
    )


def _require_room(text: TrafficText, traffic: Traffic, topology: Topology, target: str) -> str:
    """Raise where lines, program, loop or disk have no room; return the cost of samples, None without samples.

    The cost is that of the run whose samples cost most.
    """
    kind = TARGETS[target]
    skews = {port.number: port.start_skew_ns for port in topology.tester_ports}
    planner = Planner(contract_of(kind, topology), kind.declare(topology), topology, skews)
    bytes_of_all, dearest = 0, ""
    highest = -1.0
    for given, run in zip(text.runs, traffic.runs, strict=True):
        for stream in run.spec.streams:
            try:
                check_stream(stream)
            except ParameterError as error:
                raise given.error(("classes", stream.traffic_class), error.message, error.hint) from None
        try:
            plan = planner.plan(run.spec.streams, run.spec.histograms, interarrival=run.spec.interarrival)
        except ParameterError as error:
            raise given.error(("classes",), error.message, error.hint) from None
        cost = sampling_cost(run.spec, plan, planner)
        if cost is None:
            continue
        if cost.reading_ns > cost.every_ns * MOST_OF_THE_TIME:
            raise given.error(
                ("samples",),
                f"{cost.cells} cells take {number_text(cost.reading_ns / 1e9, 3)} s to read, every "
                f"{number_text(cost.every_ns / 1e9)} s",
                f"every_s of {least_text(cost.reading_ns / MOST_OF_THE_TIME / 1e9, 3)} or more",
            )
        bytes_of_all += cost.bytes_on_disk * text.traffic.repeat
        if cost.share > highest:
            highest, dearest = cost.share, str(cost)
    if bytes_of_all > MOST_BYTES:
        raise text.runs[0].error(
            ("samples",),
            f"samples would take {number_text(bytes_of_all / 1e9, 3)} GB on disk",
            f"at most {number_text(MOST_BYTES / 1e9, 3)} GB: a longer every_s, or no flows",
        )
    return f"{dearest}; {max(1, bytes_of_all // 1000)} kB on disk in all" if dearest else ""
