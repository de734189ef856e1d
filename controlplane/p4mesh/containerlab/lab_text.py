"""Reads the text of a containerlab file."""

from __future__ import annotations

from p4mesh.config_files.text import text_of
from p4mesh.errors import LabFileError

FORM = "a lab file has name, and topology with nodes and links"
_TEMPLATE = "{{"
_TEMPLATE_ENDING = ".gotmpl"


def read_lab_text(path: str) -> str:
    """The text of a lab file; raises LabFileError for a template too, which only containerlab can render."""
    text = text_of(path, "lab file", LabFileError, FORM)
    if path.endswith(_TEMPLATE_ENDING) or _TEMPLATE in text:
        line = text[: max(0, text.find(_TEMPLATE))].count("\n") + 1
        raise LabFileError(
            f"{path}:{line}: a Go template, which has to be rendered first",
            hint="containerlab deploy --topo TEMPLATE --export-rendered FILE writes the file to name here",
        )
    return text
