"""Everything that P4Mesh needs at run time has a licence that goes with its own, Apache-2.0."""

from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[3]
ACCEPTED = frozenset(
    (
        *("0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT"),
        *("PSF-2.0", "Unicode-3.0", "Unlicense", "Zlib"),
    )
)
OLD_WORDS = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "3-Clause BSD License": "BSD-3-Clause",
    "MIT License": "MIT",
}
"""In metadata that is older than licence expressions (PEP 639)."""


def is_accepted(expression: str) -> bool:
    """Evaluate an SPDX expression; a slash is an old word for OR."""
    tokens = re.findall(r"\(|\)|[^\s()]+", expression.replace("/", " OR "))

    def choice() -> bool:
        found = all_of()
        while tokens[:1] == ["OR"]:
            tokens.pop(0)
            found = all_of() or found
        return found

    def all_of() -> bool:
        found = one()
        while tokens[:1] == ["AND"]:
            tokens.pop(0)
            found = one() and found
        return found

    def one() -> bool:
        name = tokens.pop(0)
        if name == "(":
            found = choice()
            tokens.pop(0)
            return found
        if tokens[:1] == ["WITH"]:
            name = " ".join((name, tokens.pop(0), tokens.pop(0)))
        return name in ACCEPTED

    return choice()


def python_licences(wanted_by_p4mesh: list[str]) -> Iterator[tuple[str, str]]:
    """Yield name and licence of every distribution that P4Mesh needs."""
    waiting, seen = [Requirement(text) for text in wanted_by_p4mesh], set[str]()
    while waiting:
        wanted = waiting.pop()
        name = wanted.name.lower().replace("_", "-")
        if name in seen or (wanted.marker and not wanted.marker.evaluate({"extra": ""})):
            continue
        seen.add(name)
        distribution = importlib.metadata.distribution(wanted.name)
        yield name, licence_of(distribution)
        waiting += [Requirement(text) for text in distribution.requires or ()]


def licence_of(distribution: importlib.metadata.Distribution) -> str:
    fields = distribution.metadata
    if "License-Expression" in fields:
        return fields["License-Expression"]
    classified = [text.rpartition(" :: ")[2] for text in fields.get_all("Classifier") or () if text.startswith("Lic")]
    words = classified or (fields["License"].splitlines()[:1] if "License" in fields else ["none"])
    return " AND ".join(OLD_WORDS.get(word, word) for word in words)


def rust_licences() -> Iterator[tuple[str, str]]:
    """Yield name and licence of every crate that goes into the extension module."""
    command = ["cargo", "metadata", "--locked", "--offline", "--format-version", "1"]
    done = subprocess.run(command, cwd=ROOT / "engine", capture_output=True, text=True, check=True)
    metadata = json.loads(done.stdout)
    packages = {package["id"]: package for package in metadata["packages"]}
    needs = {
        node["id"]: [dep["pkg"] for dep in node["deps"] if any(kind["kind"] != "dev" for kind in dep["dep_kinds"])]
        for node in metadata["resolve"]["nodes"]
    }
    (root,) = (key for key, package in packages.items() if package["name"] == "p4mesh-python")
    waiting, seen = [root], set[str]()
    while waiting:
        key = waiting.pop()
        if key not in seen:
            seen.add(key)
            yield packages[key]["name"], packages[key]["license"] or "none"
            waiting += needs[key]


def extra(name: str) -> list[str]:
    """Read what an extra of P4Mesh needs."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (listed,) = re.findall(rf"^{name} = \[\n(.*?)^\]", text, re.MULTILINE | re.DOTALL)
    return re.findall(r'"([^"]+)"', listed)


def requirements() -> list[str]:
    """Read what P4Mesh needs, without its extras."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (listed,) = re.findall(r"^dependencies = \[\n(.*?)^\]", text, re.MULTILINE | re.DOTALL)
    return re.findall(r'"([^"]+)"', listed)


def test_python_packages_that_p4mesh_needs_have_accepted_licences() -> None:
    found = dict(python_licences([*requirements(), *extra("hdr"), *extra("parquet")]))
    assert len(found) > 20
    assert {"hdrhistogram", "pyarrow"} <= found.keys()
    assert {name: licence for name, licence in found.items() if not is_accepted(licence)} == {}


def test_crates_that_the_engine_needs_have_accepted_licences() -> None:
    found = dict(rust_licences())
    assert {"p4mesh-pipeline", "etherparse"} <= found.keys()
    assert {name: licence for name, licence in found.items() if not is_accepted(licence)} == {}


@pytest.mark.parametrize(
    ("expression", "accepted"),
    [
        ("MIT", True),
        ("GPL-2.0-or-later OR Apache-2.0", True),
        ("MIT AND GPL-3.0-only", False),
        ("(MIT OR GPL-2.0-only) AND Unicode-3.0", True),
        ("(MIT OR Apache-2.0) AND LGPL-3.0-only", False),
        ("Apache-2.0 WITH LLVM-exception OR GPL-2.0-only", True),
        ("GPL-2.0-only WITH Classpath-exception-2.0", False),
        ("MIT/Apache-2.0", True),
        ("Apache-2.0 / MIT", True),
        ("", False),
    ],
)
def test_an_expression_is_accepted_where_a_choice_of_it_is(expression: str, accepted: bool) -> None:
    assert is_accepted(expression or "none") is accepted
