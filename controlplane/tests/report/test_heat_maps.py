"""Heat maps: only what differs, in one scale of colours; a page says how many parts it has no room for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from p4mesh.report.document import Chart, Paragraph
from p4mesh.report.heat_maps import flow_charts, port_chart
from p4mesh.store.run_files import StoredTrial
from p4mesh.verdict import Verdict


def trial(unit: str, ports: int, lost: int = 1) -> StoredTrial:
    """A trial of a full mesh whose flows to port 0 lose frames."""
    flows = [
        {
            "tx_port": source,
            "rx_port": sink,
            "tx_frames": 10,
            "rx_frames": 10 - lost * (sink == 0),
            "duplicate_frames": 0,
            "latency": None,
        }
        for source in range(ports)
        for sink in range(ports)
        if source != sink
    ]
    received = [{"port": port, "rx_frames": 90 * (port > 0 or not lost)} for port in range(ports)]
    result = {"status": "MEASURED", "flows": flows, "ports": received}
    return StoredTrial(unit, 0, 100.0, Verdict.FAIL, {"streams": [{"rx_ports": []}]}, result)


def test_each_pair_of_ports_is_a_cell() -> None:
    (chart,) = flow_charts([trial("64B", 18), trial("512B", 18)])
    assert isinstance(chart, Chart)
    values = chart.spec["data"]["values"]
    assert len(values) == 2 * 18 * 17
    assert {value["value"] for value in values} == {0.0, 1.0}
    assert {value["y"] for value in values if value["value"]} == {0}


def test_a_cell_has_all_flows_between_its_ports() -> None:
    """The same loss from and to every port, by different ones of two flows: nothing differs."""
    one, other = trial("64B", 2), trial("64B", 2)
    for flow in other.result["flows"]:
        flow["rx_frames"] = 19 - flow["rx_frames"]
    one.result["flows"].extend(other.result["flows"])
    assert not flow_charts([one])
    one.result["flows"][0] |= {"rx_frames": 7, "duplicate_frames": 2, "latency": {"sum_ns": 4000, "count": 2}}
    one.result["flows"][2] |= {"latency": {"sum_ns": 6000, "count": 8}}
    one.result["flows"][1] |= {"latency": {"sum_ns": 3000, "count": 1}}
    lost, latency = (chart.spec["data"]["values"] for chart in flow_charts([one]) if isinstance(chart, Chart))
    assert [cell["value"] for cell in lost] == [6.0, 1.0]
    assert [cell["value"] for cell in latency] == [1.0, 3.0]


def test_parts_have_one_scale_and_those_that_are_alike_none() -> None:
    (chart,) = flow_charts([trial("64B", 4, lost=2), trial("128B", 4, lost=5), trial("512B", 4, lost=0)])
    assert isinstance(chart, Chart)
    assert {value["part"] for value in chart.spec["data"]["values"]} == {"64B", "128B"}
    assert chart.spec["spec"]["encoding"]["color"]["scale"]["domain"] == [0, 5]


def test_ports_are_shown_in_the_trials_in_which_they_differ() -> None:
    chart = port_chart([trial("64B", 4), trial("512B", 4, lost=0)])
    assert isinstance(chart, Chart)
    assert {value["part"] for value in chart.spec["data"]["values"]} == {"64B"}
    assert chart.note.startswith("In 1 of 2 trials all receiving ports got the same")
    alike = port_chart([trial("512B", 4, lost=0)])
    assert isinstance(alike, Paragraph) and alike.text.startswith("In 1 of 1 trials")


def test_parts_beyond_the_room_of_a_page_are_told() -> None:
    (chart,) = flow_charts([trial("64B", 128), trial("512B", 128)])
    assert isinstance(chart, Chart)
    assert {value["part"] for value in chart.spec["data"]["values"]} == {"64B"}
    assert chart.note.endswith("1 of 2 parts: the others have more flows than a page has room for.")


def test_of_many_parts_some_are_drawn_and_their_number_is_told() -> None:
    trials = [trial(f"{size}B", 4) for size in range(64, 164)]
    (flows,) = flow_charts(trials)
    for chart in (flows, port_chart(trials)):
        assert isinstance(chart, Chart)
        parts = list(dict.fromkeys(value["part"] for value in chart.spec["data"]["values"]))
        assert len(parts) == 24 and (parts[0], parts[-1]) == ("64B", "163B")
        assert chart.note.startswith("24 of 100 parts are drawn.")


def test_a_mesh_that_no_page_has_room_for_is_told() -> None:
    (found,) = flow_charts([trial("64B", 150)])
    assert isinstance(found, Paragraph)
    assert "more than 20,000" in found.text


def test_ports_that_only_send_are_no_difference() -> None:
    sending = trial("64B", 4)
    one_way = replace(sending, spec={"streams": [{"rx_ports": [1, 2, 3]}]})
    assert isinstance(port_chart([one_way]), Paragraph)
    assert port_chart([replace(sending, spec={"streams": [{"rx_ports": [1]}]})]) is None


def receiving(unit: str, *frames: int, index: int = 0, status: str = "MEASURED") -> StoredTrial:
    """A trial without flows whose ports from 0 on received these frames."""
    ports = [{"port": port, "rx_frames": count} for port, count in enumerate(frames)]
    result = {"status": status, "flows": [], "ports": ports}
    return StoredTrial(unit, index, 50.0, Verdict.FAIL, {"streams": [{"rx_ports": []}]}, result)


def spec_of(found: object) -> dict[str, Any]:
    assert isinstance(found, Chart)
    return found.spec


def test_ports_are_compared_with_their_mean() -> None:
    """The mean of 10, 20 and 45 frames is 25, that of 599 and 601 frames 600: these are alike within 1 %."""
    trials = [
        receiving("64B", 10, 20, 45),
        receiving("64B", 599, 601, index=1),
        receiving("64B", 1, 2, index=2),
        receiving("64B", 7, 9, index=3, status="INVALID"),
        receiving("64B", 7, index=4),
    ]
    spec = spec_of(port_chart(trials))
    cells = [(cell["x"], cell["y"], cell["frames"], cell["value"]) for cell in spec["data"]["values"]]
    assert cells == [
        (0, 0, 10, -60.0),
        (0, 1, 20, -20.0),
        (0, 2, 45, 80.0),
        (2, 0, 1, -33.333),
        (2, 1, 2, 33.333),
    ]
    assert spec["spec"]["encoding"]["color"]["scale"] == {"scheme": "blueorange", "domain": [-80.0, 80.0]}
    slight = spec_of(port_chart([receiving("64B", 199, 202, 199)]))
    assert slight["spec"]["encoding"]["color"]["scale"]["domain"] == [-1.0, 1.0]
    assert port_chart([receiving("64B", 7)]) is None


def test_where_all_trials_are_too_much_each_part_has_its_last_one() -> None:
    some = [receiving("64B", 1, *[2] * 99, index=index) for index in range(200)]
    assert len(spec_of(port_chart(some))["data"]["values"]) == 20_000
    chart = port_chart([*some, receiving("128B", 3, 4, index=200)])
    assert {cell["x"] for cell in spec_of(chart)["data"]["values"]} == {199, 200}
    assert isinstance(chart, Chart) and chart.note.startswith("The last trial of each part only.")


def test_a_mesh_that_just_has_room_is_drawn_and_untrusted_flows_are_not() -> None:
    full = trial("64B", 2)
    full.result["flows"][:] = [*full.result["flows"] * 9999, *full.result["flows"]]
    untrusted = replace(trial("128B", 4), result=trial("128B", 4).result | {"status": "INVALID"})
    (chart,) = flow_charts([full, untrusted])
    assert isinstance(chart, Chart)
    assert [cell["value"] for cell in chart.spec["data"]["values"]] == [0.0, 10_000.0]
    assert chart.note == "The last trial of each part that kept its flows apart, where they differ by more than 1 %."
    full.result["flows"].append(full.result["flows"][0])
    assert isinstance(flow_charts([full])[0], Paragraph)


def test_latencies_differ_though_nothing_is_lost() -> None:
    """Colours of loss begin at 0, those of latency at the least one."""
    one = trial("64B", 2, lost=0)
    for flow, sum_ns in zip(one.result["flows"], (2000, 9000), strict=True):
        flow["latency"] = {"sum_ns": sum_ns, "count": 2}
    (latency,) = flow_charts([one])
    assert spec_of(latency)["spec"]["encoding"]["color"]["scale"] == {"scheme": "viridis", "domain": [1.0, 4.5]}
    (loss,) = flow_charts([trial("64B", 2, lost=3)])
    assert spec_of(loss)["spec"]["encoding"]["color"]["scale"] == {"scheme": "viridis", "domain": [0, 3.0]}


@pytest.mark.parametrize(
    ("ports", "height", "every"), [(2, 18, 1), (16, 18, 1), (17, 18, 2), (32, 12, 3), (40, 10, 3), (128, 6, 9)]
)
def test_cells_of_many_ports_are_small_and_few_of_them_have_a_number(ports: int, height: int, every: int) -> None:
    """400 pixels for all ports, 6 to 18 for each; up to 16 numbers."""
    spec = spec_of(port_chart([receiving("64B", 1, *[2] * (ports - 1))]))["spec"]
    assert spec["height"] == {"step": height}
    assert spec["encoding"]["y"]["axis"]["values"] == list(range(0, ports, every))


def test_parts_with_long_names_stand_below_each_other() -> None:
    for name, columns in (("x" * 40, 2), ("x" * 41, 1)):
        assert spec_of(port_chart([receiving("64B", 1, 2), receiving(name, 1, 2)]))["columns"] == columns
