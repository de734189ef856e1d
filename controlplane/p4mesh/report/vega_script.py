"""The script that draws figures in a page: Vega, Vega-Lite and their viewer in one text, from the chart library.

Making it takes seconds, so it is kept in the user's cache, under the version of the library.
"""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path

from p4mesh.errors import StorageError
from p4mesh.store.writing import write_atomically

_BUNDLE = "window.vegaEmbed = vegaEmbed;"


@cache
def vega_script() -> str:
    """JavaScript that defines ``vegaEmbed``; it contains no end tag of a script."""
    import vl_convert

    kept = _cache_directory() / f"vega-embed-{version('vl-convert-python')}.js"
    with suppress(OSError):
        return kept.read_text(encoding="utf-8")
    script = str(vl_convert.javascript_bundle(_BUNDLE)).replace("</script", "<\\/script")
    # Without a place to keep it the script is made again each time.
    with suppress(OSError, StorageError):
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(kept, script)
    return script


def _cache_directory() -> Path:
    root = os.environ.get("XDG_CACHE_HOME")
    try:
        home = Path(root) if root else Path.home() / ".cache"
    except RuntimeError:
        home = Path("/nonexistent")
    return home / "p4mesh"
