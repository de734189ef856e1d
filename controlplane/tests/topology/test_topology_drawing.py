"""The drawing of a topology: every node and cable is in it, it is well-formed, and equal for equal files."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from support.networks import TOPOLOGIES

from p4mesh.cli.main import main
from p4mesh.topology import load_topology
from p4mesh.topology.drawing import draw

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("path", sorted(TOPOLOGIES.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_node_of_every_shipped_topology_has_a_box_inside_the_drawing(path: Path) -> None:
    topology = load_topology(path)
    drawing = draw(topology)
    root = ElementTree.fromstring(drawing)
    boxes = root.findall(f"{SVG}rect")
    assert len(boxes) == 1 + len(topology.devices)
    for box in boxes:
        assert int(box.attrib["x"]) + int(box.attrib["width"]) <= int(root.attrib["width"])
        assert int(box.attrib["y"]) + int(box.attrib["height"]) <= int(root.attrib["height"])
    texts = [text.text for text in root.findall(f"{SVG}text")]
    for name in ("tester", *(device.name for device in topology.devices)):
        assert name in texts
    assert draw(load_topology(path)) == drawing


def test_a_chain_goes_from_left_to_right_and_cables_name_their_ports() -> None:
    drawing = draw(load_topology(TOPOLOGIES / "wrs-4-layers.yaml"))
    root = ElementTree.fromstring(drawing)
    places = [int(box.attrib["x"]) for box in root.findall(f"{SVG}rect")]
    assert len(set(places)) == 5
    texts = [text.text for text in root.findall(f"{SVG}text")]
    for label in ("1-6 - 1-6", "15-18 - 1-4", "18 - 17"):
        assert label in texts


def test_the_command_writes_the_drawing_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    path = TOPOLOGIES / "back-to-back.yaml"
    assert main(["topology", "draw", str(path)]) == 0
    assert capsys.readouterr().out == draw(load_topology(path))


def test_an_unknown_file_is_a_message(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topology", "draw", "nowhere.yaml"]) == 2
    assert "no such topology file" in capsys.readouterr().err
