"""Topologies: the shipped files, ranges and defaults, and the document for the engine."""

from __future__ import annotations

import importlib
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.networks import TOPOLOGIES, changed

from p4mesh.config_files.yaml_source import YamlSource
from p4mesh.errors import TopologyError
from p4mesh.topology import load_topology
from p4mesh.topology.device_keys import keys_of
from p4mesh.topology.engine_config import SpecialPorts, engine_config
from p4mesh.topology.engine_network import build_network
from p4mesh.topology.loader import parse_topology
from p4mesh.topology.model import PortRef
from p4mesh.topology.schema import TOPOLOGY_FILE, schema
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import Stream
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.spec import Learning, TrialSpec

SPECIAL = SpecialPorts(loop=509, cpu=510, drop=511)


@pytest.mark.parametrize("path", sorted(TOPOLOGIES.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_shipped_topology_is_valid_and_named_like_its_file(path: Path) -> None:
    assert load_topology(path).name == path.stem


def test_the_white_rabbit_switch_has_its_published_values() -> None:
    """24 bytes of egress overhead, 64 frames of queue, 122 bytes of look-ahead, +1 ppm."""
    document = engine_config(load_topology(TOPOLOGIES / "wrs-18x1g.yaml"), SPECIAL)
    (node,) = document["nodes"]
    assert len(node["ports"]) == 18
    assert node["ports"][0] == {
        "number": 1,
        "rate_bps": 10**9,
        "ifg_bits": 128,
        "clock_offset_ppm": 1,
        "queue_frames": 64,
    }
    assert (node["forwarding"], node["look_ahead_bytes"], node["latency_ns"]) == ("cut_through", 122, 1720)
    assert node["mac_table"] == {"entries": 2048, "ways": 4, "aging_s": 300}
    assert node["lookup"] == {"capacity_fps": 4_700_000, "overload_pass_ppm": 200}


def test_tester_ports_and_special_ports_reach_the_engine() -> None:
    document = engine_config(load_topology(TOPOLOGIES / "back-to-back.yaml"), SPECIAL)
    assert document["tester"]["loop"]["port"] == 509
    assert document["tester"]["cpu_port"] == 510
    assert document["tester"]["drop_port"] == 511
    assert document["tester"]["clock_tick_ps"] == 1000
    (link,) = document["links"]
    assert (link["from"], link["to"]) == ({"node": "tester", "port": 1}, {"node": "tester", "port": 2})
    assert link["latency_ns"] == 10


def test_ranges_pair_up_in_order() -> None:
    text = """
name: crossed
tester:
  ports:
    - {numbers: "1-2,4", rate_bps: 1000000000, name: east}
    - {numbers: 3, rate_bps: 1000000000, name: west, ifg_bytes: 11, clock_offset_ppm: -2.5}
links:
  - {from: "tester:1,3", to: "tester:2,4", latency_ns: 0.25}
"""
    topology = parse_topology("crossed.yaml", text)
    assert [port.name for port in topology.tester_ports] == ["east1", "east2", "west3", "east4"]
    assert topology.links[1].ends == (PortRef("tester", 3), PortRef("tester", 4))
    document = engine_config(topology, SPECIAL)
    assert document["links"][1]["latency_ns"] == 0.25
    assert document["tester"]["ports"][2]["clock_offset_ppm"] == -2.5
    assert document["tester"]["ports"][2]["ifg_bits"] == 88


def test_rare_options_reach_the_engine_as_they_are() -> None:
    text = """
name: options
tester:
  ports:
    - {numbers: 1-2, rate_bps: 1000000000, rx_stamp_offset_ns: -580, pad_to_minimum: false}
nodes:
  - name: dut
    device: ethernet_switch
    ports: [{numbers: 1-2, rate_bps: 1000000000, honours_pause: true, min_slot_bits: 800}]
    latency_by_size: [{frame_bytes: 64, time_ns: 1.5}, {frame_bytes: 1518, time_ns: 3}]
    jitter: {normal: {mean_ns: 10, sigma_ns: 2.5}}
    broadcast: {service_by_size: [{frame_bytes: 64, time_ns: 1100}], queue_frames: 2}
    snooping: {membership_s: 260, leave_delay_ns: 5, router_ports: [2]}
    vlans: {ports: [{port: 1, mode: {access: 10}}, {port: 2, mode: {trunk: {vids: [10, 20]}}}]}
links:
  - {from: "tester:1-2", to: "dut:1-2", bit_errors_per_1e15: 1000}
"""
    document = engine_config(parse_topology("options.yaml", text), SPECIAL)
    port = document["tester"]["ports"][0]
    assert (port["rx_stamp_offset_ns"], port["pad_to_minimum"]) == (-580, False)
    (node,) = document["nodes"]
    assert node["ports"][0]["min_slot_bits"] == 800
    (given,) = yaml.safe_load(text)["nodes"]
    del given["ports"], node["ports"]
    assert node == given
    assert document["links"][0]["bit_errors_per_1e15"] == 1000


TWO_PORTS = """
name: gaps
tester: {{ports: [{{numbers: 1-2, rate_bps: 1000000000, {options}}}]}}
links: [{{from: "tester:1", to: "tester:2"}}]
"""


@pytest.mark.parametrize(
    ("options", "bits"), [("ifg_bits: 88", 88), ("ifg_bits: 0", 0), ("ifg_bits: 95", 95), ("ifg_bytes: 10", 80)]
)
def test_a_gap_is_given_in_bits_or_in_bytes(options: str, bits: int) -> None:
    document = engine_config(parse_topology("gaps.yaml", TWO_PORTS.format(options=options)), SPECIAL)
    assert document["tester"]["ports"][0]["ifg_bits"] == bits


REFUSED = {
    "a number that is none": ("latency_ns: 30", "latency_ns: .nan", '".nan" is not valid'),
    "a word for a number": ("latency_ns: 30", "latency_ns: !!int thirty", "is not a number"),
    "half a character": ("name: pair", 'name: "\\ud800"', "half a character"),
    "two lines": ("name: pair", 'name: "a\\nb"', "is not valid"),
    "an alias of itself": ("name: pair", "name: pair\ntests: &all {a: *all}", "an alias names itself"),
    "aliases of aliases": (
        "name: pair",
        "\n".join(["name: pair", "a0: &a0 [1]", *(f"a{n}: &a{n} [{f'*a{n - 1}, ' * 9}]" for n in range(1, 9))]),
        "more than 100000 values",
    ),
    "depth": ("name: pair", f"name: {'[' * 500}", "nested too deeply"),
    "a key that is a list": ("name: pair", "name: pair\n? [a, b]\n: 1", "a key is a list or a mapping"),
    "a number of thousands of digits": ("numbers: 1-2,", f"numbers: '{'9' * 5000}',", "is not a range of ports"),
    "no length between": (
        "latency_ns: 30",
        "min_frame_bytes: 900\n    max_frame_bytes: 800",
        "is above max_frame_bytes",
    ),
    "held back for no time": ("latency_ns: 30", "impairments: {reorder_ppb: 5}", "reorder_delay_ns is missing or 0"),
    "two service times": (
        "latency_ns: 30",
        "broadcast: {service_base_ns: 1, service_by_size: [{frame_bytes: 64, time_ns: 2}]}",
        "service_by_size is given as well",
    ),
    "overlapping outages": (
        'to: "b:1"',
        'to: "b:1", outages: [{at_s: 1, duration_s: 2}, {at_s: 2, duration_s: 9}]',
        "begins before the outage in front of it is over",
    ),
    "a ring": ('{from: "a:2", to: "b:2"}', '{from: "a:2-3", to: "b:2-3"}', "close a ring of switches"),
    "a tap between rates": (
        "numbers: 2-3, rate_bps: 1000000000",
        "numbers: 2-3, rate_bps: 100000000",
        "different rates",
    ),
}
RING = """
name: pair
tester: {ports: [{numbers: 1-2, rate_bps: 1000000000}]}
nodes:
  - name: a
    device: ethernet_switch
    ports: [{numbers: 1, rate_bps: 1000000000}, {numbers: 2-4, rate_bps: 1000000000}]
    latency_ns: 30
  - name: b
    device: ethernet_switch
    ports: [{numbers: 1-4, rate_bps: 1000000000}]
  - name: c
    device: tap
    ports: [{numbers: 1, rate_bps: 1000000000}, {numbers: 2-3, rate_bps: 1000000000}]
links:
  - {from: "tester:1", to: "a:1"}
  - {from: "tester:2", to: "b:1"}
  - {from: "a:2", to: "b:2"}
"""


@pytest.mark.parametrize("fault", REFUSED)
def test_what_cannot_be_meant_is_refused_with_one_message(fault: str) -> None:
    old, new, problem = REFUSED[fault]
    assert old in RING
    with pytest.raises(TopologyError) as caught:
        parse_topology("pair.yaml", RING.replace(old, new, 1))
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value) and caught.value.hint


def test_a_ring_through_vlans_or_a_monitor_is_no_ring() -> None:
    vlans = "vlans: {ports: [{port: 3, mode: {access: 7}}]}"
    ring = RING.replace('{from: "a:2", to: "b:2"}', '{from: "a:2-3", to: "b:2-3"}').replace("latency_ns: 30", vlans)
    assert len(parse_topology("ring.yaml", ring).links) == 4
    monitor = '{from: "a:2", to: "c:1"}\n  - {from: "c:2", to: "b:2"}\n  - {from: "c:3", to: "b:3"}'
    assert len(parse_topology("tap.yaml", RING.replace('{from: "a:2", to: "b:2"}', monitor)).links) == 5


@pytest.mark.parametrize("spelling", ["1.0e+9", "1000000000.0", "0x3b9aca00"])
def test_a_whole_number_may_be_written_in_every_way_of_yaml(spelling: str) -> None:
    topology = parse_topology("pair.yaml", RING.replace("1000000000", spelling))
    build_network(topology)
    assert topology.tester_ports[0].rate_bps == 10**9


RARE_YAML = [
    "a: |#",
    "a: b\tc",
    "a: !",
    "?",
    "a: é\t",
    "--- ",
    "a: [1,\n 2",
    "a: 1\nb: 2\na: 3",
    "a: {b: &x 1, c: *x}",
    "[" * 500,
]


@pytest.mark.parametrize(
    "text", [*(path.read_text() for path in sorted(TOPOLOGIES.glob("*.yaml"))), *RARE_YAML], ids=lambda text: text[:9]
)
def test_yaml_is_read_the_same_without_libyaml(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Goal: values, lines and messages are those of PyYAML's own loader."""

    def read() -> object:
        try:
            source = YamlSource("some.yaml", text, TOPOLOGY_FILE)
        except TopologyError as error:
            return str(error)
        return source.data, source._lines

    found = read()
    monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    assert found == read()


def test_a_gap_in_bits_and_bytes_is_refused() -> None:
    with pytest.raises(
        TopologyError, match=r"gaps.yaml:3: tester.ports\[0\].ifg_bytes: the gap is given in bits as well"
    ):
        parse_topology("gaps.yaml", TWO_PORTS.format(options="ifg_bits: 88, ifg_bytes: 11"))


UPSETS = """
name: upsets
tester: {ports: [{numbers: 1, rate_bps: 1000000000}]}
nodes:
  - name: dut
    device: ethernet_switch
    reset: {time_s: 0.3, links_down: true}
    ports: [{numbers: 1, rate_bps: 1000000000}]
links: [{from: "tester:1", to: "dut:1", outages: [{at_s: 2.5, duration_s: 0.25}, {at_s: 7}]}]
"""


def test_resets_and_outages_reach_the_engine() -> None:
    document = engine_config(parse_topology("upsets.yaml", UPSETS), SPECIAL)
    assert document["nodes"][0]["reset"] == {"time_s": 0.3, "links_down": True}
    assert document["links"][0]["outages"] == [{"at_s": 2.5, "duration_s": 0.25}, {"at_s": 7}]


def test_the_document_of_keys_is_fresh() -> None:
    """It is made of the engine's description of its keys and of the classes in topology/keys.py."""
    scripts = str(TOPOLOGIES.parent / "scripts")
    sys.path.insert(0, scripts)
    try:
        describe = importlib.import_module("describe_devices")
    finally:
        sys.path.remove(scripts)
    assert describe.DOCUMENT.read_text() == describe.document(), "run scripts/describe_devices.py"


def defaults_of(rule: dict[str, Any]) -> dict[str, Any]:
    """A mapping with every default of a rule of the schema, and with the mappings that need nothing else."""
    found = {key: value["default"] for key, value in rule["properties"].items() if "default" in value}
    for key, value in rule["properties"].items():
        if value.get("type") == "object" and not value.get("required") and "minProperties" not in value:
            found[key] = defaults_of(value)
    return found


def test_the_defaults_of_the_document_are_valid_and_those_that_apply_without_them() -> None:
    node = schema()["properties"]["nodes"]["items"]
    switch = {key: value for key, value in defaults_of(node).items() if key in keys_of("ethernet_switch")}
    ports = defaults_of(node["properties"]["ports"]["items"])
    tester = defaults_of(schema()["properties"]["tester"]["properties"]["ports"]["items"])
    for defaults in (ports, tester):
        assert defaults.pop("ifg_bytes") * 8 == defaults["ifg_bits"]
    document: dict[str, Any] = {
        "name": "defaults",
        "tester": {"ports": [{"numbers": "1-2", "rate_bps": 10**9}]},
        "nodes": [{"name": "dut", "device": "ethernet_switch", "ports": [{"numbers": "1-2", "rate_bps": 10**9}]}],
        "links": [{"from": "tester:1-2", "to": "dut:1-2"}],
    }
    bare = parse_topology("bare.yaml", yaml.safe_dump(document))
    document["nodes"][0] |= {key: value for key, value in switch.items() if not isinstance(value, dict)}
    document["nodes"][0]["ports"][0] |= ports
    document["tester"]["ports"][0] |= tester
    full = parse_topology("full.yaml", yaml.safe_dump(document))
    build_network(full)
    trial = TrialSpec(
        "t", (Stream("s", 64, Fraction(10**6), 300, Pairs(), (1, 2), (2, 1)),), 300_000, Learning(wait_ns=0)
    )
    results = []
    for topology in (bare, full):
        with open_measurer(topology) as measurer:
            results.append(measurer.measure(trial))
    assert results[0] == results[1]
    # Parts that are absent without their key: their own defaults are valid.
    parts = {key: value for key, value in switch.items() if isinstance(value, dict)}
    document["nodes"][0] |= parts
    build_network(parse_topology("parts.yaml", yaml.safe_dump(document)))
    assert {"broadcast", "learning_path", "snooping", "impairments"} <= parts.keys()


def test_a_name_that_no_topology_has_is_answered_with_the_nearest_ones() -> None:
    with pytest.raises(TopologyError) as told:
        load_topology("wrs-18x")
    assert (told.value.hint or "").startswith("did you mean wrs-18x1g or wrs-18x1g-meshes? ")


@pytest.mark.parametrize(
    ("bgp", "message"),
    [
        ("hold_time_s: 2", "a hold time of 2 s"),
        ("router_as: 64515", "AS 64515 is that of a station, too"),
        ("first_as: 65533", "AS 65535 is reserved"),
        ("first_as: 0", "first_as"),
        ("md5: secret", "unknown key"),
    ],
)
def test_sessions_that_cannot_be_are_refused_with_their_place(bgp: str, message: str) -> None:
    key = bgp.split(":")[0]
    usual = {"first_as": "first_as: 64513", "router_as": "router_as: 64512", "hold_time_s": "hold_time_s: 9"}
    with pytest.raises(TopologyError, match=message):
        changed("router-4x1g-bgp", (usual.get(key, "bfd: {interval_ms: 150, multiplier: 3}"), bgp))
