"""``p4mesh report DIR``: writes the page of a finished run or suite, or a PDF with the same content, or both."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from p4mesh.cli.output import say
from p4mesh.errors import EXIT_OK
from p4mesh.report.html import page
from p4mesh.report.publish import REPORT, document_of
from p4mesh.store.writing import write_atomically, write_bytes_atomically


def execute(arguments: argparse.Namespace, _: object = None) -> int:
    """Write what was asked for and say where it is."""
    directory = Path(arguments.directory)
    document = document_of(directory)
    html = arguments.html or (None if arguments.pdf else str(directory / REPORT))
    if html:
        write_atomically(Path(html), page(document))
    if arguments.pdf:
        from p4mesh.report.pdf import pdf

        write_bytes_atomically(Path(arguments.pdf), pdf(document, arguments.annex))
    if arguments.json:
        say(json.dumps({"page": html, "pdf": arguments.pdf}, indent=1))
    else:
        say("\n".join(f"{kind}: {path}" for kind, path in (("page", html), ("PDF", arguments.pdf)) if path))
    return EXIT_OK
