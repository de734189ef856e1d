"""Commands in documents and in comments of shipped files: each one is parsed, and what would run on sim is planned."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from p4mesh.cli.arguments import parser
from p4mesh.cli.main import main
from p4mesh.run import run_files, single, suite, traffic

ROOT = Path(__file__).parents[3]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
FILES = sorted(path for folder in ("topologies", "traffic", "profiles") for path in (ROOT / folder).glob("*.yaml"))
COMMAND = re.compile(r"(?<!from)(?<!make)(?:^|[ /])p4mesh ([a-z][a-z-]*(?: .*)?)$")
SETTING = re.compile(r"--set (\S+=[\w.%]+)")
PLACEHOLDER = re.compile(r"\b[A-Z]{2,}\b|\.\.\.|[\[|<$]")
"""In the usage of a command, of which the options alone can be checked."""
PLANNED = ("run", "traffic")
OTHER_TARGETS = ("live", "bmv2", "tofino")


@dataclass(frozen=True)
class Written:
    """A command, and where it is written."""

    where: str
    text: str
    complete: bool = True
    """Whether it has a line of its own; within a text, arguments may be left out."""

    @property
    def words(self) -> list[str]:
        return shlex.split(self.text, comments=True)


def code_of(page: Path) -> Iterator[str]:
    """Lines of fenced and of indented code; tutorials, whose commands are run, have none here."""
    if page.parent.name == "tutorials":
        return
    fenced = False
    for line in page.read_text(encoding="utf-8").replace("\\\n", " ").splitlines():
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif fenced or line.startswith("    "):
            yield line.strip()


def usages_of(page: Path) -> Iterator[str]:
    """Code within the text of a page."""
    for code in re.findall(r"`(p4mesh [a-z][^`]*)`", page.read_text(encoding="utf-8")):
        yield code.replace("\\|", "|").replace("\n", " ")


def comments_of(file: Path) -> list[str]:
    return [line.strip()[1:].strip() for line in file.read_text().splitlines() if line.strip().startswith("#")]


@cache
def written() -> list[Written]:
    found = []
    for page in PAGES:
        for complete, lines in ((True, code_of(page)), (False, usages_of(page))):
            matches = filter(None, map(COMMAND.search, lines))
            found += [Written(str(page.relative_to(ROOT)), match[1], complete) for match in matches]
    for file in FILES:
        name = str(file.relative_to(ROOT))
        comments = comments_of(file)
        whole = [match[1] for line in comments if (match := COMMAND.search(line)) and "--" in line]
        own = whole[0] if whole else f"run rfc2544.throughput --topology {name}"
        found += [Written(name, command) for command in whole]
        found += [
            Written(name, f"{own} --set {setting.rstrip('.')}") for setting in SETTING.findall(" ".join(comments))
        ]
    return found


def is_whole(command: Written) -> bool:
    return command.complete and not PLACEHOLDER.search(command.text) and command.words[0] != "switch"


def is_planned(command: Written) -> bool:
    """Whether it would measure on sim, with files that exist; the profiles have a test of their own."""
    words = command.words
    on_sim = not any(word in OTHER_TARGETS or word.startswith("profiles/") for word in words)
    files = [word for word in words if word.endswith((".yaml", ".json"))]
    return words[0] in PLANNED and on_sim and all((ROOT / file).exists() for file in files)


class PlannedError(Exception):
    """All checks are done, and measuring would begin."""


@pytest.fixture
def only_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    def end(*_: object) -> None:
        raise PlannedError

    monkeypatch.chdir(ROOT)
    for module in (single, traffic, run_files, suite):
        monkeypatch.setattr(module, "directory_path", end)


def ids(command: Written) -> str:
    return f"{command.where}: {command.text[:60]}"


@pytest.mark.parametrize("command", [one for one in written() if is_whole(one) and is_planned(one)], ids=ids)
@pytest.mark.usefixtures("only_planned")
def test_a_command_that_measures_is_planned(command: Written, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(PlannedError):
        print(main([*command.words, "--debug"]), capsys.readouterr().err)


OF_TARGETS = [one for one in written() if is_whole(one) and one.words[0] == "run" and set(OTHER_TARGETS) & {*one.words}]


@pytest.mark.parametrize("command", OF_TARGETS, ids=ids)
@pytest.mark.usefixtures("only_planned")
def test_what_is_set_on_another_target_is_known(command: Written, capsys: pytest.CaptureFixture[str]) -> None:
    """Goal: names and values of its settings are right; sim, and a topology that is shipped, stand for the target's."""
    topology = str(ROOT / "topologies" / "bridge-4x10m.yaml")
    words = re.sub(r"--(?:target|interfaces) \S+", "", re.sub(r"(--topology) \S+", rf"\1 {topology}", command.text))
    with pytest.raises(PlannedError):
        print(main([*shlex.split(words), "--debug"]), capsys.readouterr().err)


