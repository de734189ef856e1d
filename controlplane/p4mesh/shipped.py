"""Where the files are that come with P4Mesh beside its Python code: P4 programs, topologies, traffic files."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_CHECKOUT = _PACKAGE.parents[1]
IS_CHECKOUT = _PACKAGE.parent.name == "controlplane" and (_CHECKOUT / "p4src").is_dir()
"""Not where the package is installed in a folder of somebody's own project, which looks like one."""
FOLDER = "shipped"
"""In the installed package."""
_TOPOLOGIES = "topologies"
_YAML = ".yaml"


def shipped(name: str) -> Path:
    """A directory of a checkout where the code is that of one, else of the installed package."""
    return (_CHECKOUT if IS_CHECKOUT else _PACKAGE / FOLDER) / name


def topology_names() -> list[str]:
    """The names of the topologies that come with P4Mesh."""
    return sorted(path.stem for path in shipped(_TOPOLOGIES).glob(f"*{_YAML}"))


def topology_file(name: str) -> Path | None:
    """The topology that a name without a path and an ending stands for; None where it stands for none."""
    path = shipped(_TOPOLOGIES) / f"{name}{_YAML}"
    return path if name and "/" not in name and not name.endswith(_YAML) and path.is_file() else None
