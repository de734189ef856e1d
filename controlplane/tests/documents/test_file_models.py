"""The models of files: no type that msgspec cannot free."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from msgspec import inspect

from p4mesh.containerlab import keys as lab_keys
from p4mesh.run_file import model as run_file
from p4mesh.store import calibration_file, live_file
from p4mesh.topology import keys as topology_keys
from p4mesh.traffic_file import model as traffic_file

MODELS = [
    value
    for module in (lab_keys, run_file, calibration_file, live_file, topology_keys, traffic_file)
    for value in vars(module).values()
    if isinstance(value, type) and issubclass(value, msgspec.Struct) and value.__module__ == module.__name__
]


def unions(kind: Any) -> Iterator[inspect.UnionType]:
    """Unions in the fields of a class, and within their parts; classes in them have a turn of their own."""
    if isinstance(kind, inspect.UnionType):
        yield kind
    parts = [getattr(kind, name, None) for name in ("type", "item_type", "key_type", "value_type")]
    for part in [*parts, *getattr(kind, "types", ()), *getattr(kind, "item_types", ())]:
        if isinstance(part, inspect.Type) and not isinstance(part, inspect.StructType):
            yield from unions(part)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: f"{model.__module__}.{model.__name__}")
def test_no_text_with_a_pattern_beside_a_collection(model: type[msgspec.Struct]) -> None:
    """msgspec 0.22 ends the process by a segmentation fault when it frees such a class."""
    kind = inspect.type_info(model)
    assert isinstance(kind, inspect.StructType)
    for field in kind.fields:
        for union in unions(field.type):
            patterned = any(isinstance(part, inspect.StrType) and part.pattern for part in union.types)
            assert not (
                patterned and any(isinstance(part, inspect.CollectionType | inspect.DictType) for part in union.types)
            )
