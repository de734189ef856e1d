"""``p4mesh report DIR``: writes the page of a finished run or suite, and a PDF with the same content."""

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
    html = Path(arguments.html) if arguments.html else directory / REPORT
    write_atomically(html, page(document))
    if arguments.pdf:
        from p4mesh.report.pdf import pdf

        write_bytes_atomically(Path(arguments.pdf), pdf(document))
    if arguments.json:
        say(json.dumps({"page": str(html), "pdf": arguments.pdf}, indent=1))
    else:
        say(f"page: {html}" + (f"\nPDF:  {arguments.pdf}" if arguments.pdf else ""))
    return EXIT_OK
