"""The tester for Tofino has the contract of v1model, and its records belong to its sources."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import sys
from contextlib import nullcontext
from fnmatch import fnmatchcase
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from p4mesh.p4runtime import load_p4info
from p4mesh.tester.contract import P4SRC, constants_of, hash_of_sources, load_contract, sources_of

ROOT = Path(__file__).parents[3]
COMPILED = P4SRC / "compiled"
MAIN = "tna/p4mesh.p4"
CHIPS = {"tofino1": "Tofino 1", "tofino2": "Tofino 2", "tofino2_ipdv": "Tofino 2 with IPDV"}
LEAST_FLOWS = {"tofino1": 16384, "tofino2": 65536, "tofino2_ipdv": 16384}
LEAST_STREAMS = 256
_FIX = "run make p4-tofino where the Tofino back end of p4c is installed"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("compile_tofino", ROOT / "scripts" / "compile_tofino.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def record() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((COMPILED / "tofino.json").read_text())
    return loaded


def p4info_of(chip: str) -> Path:
    return COMPILED / f"p4mesh.{chip}.p4info.txtpb"


def contract_of(path: Path) -> dict[str, str]:
    """The properties of a program that a controller sees, one line each.

    Tables that the program fills itself are left out: no controller reads or writes them.
    """
    info = load_p4info(path)
    actions = {action.preamble.id: action for action in info.actions}
    seen: dict[str, Any] = {}
    for table in info.tables:
        if table.is_const_table:
            continue
        name = f"table {table.preamble.name}"
        seen |= {f"{name} id": table.preamble.id, f"{name} size": table.size, f"{name} alias": table.preamble.alias}
        seen[f"{name} default"] = actions[table.const_default_action_id].preamble.name if (
            table.const_default_action_id
        ) else ""  # fmt: skip
        for field in table.match_fields:
            seen[f"{name} key {field.name}"] = f"{field.id}: {field.bitwidth} bits, {field.match_type}"
        for reference in table.action_refs:
            action = actions[reference.id]
            params = ", ".join(f"{p.id}: {p.name} {p.bitwidth} bits" for p in action.params)
            scope = "" if action.preamble.name == "NoAction" else f" id {reference.id}"
            seen[f"{name} action {action.preamble.name}"] = f"({params}) scope {reference.scope}{scope}"
    for counter in info.counters:
        name = f"counter {counter.preamble.name}"
        seen |= {f"{name} id": counter.preamble.id, f"{name} size": counter.size, f"{name} unit": counter.spec.unit}
    for value_set in info.value_sets:
        seen[f"value set {value_set.preamble.name} size"] = value_set.size
    for header in info.controller_packet_metadata:
        fields = ", ".join(f"{m.id}: {m.name} {m.bitwidth} bits" for m in header.metadata)
        seen[f"header {header.preamble.name}"] = fields
    return {name: str(value) for name, value in seen.items()}


@pytest.mark.parametrize("chip", CHIPS)
def test_p4info_differs_from_v1model_only_where_the_list_of_differences_says_so(chip: str) -> None:
    """Goal: controllers and PTF tests do not know which target they drive."""
    v1model, tofino = contract_of(load_contract().p4info_path), contract_of(p4info_of(chip))
    allowed = yaml.safe_load((P4SRC / "tna" / "contract_differences.yaml").read_text())
    unused = {entry["of"] for entry in allowed if chip in entry or "v1model" not in entry}
    unexpected = []
    for name in sorted(v1model.keys() | tofino.keys()):
        ours, theirs = v1model.get(name), tofino.get(name)
        if ours == theirs:
            continue
        entry = next((e for e in allowed if fnmatchcase(name, e["of"])), None)
        if entry is None or ("v1model" in entry and (str(entry["v1model"]), str(entry.get(chip))) != (ours, theirs)):
            unexpected.append(f"{name}: v1model {ours}, {chip} {theirs}")
        else:
            unused.discard(entry["of"])

    assert unexpected == []
    assert unused == set()
    assert all(entry["reason"] for entry in allowed)


def test_the_record_is_of_the_sources(record: dict[str, Any]) -> None:
    sources = sources_of(MAIN)

    assert record["sources"] == sources, _FIX
    assert record["source_sha256"] == hash_of_sources(sources), _FIX
    for chip in CHIPS:
        assert record["output_sha256"][p4info_of(chip).name] == hashlib.sha256(p4info_of(chip).read_bytes()).hexdigest()


def test_the_document_is_the_record(script: ModuleType, record: dict[str, Any]) -> None:
    assert script.DOCUMENT.read_text() == script.rendered(record), _FIX


def test_a_changed_source_is_noticed(record: dict[str, Any], tmp_path: Path) -> None:
    for name in sources_of(MAIN):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes((P4SRC / name).read_bytes())
    (tmp_path / "shared" / "transmission.p4").open("a").write("// changed\n")

    assert hash_of_sources(sources_of(MAIN, tmp_path), tmp_path) != record["source_sha256"]


@pytest.mark.parametrize("chip", CHIPS)
def test_it_fits_the_chip(script: ModuleType, record: dict[str, Any], chip: str) -> None:
    """Goal: the program fits the stages, with the flows and streams that a mesh of the chip's ports needs."""
    title = CHIPS[chip]
    limit = next(c.stages for c in script.CHIPS if c.title == title)

    assert 0 < len(record["stages"][title]) <= limit
    info = load_p4info(p4info_of(chip))
    assert next(c.size for c in info.counters if c.preamble.alias == "flow_transmit") >= LEAST_FLOWS[chip]
    assert next(t.size for t in info.tables if t.preamble.alias == "stream") >= LEAST_STREAMS


