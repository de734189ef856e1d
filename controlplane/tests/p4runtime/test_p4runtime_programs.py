"""The compiled test programs belong to their sources."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from pathlib import Path

import pytest
from support.p4runtime_support import PROGRAMS

from p4mesh.p4runtime import load_p4info
from p4mesh.p4runtime.stubs import p4i

NAMES = ("enums", "everything", "initial_entries", "large", "translated")
HASHES = PROGRAMS / "sources.sha256"
"""Lines of sha256sum: the sources that the committed outputs were compiled from."""


@pytest.mark.parametrize("name", NAMES)
def test_outputs_were_compiled_from_the_committed_source(name: str) -> None:
    digest = hashlib.sha256((PROGRAMS / f"{name}.p4").read_bytes()).hexdigest()
    assert f"{digest}  {name}.p4" in HASHES.read_text().splitlines(), "compile it again and update sources.sha256"


def test_both_forms_of_p4info_say_the_same() -> None:
    binary = p4i.P4Info.FromString((PROGRAMS / "everything.p4info.bin").read_bytes())
    assert binary == load_p4info(PROGRAMS / "everything.p4info.txtpb")


@pytest.mark.skipif(shutil.which("p4c-bm2-ss") is None, reason="p4c-bm2-ss is not installed")
@pytest.mark.parametrize("name", NAMES)
def test_the_compiler_gives_the_committed_outputs(name: str, tmp_path: Path) -> None:
    shutil.copy(PROGRAMS / f"{name}.p4", tmp_path)
    words = ["p4c-bm2-ss", f"{name}.p4", "-o", f"{name}.json", "--p4runtime-files", f"{name}.p4info.txtpb"]
    subprocess.run(words, cwd=tmp_path, check=True, capture_output=True)
    for kind in ("json", "p4info.txtpb"):
        made, committed = ((place / f"{name}.{kind}").read_text() for place in (tmp_path, PROGRAMS))
        if kind == "json":
            made, committed = json.loads(made), json.loads(committed)
            if made["__meta__"] != committed["__meta__"]:
                pytest.skip("another version of p4c")
        assert made == committed
