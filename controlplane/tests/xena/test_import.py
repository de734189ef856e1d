"""``p4mesh import-xena``: every value of a file is mapped or listed, and what is written runs."""

from __future__ import annotations

import copy
import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from p4mesh.cli.main import main
from p4mesh.errors import XenaFileError
from p4mesh.run.options import RunOptions
from p4mesh.run.run_files import plan_file, run_file
from p4mesh.run.suite import FinishedSuite
from p4mesh.run_file.reader import load_run_file
from p4mesh.xena.document import UNKNOWN
from p4mesh.xena.importing import Imported, import_file
from p4mesh.xena.rfc2889 import mac_base

FILES = Path(__file__).parents[1] / "fixtures" / "xena"
SWITCH, BACK_TO_BACK = FILES / "RFC_2889_1_switch.x2889", FILES / "gsi_b2b_unicast.v2889"
ROUTER = FILES / "router.v2544"


OTHER = '{"PortHandler": {}, "TestOptions": {"TestTypeOptionMap": {"%s": {}}}, "FormatVersion": 1}'
SERVICES = '{"UniList": [], "ServiceList": []}'
"""A file without ports, with one test."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def config(path: Path = SWITCH) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(path.read_text())
    return data


def imported(data: dict[str, Any]) -> Imported:
    Path("case.json").write_text(json.dumps(data))
    return import_file(Path("case.json"), "topology.yaml", "run.yaml")


def runs_of(data: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The tests that run, by name."""
    run = yaml.safe_load(imported(data).run)
    return {entry.get("name", entry["test"]): entry for entry in run["tests"]}


