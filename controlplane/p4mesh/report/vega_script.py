"""The script that draws figures in a page: Vega, Vega-Lite and their viewer in one text, from the chart library.

Making it takes seconds, so it is kept in the user's cache, under the version of the library.
"""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path

_BUNDLE = "window.vegaEmbed = vegaEmbed;"


@cache
def vega_script() -> str:
    """Return JavaScript that defines ``vegaEmbed``; it contains no end tag of a script."""
    import vl_convert

    kept = _cache_directory() / f"vega-embed-{version('vl-convert-python')}.js"
    with suppress(OSError):
        return kept.read_text(encoding="utf-8")
    script = str(vl_convert.javascript_bundle(_BUNDLE)).replace("</script", "<\\/script")
    with suppress(OSError):
        kept.parent.mkdir(parents=True, exist_ok=True)
        partial = kept.with_name(f"{kept.name}.{os.getpid()}.partial")
        partial.write_text(script, encoding="utf-8")
        partial.replace(kept)
    return script


def _cache_directory() -> Path:
    root = os.environ.get("XDG_CACHE_HOME")
    try:
        home = Path(root) if root else Path.home() / ".cache"
    except RuntimeError:
        home = Path("/nonexistent")
    return home / "p4mesh"
