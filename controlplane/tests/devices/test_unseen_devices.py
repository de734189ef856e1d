"""Random set-ups: no frame gets lost without a cause.

A seed makes a chain of devices with ports of any rate, gap, clock and queue, and with any models; the trial sends every
size at any load. The tester's counts must add up with those of the devices.
"""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

import pytest
import yaml
from support.networks import parsed
from support.runs import truth

from p4mesh.layers import PLAIN
from p4mesh.traffic.line_rate import max_rate_fps
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import Stream
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import Learning, TrialSpec
from p4mesh.verdict import Verdict

RATES = [10**7, 10**8, 10**9, 25 * 10**8, 10**10, 25 * 10**9, 4 * 10**10, 5 * 10**10, 10**11, 2 * 10**11, 4 * 10**11]
MOST_NS = 20_000_000
TRUNK = "trunk"


def models(random: Random, ports: int) -> dict[str, Any]:
    """Keys of an Ethernet switch, each present or not."""
    ppb = random.randrange(20_000_000)
    sizes = sorted(random.sample(range(64, 2000), 3))
    keys: dict[str, Any] = {
        "latency_ns": random.choice([0, 0.4, 350, 12_345.678]),
        "latency_by_size": [{"frame_bytes": size, "time_ns": random.randrange(5000)} for size in sizes],
        "jitter": random.choice(
            [
                {"uniform": {"max_ns": 77.7}},
                {"normal": {"mean_ns": 40, "sigma_ns": 30}},
                {"exponential": {"mean_ns": 20, "max_ns": 500}},
                {"spike": {"delay_ns": 3000, "chance_ppb": 5_000_000}},
            ]
        ),
        "lookup": {"capacity_fps": random.choice([10_000, 10**6, 10**9]), "overload_pass_ppm": 500_000},
        "shared_buffer": {"bytes": random.choice([2000, 64_000, 10**7]), "cell_bytes": random.choice([1, 80, 208])},
        "input_queue": {"frames": random.choice([1, 7, 500])},
        "pause": {"xoff_frames": 9, "xon_frames": 3},
        "loss_ppb": ppb,
        "impairments": {"duplicate_ppb": ppb, "reorder_ppb": ppb, "reorder_delay_ns": 5000, "corrupt_ppb": ppb},
        "simultaneous_arrivals": {"window_ns": random.randrange(100), "drop_ppb": ppb},
        "flood_limit": {"rate_fps": 1000},
        "min_frame_bytes": random.choice([64, 128]),
        "max_frame_bytes": random.choice([1518, 9216]),
        "mac_table": {"entries": 64, "ways": random.choice([1, 4, 64]), "hash": random.choice(["crc16", "mixed"])},
        "broadcast": {"service_base_ns": 100, "service_per_byte_ns": 0.5},
        "learning_path": {"delay_ns": 5000},
        "snooping": {"router_ports": [ports]},
    }
    kept = {key: value for key, value in keys.items() if random.random() < 0.4}
    if random.random() < 0.5:
        kept |= {"forwarding": "cut_through", "look_ahead_bytes": random.choice([14, 64, 122, 1000])}
    return kept


def chain(random: Random) -> tuple[dict[str, Any], list[int]]:
    """One to three devices in a row, tester ports at both ends, and the rates of the tester's ports."""
    devices = random.randrange(1, 4)
    links: list[dict[str, Any]] = []
    rates = [random.choice(RATES) for _ in range(random.randrange(2, 5))]
    trunk_rates = [random.choice(RATES) for _ in range(devices - 1)]
    at = [random.randrange(devices) for _ in rates]
    nodes = []
    for number in range(devices):
        tester_ports = [port for port, place in enumerate(at, 1) if place == number]
        lines = [rates[port - 1] for port in tester_ports]
        links += [{"from": f"tester:{port}", "to": f"d{number}:{local}"} for local, port in enumerate(tester_ports, 1)]
        for trunk in (number - 1, number):
            if 0 <= trunk < devices - 1:
                lines.append(trunk_rates[trunk])
                if trunk == number:
                    links.append({"from": f"d{number}:{len(lines)}", "to": f"d{number + 1}:{TRUNK}"})
        nodes.append((tester_ports, lines))
    data: dict[str, Any] = {"name": "unseen", "seed": random.randrange(1000), "links": links, "nodes": []}
    for number, (tester_ports, lines) in enumerate(nodes):
        ports = [
            {
                "numbers": local,
                "rate_bps": rate,
                "ifg_bits": random.choice([40, 88, 96, 97, 128, 200]),
                "clock_offset_ppm": random.choice([0, -100, 4.6, 99.9]),
                "queue_frames": random.choice([0, 1, 13, 64, 4096]),
                "min_slot_bits": random.choice([0, 0, 900]),
                "honours_pause": random.random() < 0.3,
            }
            for local, rate in enumerate(lines, 1)
        ]
        data["nodes"].append(
            {"name": f"d{number}", "device": "ethernet_switch", "ports": ports, **models(random, len(lines))}
        )
        for link in links:
            # The port towards the device before comes after those of the tester.
            link["to"] = link["to"].replace(f"d{number}:{TRUNK}", f"d{number}:{len(tester_ports) + 1}")
    for link in links:
        link |= {"latency_ns": random.choice([0, 5, 1234.5])}
        if random.random() < 0.2:
            link |= {"bit_errors_per_1e15": 100_000_000}
    data["tester"] = {
        "clock_tick_ps": 10,
        "ports": [
            {"numbers": port, "rate_bps": rate, "clock_offset_ppm": random.choice([0, 0, 20])}
            for port, rate in enumerate(rates, 1)
        ],
    }
    return data, rates


