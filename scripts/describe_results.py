"""Writes the columns of result tables into docs/RESULTS.md, from the vocabulary of results."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from p4mesh.methods.results.fields import BY_TOPIC, MEANINGS

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "RESULTS.md"
_BEGIN = "<!-- columns: made by scripts/describe_results.py -->\n"
_END = "<!-- end of the columns -->\n"


def described(text: str) -> str:
    """The document with the present columns between its marks."""
    before, _, rest = text.partition(_BEGIN)
    return f"{before}{_BEGIN}\n" + "\n".join(_tables()) + f"\n{_END}{rest.partition(_END)[2]}"


def _tables() -> Iterator[str]:
    for topic, columns in BY_TOPIC.items():
        yield f"### {topic}\n"
        yield "| column | unit | meaning |\n|---|---|---|"
        for column in columns:
            yield f"| `{column.key}` | {column.unit} | {MEANINGS[column.key]} |"
        yield ""


if __name__ == "__main__":
    DOCUMENT.write_text(described(DOCUMENT.read_text()))