def test_every_make_target_of_a_page_is_in_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z0-9-]+):", makefile, re.MULTILINE))
    pages = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    named = {*re.findall(r"`make ([a-z0-9-]+)", pages), *re.findall(r"(?m)^make ([a-z0-9-]+)(?: +#.*)?$", pages)}
    assert named >= {"run", "test", "setup", "release", "wheel"}
    assert named <= targets


def test_every_script_of_a_page_exists() -> None:
    named = {name for page in PAGES for name in re.findall(r"scripts/\w+\.\w+", page.read_text(encoding="utf-8"))}
    assert {"scripts/compare_chassis.py", "scripts/build_wheel.py"} <= named
    assert not [name for name in named if not (ROOT / name).exists()]


def commands_of(top: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    (actions,) = (action for action in top._actions if isinstance(action, argparse._SubParsersAction))
    return dict(actions.choices)


def test_every_command_and_each_of_its_options_is_known() -> None:
    known = commands_of(parser())
    wrong = []
    for command in written():
        name = command.text.split()[0]
        if name == "switch":
            continue
        options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", command.text))
        if name not in known or not options <= set(known[name]._option_string_actions) | {"--debug"}:
            wrong.append(command)
    assert not wrong
    assert len(written()) > 100


def test_commands_on_other_targets_and_those_that_show_are_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    whole = [command for command in written() if is_whole(command) and not is_planned(command)]
    for command in whole:
        parser().parse_args(command.words)
    assert {command.words[0] for command in whole} >= {"run", "calibrate", "doctor", "serve", "compare"}


@pytest.mark.parametrize(
    "file", [file for file in FILES if "`p4mesh topology check`" in file.read_text()], ids=lambda file: file.name
)
def test_entries_have_the_addresses_that_a_comment_says_are_printed(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["topology", "check", str(file)]) == 0
    stations = re.findall(r"station ([\da-f:]{17})", capsys.readouterr().out)
    assert len(stations) == 4
    assert all(station in file.read_text() for station in stations)


LONG = re.compile("mesh-1024|gsi-mixed|duration_s=[36]0")
"""Commands that take long even with a few frames."""
SHORT = tuple(
    {one.text: one for one in written() if is_whole(one) and is_planned(one) and not LONG.search(one.text)}.values()
)


@pytest.mark.parametrize("command", SHORT, ids=ids)
def test_a_command_runs(command: Written, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Goal: commands are not only accepted; with fewer frames, and sessions, on sim, they end without a doubt."""
    monkeypatch.chdir(ROOT)
    size = [] if "--sizes" in command.words else ["--sizes", "512"]
    enough = {"256x100g-bgp": "1-16", "chassis.full_mesh": "1-8", "fully_meshed --topology topologies/wrs-18": "1-3"}
    ports = [word for name, most in enough.items() if name in command.text for word in ("--ports", most)]
    fewer = {
        "run": [*size, *ports, "--set", "scaled_frames=200", "--jobs", "1"],
        "traffic": []
        if "duration_s=" in command.text
        else ["--set", f"duration_s={0.04 if 'timing-network' in command.text else 0.01}"],
    }
    assert main([*command.words, *fewer[command.words[0]], "--out", str(tmp_path / "run")]) == 0
