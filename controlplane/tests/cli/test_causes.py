"""Hints follow the cause that the system names."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.networks import switch, wire

from p4mesh.causes import file_hint, network_hint
from p4mesh.cli.main import main
from p4mesh.doctor import namespaces
from p4mesh.doctor.finding import Health
from p4mesh.p4runtime.errors import PipelineError
from p4mesh.p4runtime.info import load_p4info
from p4mesh.target.own_server import own_address

SHORT = ("run", "rfc2544.throughput", "--topology", "wire.yaml", "--sizes", "64", "--jobs", "2", "--out", "run")
QUICK = ("--set", "scaled_frames=50", "--set", "search_resolution_pct=20")


def test_a_refusal_asks_for_the_right_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert network_hint(errno.EPERM) == "network namespaces and interfaces need root"
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert network_hint(errno.EPERM).startswith("root has no CAP_SYS_ADMIN or CAP_NET_ADMIN here")
    assert "root" not in network_hint(errno.EADDRNOTAVAIL)


def test_a_full_disk_and_a_missing_folder_have_hints_of_their_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert file_hint(errno.ENOSPC) == "make room on the disk, or name another place"
    assert main(["init", str(tmp_path / "none" / "new.yaml")]) == 2
    assert capsys.readouterr().err.endswith("hint: name a folder that exists\n")


def test_a_folder_of_temporary_files_with_a_long_name_has_room_for_a_socket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / ("deep" * 20)
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    with own_address() as address:
        path = Path(address.removeprefix("unix:"))
        assert len(str(path)) <= 107
        assert path.parent.stat().st_mode & 0o777 == 0o700
    assert not path.parent.exists()


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("unshare") is None, reason="a network namespace needs root")
@pytest.mark.parametrize("loopback", ["", "ip link set lo up; ip -4 address flush dev lo;"], ids=["down", "::1 alone"])
def test_a_simulation_needs_no_loopback_interface(loopback: str, tmp_path: Path) -> None:
    (tmp_path / "wire.yaml").write_text(wire())
    command = " ".join((sys.executable, "-m", "p4mesh", *SHORT, *QUICK))
    done = subprocess.run(
        ["unshare", "--net", "sh", "-c", f"{loopback} exec {command}"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_doctor_finds_programs_where_only_root_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """As after "su" of Debian, which keeps the PATH of the user."""
    monkeypatch.setenv("PATH", "/usr/local/bin:/usr/bin:/bin")
    assert [finding.health for finding in namespaces.linux(None)] == [Health.OK]  # type: ignore[arg-type]


def test_a_program_that_is_a_device_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A link to /dev/zero has no end."""
    (tmp_path / "endless.json").symlink_to("/dev/zero")
    (tmp_path / "lab.yaml").write_text(switch("program: endless.json", device="p4"))
    assert main(["topology", "check", str(tmp_path / "lab.yaml")]) == 2
    assert "/dev/zero: not a regular file" in capsys.readouterr().err
    with pytest.raises(PipelineError, match="not a regular file"):
        load_p4info(tmp_path / "endless.json")
