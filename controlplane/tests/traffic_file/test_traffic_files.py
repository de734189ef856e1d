"""Traffic files: their schema, rates with units, settings, sweeps, and the examples."""

from __future__ import annotations

import importlib
import json
import re
import sys
from fractions import Fraction
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator
from support.beds import make_bed

from p4mesh.errors import TrafficFileError
from p4mesh.methods.traffic.method import laid_over
from p4mesh.run.preparation import bed_of
from p4mesh.topology import load_topology
from p4mesh.traffic.rates import Rate, line_share
from p4mesh.traffic_file.model import Accept
from p4mesh.traffic_file.reader import load_traffic, parse_traffic
from p4mesh.traffic_file.schema import schema

ROOT = Path(__file__).parents[3]
EXAMPLES = sorted((ROOT / "traffic").glob("*.yaml"))
PAIR = """\
name: pair
duration_s: 1
classes:
  east: {senders: 1, receivers: 2, pattern: pairs, rate: 10 %, sizes: 64}
  west: {senders: 2, receivers: 1, pattern: pairs, rate: 10 %, sizes: 64}
"""


def test_the_published_schema_and_the_table_of_keys_are_those_of_the_reader() -> None:
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        describe = importlib.import_module("describe_traffic")
    finally:
        sys.path.pop(0)
    assert describe.SCHEMA.read_text() == describe.schema_text(), "run scripts/describe_traffic.py"
    assert describe.DOCUMENT.read_text() == describe.document(), "run scripts/describe_traffic.py"
    Draft202012Validator.check_schema(schema())


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_editor_accepts_every_example_and_its_topology_carries_it(path: Path) -> None:
    text = path.read_text()
    published = json.loads((path.parent / "schema.json").read_text())
    assert not list(Draft202012Validator(published).iter_errors(yaml.safe_load(text)))
    assert text.startswith("# yaml-language-server: $schema=schema.json\n")
    command = re.search(rf"p4mesh traffic traffic/{path.name} --topology (\S+)", text)
    assert command
    assert laid_over(load_traffic(path), bed_of(load_topology(ROOT / command[1]))).runs


@pytest.mark.parametrize(
    ("text", "fps"),
    [
        ("100000 frames/s", 100_000),
        ("100 kframes/s", 100_000),
        ("88 Mbit/s L1", 100_000),  # 90 bytes and 20 of preamble and gap
        ("72 Mbit/s L2", 100_000),
        ("68.8 Mbit/s no FCS", 100_000),
        ("0.0688 Gbit/s no FCS", 100_000),
        ("8.8 %", 100_000),
        ("17.6 % of cap", 100_000),
        ("1 bit/s L2", Fraction(1, 720)),
    ],
)
def test_a_rate_means_the_same_in_every_unit(text: str, fps: Fraction) -> None:
    rate_fps = Rate.parse(text).fps(90, 10**9, 500_000_000)
    assert rate_fps == fps
    assert line_share(rate_fps, 90, 10**9) == Fraction(fps) * 8 * 110 / 10**9


@pytest.mark.parametrize(
    "text", ["10", "10 Mbit/s", "0 %", "-1 %", "10 percent", "1e3 frames/s", "1 Pbit/s L1", "1 %x"]
)
def test_a_rate_without_its_unit_is_none(text: str) -> None:
    with pytest.raises(ValueError, match="a rate with its unit"):
        Rate.parse(text)


def test_a_product_has_every_combination_and_a_list_its_rows() -> None:
    sweep = """\
sweep:
  list: [{east.rate: 1 %, west.rate: 2 %}, {east.rate: 3 %}]
  product: {west.sizes: [64, 128], duration_s: [1, 2, 3]}
"""
    runs = parse_traffic("x.yaml", PAIR + sweep).runs
    assert [run.label for run in runs][:4] == [
        "east.rate=1 %, west.rate=2 %, west.sizes=64, duration_s=1",
        "east.rate=1 %, west.rate=2 %, west.sizes=64, duration_s=2",
        "east.rate=1 %, west.rate=2 %, west.sizes=64, duration_s=3",
        "east.rate=1 %, west.rate=2 %, west.sizes=128, duration_s=1",
    ]
    assert len(runs) == 12
    last = runs[-1].traffic
    assert (last.classes["east"].rate, last.classes["west"].rate) == ("3 %", "10 %")
    assert (last.classes["west"].sizes, last.duration_s) == (128, 3)


