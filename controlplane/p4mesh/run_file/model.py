"""Models a run file: one class per mapping of the file. The JSON Schema is made from these classes."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field

from p4mesh.traffic.imix import MIX_PATTERN, NAMED_MIXES
from p4mesh.traffic.line_rate import LARGEST_FRAME_BYTES, SMALLEST_FRAME_BYTES
from p4mesh.traffic_file.model import Name, Ports

Value = Annotated[
    bool | int | float | str,
    Meta(description="a number, a word, or true or false; p4mesh tests NAME lists what is valid"),
]
Parameters = Annotated[dict[str, Value], Meta(title="parameters, as in p4mesh tests NAME")]
_VALID_SIZE = (
    f"bytes in {SMALLEST_FRAME_BYTES}..{LARGEST_FRAME_BYTES}, or a mix: {', '.join(NAMED_MIXES)}, a genome of RFC 6985 "
    "such as a7d4g1"
)
_Size = Annotated[
    Annotated[int, Meta(ge=SMALLEST_FRAME_BYTES, le=LARGEST_FRAME_BYTES)]
    | Annotated[str, Meta(pattern=f"^({MIX_PATTERN})$")],
    Meta(description=_VALID_SIZE),
]
Sizes = Annotated[
    list[_Size],
    Meta(
        min_length=1,
        title="frame sizes with FCS; else those of the RFC",
        description=f"a list such as [64, 1518] of {_VALID_SIZE}",
    ),
]
_NOTE_KEY = "^[a-z][a-z0-9_-]{0,39}$"
_Note = Annotated[str, Meta(min_length=1, max_length=500)]


class RequestedTest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One test, or all tests of a suite."""

    test: Annotated[str, Meta(min_length=1, title="name of a test or of a suite, as in p4mesh tests")]
    name: Annotated[
        Name | UnsetType, Meta(title="its name in results and of its directory, where it is not that of the test")
    ] = UNSET
    topology: Annotated[
        Annotated[str, Meta(min_length=1)] | UnsetType,
        Meta(title="topology of this test, where it is not that of the file", description="a path"),
    ] = UNSET
    ports: Annotated[Ports | UnsetType, Meta(title="tester ports that take part, in this order; else all")] = UNSET
    sizes: Annotated[Sizes | UnsetType, Meta(title="frame sizes of this test")] = UNSET
    parameters: Parameters = field(default_factory=dict)


class RunFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A whole run file."""

    name: Annotated[Name, Meta(title="name of the run")]
    description: Annotated[str, Meta(title="one sentence for people")] = ""
    topology: Annotated[
        str,
        Meta(
            min_length=1,
            title="topology file, from the folder of the run file, or the name of one that comes with P4Mesh",
            description="a path",
        ),
    ]
    target: Annotated[Literal["bmv2", "live", "sim", "tofino"], Meta(title="what runs the P4 program")] = "sim"
    ports: Annotated[Ports | UnsetType, Meta(title="tester ports that take part, in this order; else all")] = UNSET
    sizes: Annotated[Sizes | UnsetType, Meta(title="frame sizes of all tests; else those of the RFC")] = UNSET
    parameters: Annotated[Parameters, Meta(title="parameters of all tests that have them")] = field(
        default_factory=dict
    )
    tests: Annotated[
        list[Annotated[str, Meta(min_length=1)] | RequestedTest],
        Meta(
            min_length=1,
            title="what to run, in this order",
            description="a list of names of tests or suites, or of mappings such as {test: rfc2544.throughput}",
        ),
    ]
    calibration: Annotated[str | UnsetType, Meta(title="wires measured by p4mesh calibrate", description="a path")] = (
        UNSET
    )
    notes: Annotated[
        dict[
            Annotated[
                str,
                Meta(pattern=_NOTE_KEY, description="a key of lower-case letters, digits, - and _, such as operator"),
            ],
            _Note,
        ],
        Meta(title="what reports say, such as the operator"),
    ] = field(default_factory=dict)