@pytest.mark.parametrize("chip", CHIPS)
def test_the_controller_knows_the_sizes_of_the_chip(record: dict[str, Any], chip: str) -> None:
    """Goal: the constants that limit a trial are those of this chip's branch of the sources, and of its P4Info."""
    constants = record["constants"][chip]
    info = load_p4info(p4info_of(chip))
    objects = (*info.tables, *info.counters, *info.value_sets)
    sizes = {item.preamble.alias.rpartition(".")[2]: item.size for item in objects}

    number, ipdv = int(chip[len("tofino")]), int(chip.endswith("ipdv"))
    defines = {"__TARGET_TOFINO__": number, "PIPES": 2, "IPDV": ipdv}
    assert constants == constants_of(sources_of(MAIN), defines=defines)
    assert constants["FLOWS"] == sizes["flow_transmit"] == LEAST_FLOWS[chip]
    assert (constants["PORT_CPU"], constants["PORT_LOOP"]) == {1: (192, 68), 2: (0, 6)}[number]
    assert constants["HISTOGRAMS"] * constants["HISTOGRAM_BINS"] == sizes["latency_histogram"]
    for name in ("streams", "transmitters", "destinations", "receivers", "histogram_rules", "loop_ports"):
        table = {"streams": "stream", "transmitters": "transmitter", "destinations": "destination"}.get(name, name)
        table = {"receivers": "receiver", "histogram_rules": "histogram"}.get(name, table)
        assert constants[name.upper()] == sizes[table], name


def test_a_tofino_1_with_more_pipes_has_another_cpu_port_and_nothing_else(record: dict[str, Any]) -> None:
    two, four = record["constants"]["tofino1"], record["constants"]["tofino1_4pipes"]

    assert four == constants_of(sources_of(MAIN), defines={"__TARGET_TOFINO__": 1, "PIPES": 4, "IPDV": 0})
    assert {name: (two[name], four[name]) for name in two if two[name] != four[name]} == {"PORT_CPU": (192, 320)}
    assert two.keys() == four.keys()


def test_codes_are_those_of_v1model() -> None:
    """Goal: reasons, kinds, flags and field codes are one numbering."""
    tofino = constants_of(sources_of(MAIN))
    prefixes = ("REASON_", "KIND_", "FLAG_", "FIELD_", "SIGNATURE_")
    v1model = {name: value for name, value in load_contract().constants.items() if name.startswith(prefixes)}

    more = {name for name in v1model if name.startswith("FIELD_")} - set(tofino)
    shared = {name: value for name, value in v1model.items() if name not in more}
    assert shared and {name: tofino.get(name) for name in shared} == shared
    fields = [value for name, value in v1model.items() if name.startswith("FIELD_")]
    assert len(set(fields)) == len(fields), "fields of v1model alone have numbers of their own"


