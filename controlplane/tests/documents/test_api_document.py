"""docs/API.md works: its Python blocks run one after the other, as the cells of a notebook would."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import p4mesh

ROOT = Path(__file__).parents[3]
DOCUMENT = (ROOT / "docs" / "API.md").read_text(encoding="utf-8")
CELLS = re.findall(r"^```python\n(.*?)^```", DOCUMENT, re.MULTILINE | re.DOTALL)


def test_the_example_runs_as_a_notebook_would_run_it(tmp_path: Path) -> None:
    (tmp_path / "topologies").symlink_to(ROOT / "topologies")
    notebook = "\n".join(CELLS)
    done = subprocess.run([sys.executable, "-"], input=notebook, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "", "a run is silent"
    first, *shown = done.stdout.splitlines()
    assert first.startswith("MEASURED ")
    assert any(line.startswith("64B/throughput 100.0 0 ") for line in shown)
    assert "64B/throughput is done" in shown
    assert shown[-2:] == [
        "error: --sizes 60: '60' is not valid",
        " hint: frame sizes are integers in 64..16000 B with FCS, such as 64,1518, or mixes: imix, ipsec_imix, "
        "ipv6_imix, standard_imix, tcp_imix, a genome of RFC 6985 such as a7d4g1",
    ]
    assert (tmp_path / "runs" / "first" / "report.html").exists()


def test_every_public_name_is_there_and_explained() -> None:
    for name in p4mesh.__all__:
        assert getattr(p4mesh, name) is not None
        assert re.search(rf"\b{name}\b", DOCUMENT) or name in ("Outcome", "Verdict", "Topology"), name


def test_the_package_itself_loads_nothing() -> None:
    code = "import sys, p4mesh; print(*(name for name in sys.modules if name.startswith('p4mesh')))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert set(shown.split()) == {"p4mesh", "p4mesh._lazy", "p4mesh.version"}
