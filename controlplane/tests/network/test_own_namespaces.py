"""An ordinary user measures Linux parts in namespaces of the process; interfaces of the machine need rights."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from p4mesh.cli.main import main
from p4mesh.errors import RightsError, TargetError
from p4mesh.network import own_namespaces

RUN = ("run", "rfc2544.frame_loss", "--topology", "back-to-back", "--sizes", "128", "--jobs", "1")
QUICK = ("--set", "rate_fraction_pct=1", "--set", "duration_ms=100", "--set", "step_pct=10")
NOBODY = 65534
NO_RIGHTS = ("setpriv", "--bounding-set=-all", "--inh-caps=-all")
ORDINARY = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="another user takes root")


def shown(who: tuple[str, ...], *words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [*who, sys.executable, "-m", "p4mesh", *words]
    return subprocess.run(command, check=False, capture_output=True, text=True, cwd=folder, timeout=120)


def ordinary_user_works() -> bool:
    """Whether another user may start this Python and have namespaces."""
    command = [*ORDINARY, sys.executable, "-m", own_namespaces.MODULE, sys.executable, "-c", ""]
    try:
        return subprocess.run(command, check=False, capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("effective", ["0", "1000", "200000"], ids=["none", "only the network", "only the system"])
def test_names_of_interfaces_decide_what_is_said(effective: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "read_text", lambda _, **__: f"Name:\tpython\nCapEff:\t{effective}\n")
    with pytest.raises(RightsError, match="may not make a network"):
        own_namespaces.require_rights(())
    with pytest.raises(TargetError, match="interfaces of this machine: eth1, eth2") as raised:
        own_namespaces.require_rights(("eth1", "eth2"))
    assert not isinstance(raised.value, RightsError), "namespaces of its own do not have them"


def test_both_rights_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "read_text", lambda _, **__: "CapEff:\t201000\n")
    own_namespaces.require_rights(("eth1",))


def test_a_run_without_rights_is_run_again_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(own_namespaces, "has_rights", lambda: False)
    asked: list[str] = []

    def run_again() -> None:
        asked.append("again")
        raise KeyboardInterrupt

    monkeypatch.setattr(own_namespaces, "run_again", run_again)
    assert main([*RUN, "--target", "live"]) == 130
    assert asked == ["again"] and list(tmp_path.iterdir()) == []


@needs_root
def test_where_the_kernel_refuses_it_is_one_message(tmp_path: Path) -> None:
    """Without rights, root may not be root in namespaces of its own either."""
    refused = shown(NO_RIGHTS, *RUN, "--target", "live", folder=tmp_path)
    assert refused.returncode == 3
    assert refused.stderr.startswith("error: this process may neither make a network nor have namespaces of its own: ")
    assert "hint: needed: root, or CAP_NET_ADMIN" in refused.stderr and "Traceback" not in refused.stderr
    assert list(tmp_path.iterdir()) == []


@needs_root
@pytest.mark.skipif(not ordinary_user_works(), reason="another user may not start this Python or have namespaces")
def test_an_ordinary_user_measures_a_cable() -> None:
    with tempfile.TemporaryDirectory() as name:  # pytest's own folders are for its user alone
        os.chown(name, NOBODY, NOBODY)
        done = shown(ORDINARY, *RUN, *QUICK, "--target", "live", "--out", "run", folder=Path(name))
        assert done.returncode in (0, 1), done.stderr
        assert json.loads((Path(name) / "run" / "run.json").read_text())["target"] == "live"
        assert (Path(name) / "run" / "trials.jsonl").stat().st_uid == NOBODY