@pytest.mark.parametrize("seed", range(24))
def test_no_frame_is_lost_without_a_cause(seed: int) -> None:
    random = Random(seed)
    data, rates = chain(random)
    topology = parsed(yaml.safe_dump(data, sort_keys=False))
    streams = []
    for port, rate in enumerate(rates, 1):
        size = random.choice([64, 65, 127, 300, 777, 1517, 1518, 4000, 9000])
        # The loop of 400 Gbit/s holds the seeds of all streams.
        load = Fraction(random.randrange(5, 100), 100) * min(1, Fraction(4 * 10**10, rate))
        to = random.choice([other for other in range(1, len(rates) + 1) if other != port])
        fps = max_rate_fps(size, rate) * load
        # Streams of all rates end at about the same time.
        count = max(2, min(300, int(fps * MOST_NS / 10**9)))
        headers = PLAIN
        streams.append(Stream(f"s{port}", size, fps, count, Pairs(), (port,), (to,), headers))
    duration_ns = max(int(stream.frame_count * 10**9 / stream.rate_fps) for stream in streams)
    learning = Learning(wait_ns=10_000_000, verify=False, rate_fps=100)
    with open_measurer(topology) as measurer:
        before = truth(measurer)
        result = measurer.measure(TrialSpec("unseen", tuple(streams), duration_ns, learning, per_flow=True))
        after = truth(measurer)
    assert (result.status, result.reason) == (Verdict.MEASURED, "")
    assert after["in_flight_frames"] == 0
    assert sum(before["nodes"]["tester"]["drops"].values()) == 0
    for name, node in after["nodes"].items():
        assert all(port["queued_frames"] == 0 for port in node["ports"].values()), name
    conserved(after, topology.links)
    plausible(result)
    assert result.tx_frames == sum(stream.frame_count for stream in streams)


def conserved(truth: dict[str, Any], links: Any) -> None:
    """Frames sent at one end of a link arrive at the other; frames that a device receives leave it or are dropped."""
    nodes = truth["nodes"]
    for link in links:
        for near, far in (link.ends, link.ends[::-1]):
            sent = nodes[near.node]["ports"][str(near.port)]
            assert sent["tx_frames"] == nodes[far.node]["ports"][str(far.port)]["rx_frames"]
    for name, node in nodes.items():
        if name == "tester":
            continue
        received = sum(port["rx_frames"] for port in node["ports"].values())
        sent = sum(port["tx_frames"] for port in node["ports"].values())
        dropped = sum(sum(port["drops"].values()) for port in node["ports"].values())
        counters = node["counters"]
        assert sent <= received * len(node["ports"]) + counters.get("duplicated", 0) + counters.get("pause_sent", 0)
        assert sent + dropped >= received - pauses(node, nodes), "a frame leaves, or is dropped with a cause"


def pauses(node: dict[str, Any], nodes: dict[str, Any]) -> int:
    """PAUSE frames that may have arrived: they end at the port that they are for."""
    return sum(other["counters"].get("pause_sent", 0) for other in nodes.values() if other is not node)


def plausible(result: TrialResult) -> None:
    """No frame arrives twice as often as it was sent, or before its bits could."""
    for flow in result.flows:
        assert 0 <= flow.rx_frames - flow.duplicate_frames <= flow.tx_frames
        if flow.latency:
            assert 0 <= flow.latency.min_ns <= flow.latency.max_ns
            assert flow.latency.count == flow.rx_frames - flow.duplicate_frames
    assert result.lost_frames == sum(flow.lost_frames for flow in result.flows)
