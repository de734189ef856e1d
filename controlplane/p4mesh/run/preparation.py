"""Makes a test that can run from the input of the user: every input is checked before anything is written."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from p4mesh.errors import ParameterError, TopologyError, UnsupportedError, UsageError
from p4mesh.layers import Frame, IPv6
from p4mesh.methods.base import Method
from p4mesh.methods.bed import Bed, TimeStamps
from p4mesh.methods.extensions.load_axis import on_line, require_room
from p4mesh.methods.extensions.resets import SWAP_ROLES
from p4mesh.methods.names import NAMES
from p4mesh.methods.options.parameters import ParameterSet, resolve, shortened
from p4mesh.methods.options.shared import EXTENSION_HEADERS, HEADERS, SCALED_FRAMES, frame_of
from p4mesh.methods.registry import find_test
from p4mesh.run.checks import notes_of, parse_frame_sizes
from p4mesh.run.job import Job
from p4mesh.run.mixes import check_mixes
from p4mesh.run.options import RunOptions
from p4mesh.run.router_addresses import check_router_addresses
from p4mesh.run.tester_ports import chosen_ports, ports_of
from p4mesh.store.calibration_file import read_calibration
from p4mesh.target.names import SIMULATED
from p4mesh.target.table import TARGETS
from p4mesh.tester.frames import minimum_frame_bytes
from p4mesh.tester.programs import contract_of
from p4mesh.tester.sendable import require_sendable
from p4mesh.topology import TESTER, Topology
from p4mesh.topology.device_events import failures_of
from p4mesh.topology.device_keys import P4_DEVICE, ROUTER
from p4mesh.topology.memory import memory_of, memory_without_verification
from p4mesh.traffic.imix import FrameSize, sizes_in
from p4mesh.traffic.line_rate import LARGEST_FRAME_BYTES

_SOFTWARE_SEARCH = {"search_method": "mlr", "mlr_goals": "software"}
"""RFC 9971 section 4.6 and appendix A: a load may lose frames in part of its trials."""
ROUTED = "routed"
_CHOOSES_SEARCH = {"search_method", "mlr_goals", "acceptable_loss_pct", "search_step_pct", "search_backoff_pct"}


@dataclass(frozen=True)
class Prepared:
    """A test whose input is known to be good."""

    method: Method
    job: Job
    sizes: tuple[FrameSize, ...]
    jobs: int
    """Processes of this machine that measure, without a cluster."""
    cluster: str
    """Address of the scheduler of the cluster that measures; empty: this machine does."""
    target: str
    echo: Mapping[str, Any] = field(default_factory=dict)
    """Configuration of the run beside the parameters."""
    sampling: str = ""
    """Number and cost of samples, where the run takes them."""
    time_needed: Callable[[], str] | None = None
    """Says how long the run takes, for which it may measure a little; None where that is not known."""
    wants_end: Callable[[], bool] | None = None
    """Whether an interrupt ends the run with its results so far; None where it leaves the run to be resumed."""


def prepare(method: Method, topology: Topology, options: RunOptions) -> Prepared:
    """Check everything that can be checked before a run; raises UsageError or EnvironmentFault."""
    bed = bed_of(topology, options.target_name)
    bed = replace(bed, ports=chosen_ports(bed.ports, options.ports))
    parameters, chosen = _resolve(method, topology, options, bed)
    parameters = method.derived(parameters)
    sizes = parse_frame_sizes(options.sizes, method.frame_sizes_bytes)
    _check_format(method, [each for size in sizes for each in sizes_in(size)], parameters)
    if parameters.values.get(ROUTED) is True:
        check_router_addresses(topology, bed.port_numbers)
    method.check(bed, parameters)
    require_room(bed, parameters, sizes)
    parameters = on_line(method, bed, parameters)
    if not options.opener:
        TARGETS[options.target_name].check(topology)
    check_mixes(method, bed, parameters, sizes, calibrated=options.calibration is not None)
    if options.calibration is not None:
        bed = _calibrated(method, bed, parameters, [size for size in sizes if isinstance(size, int)], options)
    job = replace(job_of(method, topology, bed, parameters, options), chosen=chosen)
    cluster, echo = options.workers or "", echo_of(topology, options)
    return Prepared(method, job, sizes, options.processes, cluster, options.target_name, echo)


def echo_of(topology: Topology, options: RunOptions) -> dict[str, Any]:
    """Entries of the options in the configuration of a run: notes of the user before those of the topology, capture.

    Devices that run P4 programs are named by them where no note names the model.
    """
    programs = {Path(device.model["program"]).stem: None for device in topology.devices if "program" in device.model}
    ran = {"model": f"P4 program{'s' * (len(programs) > 1)} {', '.join(programs)}"} if programs else {}
    own = notes_of(options.notes)
    notes = own | {key: text for key, text in (ran | topology.notes).items() if key not in own}
    entries = {"notes": notes, "capture_frames": options.capture_frames}
    return {key: value for key, value in entries.items() if value}


def job_of(method: Method, topology: Topology, bed: Bed, parameters: ParameterSet, options: RunOptions) -> Job:
    """The job for every process that measures for a run."""
    capabilities = TARGETS[options.target_name].declare(topology)
    if options.capture_frames and not capabilities.captures_faults:
        raise UnsupportedError(
            f"--capture {options.capture_frames}: not supported on {options.target_name} by P4Runtime",
            hint="leave --capture out, or use BF Runtime (tester.tofino.api); counts of every reason are in "
            "trial_ports.csv",
        )
    simulated = not capabilities.real_time
    memory = (memory_of(topology), memory_without_verification(topology)) if simulated else ("", "")
    setting = capabilities.setting
    return Job(
        method, topology, bed, parameters, options.opener, setting, simulated, *memory, options.capture_frames or 0
    )


def check_settings(topology: Topology) -> None:
    """Raise TopologyError for a parameter in section ``tests`` of a topology that its test does not take."""
    tests = [f"{suite}.{test}" for suite, names in NAMES.items() for test in names]
    for name, settings in topology.settings.items():
        if name not in tests:
            close = difflib.get_close_matches(name, tests, n=1)
            raise TopologyError(
                f"{topology.source}: tests: there is no test '{name}'",
                hint=f"did you mean {close[0]}?" if close else f"valid tests: {', '.join(tests)}",
            )
        try:
            resolve(name, find_test(name).parameters, settings)
        except ParameterError as error:
            message = error.message.removeprefix("--set ")
            raise TopologyError(f"{topology.source}: tests.{name}: {message}", hint=error.hint) from None


ALLOW_HOOKS = "read the command; --allow-hooks runs those of files, --set NAME=COMMAND names one yourself"


def refusal_of(name: str, command: str) -> str:
    """Say that a file may not run a command by itself."""
    return f"{name}: a file does not run a command of this machine by itself: {shortened(command)}"


def commands_in(topology: Topology) -> list[tuple[str, str, str]]:
    """List the commands of this machine that a topology names: test, parameter and command."""
    return [
        (name, *setting)
        for name, settings in topology.settings.items()
        for setting in _commands(find_test(name), settings)
    ]


def _commands(method: Method, settings: Sequence[str]) -> list[tuple[str, str]]:
    names = {parameter.name for parameter in method.parameters if parameter.is_command}
    parts = (setting.partition("=") for setting in settings)
    return [(key.strip(), command) for key, _, command in parts if key.strip() in names and command.strip()]


def _resolve(method: Method, topology: Topology, options: RunOptions, bed: Bed) -> tuple[ParameterSet, tuple[str, ...]]:
    """The parameters: the user's settings, else those of the topology for this test, else the defaults.

    Beside them: what was chosen because the topology leaves no choice, in sentences. Trials take as long as the RFC
    says where time is real, unless something says how long scaled ones are.
    """
    check_settings(topology)
    settings, target = options.settings, options.target_name
    asked = {setting.partition("=")[0] for setting in settings}
    own = topology.settings.get(method.name, ())
    kept = [setting for setting in own if setting.partition("=")[0] not in asked]
    commands = [] if options.allow_hooks else _commands(method, kept)
    if commands:
        # No TopologyError: a suite would leave the test out and pass.
        raise UsageError(f"{topology.source}: tests.{method.name}: {refusal_of(*commands[0])}", hint=ALLOW_HOOKS)
    given = (*settings, *kept)
    scaled = any(setting.partition("=")[0] == SCALED_FRAMES for setting in given)
    capabilities = TARGETS[target].declare(topology)
    if capabilities.software_devices:
        given += _software_search(method, given)
    chosen: tuple[str, ...] = ()
    if router := _only_router(method, topology, given):
        given += ("routed=true",)
        chosen = (
            f"routed=true was chosen: device '{router}' is a router, which forwards nothing that is for a switch",
        )
    real_time = capabilities.real_time and not scaled
    return resolve(method.name, method.parameters, given, real_time=real_time, ports=bed.port_numbers), chosen


def _only_router(method: Method, topology: Topology, given: Sequence[str]) -> str:
    """The device of tests that must be routed; empty where one is no router, or the user has chosen."""
    asked = dict(setting.partition("=")[::2] for setting in given)
    takes_it = any(parameter.name == ROUTED for parameter in method.parameters)
    if not takes_it or ROUTED in asked or asked.get("frame_format") == "ethernet":
        return ""
    kinds = {device.name: device.device for device in topology.devices}
    ends = [link.ends for link in topology.links if TESTER in (link.ends[0].node, link.ends[1].node)]
    attached = sorted({end.node for pair in ends for end in pair if end.node != TESTER})
    return attached[0] if attached and all(kinds.get(name) == ROUTER for name in attached) else ""


def _software_search(method: Method, given: Sequence[str]) -> tuple[str, ...]:
    """The search for devices that are software, unless the user has chosen one, or accepts losses.

    A bisection takes a single lost frame for a lack of capacity.
    """
    chosen = {setting.partition("=")[0] for setting in given}
    known = {parameter.name for parameter in method.parameters}
    if chosen & _CHOOSES_SEARCH or not known.issuperset(_SOFTWARE_SEARCH):
        return ()
    return tuple(f"{name}={value}" for name, value in _SOFTWARE_SEARCH.items())


def _calibrated(method: Method, bed: Bed, parameters: ParameterSet, sizes: Sequence[int], options: RunOptions) -> Bed:
    """The bed with the wires of the calibration; raises when the test prints no latency or a wire is missing."""
    assert options.calibration is not None
    pairs = method.latency_pairs(bed, parameters)
    if not pairs:
        raise ParameterError(
            f"--calibration {options.calibration}: {method.name} prints no latency", hint="leave --calibration out"
        )
    if parameters.values.get("reset_between") == SWAP_ROLES:
        raise ParameterError(
            f"--calibration {options.calibration}: reset_between={SWAP_ROLES} exchanges the ports behind each latency",
            hint="use another reset_between, or leave --calibration out",
        )
    calibration = read_calibration(Path(options.calibration), "--calibration")
    rates = {port.number: port.rate_bps for port in bed.ports}
    calibration.require(f"--calibration {options.calibration}", options.target_name, pairs, rates, sizes)
    return replace(bed, calibration=calibration)


def _check_format(method: Method, sizes: Sequence[int], parameters: ParameterSet) -> None:
    """Raise ParameterError for a frame size that cannot carry the headers and the signature."""
    stack = str(parameters.values.get(HEADERS, ""))
    if "frame_format" not in parameters.values and not stack:
        return
    frame = _stack_of(method, parameters) if stack else frame_of(parameters)
    minimum = minimum_frame_bytes(frame)
    short = [size for size in sizes if size < minimum]
    if short:
        possible = dict.fromkeys([minimum, *(size for size in sizes if size > minimum)])
        tag = " with a VLAN tag" if parameters.values.get("vlan_id") else ""
        if frame.extensions and not stack:
            tag += f" with {' + '.join(header.kind for header in frame.extensions)} header"
        hint = f"frame sizes in {minimum}..{LARGEST_FRAME_BYTES} B: --sizes {','.join(map(str, possible))}"
        if isinstance(frame.network, IPv6) and "extension_headers" in parameters.values:
            # RFC 5180 5.3: results with and without extension headers compare at equal frame sizes.
            without = minimum - sum(header.header_bytes for header in frame.extensions)
            most = max(sum(header.header_bytes for header in headers) for headers in EXTENSION_HEADERS.values())
            hint += f"; {without + most} B is the least for all extension headers, to compare them"
        kind = ", ".join(layer.kind for layer in frame.layers) if stack else parameters.text("frame_format")
        raise ParameterError(
            f"frame size {short[0]} B: {kind} frames{tag} with a signature need {minimum} B",
            hint=hint,
        )


def _stack_of(method: Method, parameters: ParameterSet) -> Frame:
    """The layers of ``headers``; raises ParameterError where the tester does not send them, or others ask for some."""
    declared = {parameter.name: parameter for parameter in method.parameters}
    for name in ("frame_format", "vlan_id", "extension_headers", "ip_mix"):
        if name in declared and parameters.values[name] != declared[name].default:
            raise ParameterError(
                f"--set {HEADERS}: {name}={parameters.values[name]} asks for headers, too",
                hint=f"put them into {HEADERS}, and leave {name} out",
            )
    try:
        frame = frame_of(parameters)
        require_sendable(HEADERS, frame)
    except ParameterError as error:
        message = error.message.removeprefix(f"stream '{HEADERS}': ")
        raise ParameterError(f"--set {HEADERS}: {message}", hint=error.hint) from None
    return frame


def _session_times_s(topology: Topology) -> tuple[float | None, float | None]:
    """The times within which silence in BGP sessions is noticed, and within which lost routes are back."""
    if topology.bgp is None:
        return None, None
    from p4mesh.tester.responders.bgp_peers import notice_time_s, return_time_s  # the engine takes long to load

    noticed_s, back_s = notice_time_s(topology.bgp), return_time_s(topology.bgp, 2 * len(topology.tester_ports))
    return None if noticed_s is None else float(noticed_s), None if back_s is None else float(back_s)


def bed_of(topology: Topology, target: str = SIMULATED) -> Bed:
    """The parts of a topology and of the target that methods may know."""
    capabilities = TARGETS[target].declare(topology)
    stamps = capabilities.stamps
    noticed_s, back_s = _session_times_s(topology)
    rates = {(device.name, port.number): port.rate_bps for device in topology.devices for port in device.ports}
    uplinks = [link.ends[0] for link in topology.links if TESTER not in (link.ends[0].node, link.ends[1].node)]
    uplink_rate_bps = sum(rates[end.node, end.port] for end in uplinks)
    resets = ((device.name, device.model["reset"]["time_s"]) for device in topology.devices if "reset" in device.model)
    return Bed(
        topology.name,
        ports_of(topology),
        uplink_rate_bps,
        target,
        sends_bad_fcs=capabilities.bad_fcs,
        unmeasured=capabilities.unmeasured,
        compares_payload=capabilities.checks_payload or capabilities.sums_payload,
        sums_payload=capabilities.sums_payload,
        unsupported_headers=capabilities.unsupported_headers,
        stamps=TimeStamps(Fraction(stamps.tick_ps, 1000), stamps.kind),
        histograms=contract_of(TARGETS[target], topology)["HISTOGRAMS"],
        stamps_controller_frames=capabilities.stamps_controller_frames,
        tunnels=capabilities.tunnels,
        stream_per_size=not capabilities.cuts_frames,
        ends_tunnels=not topology.devices or any(device.device == P4_DEVICE for device in topology.devices),
        resets_devices=capabilities.resets_devices,
        reset_times_s=tuple(resets) if capabilities.resets_devices else (),
        failures=failures_of(topology) if capabilities.causes_failures else 0,
        wires=tuple(
            (near.port, far.port)
            for near, far in (link.ends for link in topology.links)
            if near.node == far.node == TESTER
        ),
        announces_routes=topology.bgp is not None,
        silence_noticed_s=noticed_s,
        routes_back_s=back_s,
    )