def sub_tests(data: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = data["TestOptions"]["TestTypeOptionMap"]["RateTest"]["RateSubTestHandler"][
        "RateSubTests"
    ]
    return found


def with_roles(data: dict[str, Any], topology: str, direction: str, roles: list[str]) -> dict[str, Any]:
    """The file with one rate test, whose first ports have these roles."""
    data = copy.deepcopy(data)
    (only,) = sub_tests(data)[:1]
    ports = [entity["ItemID"] for entity in data["PortHandler"]["EntityList"]]
    role_map = {
        f"guid_{port}": {"IsUsed": True, "Role": role, "PeerPortId": ""}
        for port, role in zip(ports, roles, strict=False)
    }
    only |= {"Topology": topology, "Direction": direction, "PortRoleHandler": {"RoleMap": role_map}, "Label": "only"}
    data["TestOptions"]["TestTypeOptionMap"] = {
        "RateTest": {"Enabled": True, "RateSubTestHandler": {"RateSubTests": [only]}}
    }
    return data


@pytest.mark.parametrize("path", [SWITCH, BACK_TO_BACK, ROUTER], ids=lambda path: path.name)
def test_every_value_of_a_file_is_mapped_or_listed(path: Path) -> None:
    found = import_file(path, "topology.yaml", "run.yaml")
    assert found.mapped + sum(item.count for item in found.left_out) == found.total > 200
    assert all(item.reason for item in found.left_out)
    assert not [item.key for item in found.left_out if item.reason == UNKNOWN]
    last = {item.key.rpartition(".")[2] for item in found.left_out}
    assert last.isdisjoint({"InitialValue", "IsUsed", "Role", "LearningRateFps", "LatencyMode"})


def test_the_tests_of_the_first_file_have_its_ports_and_values() -> None:
    tests = runs_of(config())
    assert [entry["test"].partition(".")[2] for entry in tests.values()] == [
        *("fully_meshed", "partially_meshed", "unidirectional", "congestion_control", "forward_pressure"),
        *("maximum_forwarding_rate", "address_caching", "address_learning", "errored_frames", "broadcast"),
    ]
    assert [tests[name]["ports"] for name in ("full-mesh", "part-mesh-1-n", "part-mesh-n-n")] == 3 * ["1-18"]
    search = tests["full-mesh"]["parameters"]
    assert [search[f"search_{key}_pct"] for key in ("initial", "min", "max", "resolution")] == [1, 0.01, 100, 0.01]
    assert tests["part-mesh-1-n"]["parameters"]["direction"] == "both"
    assert tests["rfc2889.congestion_control"]["parameters"]["block_ports"] == "1,2,17,18"
    assert tests["rfc2889.forward_pressure"]["parameters"] == {"tx_port": 1, "rx_port": 18, "detect_above_pct": 0.001}
    caching = tests["rfc2889.address_caching"]["parameters"]
    assert (caching["test_port"], caching["learning_port"], caching["mac_base"]) == (1, 17, "02:F4:BC")
    assert (caching["reset_between"], caching["aging_s"], caching["fast_stop"]) == ("wait_aging", 310, True)
    learning = tests["rfc2889.address_learning"]["parameters"]
    assert (learning["addresses"], learning["addresses_step"]) == ("sweep_to_capacity", 200)
    assert (learning["rate_base_fps"], learning["capacity_rate_fps"]) == (100, 20)
    assert tests["rfc2889.errored_frames"]["parameters"]["stream_set"] == "xena"
    assert tests["rfc2889.broadcast"]["parameters"]["source_port"] == 1
    run = yaml.safe_load(imported(config()).run)
    assert run["sizes"] == [64, 128, 256, 512, 1024, 1280, 1518]
    assert run["parameters"]["reset_between"] == "toggle_link"
    assert run["parameters"]["latency_definition"] == "LILO"


def test_the_second_file_has_one_enabled_test_and_a_fraction() -> None:
    found = imported(config(BACK_TO_BACK))
    run = yaml.safe_load(found.run)
    (entry,) = run["tests"]
    assert (entry["test"], entry["parameters"]["direction"]) == ("rfc2889.partially_meshed", "to_one")
    assert entry["ports"] == "7-9,1,11,10,12-18,3-4,2,5-6"
    assert entry["parameters"]["one_port"] == 7
    assert entry["parameters"]["iterations"] == 3
    assert run["sizes"] == [90, 134, 222, 398, 574, 750]
    assert run["parameters"]["rate_fraction_pct"] == 1
    assert entry["parameters"]["duration_ms"] == 60_000
    assert found.trial_time_ms
    assert (run["parameters"]["link_off_s"], run["parameters"]["link_on_delay_s"]) == (3, 3)
    assert [test.problem for test in found.tests].count("not enabled in the file") == 9
    assert "  # - test: rfc2889.broadcast" in found.run


@pytest.mark.parametrize(
    ("topology", "direction", "roles", "test", "ports", "parameters"),
    [
        ("BLOCKS", "EAST_WEST", ["EAST", "WEST", "WEST"], "partially_meshed", "1-3", {"direction": "from_one"}),
        ("BLOCKS", "WEST_EAST", ["EAST", "WEST", "WEST"], "partially_meshed", "1-3", {"direction": "to_one"}),
        ("BLOCKS", "WEST_EAST", ["EAST", "EAST", "WEST", "WEST"], "unidirectional", "3-4,1-2", {}),
        ("BLOCKS", "EAST_WEST", ["EAST", "EAST", "WEST", "WEST", "WEST"], "unidirectional", "1-5", {"senders": 2}),
        ("BLOCKS", "BIDIR", ["EAST", "EAST", "WEST", "WEST"], "unidirectional", "1-4", {"bidirectional": True}),
        ("PAIRS", "BIDIR", ["EAST", "WEST", "EAST", "WEST"], "unidirectional", "1,3,2,4", {"pattern": "pairs"}),
        ("PAIRS", "WEST_EAST", ["EAST", "WEST"], "unidirectional", "2,1", {"pattern": "pairs"}),
        ("MESH", "BIDIR", ["UNDEFINED"] * 3, "fully_meshed", "1-3", {"pattern": "mesh_streams"}),
    ],
)
def test_patterns_of_rate_tests_have_the_test_with_the_same_traffic(
    topology: str, direction: str, roles: list[str], test: str, ports: str, parameters: dict[str, Any]
) -> None:
    entry = runs_of(with_roles(config(), topology, direction, roles))["only"]
    assert (entry["test"], entry["ports"]) == (f"rfc2889.{test}", ports)
    assert parameters.items() <= entry["parameters"].items()


def test_a_cap_of_the_ports_and_a_rate_in_bit_per_second_are_caps() -> None:
    data = config()
    for entity in data["PortHandler"]["EntityList"]:
        entity |= {"EnablePortRateCap": True, "PortRateCapValue": 0.9, "PortRateCapUnit": "Gbps"}
    assert yaml.safe_load(imported(data).run)["parameters"]["port_rate_cap_mbps"] == 900
    data["TestOptions"]["RateDefinition"] |= {"RateType": "L1Bps", "RateBpsL1": 90.0, "RateBpsL1Unit": "Mbps"}
    assert yaml.safe_load(imported(data).run)["parameters"]["port_rate_cap_mbps"] == 90


def test_settings_of_ports_are_in_the_topology() -> None:
    data = config()
    data["PortHandler"]["EntityList"][1] |= {
        "PortSpeed": "F10G",
        "AdjustPpm": -5,
        "PauseModeOn": True,
        "InterFrameGap": 24,
    }
    found = imported(data)
    ports = yaml.safe_load(found.topology)["tester"]["ports"]
    assert [item.key for item in found.left_out if "12 bytes between frames" in item.reason] == [
        "PortHandler.EntityList[].InterFrameGap"
    ]
    assert ports[0] == {"numbers": 1, "rate_bps": 10**9, "ifg_bytes": 11, "pad_to_minimum": False}
    assert ports[1] == {
        "numbers": 2,
        "rate_bps": 10**10,
        "ifg_bytes": 11,
        "pad_to_minimum": False,
        "clock_offset_ppm": -5,
        "honours_pause": True,
    }


def test_what_a_test_cannot_carry_is_named_and_commented_out() -> None:
    data = config()
    kinds = data["TestOptions"]["TestTypeOptionMap"]
    kinds["BroadcastForwarding"]["RateIterationOptions"]["MinimumValue"] = 50.0
    kinds["ForwardPressure"]["PortRoleHandler"]["RoleMap"] = {}
    kinds["NewTest"] = {"Enabled": True, "Duration": 3}
    found = imported(data)
    problems = {test.name: test.problem for test in found.tests if test.problem}
    assert "out of order" in problems["rfc2889.broadcast"]
    assert problems["rfc2889.forward_pressure"] == "it needs 2 ports with a role, the file gives it 0"
    assert [item.reason for item in found.left_out if item.key.endswith("NewTest.Duration")] == [
        "no test of this type is known"
    ]
    Path("topology.yaml").write_text(found.topology)
    Path("run.yaml").write_text(found.run)
    assert len(plan_file(load_run_file("run.yaml"), RunOptions("run.yaml"))) == 8


def test_a_file_that_enables_no_test_says_so_and_each_of_its_tests_can_be_made_to_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    data = config(ROUTER)
    tests = data["TestOptions"]["TestTypeOptionMap"]
    for options in tests.values():
        options["Enabled"] = False
    Path("off.v2544").write_text(json.dumps(data))
    assert main(["import-xena", "off.v2544"]) == 0
    said = capsys.readouterr().out
    assert "no test runs: in off.yaml, remove the line [] and the comment marks of a test" in said
    assert "run it with" not in said
    assert main(["run", "off.yaml"]) == 2
    assert "off.yaml:" in (said := capsys.readouterr().err) and "tests: [] is not valid" in said
    text = Path("off.yaml").read_text()
    Path("off.yaml").write_text(re.sub(r"^  # (?=[- ] )", "  ", text, flags=re.MULTILINE).replace("  []\n", ""))
    assert len(plan_file(load_run_file("off.yaml"), RunOptions("off.yaml"))) == len(tests)


def test_unknown_keys_and_other_kinds_of_values_are_listed() -> None:
    data = config()
    data["TestOptions"]["NewOption"] = {"Deep": [1, 2]}
    data["TestOptions"]["PacketSizes"]["PacketSizeType"] = "Butterfly"
    found = imported(data)
    reasons = {item.key: item.reason for item in found.left_out}
    assert reasons["TestOptions.NewOption.Deep[]"] == UNKNOWN
    assert "TestOptions.PacketSizes.PacketSizeType" in reasons
    assert found.mapped + sum(item.count for item in found.left_out) == found.total


def test_line_breaks_of_comments_are_kept() -> None:
    data = config()
    data["ReportConfig"]["Comments"] = " Rack 3,\r\nleft   side\n"
    assert yaml.safe_load(imported(data).run)["notes"]["comments"] == "Rack 3,\nleft side"


def test_a_password_is_not_shown() -> None:
    data = config()
    data["ChassisManager"]["ChassisList"][0]["Password"] = "open sesame"
    assert "open sesame" not in str(imported(data).left_out)


def changes(found: Imported) -> dict[str, str]:
    """The keys that change the measurement, without their place, with the reasons."""
    return {item.key.rpartition(".")[2]: item.reason for item in found.left_out if item.changes_measurement}


def test_what_changes_the_measurement_comes_first_and_is_little() -> None:
    for path in (SWITCH, BACK_TO_BACK, ROUTER):
        found = import_file(path, "topology.yaml", "run.yaml").left_out
        ranks = [item.changes_measurement for item in found]
        assert ranks == sorted(ranks, reverse=True)
        assert sum(ranks) <= 5, path


def test_a_rate_in_frames_is_the_full_load_and_caps_that_do_not_hold_are_named() -> None:
    data = config()
    first, second, *_ = data["PortHandler"]["EntityList"]
    first |= {"EnablePortRateCap": True, "PortRateCapValue": 500.0}
    second |= {"EnablePortRateCap": True, "PortRateCapValue": 800.0}
    found = imported(data)
    assert yaml.safe_load(found.run)["parameters"]["port_rate_cap_mbps"] == 500
    smallest = "100 % of a load is the smallest cap, 500 Mbit/s, on every port"
    of_ports = {item.key: item for item in found.left_out if item.reason == smallest}
    assert {key: (item.values, item.count) for key, item in of_ports.items()} == {
        "PortHandler.EntityList[].PortRateCapValue": (("800.0",), 1),
        "PortHandler.EntityList[].EnablePortRateCap": (("false",), 16),
    }
    data["TestOptions"]["RateDefinition"] |= {"RateType": "Pps", "RatePps": 25000.0}
    found = imported(data)
    parameters = yaml.safe_load(found.run)["parameters"]
    assert parameters["full_load"] == "25000 frames/s"
    assert "port_rate_cap_mbps" not in parameters
    assert changes(found)["PortRateCapValue"] == "100 % of a load is 25000 frames/s, whatever the cap"
    assert not [test for test in found.tests if test.problem]


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("PortHandler.EntityList.0.PortRateCapValue", "seven"),
        ("PortHandler.EntityList.0.PortRateCapUnit", "furlongs"),
        ("PortHandler.EntityList.0.InterFrameGap", -1),
        ("TestOptions.RateDefinition.RateFraction", math.inf),
        ("TestOptions.RateDefinition.RateType", "Cups"),
        ("TestOptions.LatencyMode", "Middle_To_Middle"),
        ("TestOptions.PacketSizes.CustomPacketSizes.0", True),
        ("TestOptions.TestTypeOptionMap.AddressCachingCapacity.LearnMacBaseAddress", "2,244"),
    ],
)
def test_a_wrong_value_is_an_error_that_names_its_place(place: str, value: Any) -> None:
    data = config()
    data["TestOptions"]["PacketSizes"]["PacketSizeType"] = "CustomSizes"
    *above, key = [int(word) if word.isdecimal() else word for word in place.split(".")]
    inner: Any = data
    for word in above:
        inner = inner[word]
    inner[key] = value
    with pytest.raises(XenaFileError, match=" is not ") as caught:
        imported(data)
    assert str(caught.value).startswith(f"case.json: {place.replace('.0', '[]')}: ")


