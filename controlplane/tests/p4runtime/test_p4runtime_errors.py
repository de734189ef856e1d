"""The text and code of every refusal, compared with the table golden/p4runtime.txt.

Run with ``P4MESH_UPDATE_GOLDEN=1`` to write it anew, then read the difference.
"""

from __future__ import annotations

from support.p4runtime_cases import GOLDEN, other_cases, read_cases, table_cases
from support.p4runtime_support import Switch

from p4mesh.p4runtime import Client, ReadError, WriteError


def test_refused_writes(client: Client) -> None:
    cases = table_cases(client.schema) | other_cases(client.schema)
    found, expected = {}, {}
    for name, (kind, entity) in cases.items():
        try:
            client.write([(kind, entity)])
            text = "accepted\n"
        except WriteError as error:
            (failure,) = error.failures
            text = f"{failure.code}: {failure.reason}\n"
        found[name] = text
        expected[name] = GOLDEN.text(name, text)
    assert found == expected


def test_refused_reads(client: Client) -> None:
    found, expected = {}, {}
    for name, entity in read_cases(client.schema).items():
        try:
            list(client.read(entity))
            text = "accepted\n"
        except ReadError as error:
            (failure,) = error.failures
            text = f"{failure.code}: {failure.reason}\n"
        found[name] = text
        expected[name] = GOLDEN.text(name, text)
    assert found == expected


def test_no_golden_text_is_left_over(switch: Switch, client: Client) -> None:
    s = client.schema
    names = {*table_cases(s), *other_cases(s), *read_cases(s)}
    assert set(GOLDEN.cases()) == names
