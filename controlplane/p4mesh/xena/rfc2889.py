"""The tests of Xena2889 and Valkyrie2889 as entries of a run file."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from p4mesh.numerals import is_digits
from p4mesh.xena.document import Node
from p4mesh.xena.entries import (
    Entry,
    Parameters,
    Ports,
    duration,
    goal,
    name_all,
    plain,
    repetitions_and_bookkeeping,
    search,
    toggled,
)
from p4mesh.xena.ports import GUID

_LENGTH_FOLLOWS = ("Duration", "DurationType", "DurationTimeUnit", "DurationFrames", "DurationFrameUnit")


def rfc2889_entries(tests: Node, ports: Ports) -> list[Entry]:
    """The tests in the order of the file; a type of test that is not known is left out with its keys."""
    found: list[Entry] = []
    for kind, options in tests.items():
        if kind == "RateTest":
            found += _rate_tests(options, ports)
        elif kind in _KINDS:
            test, translate = _KINDS[kind]
            entry = Entry(test, "", options.flag("Enabled", True), [], {})
            translate(options, ports, entry)
            _length(options, entry)
            repetitions_and_bookkeeping(options, entry)
            found.append(entry)
        else:
            options.leave_out("no test of this type is known", changes=True)
    caching = tests.node("AddressCachingCapacity")
    for entry in found:
        if entry.test == "rfc2889.address_learning" and caching.data:
            entry.parameters |= _capacity(caching)
    name_all(found)
    return found


def _rate_tests(options: Node, ports: Ports) -> list[Entry]:
    enabled = options.flag("Enabled", True)
    found = []
    for sub in options.node("RateSubTestHandler").nodes("RateSubTests"):
        entry = Entry("", sub.text("Label"), enabled and sub.flag("Enabled", True), [], {})
        _pattern(sub, ports, entry)
        throughput, forwarding = sub.flag("ThroughputTestEnabled", True), sub.flag("ForwardingTestEnabled", True)
        entry.enabled = entry.enabled and (throughput or forwarding)
        entry.parameters["parts"] = "both" if throughput == forwarding else "throughput" if throughput else "forwarding"
        entry.parameters |= _searched(sub) | _sweep(sub.node("RateSweepOptions"))
        duration(sub, entry)
        repetitions_and_bookkeeping(sub, entry)
        found.append(entry)
    options.leave_out("those of each sub-test hold")
    return found


def _pattern(sub: Node, ports: Ports, entry: Entry) -> None:
    topology, direction = sub.text("Topology", "MESH").upper(), sub.text("Direction", "BIDIR").upper()
    roles = _roles(sub, ports)
    every = sorted(number for numbers in roles.values() for number in numbers)
    if topology == "MESH":
        entry.test, entry.ports = "rfc2889.fully_meshed", every
        entry.parameters["pattern"] = "mesh_streams"
        return
    east, west = roles.get("EAST", []), roles.get("WEST", [])
    if topology == "PAIRS":
        pairs = _pairs(sub, ports, east, west)
        east, west = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        entry.parameters["pattern"] = "pairs"
    senders, receivers = (west, east) if direction == "WEST_EAST" else (east, west)
    both = direction == "BIDIR"
    one = min((senders, receivers), key=len)
    if topology != "PAIRS" and len(one) == 1 and max(len(senders), len(receivers)) > 1:
        entry.test = "rfc2889.partially_meshed"
        entry.ports = [*one, *max((senders, receivers), key=len)]
        entry.parameters |= {
            "direction": "both" if both else "from_one" if one is senders else "to_one",
            "one_port": one[0],
        }
        return
    entry.test, entry.ports = "rfc2889.unidirectional", [*senders, *receivers]
    if len(senders) != len(receivers):
        entry.parameters["senders"] = len(senders)
    if both:
        entry.parameters["bidirectional"] = True


def _pairs(sub: Node, ports: Ports, east: list[int], west: list[int]) -> list[tuple[int, int]]:
    """The pairs that ports name as their peers, sender first; else the ports of the blocks one by one."""
    found: list[tuple[int, int]] = []
    for key, role in sub.node("PortRoleHandler").node("RoleMap").items():
        peer = ports.get(role.text("PeerPortId"))
        port = ports.get(key.removeprefix(GUID))
        if port and peer and not any(port.number in pair or peer.number in pair for pair in found):
            swap = port.number in west or peer.number in east
            found.append((peer.number, port.number) if swap else (port.number, peer.number))
    return found or list(zip(east, west, strict=False))


def _roles(options: Node, ports: Ports) -> dict[str, list[int]]:
    """The ports that are used by their role, in the order of the file; unknown ones are left out."""
    found: dict[str, list[int]] = {}
    for key, role in options.node("PortRoleHandler").node("RoleMap").items():
        port = ports.get(key.removeprefix(GUID))
        word = role.text("Role", "UNDEFINED")
        used = role.flag("IsUsed", True)
        role.text("PeerPortId")
        if port is None:
            role.accounts.forget(role.path)
            role.leave_out("no port of the file has this identifier", changes=used)
        elif used:
            found.setdefault(word.upper() if word.isupper() else word, []).append(port.number)
    return found


def _congestion(options: Node, ports: Ports, entry: Entry) -> None:
    roles = _roles(options, ports)
    entry.ports = [*roles.get("Source", [])[:2], *roles.get("Destination", [])[:2]]
    entry.parameters["block_ports"] = ",".join(map(str, entry.ports))
    if any(len(numbers) > 2 for numbers in roles.values()):
        entry.comments.append("more than two sources or destinations: the first two of each are used")


def _pair(options: Node, ports: Ports, entry: Entry) -> None:
    roles = _roles(options, ports)
    senders, receivers = roles.get("Source", []), roles.get("Destination", [])
    entry.ports = [*senders[:1], *receivers[:1]]
    if len(entry.ports) == 2:
        entry.parameters |= {"tx_port": entry.ports[0], "rx_port": entry.ports[1]}
    if len(senders) > 1 or len(receivers) > 1:
        entry.comments.append("more than one source or destination: the first of each is used")


def _forward_pressure(options: Node, ports: Ports, entry: Entry) -> None:
    _pair(options, ports, entry)
    entry.parameters["detect_above_pct"] = plain(options.number("AcceptableRxMaxUtilDelta", 0.001))
    options.number("InterFrameGapDelta", 1)


def _maximum_forwarding(options: Node, ports: Ports, entry: Entry) -> None:
    _pair(options, ports, entry)
    sweep = options.node("RateSweepOptions")
    entry.parameters["step_pct"] = plain(sweep.number("StepValue", 10))
    sweep.leave_out("the sweep goes from the throughput to the maximum offered load (RFC 2889 5.6.3)")
    entry.parameters |= _searched(options)
    if not options.flag("UseThroughputAsStartValue", True):
        options.not_used("UseThroughputAsStartValue", "the sweep begins at the throughput (RFC 2889 5.6.3)")
    options.leave_out(
        "the test is between two ports", "Topology", "Direction", "ThroughputTestEnabled", "ForwardingTestEnabled"
    )


def _caching(options: Node, ports: Ports, entry: Entry) -> None:
    wanted = options.node("AddressIterationOptions")
    entry.parameters |= {
        "addresses_initial": round(wanted.number("InitialValue", 100)),
        "addresses_min": round(wanted.number("MinimumValue", 100)),
        "addresses_max": round(wanted.number("MaximumValue", 2048)),
        "addresses_resolution": round(wanted.number("ValueResolution", 100)),
        "addresses_try_max_first": False,
    }
    _without_goal(wanted, "the capacity has no threshold")
    sweep = options.node("RateSweepOptions")
    share = sweep.number("StartValue", 100) / 100
    entry.parameters["learning_rate_fps"] = max(1, round(options.number("LearningRateFps", 20) * share))
    if sweep.number("EndValue", 100) > 100 * share:
        sweep.not_used("EndValue", "one learning rate per run, that of the start")
    sweep.leave_out("one learning rate per run, that of the start", "StepValue")
    _addresses(options, ports, entry)


def _capacity(caching: Node) -> Parameters:
    """How the learning test finds the capacity: as the caching test does."""
    wanted = caching.node("AddressIterationOptions")
    return {
        "capacity_initial": round(wanted.number("InitialValue", 100)),
        "capacity_min": round(wanted.number("MinimumValue", 100)),
        "capacity_max": round(wanted.number("MaximumValue", 2048)),
        "capacity_resolution": round(wanted.number("ValueResolution", 100)),
        "capacity_try_max_first": False,
        "capacity_rate_fps": plain(caching.number("LearningRateFps", 20)),
    }


def _learning(options: Node, ports: Ports, entry: Entry) -> None:
    rate, sweep = options.node("RateIterationOptions"), options.node("AddressSweepOptions")
    only, to_capacity = options.flag("OnlyUseCapacity", False), options.flag("SetEndAddressToCapacity", False)
    entry.parameters |= {
        "addresses": "capacity" if only else "sweep_to_capacity" if to_capacity else "sweep",
        "addresses_start": round(sweep.number("StartValue", 100)),
        "addresses_end": round(sweep.number("EndValue", 2048)),
        "addresses_step": round(sweep.number("StepValue", 512)),
        "rate_unit": "pct",
        "rate_base_fps": plain(options.number("LearningRateFps", 100)),
        "rate_initial_pct": plain(rate.number("InitialValue", 20)),
        "rate_min_pct": plain(rate.number("MinimumValue", 20)),
        "rate_max_pct": plain(rate.number("MaximumValue", 100)),
        "rate_resolution_pct": plain(rate.number("ValueResolution", 20)),
        "rate_try_max_first": False,
    }
    _without_goal(rate, "the rate has no threshold")
    _addresses(options, ports, entry)


def _addresses(options: Node, ports: Ports, entry: Entry) -> None:
    """Translate what both address tests have: roles, address formats, and the reset between iterations."""
    roles = _roles(options, ports)
    test, learning = roles.get("TestPort", [])[:1], roles.get("LearningPort", [])[:1]
    entry.ports = [*test, *learning, *roles.get("MonitoringPort", [])]
    if test and learning:
        entry.parameters |= {"test_port": test[0], "learning_port": learning[0]}
    base = mac_base(options.text("LearnMacBaseAddress", "2,244,188"))
    if base:
        entry.parameters["mac_base"] = base
    else:
        raise options.accounts.wrong(
            (*options.path, "LearnMacBaseAddress"), options.data["LearnMacBaseAddress"], "three bytes of an address"
        )
    native = "native" in options.text("TestPortMacMode", "UsePortNativeMac").lower()
    broadcast = "broadcast" in options.text("LearningPortDMacMode", "UseTestPortMac").lower()
    random = "random" in options.text("LearningSequencePortDMacMode", "UseIncrementingMacAddresses").lower()
    entry.parameters |= {
        "test_port_mac": "native" if native else "base",
        "learning_destination": "broadcast" if broadcast else "test_port",
        "address_order": "random" if random else "incrementing",
        "fast_stop": options.flag("FastRunResolutionEnabled", False),
        "repetitions": 1,
    }
    aging_s = options.number("DutAgingTime", 0)
    if options.flag("ToggleSyncState", False):
        entry.parameters |= toggled(options)
    elif options.flag("SwitchTestPortRoles", False):
        entry.parameters["reset_between"] = "swap_roles"
    elif aging_s > 0:
        entry.parameters |= {"reset_between": "wait_aging", "aging_s": plain(aging_s)}
    else:
        entry.parameters["reset_between"] = "none"
    options.leave_out("the links are not switched off in this test", "SyncOffDuration", "SyncOnDuration")


def _errored(options: Node, ports: Ports, entry: Entry) -> None:
    _pair(options, ports, entry)
    longest, shortest = options.number("MaxFrameSize", 1518), options.number("MinFrameSize", 64)
    entry.parameters |= _sweep(options.node("RateSweepOptions")) | {
        "stream_set": "xena",
        "oversize_bytes": round(longest + options.number("OversizeSpan", 1)),
        "undersize_bytes": round(shortest - options.number("UndersizeSpan", 1)),
    }
    if not options.flag("OversizeTestEnabled", True):
        options.not_used("OversizeTestEnabled", "oversize frames are sent and have a verdict of their own")


def _broadcast(options: Node, ports: Ports, entry: Entry) -> None:
    roles = _roles(options, ports)
    source = roles.get("Source", [])[:1]
    entry.ports = [*source, *roles.get("Destination", [])]
    if source:
        entry.parameters["source_port"] = source[0]
    entry.parameters |= _searched(options)


def _searched(options: Node) -> Parameters:
    rates = options.node("RateIterationOptions")
    return search(rates) | goal(rates)


def _without_goal(options: Node, reason: str) -> None:
    if options.flag("UsePassThreshold", False):
        options.not_used("PassThreshold", reason)
    options.leave_out(reason, "PassThreshold")


def _length(options: Node, entry: Entry) -> None:
    """Translate the length of trials, unless it follows from addresses and rate."""
    if entry.test.startswith("rfc2889.address"):
        options.leave_out("the length of these trials follows from addresses and rate", *_LENGTH_FOLLOWS)
    else:
        duration(options, entry)


def _sweep(options: Node) -> Parameters:
    return {
        "sweep_start_pct": plain(options.number("StartValue", 10)),
        "sweep_end_pct": plain(options.number("EndValue", 100)),
        "sweep_step_pct": plain(options.number("StepValue", 10)),
    }


def mac_base(text: str) -> str:
    """The first half of an address from decimal bytes such as ``2,244,188``; empty for anything else."""
    words = [word.strip() for word in text.split(",")]
    if len(words) != 3 or not all(is_digits(word) and int(word) < 256 for word in words):
        return ""
    return ":".join(f"{int(word):02X}" for word in words)


_Translate = Callable[[Node, Ports, Entry], None]
_KINDS: Mapping[str, tuple[str, _Translate]] = {
    "CongestionControl": ("rfc2889.congestion_control", _congestion),
    "ForwardPressure": ("rfc2889.forward_pressure", _forward_pressure),
    "MaxForwardingRate": ("rfc2889.maximum_forwarding_rate", _maximum_forwarding),
    "AddressCachingCapacity": ("rfc2889.address_caching", _caching),
    "AddressLearningRate": ("rfc2889.address_learning", _learning),
    "ErroredFramesFiltering": ("rfc2889.errored_frames", _errored),
    "BroadcastForwarding": ("rfc2889.broadcast", _broadcast),
}
