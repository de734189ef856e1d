"""The schema of topology files, made of the engine's description of its keys and of the keys declared here.

The engine describes the keys that it reads: meaning, unit, range and default (``_engine.describe_config``). Declared
here are the other keys of a file: groups of ports and links, the Tofino, parameters of tests, names. Each key is
written once, here or there; ``schema.json`` is the result (``scripts/describe_devices.py``).
"""

from __future__ import annotations

from typing import Any

from p4mesh.topology.device_keys import ON_LINUX
from p4mesh.topology.line_codes import DATA_BITS, NONE

Rule = dict[str, Any]

_MOST = 2**64 - 1
_HIGHEST_AS = 2**32 - 2
_PORT_LIST = "^[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*$"


def topology_schema(engine: Rule) -> Rule:
    """Return the JSON Schema of a topology file; ``engine`` is the engine's description of its keys."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "P4Mesh topology",
        "description": "a mapping with name, tester, nodes and links; see topologies/ for complete examples",
        **_mapping(
            {
                "name": {
                    "title": "name of the set-up",
                    "type": "string",
                    "minLength": 1,
                    "pattern": "^[^\\u0000-\\u001f\\u007f]*$",
                    "description": "a string of one line",
                },
                "description": {"title": "one sentence for people", "type": "string"},
                "seed": engine["network"]["properties"]["seed"],
                "tester": {"title": "the tester: a P4 program with ports", **_tester(engine)},
                "notes": _NOTES,
                "tests": _TESTS,
                "nodes": {"title": "devices under test", "type": "array", "items": _node(engine)},
                "links": {
                    "title": "cables; a cable between two tester ports is a wire",
                    **_list(_link(engine["network"]["properties"]["links"]["items"])),
                },
            },
            required=("name", "tester", "links"),
        ),
    }


def _mapping(properties: Rule, required: tuple[str, ...] = ()) -> Rule:
    rule: Rule = {"type": "object", "additionalProperties": False}
    return rule | ({"required": list(required)} if required else {}) | {"properties": properties}


def _list(items: Rule) -> Rule:
    return {"type": "array", "minItems": 1, "items": items}


def _integer(low: int, high: int) -> Rule:
    return {"type": "integer", "minimum": low, "maximum": high}


def _text(title: str) -> Rule:
    return {"title": title, "type": "string", "minLength": 1}


def _retitled(rule: Rule, title: str) -> Rule:
    """Return the engine's rule of a key with the description that it has in a file."""
    return {"title": title} | {key: value for key, value in rule.items() if key not in ("title", "default")}


_NOTES: Rule = {
    "type": "object",
    "title": "what a report says about the set-up, such as device, firmware, cables and operator; run --note adds more",
    "propertyNames": {"pattern": "^[a-z][a-z0-9_-]{0,39}$"},
    "additionalProperties": {
        "type": "string",
        "minLength": 1,
        "maxLength": 500,
        "pattern": "^[^\\u0000-\\u001f\\u007f]*$",
        "description": "one line of text",
    },
}
_TESTS: Rule = {
    "type": "object",
    "title": "parameters that tests have on this set-up unless --set says otherwise:"
    " test name, then parameter and value",
    "additionalProperties": {
        "type": "object",
        "additionalProperties": {
            "type": ["string", "number", "boolean"],
            "description": "a word, a number, true or false",
        },
    },
}
_WORD: Rule = {
    "type": "string",
    "pattern": "^[a-z][a-z0-9_-]*$",
    "description": "a name of lower-case letters, digits, - and _",
}
_NUMBERS: Rule = {
    "title": "numbers of the ports of this group; in all 1 to N without gaps",
    "anyOf": [_integer(1, 512), {"type": "string", "pattern": _PORT_LIST}],
    "description": "port numbers such as 3, 1-18 or 1-4,7",
}
_IFG_BYTES: Rule = {"title": "the gap in bytes, in place of ifg_bits", "default": 12, **_integer(0, 125_000)}
_PORTS_OF_NODE: Rule = {
    "type": "string",
    "pattern": "^[a-z][a-z0-9_-]*:[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*$",
    "description": "node and ports such as tester:1-18 or wrs:3",
}


