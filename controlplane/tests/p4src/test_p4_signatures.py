"""v1model and TNA: parts that must differ are controls of the same name with the same signature; the rest is shared."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.p4_signatures import (
    Declaration,
    Parameter,
    declarations,
    declared_types,
    macro_declarations,
    package_arguments,
    struct_members,
)

from p4mesh.tester.contract import P4SRC, sources_of

MAIN = {"v1model": "v1model/p4mesh.p4", "tna": "tna/p4mesh.p4"}
PACKAGE = {"v1model": "V1Switch", "tna": "Pipeline"}
BASE_TYPE = re.compile(r"bit<\w+>|int<\w+>|bool")
NOT_ON_TOFINO = {
    *("frame_sizes.p4", "invariant_crc.p4", "more_modifiers.p4", "p4mesh_payload.p4", "received_fields.p4"),
    *("strays.p4", "tunnels.p4"),
}
"""Files of v1model without a counterpart, each with a row of docs/LIMITATIONS.md that says why."""
CALLED_BY_NO_SHARED_CONTROL = {"Bin"}
"""Part of Histograms whose parameters differ: bins of v1model have several widths; no Tofino shifts by a variable."""


def sources(folder: str) -> list[Path]:
    return sorted((P4SRC / folder).glob("*.p4"))


def declared(folder: str) -> dict[str, Declaration]:
    found = [declaration for path in sources(folder) for declaration in declarations(path)]
    names = [declaration.name for declaration in found]
    assert len(set(names)) == len(names), f"{folder} declares a control twice"
    return {declaration.name: declaration for declaration in found}


def given_by_the_architecture() -> set[str]:
    """Controls that V1Switch and Pipeline call: the architectures prescribe their parameters."""
    return set().union(*(package_arguments(P4SRC / MAIN[folder], PACKAGE[folder]) for folder in MAIN))


def test_controls_of_the_same_name_have_the_same_signature() -> None:
    """Goal: a shared control can call either one; parameters agree in order, direction, type and name."""
    v1model, tna = declared("v1model"), declared("tna")
    architecture = given_by_the_architecture()
    both = sorted((v1model.keys() & tna.keys()) - architecture - CALLED_BY_NO_SHARED_CONTROL)

    shared = "".join(path.read_text() for path in sources("shared"))
    assert not any(f"{name}()" in shared for name in CALLED_BY_NO_SHARED_CONTROL)
    assert {"TesterIngress", "TesterEgress"} <= architecture
    assert {"Reporting", "Circulation", "FlowMeasurement", "DepartureClock", "FieldAdders"} <= set(both)
    assert [v1model[name] for name in both] == [tna[name] for name in both]


def test_types_of_these_signatures_are_declared_by_both_programs() -> None:
    """Goal: a type that an architecture spells in its own way has one name."""
    v1model, tna = declared("v1model"), declared("tna")
    known = {
        folder: set().union(*(declared_types(P4SRC / name) for name in sources_of(main)))
        for folder, main in MAIN.items()
    }
    names = (v1model.keys() & tna.keys()) - given_by_the_architecture()
    shared = [declaration for path in sources("shared") for declaration in declarations(path)]
    used = {
        parameter.type
        for declaration in (*shared, *(tna[name] for name in names))
        for parameter in declaration.parameters + declaration.constructor
        if not BASE_TYPE.fullmatch(parameter.type)
    }

    assert {"verdict_t", "op_t", "ingress_headers_t"} <= used
    assert {folder: sorted(used - types) for folder, types in known.items()} == {"v1model": [], "tna": []}


def test_fields_that_shared_controls_use_have_the_same_types_in_both_programs() -> None:
    """Goal: no shared control computes in one width on v1model and in another one on Tofino, unless a type says so.

    Fields that one program alone looks at may differ.
    """
    shared = "".join(path.read_text() for path in sources("shared"))
    used = {name: set(re.findall(rf"\b{name}\.(\w+)", shared)) for name in ("hdr", "local")}
    types: dict[str, dict[str, dict[str, str]]] = {folder: {"hdr": {}, "local": {}} for folder in MAIN}
    for folder, found in types.items():
        structs = struct_members(P4SRC / folder / "types.p4")
        found["local"] = structs["ingress_t"]
        found["hdr"] = structs["ingress_headers_t"] | structs["egress_headers_t"]

    assert {"flow_op", "reason", "slot"} <= used["local"] and {"signature", "loop", "ipv4"} <= used["hdr"]
    for name, fields in used.items():
        assert fields <= types["v1model"][name].keys() & types["tna"][name].keys()
        assert [(field, types["v1model"][name][field]) for field in sorted(fields)] == [
            (field, types["tna"][name][field]) for field in sorted(fields)
        ]


def test_shared_controls_are_written_once_and_are_part_of_both_programs() -> None:
    shared = {path.relative_to(P4SRC).as_posix() for path in sources("shared")}
    names = {declaration.name for path in sources("shared") for declaration in declarations(path)}

    assert {"Requests", "Streams", "Pacing", "Reception", "Classification", "Transmission"} <= names
    for folder, main in MAIN.items():
        assert shared <= set(sources_of(main)), f"{folder} does not include all of p4src/shared"
        assert names & declared(folder).keys() == set(), f"{folder} repeats a shared control"


def test_both_programs_have_the_same_files_for_the_same_jobs() -> None:
    names = {folder: {path.name for path in sources(folder)} for folder in MAIN}

    assert {"ingress.p4", "egress.p4", "parser.p4", "deparser.p4", "sizes.p4"} <= names["v1model"]
    assert names["v1model"] == names["tna"] | NOT_ON_TOFINO


def test_the_include_folder_holds_what_both_programs_share() -> None:
    """Goal: every file is part of both programs, and every header type in them is one that both use."""
    shared = {path.relative_to(P4SRC).as_posix() for path in sources("include")}
    headers = set(re.findall(r"^header (\w+)", (P4SRC / "include" / "headers.p4").read_text(), re.M))

    assert headers
    for folder, main in MAIN.items():
        assert shared <= set(sources_of(main)), f"{folder} does not include all of p4src/include"
        members = set(re.findall(r"^\s+(\w+)(?:\[\w+\])?\s+\w+;", (P4SRC / folder / "types.p4").read_text(), re.M))
        assert headers <= members, f"{folder} has no use for {sorted(headers - members)}"


def test_a_size_is_given_once() -> None:
    """Goal: a target repeats no size of p4src/include; both give those that the memory of a target bounds."""
    given = {
        folder: set(re.findall(r"^#define (\w+)\s+\S", (P4SRC / folder / "sizes.p4").read_text(), re.M))
        for folder in ("include", *MAIN)
    }

    assert given["include"].isdisjoint(given["v1model"] | given["tna"])
    assert {"FLOWS", "WINDOW_BITS", "HISTOGRAMS"} <= given["v1model"] & given["tna"]


def test_no_control_of_a_target_is_hidden_in_a_macro() -> None:
    assert [macro for folder in MAIN for path in sources(folder) for macro in macro_declarations(path)] == []


def test_a_different_signature_is_noticed(tmp_path: Path) -> None:
    source = tmp_path / "a.p4"
    text = "#define X(N) \\\n control N(in bit<8> a) {}\ncontrol C(in bit<9> port, // why\n inout h_t hdr)(bit<32> n) {"
    source.write_text(text + " apply {} }\nstruct h_t { bit<8> a; }\ntypedef bit<2> op_t;\nV1Switch(P(), C()) main;")

    assert declarations(source) == [
        Declaration(
            "control",
            "C",
            (Parameter("in", "bit<9>", "port"), Parameter("inout", "h_t", "hdr")),
            (Parameter("", "bit<32>", "n"),),
        )
    ]
    assert macro_declarations(source) == ["#define X"]
    assert declared_types(source) == {"h_t", "op_t"}
    assert package_arguments(source, "V1Switch") == {"P", "C"}
    assert struct_members(source) == {"h_t": {"a": "bit<8>"}}
    source.write_text("control C(in bit<9> port, VERDICT) {")
    with pytest.raises(AssertionError, match="'VERDICT' is no plain parameter"):
        declarations(source)
