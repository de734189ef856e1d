"""Makes all that a release has into dist/release-VERSION, tries it, and prints the steps that publish it.

Nothing is published: no name of a registry, no password and no signature is asked for.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import build_wheel
import try_wheel

from p4mesh.version import __version__

ROOT = Path(__file__).resolve().parents[1]
RELEASE = ROOT / "dist" / f"release-{__version__}"
SITE = ROOT / "docs" / "_build" / "html"
MANUAL = ROOT / "docs" / "_build" / "man" / "p4mesh.1"
OTHER = "aarch64-unknown-linux-gnu"
CONSTRAINTS = ROOT / "controlplane" / "constraints.txt"
_PREFIX = f"p4mesh-{__version__}"


def main() -> int:
    """Make the release; return 0 when all of it was made and works."""
    require_ready()
    shutil.rmtree(RELEASE, ignore_errors=True)
    RELEASE.mkdir(parents=True)
    if build_wheel.main(["--out", str(RELEASE)]):
        return 1
    missing = other_wheel()
    archive_source()
    write_container_file()
    archive_documents()
    rust_sboms()
    failed = try_wheel.main([str(RELEASE), "--sbom", str(RELEASE / f"{_PREFIX}-python.cdx.json")])
    check_source()
    write_sums()
    print(steps(missing))
    return failed


def require_ready() -> None:
    """End with what is not ready: changes without a commit, another version in the engine, no entry of changes."""
    changed = said("git", "status", "--porcelain")
    if changed:
        sys.exit(f"error: the release would not have these changes:\n{changed}\n hint: commit them first")
    engine = re.search(
        r'^version = "(.*)"$', (ROOT / "engine" / "Cargo.toml").read_text(encoding="utf-8"), re.MULTILINE
    )
    if engine is None or engine[1] != __version__:
        sys.exit(f"error: engine/Cargo.toml has not version {__version__}\n hint: both are released together")
    if f"## [{__version__}]" not in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"):
        sys.exit(f"error: CHANGELOG.md has no entry [{__version__}]\n hint: write what users notice")


def other_wheel() -> str:
    """Build the wheel of the other processor; return why it could not be built, or nothing."""
    found = said("rustc", "--print", "sysroot").strip()
    if not (Path(found) / "lib" / "rustlib" / OTHER).is_dir():
        return f"no wheel for {OTHER}: the standard library of Rust for it is not installed (rustup target add {OTHER})"
    if subprocess.run([sys.executable, "-m", "ziglang", "version"], capture_output=True, check=False).returncode:
        return f"no wheel for {OTHER}: no linker for it (make release installs one; by hand: pip install ziglang)"
    if build_wheel.main(["--out", str(RELEASE), "--target", OTHER]):
        return f"no wheel for {OTHER}: its build failed"
    return f"the wheel for {OTHER} was built on {platform.machine()}; docs/RELEASE.md says how to try it"


def archive_source() -> None:
    """Pack the files of the commit."""
    archive = RELEASE / f"{_PREFIX}.tar.gz"
    said("git", "archive", "--format=tar.gz", f"--prefix={_PREFIX}/", f"--output={archive}", "HEAD")


def check_source() -> None:
    """Unpack the archive: its make knows how to run, and it has what the wheel is made from."""
    with tarfile.open(RELEASE / f"{_PREFIX}.tar.gz") as archive:
        names = set(archive.getnames())
    wanted = (
        "Makefile",
        "pyproject.toml",
        "engine/Cargo.lock",
        "controlplane/constraints.txt",
        "LICENSE",
        "CHANGELOG.md",
    )
    lacking = [
        name for name in (*wanted, *build_wheel.SHIPPED, *build_wheel.EXAMPLES) if f"{_PREFIX}/{name}" not in names
    ]
    if lacking:
        sys.exit(f"error: the source archive lacks {', '.join(lacking)}")
    print(f"{_PREFIX}.tar.gz: {len(names):,} files, with all that the wheel is made from")


def write_container_file() -> None:
    """Copy the container file for a folder that has the wheel and the constraints beside it."""
    text = (ROOT / "Containerfile").read_text(encoding="utf-8")
    shutil.copy(CONSTRAINTS, RELEASE)
    here = text.replace("dist/p4mesh-*.whl controlplane/constraints.txt", f"{wheels()[0].name} constraints.txt")
    assert here != text
    (RELEASE / "Containerfile").write_text(here, encoding="utf-8")


def archive_documents() -> None:
    """Pack the site and the manual page that ``make docs`` has built."""
    with tarfile.open(RELEASE / f"{_PREFIX}-site.tar.gz", "w:gz") as archive:
        archive.add(SITE, arcname=f"{_PREFIX}-site")
    (RELEASE / "p4mesh.1.gz").write_bytes(gzip.compress(MANUAL.read_bytes(), mtime=0))


def rust_sboms() -> None:
    """Take the list of crates, with their licences, out of the wheel: maturin puts it there (PEP 770)."""
    with zipfile.ZipFile(wheels()[0]) as wheel:
        found = [name for name in wheel.namelist() if ".dist-info/sboms/" in name and name.endswith(".json")]
        documents = [wheel.read(name) for name in found]
    assert len(documents) == 1, found
    listed = json.loads(documents[0])
    without = [item["name"] for item in listed["components"] if not item.get("licenses")]
    if without:
        sys.exit(f"error: the list of crates has no licence of {', '.join(without)}")
    (RELEASE / f"{_PREFIX}-rust.cdx.json").write_bytes(documents[0])
    print(f"{_PREFIX}-rust.cdx.json: {len(listed['components'])} crates, each with its licence")


def write_sums() -> None:
    """Write the SHA-256 of each file, as sha256sum --check reads them."""
    files = sorted(path for path in RELEASE.iterdir() if path.is_file())
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (RELEASE / "SHA256SUMS").write_text("".join(lines), encoding="utf-8")


def wheels() -> list[Path]:
    """List the wheels, that of this machine first."""
    own = f"_{platform.machine()}."
    return sorted(RELEASE.glob("p4mesh-*.whl"), key=lambda path: (own not in path.name, path.name))


def steps(missing: str) -> str:
    """Tell what was made, what is missing, and what a person does now."""
    files = "\n".join(f"  {path.name} ({path.stat().st_size:,} B)" for path in sorted(RELEASE.iterdir()))
    return f"""
{RELEASE.relative_to(ROOT)} has
{files}
Note: {missing}.

To publish {__version__}:
  1. Read CHANGELOG.md as a user: is the entry of {__version__} true, and is its date today?
  2. git tag --sign v{__version__} && git push origin v{__version__}
  3. Sign: gpg --detach-sign --armor {RELEASE.relative_to(ROOT)}/SHA256SUMS
  4. Upload the wheels to the package index: twine upload {RELEASE.relative_to(ROOT)}/p4mesh-*.whl
  5. Make a release of the tag where the repository is hosted: the entry of the changelog, all files of the folder.
  6. Build the image in the folder, docker build --file Containerfile --tag p4mesh:{__version__} . and push it.
  7. Unpack the site where the documentation is served.
  8. In a new environment: pip install p4mesh=={__version__} && p4mesh doctor
  9. Set the next version in controlplane/p4mesh/version.py and engine/Cargo.toml, and begin its entry of changes."""


def said(*command: str) -> str:
    """Run a command in the repository and return what it printed."""
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    sys.exit(main())
