"""Files that users name: devices and pipes are written to, links stay, directories are refused, nothing else is lost.

Devices are made in a directory of the test; where the machine does not allow that, a pipe stands for them.
"""

from __future__ import annotations

import os
import socket
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from p4mesh.cli.main import main
from p4mesh.errors import P4MeshError, StorageError
from p4mesh.run import RunOptions, calibrate, run
from p4mesh.store.calibration_file import read_calibration
from p4mesh.store.writing import write_atomically

WIRE = str(Path(__file__).parents[3] / "topologies" / "back-to-back.yaml")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Two finished runs."""
    folder = tmp_path_factory.mktemp("outputs")
    for name in ("one", "two"):
        run(RunOptions("rfc2544.frame_loss", WIRE, "64", out=folder / name, jobs=1, opener="support.fakes:open_wire"))
    return str(folder / "one"), str(folder / "two")


def report_html(runs: tuple[str, str], out: str) -> int:
    return main(["report", runs[0], "--html", out])


def report_pdf(runs: tuple[str, str], out: str) -> int:
    return main(["report", runs[0], "--pdf", out])


def compare_html(runs: tuple[str, str], out: str) -> int:
    return main(["compare", *runs, "--html", out])


def compare_pdf(runs: tuple[str, str], out: str) -> int:
    return main(["compare", *runs, "--pdf", out])


def export_json(runs: tuple[str, str], out: str) -> int:
    return main(["export", runs[0], "--format", "json", "--out", out])


def export_junit(runs: tuple[str, str], out: str) -> int:
    return main(["export", runs[0], "--format", "junit", "--out", out])


def export_prometheus(runs: tuple[str, str], out: str) -> int:
    return main(["export", runs[0], "--format", "prometheus", "--out", out])


def report_annex(runs: tuple[str, str], out: str) -> int:
    return main(["report", runs[0], "--pdf", out, "--annex"])


def calibration(_: tuple[str, str], out: str) -> int:
    try:
        calibrate(RunOptions("", WIRE, "64", out=out, opener="support.delays:open_wires"))
    except P4MeshError as error:
        return error.exit_code
    return 0


Command = Callable[[tuple[str, str], str], int]
every_output = pytest.mark.parametrize(
    "command",
    [
        *(report_html, report_pdf, report_annex, compare_html, compare_pdf),
        *(export_json, export_junit, export_prometheus, calibration),
    ],
)


@pytest.fixture
def read_from(tmp_path: Path) -> Iterator[Callable[[], bytes]]:
    """A pipe 'pipe', and what a reader got from it."""
    os.mkfifo(tmp_path / "pipe")
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append((tmp_path / "pipe").read_bytes()), daemon=True)
    reader.start()

    def finish() -> bytes:
        reader.join(20)
        return b"".join(got)

    yield finish


@every_output
def test_a_pipe_is_written_to(
    command: Command, runs: tuple[str, str], tmp_path: Path, read_from: Callable[[], bytes]
) -> None:
    assert command(runs, str(tmp_path / "pipe")) == 0
    assert len(read_from()) > 100
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


@every_output
def test_a_device_is_written_to(command: Command, runs: tuple[str, str], tmp_path: Path) -> None:
    device = tmp_path / "null"
    try:
        os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        device.write_bytes(b"")
    except PermissionError:
        pytest.skip("no devices can be made or opened here")
    assert command(runs, str(device)) == 0
    assert stat.S_ISCHR(device.stat().st_mode)
    assert [path.name for path in tmp_path.iterdir()] == ["null"]


@every_output
def test_what_a_link_leads_to_is_written(command: Command, runs: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("target")
    assert command(runs, str(tmp_path / "link")) == 0
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").stat().st_size > 100


@every_output
def test_a_directory_is_refused(command: Command, runs: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    assert command(runs, str(tmp_path / "folder")) in (2, 3)
    assert list((tmp_path / "folder").iterdir()) == []


@every_output
def test_a_link_with_the_name_of_a_partial_file_is_not_followed(
    command: Command, runs: tuple[str, str], tmp_path: Path
) -> None:
    (tmp_path / "victim").write_text("mine")
    (tmp_path / "out.partial").symlink_to("victim")
    assert command(runs, str(tmp_path / "out")) == 0
    assert (tmp_path / "victim").read_text() == "mine"
    assert (tmp_path / "out.partial").is_symlink()


def test_a_calibration_is_added_to_behind_a_link(tmp_path: Path) -> None:
    (tmp_path / "link.json").symlink_to("wires.json")
    for size in ("64", "128"):
        calibrate(RunOptions("", WIRE, size, out=tmp_path / "link.json", opener="support.delays:open_wires"))
    sizes = {wire.frame_size_bytes for wire in read_calibration(tmp_path / "wires.json", "--out").wires}
    assert sizes == {64, 128}


def test_a_link_to_itself_and_a_socket_are_no_failing_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("loop").symlink_to("loop")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
    hints = {}
    for name in ("loop", "socket"):
        with pytest.raises(P4MeshError) as raised:
            write_atomically(Path(name), "text")
        hints[name] = raised.value.hint.partition(";")[0]
    assert hints == {
        "loop": "its links lead in a circle: name a file",
        "socket": "it is a socket, or a device that is not there: name a file",
    }


def test_a_directory_has_a_hint_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(StorageError) as refused:
        write_atomically(tmp_path, "x")
    assert (refused.value.message, refused.value.hint) == (f"{tmp_path}: Is a directory", "name a file")


def test_a_new_file_has_the_rights_of_the_one_before(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("old")
    path.chmod(0o640)
    write_atomically(path, "new")
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("new", 0o640)


def test_a_file_that_standard_output_goes_to_keeps_what_comes_later(tmp_path: Path) -> None:
    path = tmp_path / "all.txt"
    kept = os.dup(1)
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        os.dup2(file, 1)
        write_atomically(path, "page\n")
        os.write(1, b"later\n")
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(file)
    assert path.read_text() == "page\nlater\n"


def test_new_files_are_not_made_through_links(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Run files and topologies are new files: what is there, a link that leads nowhere too, is left as it is."""
    (tmp_path / "run.yaml").symlink_to("nowhere")
    assert main(["init", str(tmp_path / "run.yaml")]) == 2
    assert "File exists" in capsys.readouterr().err
    assert not (tmp_path / "nowhere").exists()
