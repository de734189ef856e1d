"""Configuration files that a node mounts: those of FRR."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from p4mesh.containerlab.configured import Configured
from p4mesh.errors import LabFileError
from p4mesh.regular_files import read_text

_MOST_BYTES = 1 << 20
_FOLDERS = ("/etc/frr", "/etc/quagga")
_FILES = ("frr.conf", "Quagga.conf", "zebra.conf", "staticd.conf")
_NODE = "__clabNodeName__"


def files_of(binds: Iterable[str], node: str, folder: Path) -> Iterator[Path]:
    """Files of FRR among what a node mounts (``HOST:CONTAINER``), whose places begin at the folder of the lab."""
    for bind in binds:
        host, _, rest = bind.partition(":")
        inside = rest.partition(":")[0].rstrip("/")
        place = folder / Path(host.replace(_NODE, node)).expanduser()
        if inside in _FOLDERS:
            yield from (place / name for name in _FILES)
        elif inside.rpartition("/")[0] in _FOLDERS and inside.rpartition("/")[2] in _FILES:
            yield place


def mounted(files: Iterable[Path], tags: Mapping[str, tuple[str, int]]) -> Configured:
    """Read the files that are there, beside the VLANs of commands; raises LabFileError for one that cannot be read."""
    found = Configured(tags=dict(tags))
    for file in files:
        try:
            text = read_text(file, _MOST_BYTES)
        except FileNotFoundError:
            continue
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not text in UTF-8"
            raise LabFileError(
                f"{file}: {reason}", hint="the lab mounts it as a configuration of FRR: a text of at most 1 MiB"
            ) from None
        found.read_frr(text)
    return found
