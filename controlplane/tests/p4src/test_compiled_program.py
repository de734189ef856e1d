"""The compiled tester is the one of its sources, and the documents describe it."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
from pathlib import Path
from types import ModuleType

import pytest

from p4mesh.errors import ProgramError
from p4mesh.p4runtime import load_p4info
from p4mesh.tester.contract import P4SRC, constants_of, load_contract

ROOT = Path(__file__).parents[3]


def script(name: str) -> ModuleType:
    """Import a script of the project."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def copy_of_p4src(tmp_path: Path) -> Path:
    return Path(shutil.copytree(P4SRC, tmp_path / "p4src"))


def test_outputs_belong_to_the_sources() -> None:
    contract = load_contract()
    assert contract.json_path.exists() and contract.p4info_path.exists()
    manifest = json.loads((P4SRC / "compiled" / "manifest.json").read_text())
    assert manifest["p4mesh"]["compiler"].startswith("p4c-bm2-ss Version ")


def test_changed_source_is_noticed(tmp_path: Path) -> None:
    p4src = copy_of_p4src(tmp_path)
    (p4src / "shared" / "streams.p4").open("a").write("// changed\n")
    with pytest.raises(ProgramError, match="older than its sources"):
        load_contract(p4src=p4src)


def test_changed_output_is_noticed(tmp_path: Path) -> None:
    p4src = copy_of_p4src(tmp_path)
    (p4src / "compiled" / "p4mesh.json").open("a").write(" ")
    with pytest.raises(ProgramError, match="not the one of the manifest"):
        load_contract(p4src=p4src)


@pytest.mark.parametrize("file", ["manifest.json", "p4mesh.json", "p4mesh.p4info.txtpb"])
def test_missing_output_is_noticed(tmp_path: Path, file: str) -> None:
    p4src = copy_of_p4src(tmp_path)
    (p4src / "compiled" / file).unlink()
    with pytest.raises(ProgramError, match="the compiled program is missing"):
        load_contract(p4src=p4src)


def test_tables_of_the_document_are_fresh() -> None:
    describe = script("describe_dataplane")
    text = describe.DOCUMENT.read_text()
    assert describe.document_with(text, describe.generated(load_contract())) == text, "run make p4"


def test_ids_are_unique_and_the_ones_of_the_id_file() -> None:
    text = "".join((P4SRC / file).read_text() for file in ("include/ids.p4", "v1model/arch.p4"))
    declared = [int(number.replace("_", ""), 16) for number in re.findall(r"#define ID_\w+\s+(0x\w+)", text)]
    assert len(declared) == len(set(declared))
    info = load_p4info(load_contract().p4info_path)
    used = {entity.preamble.id for kind in (info.tables, info.actions, info.counters) for entity in kind}
    assert set(declared) <= used


def test_every_table_says_what_it_is_for() -> None:
    info = load_p4info(load_contract().p4info_path)
    assert [table.preamble.name for table in info.tables if not table.preamble.doc.brief] == []


def test_constants_of_a_chip_are_those_of_its_branch(tmp_path: Path) -> None:
    """Goal: lines that the conditionals on a -D exclude are left out; other conditions do not count."""
    (tmp_path / "a.p4").write_text(
        "#ifndef GUARD\n#define GUARD\n#if CHIP == 2\n#define FLOWS 65536\n#if INNER > 1\n#define DEEP 7\n#endif\n"
        "#else\n#define FLOWS 16384\nconst bit<9> PORT = 0x44;\n#endif\n#ifdef CHIP\n#define KNOWN 1\n#endif\n#endif\n"
    )
    assert constants_of(["a.p4"], tmp_path, {"CHIP": 2}) == {"DEEP": 7, "FLOWS": 65536, "KNOWN": 1}
    assert constants_of(["a.p4"], tmp_path, {"CHIP": 1}) == {"FLOWS": 16384, "KNOWN": 1, "PORT": 68}
