#!/usr/bin/env python3
"""Writes docs/DEVICES.md, the keys of a topology file, from their schema. The engine must be built."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from p4mesh.config_files.validation import valid_values
from p4mesh.topology.device_keys import keys_of
from p4mesh.topology.schema import schema

_ROOT = Path(__file__).resolve().parents[1]
DOCUMENT = _ROOT / "docs" / "DEVICES.md"
_HEAD = """# Devices and topologies

All keys of a topology file, with units in their names. Made by `scripts/describe_devices.py` from the classes of
`p4mesh.topology.keys` and from the engine's description of its own keys; complete examples are in `topologies/`.
`p4mesh topology check FILE` says what is wrong with a file, where, and what is valid, and what it calls valid can be
run; `p4mesh topology draw FILE` draws it.

Lengths are bytes with FCS. A key without a default is needed where the default column says so, otherwise the part that
it describes is absent. Random decisions follow `seed`: equal files give equal results.
"""
_MODELS = {
    "ethernet_switch": "An Ethernet switch. Frames wait in a queue per output unless `input_queue` says otherwise.",
    "router": "An IPv4 and IPv6 router: store and forward, with ARP (RFC 826) and neighbour discovery (RFC 4861).",
    "p4": "A P4 program of `p4src/dut` or of your own (v1model) in the engine; both pipelines run after the last bit.",
    "tap": "A tap in a cable between its ports 1 and 2, gaps and clock as sent; further ports are for monitors.",
}


def document() -> str:
    """The whole document."""
    root = schema()
    node = root["properties"]["nodes"]["items"]
    common = [key for key in node["properties"] if all(key in keys_of(model) for model in _MODELS)]
    parts = [_HEAD, _section("The file", {**root, "properties": _without(root, "tester", "nodes", "links")})]
    parts.append(_section("The tester", root["properties"]["tester"], "tester."))
    parts.append(_section("Links", root["properties"]["links"]["items"], "links[]."))
    parts.append(_section("Every node", {**node, "properties": {key: node["properties"][key] for key in common}}))
    for model, summary in _MODELS.items():
        own = {key: rule for key, rule in node["properties"].items() if key in keys_of(model) and key not in common}
        parts.append(_section(f"Nodes of device `{model}`", {**node, "properties": own}, summary=summary))
    return "\n".join(parts)


def _without(rule: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in rule["properties"].items() if key not in keys}


def _section(title: str, rule: dict[str, Any], prefix: str = "", summary: str = "") -> str:
    lines = [f"## {title}", "", *([summary, ""] if summary else [])]
    lines += ["| key | meaning | valid | default |", "|---|---|---|---|", *_rows(rule, prefix)]
    return "\n".join(lines) + "\n"


def _rows(rule: dict[str, Any], prefix: str) -> Iterator[str]:
    for key, value in rule["properties"].items():
        default = json.dumps(value["default"]).strip('"') if "default" in value else "-"
        default = "needed" if key in rule.get("required", []) else default
        yield f"| `{prefix}{key}` | {value['title']} | {_valid(value)} | {default} |"
        inner = value.get("items", value)
        if "properties" in inner:
            yield from _rows(inner, f"{prefix}{key}{'[]' if 'items' in value else ''}.")


def _valid(rule: dict[str, Any]) -> str:
    if "items" in rule and "properties" not in rule["items"] and rule["items"]:
        return f"a list, each {valid_values(rule['items'])}".replace("|", "\\|")
    return valid_values(rule).replace("|", "\\|")


def main() -> None:
    """Write the document."""
    DOCUMENT.write_text(document(), encoding="utf-8")


if __name__ == "__main__":
    main()
