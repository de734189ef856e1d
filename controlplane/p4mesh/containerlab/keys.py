"""The keys of a containerlab file that say something about the tester: links with all keys, nodes with some."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct, field

_NodeName = Annotated[
    str, Meta(pattern="^[a-zA-Z0-9][a-zA-Z0-9._|-]*$", description="a name of letters, digits, -, _, . and |")
]
_End = Annotated[str, Meta(pattern="^[!-9;-~]+:[!-9;-~]+$", description="NODE:INTERFACE, such as leaf1:e1-1")]
_Word = Annotated[str, Meta(pattern="^[!-~]*$", description="a word of printable ASCII")]
# A lab's name is part of the names of its folder and of its containers.
_LabName = Annotated[
    str,
    Meta(
        pattern="^[a-zA-Z0-9_][a-zA-Z0-9_.-]*$",
        max_length=64,
        description="1 to 64 letters, digits, -, _ and ., not beginning with . or -",
    ),
]
_Prefix = Annotated[str, Meta(pattern="^[a-zA-Z0-9_.-]*$", description="letters, digits, -, _ and .")]
_LARGEST_MTU = 65_535


class LinkEnd(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One end of a link, in the extended form."""

    node: _NodeName
    interface: _Word
    ipv4: str = ""
    ipv6: str = ""
    mac: Any = None
    vars: Any = None
    labels: Any = None


class LinkEntry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="kebab"):
    """A link: ``endpoints`` between two nodes, ``endpoint`` of one node, with what is at its other end."""

    type: Literal["veth", "veth-stitch", "mgmt-net", "macvlan", "host", "vxlan", "vxlan-stitch", "dummy"] = "veth"
    endpoints: Annotated[
        list[_End | LinkEnd], Meta(min_length=2, max_length=2, description="a list of two ends: [NODE:IF, NODE:IF]")
    ] = field(default_factory=list)
    endpoint: LinkEnd | None = None
    mtu: Annotated[int, Meta(ge=0, le=_LARGEST_MTU)] = 0
    ipv4: Annotated[list[str], Meta(max_length=2, description="a list of an address for each end")] = field(
        default_factory=list
    )
    ipv6: Annotated[list[str], Meta(max_length=2, description="a list of an address for each end")] = field(
        default_factory=list
    )
    host_interface: _Word = ""
    remote: _Word = ""
    mode: Any = None
    vni: Any = None
    dst_port: Any = None
    src_port: Any = None
    vars: Any = None
    labels: Any = None


class NodeEntry(Struct, frozen=True, kw_only=True, rename="kebab"):
    """A node, or what nodes of a kind or group have; its other keys do not concern the tester."""

    kind: str = ""
    image: _Word = ""
    group: str = ""
    network_mode: _Word = ""
    exec: list[str] | None = None
    binds: list[str] | None = None
    labels: dict[str, Any] | None = None


class TopologyEntry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Nodes and links, and what nodes share."""

    nodes: Annotated[dict[_NodeName, NodeEntry | None], Meta(min_length=1)]
    links: list[LinkEntry] | None = None
    kinds: dict[str, NodeEntry | None] | None = None
    groups: dict[str, NodeEntry | None] | None = None
    defaults: NodeEntry | None = None


class LabEntry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A containerlab file."""

    name: _LabName
    topology: TopologyEntry
    prefix: _Prefix | None = None
    mgmt: Any = None
    settings: Any = None
    debug: Any = None


@cache
def schema() -> dict[str, Any]:
    """JSON Schema of what is read."""
    made = msgspec.json.schema(LabEntry)
    for rule in made["$defs"].values():
        # The first line tells the purpose; a description tells the valid values.
        rule["title"] = rule.pop("description").partition("\n")[0]
    return made
