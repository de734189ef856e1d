"""``p4mesh tests``: a short list, one test with its parameters in groups, a search."""

from __future__ import annotations

import json

import pytest

from p4mesh.cli.main import main
from p4mesh.methods.base import Method
from p4mesh.methods.options.groups import COMMON, MOST_COMMON, OWN, grouped
from p4mesh.methods.options.parameters import Parameter
from p4mesh.methods.registry import TESTS, suites


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["tests", *words]) == 0
    return capsys.readouterr().out


def test_the_list_has_one_line_per_test_below_its_suite(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys).splitlines()
    assert "  rfc2889.fully_meshed" in lines[1]
    assert lines[1].endswith("Fully meshed throughput, frame loss and forwarding rates (RFC 2889 5.1)")
    listed = [line.split()[0] for line in lines if line.startswith("  ")]
    assert listed == [test.name for test in TESTS]
    assert len(lines) < len(TESTS) + 3 * len(suites())


def test_a_suite_is_a_list_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    listed = [line.split()[0] for line in printed(capsys, "rfc2544").splitlines() if line.startswith("  ")]
    assert listed == [test.name for test in suites()["rfc2544"]]


def test_a_test_is_shown_with_its_parameters_the_common_ones_first(capsys: pytest.CaptureFixture[str]) -> None:
    shown = printed(capsys, "rfc2889.fully_meshed")
    assert shown.startswith("rfc2889.fully_meshed  Fully meshed throughput")
    groups = [line.strip() for line in shown.splitlines() if line.startswith("  ") and not line.startswith("   ")]
    assert groups[:3] == ["frame sizes: 64, 128, 256, 512, 1024, 1280, 1518 B", COMMON, OWN]
    assert "reset of the device" in groups
    common = shown.partition(f"  {COMMON}\n")[2].partition(f"  {OWN}\n")[0]
    assert len(common.strip().splitlines()) == MOST_COMMON
    assert "a number in 0.1..300000 ms, or scaled" in common


@pytest.mark.parametrize("test", TESTS, ids=lambda test: test.name)
def test_every_parameter_is_in_one_group(test: Method) -> None:
    groups = grouped(test.parameters)
    names = [parameter.name for members in groups.values() for parameter in members]
    assert sorted(names) == sorted(parameter.name for parameter in test.parameters)
    assert next(iter(groups)) == COMMON
    assert 0 < len(groups[COMMON]) <= MOST_COMMON
    shared = {"search": "search_method", "phases around a trial": "settle_ms", "reset of the device": "hook"}
    for about, name in shared.items():
        assert name not in names or name in {member.name for member in groups[about]}


def test_a_parameter_that_nobody_has_sorted_belongs_to_its_test() -> None:
    odd = Parameter("colour", TESTS[0].parameters[0].kind, "red", "", "none", "the colour")
    assert grouped([odd]) == {OWN: (odd,)}


def test_a_search_shows_the_parameters_that_have_all_words(capsys: pytest.CaptureFixture[str]) -> None:
    shown = printed(capsys, "--search", "MLRsearch loss")
    assert "search_method" in shown
    assert "vlan_id" not in shown
    assert "rfc3918.join_delay" not in shown
    alone = printed(capsys, "rfc2889.broadcast", "--search", "hook")
    assert alone.count("rfc2889.") == 1
    assert [line.split()[0] for line in alone.splitlines() if line.startswith("    ")] == [
        *("reset_between", "hook", "hook_timeout_s"),
    ]


def test_a_search_for_a_test_shows_all_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "--search", "rfc2544.back_to_back") == printed(capsys, "rfc2544.back_to_back")


def test_json_has_the_group_of_each_parameter(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(json.loads(printed(capsys, "--json"))) == len(TESTS)
    (data,) = json.loads(printed(capsys, "rfc2889.fully_meshed", "--json"))
    found = {item["name"]: item for item in data["parameters"]}
    assert len(found) == len(data["parameters"])
    assert found["duration_ms"]["unit"] == "ms"
    assert found["duration_ms"]["group"] == COMMON
    assert found["sweep_loss_limit_pct"]["group"] == "sweep"


def test_a_title_that_is_little_else_than_the_words_comes_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "--search", "latency").startswith("rfc2544.latency")
    assert printed(capsys, "--search", "head of line").startswith("rfc2889.congestion_control")
