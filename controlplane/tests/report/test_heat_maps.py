"""Heat maps of flows: a page shows as many parts as it has room for, and says how many it leaves out."""

from __future__ import annotations

from p4mesh.report.document import Chart, Paragraph
from p4mesh.report.heat_maps import flow_charts
from p4mesh.store.run_files import StoredTrial
from p4mesh.verdict import Verdict


def trial(unit: str, ports: int) -> StoredTrial:
    """Return a trial of a full mesh that loses a frame per flow."""
    flows = [
        {"tx_port": source, "rx_port": sink, "tx_frames": 10, "rx_frames": 9, "duplicate_frames": 0, "latency": None}
        for source in range(ports)
        for sink in range(ports)
        if source != sink
    ]
    return StoredTrial(unit, 0, 100.0, Verdict.FAIL, {}, {"status": "MEASURED", "flows": flows})


def test_each_pair_of_ports_is_a_cell() -> None:
    (chart,) = flow_charts([trial("64B", 18), trial("512B", 18)])
    assert isinstance(chart, Chart)
    values = chart.spec["data"]["values"]
    assert len(values) == 2 * 18 * 17
    assert {value["value"] for value in values} == {1.0}
    assert chart.note == "The last trial of each part that kept its flows apart."


def test_parts_beyond_the_room_of_a_page_are_told() -> None:
    (chart,) = flow_charts([trial("64B", 128), trial("512B", 128)])
    assert isinstance(chart, Chart)
    assert {value["part"] for value in chart.spec["data"]["values"]} == {"64B"}
    assert chart.note.endswith("1 of 2 parts: the others have more flows than a page has room for.")


def test_a_mesh_that_no_page_has_room_for_is_told() -> None:
    (found,) = flow_charts([trial("64B", 150)])
    assert isinstance(found, Paragraph)
    assert "more than 20,000" in found.text