def _tester(engine: Rule) -> Rule:
    tester = engine["network"]["properties"]["tester"]["properties"]
    loop = tester["loop"]["properties"]
    keys = {
        "clock_tick_ps": tester["clock_tick_ps"],
        "loop": {
            "title": "recirculation port in which seed frames circulate",
            **_mapping(
                {
                    "rate_bps": _retitled(
                        loop["rate_bps"],
                        "rate of the loop; without tester.loop four times the fastest port,"
                        " in 400000000000..1600000000000",
                    ),
                    "latency_ns": _retitled(
                        loop["latency_ns"], "from the last bit sent to the ingress pass; 400 without tester.loop"
                    ),
                },
                required=("rate_bps", "latency_ns"),
            ),
        },
        "tofino": {
            "title": "switch that runs the tester, for --target tofino (docs/TOFINO.md)",
            **_tofino(tester["ports"]["items"]["properties"]["rate_bps"]),
        },
        "bgp": {
            "title": "stations of routed streams tell their routers by BGP which networks are behind them",
            **_bgp(),
        },
        "live": {"title": "the engine on Linux interfaces, for --target live", **_live()},
        "ports": {"title": "groups of ports", **_list(_tester_port(tester["ports"]["items"]))},
    }
    return _mapping(keys, required=("ports",))


def _live() -> Rule:
    keys = {
        "access": {
            "title": "how frames get to and from interfaces; best: af_xdp where the kernel has it, else af_packet",
            "default": "best",
            "enum": ["best", "af_xdp", "af_packet"],
        },
        "passes_per_s": {
            "title": "loop passes that this machine manages; without it 1000000",
            **_integer(10_000, 100_000_000),
        },
    }
    return _mapping(keys)


def _bgp() -> Rule:
    bfd = {
        "interval_ms": {"title": "interval in both directions", "default": 150, **_integer(1, 60_000)},
        "multiplier": {
            "title": "packets in a row whose loss ends the session",
            "default": 3,
            **_integer(1, 255),
        },
    }
    keys = {
        "first_as": {"title": "AS of the station on port 1; the others follow", **_integer(1, _HIGHEST_AS - 512)},
        "router_as": {"title": "AS of the routers", **_integer(1, _HIGHEST_AS)},
        "hold_time_s": {
            "title": "silence after which a session ends, at least 3; 0 keeps sessions without KEEPALIVEs",
            "default": 90,
            **_integer(0, 65_535),
        },
        "bfd": {"title": "BFD beside each session; {} for its defaults", **_mapping(bfd)},
        "graceful_restart": {
            "title": "keep routes of a router while it restarts (RFC 4724): not supported",
            "default": False,
            "enum": [False],
            "description": "false: graceful restart is not supported, routes of a session go with it",
        },
        "wait_s": {
            "title": "from the last announcement to the start of streams",
            "default": 1,
            "type": "number",
            "minimum": 0,
            "maximum": 3600,
        },
    }
    return _mapping(keys, required=("first_as", "router_as"))


