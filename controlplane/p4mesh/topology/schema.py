"""The schema of topology files, made of the classes of :mod:`p4mesh.topology.keys` and of the engine's own keys."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import msgspec

from p4mesh.config_files.validation import require_valid
from p4mesh.config_files.yaml_source import FileKind, YamlSource
from p4mesh.engine_module import load_engine
from p4mesh.errors import TopologyError
from p4mesh.topology.keys import EngineMapping, P4Keys, TopologyFile

TOPOLOGY_FILE = FileKind(TopologyError, "see topologies/ for complete examples")

Rule = dict[str, Any]
_ENGINE = "engine"
_NODES = "network.nodes"
_MODELS = "models"


@cache
def schema() -> Rule:
    """The JSON Schema of a topology file; raises EngineMissingError without the engine, which has keys of it."""
    return topology_schema(json.loads(load_engine().describe_config()))


def topology_schema(engine: Rule) -> Rule:
    """The JSON Schema of a topology file; ``engine`` is the engine's description of its keys."""
    made = msgspec.json.schema(TopologyFile)
    places = {place.__name__: place for place in EngineMapping.__subclasses__()}
    rules = _Rules(engine, made["$defs"], places)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "P4Mesh topology",
        "description": "a mapping with name, tester, nodes and links; see topologies/ for complete examples",
        **rules.complete({"$ref": made["$ref"]}),
    }


class _Rules:
    """Rules of classes, completed: definitions in their place, no null, and the engine's keys."""

    def __init__(self, engine: Rule, definitions: dict[str, Rule], places: dict[str, type[EngineMapping]]) -> None:
        self._engine = engine
        self._definitions = definitions
        self._places = places

    def complete(self, rule: Rule) -> Rule:
        """A rule in which nothing refers to another place; absent values have no default."""
        rule = dict(rule)
        if "$ref" in rule:
            return self._mapping(str(rule.pop("$ref")).rpartition("/")[2]) | _own(rule)
        forms = [form for form in rule.get("anyOf", ()) if form != {"type": "null"}]
        if len(forms) < len(rule.get("anyOf", ())):
            outer = {key: value for key, value in rule.items() if key != "anyOf"}
            return self.complete((forms[0] if len(forms) == 1 else {"anyOf": forms}) | outer)
        for key in ("items", "additionalProperties"):
            if isinstance(rule.get(key), dict):
                rule[key] = self.complete(rule[key])
        return _own(rule)

    def _mapping(self, name: str) -> Rule:
        definition, place = self._definitions[name], self._places.get(name)
        keys = {key: self.complete(rule) for key, rule in definition["properties"].items()}
        required = definition.get("required", [])
        here = self._at(place.ENGINE) if place else {}
        of_engine = here.get("properties", {})
        for key, rule in keys.items():
            if (source := rule.pop(_ENGINE, None)) == _MODELS:
                rule["enum"] = list(self._engine[_MODELS])
            elif source is not None:
                own = rule.copy()
                keys[key] = own | (of_engine[key] if source is True else self._at(source)) | own
                if "title" in own:  # Without it another value applies, and the title says which.
                    keys[key].pop("default", None)
                elif key not in here.get("required", ()):
                    required = [needed for needed in required if needed != key]
        if place:
            keys |= {
                key: rule for key, rule in of_engine.items() if key not in keys | dict.fromkeys(place.NOT_IN_FILES)
            }
            if place.ENGINE == _NODES:
                keys |= self._of_models(keys)
        made: Rule = {"type": "object", "additionalProperties": False}
        return made | ({"required": required} if required else {}) | {"properties": keys}

    def _at(self, place: str) -> Rule:
        """The engine's rule at a place of its document."""
        rule = self._engine
        for key in place.split("."):
            rule = rule.get("properties", rule)[key]
            rule = rule.get("items", rule)
        return rule

    def _of_models(self, common: dict[str, Rule]) -> dict[str, Rule]:
        """The keys of single models, each with the models that have it."""
        own = self.complete(msgspec.json.schema(P4Keys)["$defs"][P4Keys.__name__])["properties"]
        keys: dict[str, Rule] = {}
        for model, rule in self._engine[_MODELS].items():
            for key, value in rule["properties"].items():
                shared = keys.setdefault(key, own.get(key, common.get(key, value)))
                keys[key] = {**shared, "models": [*shared.get("models", []), model]}
        return keys


def _own(rule: Rule) -> Rule:
    """Leave out a default that means that the part is absent."""
    absent = rule.get("default") in (None, "") or isinstance(rule["default"], dict | list)
    return {key: value for key, value in rule.items() if key != "default" or not absent}


def read(source: YamlSource) -> TopologyFile:
    """The values of a file with all defaults; raises TopologyError for the first fault in file order."""
    require_valid(source, schema)
    return msgspec.convert(_with_defaults(source.data, schema()), TopologyFile)


def _with_defaults(data: Any, rule: Rule) -> Any:
    """A value with the defaults of the keys that it leaves out: those of the engine are in the schema alone."""
    if isinstance(data, list):
        return [_with_defaults(item, rule.get("items", {})) for item in data]
    if not isinstance(data, dict) or "properties" not in rule:
        return data
    keys = rule["properties"]
    defaults = {key: value["default"] for key, value in keys.items() if "default" in value and "models" not in value}
    return defaults | {key: _with_defaults(value, keys[key]) for key, value in data.items()}