def test_a_file_of_rfc_2544_has_its_traffic_addresses_and_values() -> None:
    found = imported(config(ROUTER))
    tests = runs_of(config(ROUTER))
    assert list(tests) == [f"rfc2544.{name}" for name in ("throughput", "latency", "frame_loss", "back_to_back")]
    assert {entry["ports"] for entry in tests.values()} == {"2,4,1,3", "2,4"}
    throughput, latency, loss, bursts = (entry["parameters"] for entry in tests.values())
    assert {"pattern": "rotate", "bidirectional": False, "learning_frames": 3}.items() <= throughput.items()
    assert {"search_initial_pct": 80, "search_min_pct": 1, "search_max_pct": 90}.items() <= throughput.items()
    goal = {"acceptable_loss_pct": 0.01, "pass_threshold_pct": 50, "decision": "per_source_port"}
    assert goal.items() - throughput.items() == {("decision", "per_source_port")}
    assert (throughput["duration_ms"], "duration_ms" in latency) == (10_000, False)
    assert (latency["latency_definition"], latency["latency_factor"], latency["warm_up_pct"]) == ("FILO", 1, 0)
    assert {
        "step_pct": 5,
        "sweep_loss_limit_pct": 0.5,
        "scaled_frames": 200_000,
        "iterations": 2,
    }.items() <= loss.items()
    assert {"burst_max_frames": 200_000, "burst_step_frames": 10, "repetitions": 3}.items() <= bursts.items()
    run, topology = yaml.safe_load(found.run), yaml.safe_load(found.topology)
    assert (run["sizes"], run["parameters"]["frame_format"]) == ([128, 512], "ipv4")
    (device,) = topology["nodes"]
    assert (device["device"], device["interfaces"][3]["addresses"][0]) == ("router", "198.18.4.1/24")
    assert "give the router these" in changes(found)["IpV4Address"]