def assembly_of(drop_ctl: str, mirror_type: str = "B2(0..2)", capture: str = "B19(2)") -> str:
    """The parts of an assembly that say what is in which container; ``drop_ctl`` is that of egress."""
    return f"""
phv ingress:
  ig_intr_md_for_dprsr.drop_ctl: {{  stage 3..12: B5(3..5) }}
  meta.queue: {{  stage 3..6: B5(0..2) }}
phv egress:
  random_value: {{  stage 5..6: W16 }}
  small: {{  stage 5..6: B17(0..3) }}
  eg_intr_md_for_oport.capture_tstamp_on_tx: {{  stage 1..12: {capture} }}
  eg_intr_md_for_dprsr.drop_ctl: {{  stage 12: {drop_ctl} }}
  context_json:
    W16:
deparser ingress:
  dictionary: {{}}
  drop_ctl: B5(3..5)  # bit[5..3]: ingress::ig_intr_md_for_dprsr.drop_ctl
  mirror:
    select: {mirror_type}  # bit[2..0]: ingress::ig_intr_md_for_dprsr.mirror_type
deparser egress:
  capture_tx_ts: {capture}  # bit[2]: egress::eg_intr_md_for_oport.capture_tstamp_on_tx
  drop_ctl: {drop_ctl}  # egress::eg_intr_md_for_dprsr.drop_ctl
stage 0 ingress:
"""


def test_a_drop_or_a_mirror_that_shares_its_bits_fails_the_build(script: ModuleType) -> None:
    with pytest.raises(SystemExit, match="drop_ctl of egress shares its container with random_value"):
        script.verdicts_of(assembly_of("W16(0..2)"))
    with pytest.raises(SystemExit, match=r"mirror_type of ingress shares its container with meta.queue"):
        script.verdicts_of(assembly_of("B17(4..6)", "B5(0..2)"))
    with pytest.raises(SystemExit, match="capture_tstamp_on_tx of egress shares its container with small"):
        script.verdicts_of(assembly_of("B17(4..6)", capture="B17(3)"))
    found = script.verdicts_of(assembly_of("B17(4..6)"))
    assert found["mirror_type of ingress"] == {"bits": ["B2", 0, 2], "if": [], "shared_with": []}
    assert found["drop_ctl of ingress"] == {"bits": ["B5", 3, 5], "if": [], "shared_with": []}
    assert found["drop_ctl of egress"] == {"bits": ["B17", 4, 6], "if": [], "shared_with": []}


def test_a_drop_with_a_bit_that_makes_it_valid_may_share_its_bits(script: ModuleType) -> None:
    found = script.verdicts_of(assembly_of("{ W16(0..2): H4(2) }"))
    assert found["drop_ctl of egress"] == {"bits": ["W16", 0, 2], "if": [["H4", 2, 2]], "shared_with": ["random_value"]}


def parser_of(cell: str, window: str) -> str:
    """The parts of an assembly that say what the parser of ingress extracts of a signature."""
    return f"""
parser ingress:
  states:
    parse_test:
      0x6d65:
        {cell}
        {window}
parser egress:
  states:
phv ingress:
  meta.cell: {{  stage 0..10: W14 }}
  meta.window: {{  stage 0..1: W13(0..7) }}
  meta.late: {{  stage 0..1: W15(0..7) }}
  meta.early: {{  stage 0..1: W15(8..15) }}
  meta.jitter: {{  stage 9: W13 }}
  context_json:
    W14:
phv egress:
  context_json:
"""


