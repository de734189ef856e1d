"""The page of a suite: one row per test with a link to its report beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files

from p4mesh.methods.results.outcome import Cell

_GOOD = ("PASS", "DONE")


def index_html(suite: str, rows: Sequence[Mapping[str, Cell]], links: Mapping[str, str]) -> str:
    """Return the page; ``links`` maps test names to relative addresses of their reports."""
    style = files(__package__).joinpath("style.css").read_text(encoding="utf-8")
    body = "".join(_row(row, links) for row in rows)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"<title>{escape(suite)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n"
        f'<header><h1>{escape(suite)}</h1></header><section><div class="scroll"><table><thead><tr><th>Test</th>'
        "<th>Section</th><th>Result</th><th>Summary</th></tr></thead><tbody>\n"
        f"{body}</tbody></table></div></section>\n</main>\n</body>\n</html>\n"
    )


def _row(row: Mapping[str, Cell], links: Mapping[str, str]) -> str:
    name, state = str(row["test"]), str(row["state"])
    shown = f'<a href="{escape(links[name])}">{escape(name)}</a>' if name in links else escape(name)
    kind = "good" if state in _GOOD else "bad" if name in links else "idle"
    return (
        f"<tr><td>{shown}</td><td>{escape(str(row['section']))}</td>"
        f'<td><span class="verdict {kind}">{escape(state)}</span></td><td>{escape(str(row["summary"]))}</td></tr>\n'
    )