@pytest.mark.parametrize(
    ("topology", "direction", "groups", "ports", "pattern"),
    [
        ("MESH", "BIDIR", "UUUU", "1-4", {"pattern": "mesh_streams"}),
        ("BLOCKS", "EAST_WEST", "EWWW", "1-4", {"pattern": "one_to_many", "bidirectional": False}),
        ("BLOCKS", "WEST_EAST", "EWWW", "1-4", {"pattern": "many_to_one", "bidirectional": False}),
        ("BLOCKS", "BIDIR", "WWEE", "3-4,1-2", {"pattern": "rotate", "bidirectional": True}),
        ("PAIRS", "WEST_EAST", "EEWW", "3,1,4,2", {"pattern": "pairs", "bidirectional": False}),
    ],
)
def test_topologies_of_rfc_2544_have_the_pattern_with_the_same_traffic(
    topology: str, direction: str, groups: str, ports: str, pattern: dict[str, Any]
) -> None:
    data = config(ROUTER)
    data["TestOptions"]["TopologyConfig"] = {"Topology": topology, "Direction": direction}
    for entity, group in zip(data["PortHandler"]["EntityList"], groups, strict=True):
        entity["PortGroup"] = {"E": "EAST", "W": "WEST", "U": "UNDEFINED"}[group]
    entry = runs_of(data)["rfc2544.throughput"]
    assert entry["ports"] == ports
    assert pattern.items() <= entry["parameters"].items()