def test_what_the_parser_writes_beside_a_field_is_known_or_fails_the_build(script: ModuleType) -> None:
    own = "9: W13(0..7)  # bit[72..79] -> W13 bit[7..0]: ingress::meta.window"
    cell = "2..5: W14  # bit[32..47] -> W14 bit[15..0]: ingress::meta.cell[15:0].0-15"
    whole = "6..9: W13  # bit[72..79] -> W13 bit[7..0]: ingress::meta.window"
    for window in (own, whole):
        assert script.overfilled_in(parser_of(cell, window)) == {"ingress": ["meta.cell"], "egress": []}
    half = "4..5: W14(0..15)  # bit[32..47] -> W14 bit[15..0]: ingress::meta.cell[15:0].0-15"
    assert script.overfilled_in(parser_of(half, own))["ingress"] == []
    both = [
        f"            # - bit[{bit}] -> W15 bit[{to}]: ingress::meta"
        for bit, to in (("0..7", "15..8"), ("8..15", "7..0"))
    ]
    assert script.overfilled_in(parser_of(half, "\n".join(["0..3: W15", *both])))["ingress"] == []
    with pytest.raises(SystemExit, match=r"extracts of meta\.late"):
        script.overfilled_in(parser_of(half, "\n".join(["0..3: W15", *both[:1]])))
    late = "6..9: W15  # bit[72..79] -> W15 bit[7..0]: ingress::meta.late"
    with pytest.raises(SystemExit, match=r"parser of ingress writes more than it extracts of meta\.early"):
        script.overfilled_in(parser_of(cell, late))


CHARACTERIZED = """Parser Characterization Report:
Number of states on ingress: 31

Number of matches on ingress: 80

Longest path (9 states) on ingress:
    $entry_point
    parse_ethernet

Shortest path (2 states) on ingress:
    $entry_point

Average rate: 9.1 Bps
Min packet size at 100 Gbps: 93 B (0 B payload)
Max data rate for min-sized packets: 90 Gbps / 120 MPps

Extractor usage:
Number of states on egress: 30

Longest path (6 states) on egress:
    $entry_point
    min_parse_depth_accept_initial
    min_parse_depth_accept_loop.$split_0
    min_parse_depth_accept_loop.$it1

Timing is met for min-sized packet (73 B) running at 100 Gbps
"""


def test_paths_of_the_parsers_are_taken_from_the_log_of_the_compiler(script: ModuleType, tmp_path: Path) -> None:
    log = tmp_path / "pipe" / "logs" / "parser.characterize.log"
    log.parent.mkdir(parents=True)
    assert script.parser_paths_of(tmp_path) == {}
    log.write_text(CHARACTERIZED)
    assert script.parser_paths_of(tmp_path) == {
        "ingress": {"longest_path": 9, "padding": 0, "shortest_bytes": 93},
        "egress": {"longest_path": 6, "padding": 2, "shortest_bytes": None},
    }


def test_paths_of_the_parsers_are_in_the_document(script: ModuleType, record: dict[str, Any]) -> None:
    paths = {
        "ingress": {"longest_path": 9, "padding": 0, "shortest_bytes": 93},
        "egress": {"longest_path": 6, "padding": 2, "shortest_bytes": None},
    }
    document = script.rendered(record | {"parsers": {"Tofino 1": paths}})
    assert "| Tofino 1 | ingress | 9 | 0 | 93 |\n| Tofino 1 | egress | 6 | 2 | any |" in document


@pytest.mark.parametrize(
    ("other", "fails"),
    [
        ("MH1: 4352  # value 17 -> MH1 bit[15..8]: ingress::meta.pass", True),
        ("0: MH1(8..15)  # bit[0..7] -> MH1 bit[15..8]: ingress::meta.pass", True),
        ("MB14: 17  # value 17 -> MB14 bit[7..0]: ingress::meta.pass", False),
        ("0..1: MH12  # ingress::ig_intr_md.ingress_port", False),
    ],
)
def test_the_result_of_a_checksum_has_a_container_of_its_own(script: ModuleType, other: str, fails: bool) -> None:
    """Goal: a Tofino 2 would drop all test frames; its model did."""
    check = "checksum 0:\n          type: VERIFY\n          mask: [ 0..1 ]\n          dest: MH1(0)"
    with pytest.raises(SystemExit, match=r"ingress .* to MH1") if fails else nullcontext():
        script.require_lone_checksums(parser_of(check, other))
