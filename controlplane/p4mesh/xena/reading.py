"""Reads configuration files of Xena's programs for RFC 2544 and RFC 2889; what is in a file tells whose it is.

A file whose name says another standard is refused: somebody expects other tests of it.
"""

from __future__ import annotations

import json
import re
from enum import Enum
from pathlib import Path
from typing import Any

from p4mesh.causes import reading_hint
from p4mesh.errors import XenaFileError
from p4mesh.regular_files import read_bytes

MOST_BYTES = 50_000_000
_BINARY = ".xmcfg"
VALID = "name a file of Xena2889, Valkyrie2889, Xena2544 or Valkyrie2544: .x2889, .v2889, .x2544 or .v2544"
_PROGRAM = re.compile(r"TestConfig\.\w*?([0-9]{4})\b")


class Standard(Enum):
    """The standard of the tests of a file."""

    RFC2544 = "2544"
    RFC2889 = "2889"

    @property
    def title(self) -> str:
        """The standard as people name it."""
        return f"RFC {self.value}"

    @property
    def format_version(self) -> int:
        """The number at FormatVersion."""
        return 10 if self is Standard.RFC2544 else 1


_TITLES = {**{item.value: item.title for item in Standard}, "3918": "RFC 3918", "1564": "Y.1564"}
_ENDING = re.compile(r"\.[xv]([0-9]{4})")
_TESTS = {
    "RateTest": "2889",
    "CongestionControl": "2889",
    "ForwardPressure": "2889",
    "MaxForwardingRate": "2889",
    "AddressCachingCapacity": "2889",
    "AddressLearningRate": "2889",
    "ErroredFramesFiltering": "2889",
    "BroadcastForwarding": "2889",
    "GroupJoinLeaveDelay": "3918",
    "GroupCapacity": "3918",
    "AggregatedThroughput": "3918",
    "Back2Back": "2544",
    "Loss": "2544",
    "Throughput": "2544",
    "Latency": "2544",
}
"""The standard of each type of test; RFC 3918 comes before RFC 2544, with which it has one in common."""


def read_configuration(path: Path) -> tuple[dict[str, Any], Standard]:
    """The data of a file and whose tests it has; raises XenaFileError for one of another kind."""
    if path.suffix.lower() == _BINARY:
        raise XenaFileError(
            f"{path}: a port configuration of XenaManager, which has no tests",
            hint=f"{VALID}; XenaManager itself can save nothing that has tests",
        )
    try:
        text = read_bytes(path, MOST_BYTES)
    except OSError as error:
        raise XenaFileError(f"{path}: {error.strerror}", hint=reading_hint(error.errno, VALID)) from None
    try:
        # UTF-8 with and without a byte order mark, UTF-16 and UTF-32.
        data = json.loads(text)
    except UnicodeDecodeError:
        raise XenaFileError(f"{path}: not text in UTF-8 or UTF-16", hint=f"{VALID}, saved as UTF-8") from None
    except RecursionError:
        raise XenaFileError(f"{path}: nested too deeply", hint=VALID) from None
    except ValueError as error:
        raise XenaFileError(f"{path}: not JSON: {error}", hint=VALID) from None
    standard = _standard(path, data)
    version = data.get("FormatVersion")
    if isinstance(version, bool) or version != standard.format_version:
        raise XenaFileError(
            f"{path}: FormatVersion is {json.dumps(version)[:40]}, known is {standard.format_version}",
            hint="save the file with the program of 2016 or later that wrote it, or ask for this version",
        )
    return data, standard


def _standard(path: Path, data: Any) -> Standard:
    found = _program(data) if isinstance(data, dict) else ""
    if not found:
        raise XenaFileError(f"{path}: no configuration of RFC 2544 or RFC 2889 tests", hint=VALID)
    ending = _ENDING.fullmatch(path.suffix.lower())
    named = _TITLES.get(ending[1], "") if ending else ""
    holds = f"{path}: it holds tests of {_TITLES[found]}"
    says = f"its name says {named}"
    if found not in {item.value for item in Standard}:
        raise XenaFileError(f"{holds}{f', {says}' if named not in ('', _TITLES[found]) else ''}", hint=VALID)
    if named not in ("", _TITLES[found]):
        right = " or ".join(path.with_suffix(f".{letter}{found}").name for letter in "xv")
        raise XenaFileError(f"{holds}, {says}", hint=f"rename it to {right} if these are the tests that you want")
    return Standard(found)


def _program(data: dict[str, Any]) -> str:
    """The number of the standard in the name of the program that wrote the tests; empty for another file."""
    if "UniList" in data and "ServiceList" in data:
        return "1564"
    options = data.get("TestOptions")
    tests = options.get("TestTypeOptionMap") if isinstance(options, dict) else None
    if "PortHandler" not in data or not isinstance(tests, dict):
        return ""
    for test in tests.values():
        kind = _PROGRAM.search(str(test.get("$type"))) if isinstance(test, dict) else None
        if kind:
            return kind[1]
    return next((number for name, number in _TESTS.items() if name in tests), "")
