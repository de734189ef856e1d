"""A release has one version, an entry of changes that a user reads in a minute, and names no registry."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from p4mesh import __version__

ROOT = Path(__file__).parents[3]
WORDS_A_MINUTE = 300
HOSTS = re.compile(
    r"(?:index|registry)\.[a-z]+\.io|docker\.io|pypi\.org|pythonhosted\.org|crates\.io|quay\.io|ghcr\.io"
)
LOCKED = {"engine/Cargo.lock", "controlplane/tests/documents/test_release.py"}
"""cargo writes into its lock file where each crate comes from; the other is this file."""


def test_engine_package_and_changelog_have_the_same_version() -> None:
    cargo = (ROOT / "engine" / "Cargo.toml").read_text(encoding="utf-8")
    assert f'version = "{__version__}"' in cargo
    assert f"\n## [{__version__}] - " in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_entry_of_a_version_takes_a_minute_to_read() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    (entry,) = re.findall(
        rf"^## \[{re.escape(__version__)}\][^\n]*\n(.*?)(?=^## \[|\Z)", text, re.MULTILINE | re.DOTALL
    )
    assert 50 < len(entry.split()) <= WORDS_A_MINUTE


def test_no_file_names_the_host_of_a_registry() -> None:
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    found = []
    for name in names.split("\0"):
        path = ROOT / name
        if name and name not in LOCKED and path.is_file():
            text = path.read_bytes().decode("utf-8", "replace")
            found += [f"{name}: {host}" for host in HOSTS.findall(text)]
    assert found == []