@pytest.mark.parametrize(
    ("phases", "streams", "starts_differ"),
    [("in_step", 1, False), ("independent", 1, True), ("drifting", 2, True)],
)
def test_senders_of_a_class_begin_together_unless_their_phases_differ(
    phases: str, streams: int, starts_differ: bool
) -> None:
    """They start after 5 ms and send for 1 s; a phase is less than a frame interval, 6.72 us at 10 % of 64 bytes."""
    settings = ("east.senders=1-2", "east.receivers=3-4", "east.start_ms=5", f"east.phases={phases}")
    (run,) = laid_over(parse_traffic("x.yaml", PAIR, settings), make_bed()).runs
    east = run.classes[0]
    starts = [offset for stream in east.streams for offset in stream.start_offset_ns]
    assert (len(east.streams), len(set(starts)) > 1) == (streams, starts_differ)
    assert all(5_000_000 <= start < 5_006_720 for start in starts)
    assert east.end_ns == max(starts) + 10**9
    (mixed,) = laid_over(parse_traffic("x.yaml", PAIR, (*settings, "east.sizes=64-65")), make_bed()).runs
    assert {size for stream in mixed.classes[0].streams for size in stream.frame_sizes_bytes} == {64, 65}


def test_settings_replace_values_and_messages_name_them() -> None:
    (run,) = parse_traffic("x.yaml", PAIR, ("east.rate=5 %", "west.accept={loss_ratio: 1e-9}", "duration_s=2")).runs
    assert (run.traffic.classes["east"].rate, run.traffic.duration_s) == ("5 %", 2)
    assert run.source.where(("classes", "west", "accept", "loss_ratio")) == "--set west.accept={loss_ratio: 1e-9}"
    assert run.source.where(("classes", "west", "rate")) == "x.yaml:5: classes.west.rate"


def test_a_setting_that_every_run_of_the_sweep_replaces_is_refused() -> None:
    swept = PAIR + "sweep:\n  product: {east.sizes: [64, 128]}\n"
    for setting in ("east.sizes=256", "classes.east.sizes=256"):
        with pytest.raises(TrafficFileError, match=r"the sweep gives every run a 'east.sizes' of its own") as raised:
            parse_traffic("x.yaml", swept, [setting])
        assert "x.yaml:7: sweep.product" in raised.value.hint
    rows = PAIR + "sweep:\n  list: [{east.accept.lost_frames: 1}, {east.accept.lost_frames: 2, east.rate: 2 %}]\n"
    with pytest.raises(TrafficFileError, match=r"a 'east\.accept\.lost_frames' of its own"):
        parse_traffic("x.yaml", rows, ["east.accept.lost_frames=3"])
    # A key of some rows alone, and what is around a key of the sweep, still count.
    one, two = parse_traffic("x.yaml", rows, ["east.rate=3 %", "east.accept={loss_ratio: 0.5}"]).runs
    assert (one.traffic.classes["east"].rate, two.traffic.classes["east"].rate) == ("3 %", "2 %")
    accepted = [run.traffic.classes["east"].accept for run in (one, two)]
    assert [isinstance(accept, Accept) and accept.loss_ratio for accept in accepted] == [0.5, 0.5]


def test_a_value_of_a_sweep_is_checked_where_it_stands() -> None:
    with pytest.raises(TrafficFileError, match=r"x.yaml:7: sweep.product.east.sizes\[1\]: 63 is not valid"):
        parse_traffic("x.yaml", PAIR + "sweep:\n  product: {east.sizes: [64, 63]}\n")