def _tofino(rate_bps: Rule) -> Rule:
    front_loop = _mapping(
        {
            "device_port": {"title": "its device port", **_integer(1, 511)},
            "rate_bps": _retitled(rate_bps, "its rate"),
        },
        required=("device_port", "rate_bps"),
    )
    port_settings = _mapping(
        {
            "device_ports": {
                "title": "device ports with these settings",
                "anyOf": [_integer(0, 511), {"type": "string", "pattern": _PORT_LIST}],
                "description": "device ports such as 128-131 or 128,136,144",
            },
            "fec": {
                "title": "forward error correction",
                "default": "none",
                "enum": ["none", "firecode", "reed_solomon"],
            },
            "autonegotiation": {"title": "autonegotiation", "default": "default", "enum": ["default", "on", "off"]},
            "lanes": {
                "title": "lanes of each port of a connector that is broken out; as many as usual without this key",
                **_integer(1, 8),
            },
        },
        required=("device_ports",),
    )
    keys = {
        "chip": {"title": "its chip", "enum": ["tofino1", "tofino2"]},
        "api": {
            "title": "how the controller speaks to it: bfrt (bf_switchd), or p4runtime (such as Stratum)",
            "default": "p4runtime",
            "enum": ["bfrt", "p4runtime"],
        },
        "pipes": {
            "title": "pipes of the chip; 2 on a tofino1 and 4 on a tofino2 without this key; with more than 2 a tofino1"
            " needs the program for four",
            **_integer(1, 4),
        },
        "address": {
            "title": "HOST:PORT of its server; bf_switchd listens on port 50052",
            "type": "string",
            "pattern": "^.+:[0-9]+$",
            "description": "HOST:PORT such as 192.0.2.1:9559",
        },
        "tls": {
            "title": "the server uses TLS, with api p4runtime; {} where gRPC knows the authority of its certificate",
            **_mapping(
                {
                    "ca": _text("file in PEM with the authorities of the server's certificate, relative to this file"),
                    "certificate": _text(
                        "file in PEM with the controller's own certificate, where the server asks for one"
                    ),
                    "key": _text("file in PEM with the key of this certificate"),
                    "server_name": _text("name in the server's certificate, where it is not the host of the address"),
                }
            ),
        },
        "device_config": _text(
            "file with the compiled program in the form that this server takes, relative to this file; needed with api"
            " p4runtime"
        ),
        "program": {
            "title": "name under which bf_switchd runs the program, with api bfrt",
            "default": "p4mesh",
            "type": "string",
            "minLength": 1,
        },
        "cpu_interface": _text("network interface of the CPU port, on the machine of bf_switchd; needed with api bfrt"),
        "request_timeout_s": {
            "title": "longest time for the answer to a request of up to 1024 entries or of one whole table, with api "
            "bfrt; raise it for a slow switch, such as a model of one",
            "default": 30,
            "type": "number",
            "minimum": 1,
            "maximum": 3600,
        },
        "port_settings": {
            "title": "set-up of front ports, with api bfrt; ports that are not named have the defaults",
            **_list(port_settings),
        },
        "device_id": {
            "title": "number of the device at this server; 1 without this key with api p4runtime, 0 with api bfrt",
            **_integer(0, _MOST),
        },
        "election_id": {
            "title": "the controller with the largest one is primary, with api p4runtime",
            "default": 1,
            **_integer(1, _MOST),
        },
        "loop_latency_ns": {
            "title": "from the last bit of a seed on the recirculation port to its next pass; 700 without this key, "
            "1000 on a tofino2",
            "type": "number",
            "minimum": 0,
            "maximum": 1_000_000_000,
        },
        "front_loops": {
            "title": "front ports in loopback that carry seeds, too",
            "type": "array",
            "maxItems": 8,
            "items": front_loop,
        },
        "pipe_frames_per_s": {
            "title": "frames that a pipe of the chip passes: its clock, 1000000000 to 1250000000 by public documents",
            "default": 1_000_000_000,
            **_integer(1_000_000, 10_000_000_000),
        },
        "bad_fcs": {
            "title": "the program was compiled with -DFORCE_TX_ERROR",
            "default": False,
            "type": "boolean",
        },
    }
    return _mapping(keys, required=("chip", "address"))


