"""The server's hand-written messages have the tags and types of the published descriptors.

Method: read the prost attributes in the Rust sources and look every field up in the published descriptors of P4Runtime
1.5 (``fixtures``, a FileDescriptorSet); the client's stubs carry those of 1.4. Fields that the server does not use may
be missing, except in the messages that it must return unchanged.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from support.p4runtime_published import published_files, published_pool

PACKAGE = Path(__file__).parents[2] / "p4mesh"
SOURCES = sorted((Path(__file__).parents[3] / "engine/p4runtime/src/proto").glob("*.rs"))

RENAMED = {"ActionInfo": "Action", "Lpm": "LPM"}
"""Rust names of types whose own name is taken or not idiomatic."""

INCOMPLETE_ON_PURPOSE = {"p4.v1.CapabilitiesResponse", "p4.v1.WriteRequest"}

TYPES = {
    "uint32": FieldDescriptor.TYPE_UINT32,
    "uint64": FieldDescriptor.TYPE_UINT64,
    "int32": FieldDescriptor.TYPE_INT32,
    "int64": FieldDescriptor.TYPE_INT64,
    "bool": FieldDescriptor.TYPE_BOOL,
    "string": FieldDescriptor.TYPE_STRING,
    "bytes": FieldDescriptor.TYPE_BYTES,
    "message": FieldDescriptor.TYPE_MESSAGE,
    "enumeration": FieldDescriptor.TYPE_ENUM,
    "btree_map": FieldDescriptor.TYPE_MESSAGE,
}


@dataclass(frozen=True)
class Field:
    message: str
    name: str
    kind: str
    repeated: bool
    tag: int
    rust_type: str


def descriptors() -> dict[str, Descriptor]:
    found: dict[str, Descriptor] = {}

    def add(descriptor: Descriptor) -> None:
        found[descriptor.full_name] = descriptor
        for nested in descriptor.nested_types:
            add(nested)

    for file in published_files().file:
        for descriptor in published_pool().FindFileByName(file.name).message_types_by_name.values():
            add(descriptor)
    return found


DESCRIPTORS = descriptors()

_ITEM = re.compile(
    r"((?:^[ \t]*///[^\n]*\n|^[ \t]*#\[[^\n]*\n)*)^pub (struct|enum) (\w+) \{(?:\}|(.*?)^\})", re.M | re.S
)
_FIELD = re.compile(r"#\[prost\(([^\]]*)\)\]\s*(?:pub )?(?:r#)?(\w+)\s*(?::\s*([^,\n]+)|\(([^)]*)\))?,")


def full_name(rust_name: str, docs: str, package: str) -> str:
    named = re.search(r"`([a-z0-9.]+\.[A-Za-z0-9.]+)`", docs)
    if named:
        return named[1]
    name = RENAMED.get(rust_name, rust_name)
    return f"{package}.{name}"


def snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def parse() -> list[Field]:
    fields = []
    for path in SOURCES:
        text = path.read_text()
        package = "p4.config.v1" if path.stem == "info" else "p4.v1"
        owners: dict[str, list[str]] = {}
        oneofs = {}
        for docs, keyword, name, body in _ITEM.findall(text):
            if "prost::Message" not in docs and "prost::Oneof" not in docs:
                continue
            message = full_name(name, docs, package)
            items = []
            for attributes, field_name, rust_type, variant_type in _FIELD.findall(body):
                oneof = re.search(r'oneof = "(\w+)"', attributes)
                if oneof:
                    owners.setdefault(oneof[1], []).append(message)
                    continue
                kind = attributes.split(",")[0].split("=")[0].strip()
                tag = int(re.search(r'tag = "(\d+)"', attributes)[1])  # type: ignore[index]
                repeated = "repeated" in attributes or kind == "btree_map"
                items.append((field_name, kind, repeated, tag, rust_type or variant_type))
            if keyword == "struct":
                fields += [Field(message, *item) for item in items]
            else:
                oneofs[name] = [(snake(item[0]), *item[1:]) for item in items]
        for name, items in oneofs.items():
            fields += [Field(message, *item) for message in owners[name] for item in items]
    return fields


FIELDS = parse()


def test_the_sources_were_understood() -> None:
    assert len(FIELDS) > 250
    assert {field.message for field in FIELDS} >= {"p4.v1.TableEntry", "p4.config.v1.Table", "google.rpc.Status"}


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: f"{field.message}.{field.name}")
def test_tag_and_type_are_those_of_the_descriptor(field: Field) -> None:
    descriptor = DESCRIPTORS[field.message]
    published = descriptor.fields_by_name[field.name]
    assert published.number == field.tag
    # P4Info inside a pipeline config is kept as bytes, which are encoded alike.
    raw = (field.message, field.name) == ("p4.v1.ForwardingPipelineConfig", "p4info")
    assert published.type == (FieldDescriptor.TYPE_MESSAGE if raw else TYPES[field.kind])
    assert published.is_repeated == field.repeated


def test_messages_of_p4runtime_are_complete() -> None:
    """Entities must come back as they were written, so none of their fields may be missing."""
    known: dict[str, set[str]] = {}
    for field in FIELDS:
        known.setdefault(field.message, set()).add(field.name)
    missing = [
        f"{message}.{field.name}"
        for message, names in known.items()
        if message.startswith("p4.v1.") and message not in INCOMPLETE_ON_PURPOSE
        for field in DESCRIPTORS[message].fields
        if field.name not in names
    ]
    assert missing == []


def test_the_client_needs_no_message_that_is_newer_than_p4runtime_1_4() -> None:
    """Those of 1.5 are in finsy 0.30, which cannot be installed beside all packages that 0.28 can."""
    newer = re.compile(r"\b(backup_replicas|BackupReplica|weights_disallowed|action_selection_mode|size_semantics)\b")
    sources = sorted(path for name in ("p4runtime", "tester") for path in (PACKAGE / name).rglob("*.py"))
    assert sources and [path.name for path in sources if newer.search(path.read_text(encoding="utf-8"))] == []