def test_pairs_are_those_that_ports_name() -> None:
    data = config(ROUTER)
    data["TestOptions"]["TopologyConfig"] = {"Topology": "PAIRS", "Direction": "BIDIR"}
    entities = data["PortHandler"]["EntityList"]
    for entity, peer in zip(entities, entities[::-1], strict=True):
        entity["PairPeerId"] = peer["ItemID"]
    assert runs_of(data)["rfc2544.throughput"]["ports"] == "1,4,3,2"


def test_blocks_of_unequal_size_are_named_as_the_problem() -> None:
    data = config(ROUTER)
    extra = copy.deepcopy(data["PortHandler"]["EntityList"][0])
    data["PortHandler"]["EntityList"].append(extra | {"ItemID": "fifth"})
    problems = {test.test: test.problem for test in imported(data).tests}
    assert problems["rfc2544.throughput"].startswith("blocks of 2 and 3 ports")


def test_what_a_test_of_rfc_2544_cannot_carry_is_named() -> None:
    data = config(ROUTER)
    tests = data["TestOptions"]["TestTypeOptionMap"]
    tests["Latency"]["RateSweepOptions"] |= {"StartValue": 50.0}
    tests["Loss"] |= {"UseGapMonitor": True, "AcceptableLossType": "Frames"}
    tests["Loss"]["RateSweepOptions"]["StepValue"] = 20.0
    tests["Throughput"]["RateIterationOptions"] |= {"ResultScope": "PerSrcPortResult", "FastBinarySearch": True}
    assert changes(imported(data)).keys() >= {
        *("StartValue", "UseGapMonitor", "AcceptableLoss", "StepValue", "FastBinarySearch"),
    }
    assert runs_of(data)["rfc2544.throughput"]["parameters"]["decision"] == "per_source_port"
    tests["Loss"]["Enabled"] = False
    assert not {"UseGapMonitor", "StepValue"} & changes(imported(data)).keys()