def _tester_port(engine: Rule) -> Rule:
    keys = {
        "numbers": _NUMBERS,
        "device_ports": {
            "title": "their device ports on a Tofino, in this order; needed for --target tofino",
            "anyOf": [_integer(0, 511), {"type": "string", "pattern": _PORT_LIST}],
            "description": "device ports such as 128-131 or 128,136,144",
        },
        "interface": {
            "title": "interfaces of this machine that they are, in this order, for targets live and bmv2; what is"
            " cabled to them is outside of this machine",
            "type": "string",
            "pattern": "^[^/,\\s]{1,15}(,[^/,\\s]{1,15})*$",
            "description": "names of interfaces such as enp3s0f0 or enp3s0f0,enp3s0f1",
        },
        "name": {"title": "prefix of the ports' names", "default": "p", "type": "string", "minLength": 1},
        "role": {"title": "what the ports are for; traffic files name ports by it", **_WORD},
        "layer": {"title": "layer of the network that the ports belong to; traffic files name ports by it", **_WORD},
    }
    late = {
        "start_skew_ns": {
            "title": "how much later the port starts than asked",
            "default": 0,
            **_integer(0, 1_000_000_000),
        }
    }
    line = _with_gap_in_bytes(engine["properties"])
    keys |= _up_to("clock_offset_ppm", line) | late | line
    return _mapping(keys, required=("numbers", "rate_bps"))


def _with_gap_in_bytes(engine: Rule) -> Rule:
    """Return the keys of one port of the engine as those of a group: it has many numbers."""
    single = {key: rule for key, rule in engine.items() if key != "number"}
    return _up_to("ifg_bits", single) | {"ifg_bytes": _IFG_BYTES} | single


def _up_to(last: str, properties: Rule) -> Rule:
    keys = list(properties)
    return {key: properties[key] for key in keys[: keys.index(last) + 1]}


def _node(engine: Rule) -> Rule:
    """Return the rule of a node: keys of every model, and those of single ones with their ``models``."""
    common = engine["network"]["properties"]["nodes"]["items"]["properties"]
    keys = {
        "name": {
            "title": "name for links",
            "type": "string",
            "pattern": "^[a-z][a-z0-9_-]*$",
            "not": {"const": "tester"},
            "description": "a name of lower-case letters, digits, - and _ other than tester",
        },
        "device": {"title": "the model", "enum": list(engine["models"])},
        "ports": {
            "title": "groups of ports",
            **_list(
                _mapping(
                    {"numbers": _NUMBERS, **_with_gap_in_bytes(common["ports"]["items"]["properties"])},
                    required=("numbers", "rate_bps"),
                )
            ),
        },
        "reset": common["reset"],
        "latency_ns": common["latency_ns"],
        "on_linux": {
            "title": "what stands for the node on Linux interfaces (targets live and bmv2, p4mesh net): bridge or"
            " openvswitch for an ethernet_switch, linux, frr, bird or smcroute for a router, simple_switch_grpc or"
            " p4mesh_switch for p4; without this key the first of each",
            "enum": sorted({software for parts in ON_LINUX.values() for software in parts}),
        },
    }
    for model, rule in engine["models"].items():
        for key, value in rule["properties"].items():
            shared = keys.setdefault(key, _PROGRAM if key == "program" else value)
            keys[key] = {**shared, "models": [*shared.get("models", []), model]}
    return _mapping(keys, required=("name", "device", "ports"))


_PROGRAM: Rule = {
    "title": "the program",
    "type": "string",
    "pattern": "^([a-z][a-z0-9_]*|.+\\.json)$",
    "description": "name of a program in p4src/compiled, such as l2_switch, or p4c's JSON of your own, such as"
    " my_dut.json, beside the topology file",
}


def _link(engine: Rule) -> Rule:
    ends = ("from", "to")
    cable = {key: rule for key, rule in engine["properties"].items() if key not in ends}
    keys = {
        "from": {"title": "node and ports", **_PORTS_OF_NODE},
        "to": {"title": "as many ports of another node", **_PORTS_OF_NODE},
        **_up_to("latency_ns", cable),
        "line_code": {
            "title": "forward error correction: base_r (Firecode), rs_528_514 (KR4) or rs_544_514 (KP4); bit errors are"
            " what it leaves",
            "default": NONE,
            "enum": [NONE, *DATA_BITS],
        },
        "line_code_ns": {
            "title": "latency that the line code adds in each direction, as measured; without this key the time of one"
            " code word, the least that a decoder takes",
            "type": "number",
            "minimum": 0,
            "maximum": 1_000_000,
        },
        **cable,
    }
    return _mapping(keys, required=ends)
