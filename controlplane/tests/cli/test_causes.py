"""Hints follow the cause that the system names."""

from __future__ import annotations

import errno
import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.networks import switch, wire

from p4mesh.causes import engine_network_hint, file_hint, network_hint, program_hint
from p4mesh.cli.main import main
from p4mesh.doctor import namespaces, software
from p4mesh.doctor.finding import Asked, Health
from p4mesh.errors import EnvironmentFault, TargetError, UsageError
from p4mesh.network.nodes.processes import Processes
from p4mesh.p4runtime.errors import PipelineError
from p4mesh.p4runtime.info import load_p4info
from p4mesh.switch.command import main as switch_main
from p4mesh.target.own_server import own_address

SHORT = ("run", "rfc2544.throughput", "--topology", "wire.yaml", "--sizes", "64", "--jobs", "2", "--out", "run")
QUICK = ("--set", "scaled_frames=50", "--set", "search_resolution_pct=20")


def test_a_refusal_asks_for_the_right_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert network_hint(errno.EPERM) == "network namespaces and interfaces need root"
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert network_hint(errno.EPERM).startswith("root has no CAP_SYS_ADMIN or CAP_NET_ADMIN here")
    assert "root" not in network_hint(errno.EADDRNOTAVAIL)


def test_a_program_that_cannot_be_started_has_its_cause() -> None:
    assert program_hint(errno.ENOENT, "install it") == "install it"
    assert program_hint(errno.EACCES, "install it").startswith("let this user execute it")
    assert program_hint(errno.ENOEXEC, "install it").startswith("it is no program for this machine")
    assert program_hint(errno.EMFILE, "install it") == file_hint(errno.EMFILE)


def test_the_engine_names_the_number_of_its_error() -> None:
    taken = engine_network_hint("127.0.0.1:9559: Address already in use (os error 98)")
    assert taken == "another program listens there: end it, or name another port"
    assert "p4mesh doctor" in engine_network_hint("no number")


@pytest.mark.parametrize(
    ("missing", "hint"),
    [
        ("mininet.net", "apt-get install mininet"),
        ("distutils", "this Mininet needs distutils: use Python 3.11 or older, or pip install setuptools"),
        ("else", "Mininet needs this module: install it for this Python"),
    ],
)
def test_mininet_that_does_not_load_is_not_always_absent(
    missing: str, hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mininet").mkdir()
    (tmp_path / "mininet" / "__init__.py").write_text(f"raise ModuleNotFoundError('none', name={missing!r})")
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if "mininet" in name]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(EnvironmentFault) as caught:
        importlib.import_module("p4mesh.mininet")
    assert caught.value.hint == hint


def test_a_program_of_a_node_that_ends_is_not_waited_for(tmp_path: Path) -> None:
    processes = Processes(tmp_path)
    processes.start("switch", ["sh", "-c", "echo no such interface; exit 1"])
    with pytest.raises(TargetError, match=r"^switch has ended: no such interface$"):
        processes.wait_for("switch", lambda: False)
    processes.stop()


@pytest.mark.parametrize(
    ("script", "found", "mend"),
    [
        ("#!/bin/sh\nexit 0\n", "it says nothing, and ends with exit code 0", "install it again"),
        ("#!/bin/sh\necho no library >&2; exit 127\n", "no library", "install it again"),
        ("no program", "Exec format error", "it is no program for this machine"),
        ("#!/nonexistent\n", "No such file or directory", "install it again"),
    ],
)
def test_doctor_says_why_a_switch_does_not_run(
    script: str, found: str, mend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "simple_switch_grpc").write_text(script)
    (tmp_path / "simple_switch_grpc").chmod(0o755)
    monkeypatch.setattr(namespaces, "find_program", lambda name: str(tmp_path / name))
    (finding,) = namespaces.simple_switch(Asked())
    assert finding.health is Health.MISSING
    assert found in finding.found
    assert mend in finding.mend


def test_doctor_in_a_folder_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    (finding,) = software.run_directories(Asked())
    assert finding.mend == "name a folder that exists, with --out of each run"


@pytest.mark.parametrize(
    ("option", "name", "message", "hint"),
    [
        ("--log-file", "none/log", "No such file or directory", "name a folder that exists"),
        ("--pcap", "file", "not a directory", "make it first, or name another one"),
    ],
)
def test_the_switch_names_what_is_wrong_with_its_files(
    option: str, name: str, message: str, hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError) as caught:
        switch_main(["--no-p4", "--grpc-server-addr", "127.0.0.1:0", option, name])
    assert (caught.value.message, caught.value.hint) == (f"{option} {name}: {message}", hint)


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