def mutations(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every mapping, list and value, of lists and of mappings of ports only the first one."""
    yield path
    if isinstance(data, dict):
        keys = list(data)
        ports = [key for key in keys if key.startswith("guid_")]
        for key in [key for key in keys if key not in ports[1:]]:
            yield from mutations(data[key], (*path, key))
    elif isinstance(data, list) and data:
        yield from mutations(data[0], (*path, 0))


ANYTHING: tuple[Any, ...] = (None, "seven", -1, [], True, math.inf, 10**400)


@pytest.mark.parametrize("value", ANYTHING, ids=lambda value: repr(value)[:10])
@pytest.mark.parametrize("path_of_file", [SWITCH, ROUTER], ids=lambda path: path.suffix)
def test_a_file_with_anything_anywhere_is_imported_or_refused(path_of_file: Path, value: Any) -> None:
    """Every place of a file has one of the values, the next place the next value."""
    whole = config(path_of_file)
    if path_of_file == SWITCH:
        whole = with_roles(whole, "BLOCKS", "BIDIR", ["EAST", "WEST", "WEST"])
    whole["PortHandler"]["EntityList"] = whole["PortHandler"]["EntityList"][:3]
    whole["StreamProfileHandler"]["EntityList"] = whole["StreamProfileHandler"]["EntityList"][:1]
    for path in list(mutations(whole))[1 + ANYTHING.index(value) :: len(ANYTHING)]:
        data = copy.deepcopy(whole)
        place = data
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
        try:
            found = imported(data)
        except XenaFileError as error:
            assert error.hint, path
        else:
            assert found.mapped + sum(item.count for item in found.left_out) == found.total, path


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("ports.xmcfg", "; Port: 0/0", "a port configuration of XenaManager, which has no tests"),
        ("not.x2889", "{", "not JSON"),
        ("list.x2889", "[]", "no configuration of RFC 2544 or RFC 2889 tests"),
        ("other.x2889", '{"PortHandler": {}}', "no configuration of RFC 2544 or RFC 2889 tests"),
        ("group.x3918", OTHER % "GroupCapacity", "it holds tests of RFC 3918\n"),
        ("group.x2889", OTHER % "GroupCapacity", "it holds tests of RFC 3918, its name says RFC 2889\n"),
        ("services.v1564", SERVICES, "it holds tests of Y.1564\n"),
        ("services.json", SERVICES, "it holds tests of Y.1564\n"),
        ("services.x2889", SERVICES, "it holds tests of Y.1564, its name says RFC 2889\n"),
        ("empty.x2889", OTHER % "RateTest", "no ports in PortHandler.EntityList"),
        ("new.x2889", OTHER.replace("1}", "2}") % "RateTest", "FormatVersion is 2, known is 1"),
        ("old.v2544", OTHER % "Back2Back", "FormatVersion is 1, known is 10"),
        ("deep.x2889", "[" * 100_000, "nested too deeply"),
        ("bytes.x2889", "\udc80", "not text in UTF-8 or UTF-16"),
        ("latin.x2889", '{"Comments": "M\udcfcnchen"}', "not text in UTF-8 or UTF-16"),
        ("cut.x2889", '{"PortHandler": {"EntityList": [', "not JSON"),
    ],
)
def test_a_file_that_is_none_is_refused_with_a_hint(
    name: str, text: str, message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(name).write_bytes(text.encode("utf-8", "surrogateescape"))
    assert main(["import-xena", name]) == 2
    shown = capsys.readouterr().err
    assert shown.startswith(f"error: {name}: {message}")
    assert "\n hint: name a file of Xena2889, Valkyrie2889, " in shown or "FormatVersion" in shown
    assert [path.name for path in folder.iterdir()] == [name]


@pytest.mark.parametrize(
    ("source", "ending", "said"),
    [
        (SWITCH, ".x2544", "RFC 2889, its name says RFC 2544"),
        (SWITCH, ".X3918", "RFC 2889, its name says RFC 3918"),
        (SWITCH, ".v1564", "RFC 2889, its name says Y.1564"),
        (ROUTER, ".v2889", "RFC 2544, its name says RFC 2889"),
    ],
)
def test_a_file_whose_name_says_another_standard_is_refused_with_its_right_name(
    source: Path, ending: str, said: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, number = f"lab{ending}", said.partition(",")[0][-4:]
    Path(name).write_bytes(source.read_bytes())
    assert main(["import-xena", name]) == 2
    hint = f"rename it to lab.x{number} or lab.v{number} if these are the tests that you want"
    assert capsys.readouterr().err == f"error: {name}: it holds tests of {said}\n hint: {hint}\n"
    assert [path.name for path in folder.iterdir()] == [name]


def test_a_name_that_says_no_standard_is_as_good_as_any(folder: Path) -> None:
    (folder / "lab.json").write_bytes(SWITCH.read_bytes())
    assert import_file(folder / "lab.json", "topology.yaml", "run.yaml").tests


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le"])
def test_every_encoding_of_json_is_read(encoding: str, folder: Path) -> None:
    text = SWITCH.read_text(encoding="utf-8-sig").encode(encoding)
    (folder / "lab.x2889").write_bytes(text)
    found = import_file(folder / "lab.x2889", "topology.yaml", "run.yaml")
    assert len(found.tests) == len(import_file(SWITCH, "topology.yaml", "run.yaml").tests)


def test_no_file_is_overwritten(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine.yaml").write_text("mine")
    assert main(["import-xena", str(SWITCH), "--run-out", "mine.yaml"]) == 2
    assert "mine.yaml: exists, and is left as it is" in capsys.readouterr().err
    assert [path.name for path in folder.iterdir()] == ["mine.yaml"]


def test_the_command_writes_both_files_and_lists_the_rest(capsys: pytest.CaptureFixture[str]) -> None:
    Path("out").mkdir()
    words = ("import-xena", str(BACK_TO_BACK), "--topology-out", "lab.yaml", "--run-out", "out/run.yaml")
    assert main([*words]) == 0
    shown = capsys.readouterr().out
    assert "part-mesh-1-n (rfc2889.partially_meshed)\n" in shown
    assert "  PortSpeed=AUTO (18 times): 1 Gbit/s is taken; change rate_bps in the topology\n" in shown
    assert "PortHandler.EntityList[] (18 times): " not in shown
    assert "add --set duration_ms=scaled" in shown
    assert main([*words, "--all"]) == 2
    for name in ("lab.yaml", "out/run.yaml"):
        Path(name).unlink()
    assert main([*words, "--all"]) == 0
    assert "PortHandler.EntityList[] (18 times): " in capsys.readouterr().out
    assert load_run_file("out/run.yaml").file.topology == "../lab.yaml"
    assert main([*words[:2], "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["topology"], data["run"]) == ("gsi_b2b_unicast-topology.yaml", "gsi_b2b_unicast.yaml")
    assert data["values_mapped"] + sum(item["count"] for item in data["not_mapped"]) == data["values_total"]


def test_the_bytes_of_an_address() -> None:
    assert mac_base("2,244,188") == "02:F4:BC"
    assert [mac_base(text) for text in ("", "2,244", "2,244,256", "a,b,c")] == ["", "", "", ""]


@pytest.mark.parametrize(
    ("path", "tests", "settings"),
    [
        (
            SWITCH,
            10,
            (
                "scaled_frames=60",
                "sustained=false",
                "search_resolution_pct=40",
                "sweep_step_pct=90",
                "addresses_max=110",
            ),
        ),
        (
            ROUTER,
            4,
            ("sustained=false", "duration_ms=scaled", "scaled_frames=60", "search_resolution_pct=40", "step_pct=10"),
        ),
        (BACK_TO_BACK, 1, ("duration_ms=scaled", "scaled_frames=60", "search_resolution_pct=40", "iterations=1")),
    ],
    ids=lambda value: getattr(value, "suffix", ""),
)
def test_every_file_runs_on_sim(path: Path, tests: int, settings: tuple[str, ...]) -> None:
    found = import_file(path, "topology.yaml", "run.yaml")
    Path("topology.yaml").write_text(found.topology)
    Path("run.yaml").write_text(found.run)
    more = ("addresses_end=100", "capacity_max=110", "rate_resolution_pct=60") if path == SWITCH else ()
    finished = run_file(RunOptions("run.yaml", sizes="512", settings=(*settings, *more), out="out", jobs=1))
    if tests == 1:
        assert finished.outcome.state.value == "MEASURED"  # type: ignore[union-attr]
        assert main(["export", "out", "--format", "xena"]) == 0
        title, row = [line.split(",") for line in Path("out/xena_throughput.csv").read_text().splitlines()]
        assert float(row[title.index("Tx Rate (Percent)")]) > 50
        return
    assert isinstance(finished, FinishedSuite)
    states = {entry.label: entry.run.outcome.state.value for entry in finished.entries if entry.run}
    assert len(states) == tests
    assert set(states.values()) <= {"FAIL", "PASS", "MEASURED"}, states
    if path == ROUTER:
        return
    assert main(["export", "out", "--format", "xena", "--out", "tables"]) == 0
    found_tables = sorted(path.relative_to("tables").as_posix() for path in Path("tables").rglob("*.csv"))
    assert {"full-mesh/xena_throughput.csv", "full-mesh/xena_forwarding.csv"} <= set(found_tables)
    assert len({path.partition("/")[0] for path in found_tables}) == tests
    header = Path("tables/full-mesh/xena_throughput.csv").read_text().splitlines()[0]
    assert header.startswith("Packet Size,Result,Tx Rate (Percent),Tx Rate (L1 Bit/s),Tx Rate (Fps),Rx Rate (Percent)")
    sweep = Path("tables/full-mesh/xena_forwarding.csv").read_text().splitlines()[0]
    assert sweep == "Tx Rate (Percent),512 B Rx Rate (Percent),512 B Loss Rate (Percent)"


@pytest.mark.parametrize(
    ("sizes", "expected", "reasons"),
    [
        ({"CustomPacketSizes": [64, 64, 9000, 16001, 63, 100.5, 10**400]}, [64, 9000], 4),
        (
            {"PacketSizeType": "Range", "SwPacketStartSize": 60, "SwPacketEndSize": 66, "SwPacketStepSize": 2},
            [64, 66],
            1,
        ),
        (
            {"PacketSizeType": "Range", "SwPacketStartSize": 64, "SwPacketEndSize": 66, "SwPacketStepSize": 2},
            [64, 66],
            0,
        ),
    ],
)
def test_sizes_that_no_test_can_have_are_listed(sizes: dict[str, Any], expected: list[int], reasons: int) -> None:
    data = config()
    data["TestOptions"]["PacketSizes"].update({"PacketSizeType": "CustomSizes", **sizes})
    found = imported(data)
    assert yaml.safe_load(found.run)["sizes"] == expected
    assert sum(item.count for item in found.left_out if "of 64 to 16000 bytes" in item.reason) == reasons
    assert found.mapped + sum(item.count for item in found.left_out) == found.total
