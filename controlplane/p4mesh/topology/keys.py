"""The keys of a topology file: one class per mapping of the file, each key with its type, range and meaning.

The schema, docs/DEVICES.md and the values that the loader hands on are made of these classes. Keys that the engine
reads are declared in the engine, with range, default and meaning: a field here of type :data:`Engine` takes them from
there, and a mapping with ``ENGINE`` has all keys of that part of the engine's document besides its own.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta, Struct, field

_MOST = 2**64 - 1
"""msgspec takes no such limit; the schema does."""
_HIGHEST_AS = 2**32 - 2
_PORT_LIST = "^[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*$"
STANDARD_GAP_BITS = 96

ON_LINUX = {
    "ethernet_switch": ("bridge", "openvswitch"),
    "router": ("linux", "frr", "bird", "smcroute"),
    "p4": ("simple_switch_grpc", "p4mesh_switch"),
}
"""Parts that can stand for a device model on Linux interfaces; the first one unless the file chooses."""

Engine = Annotated[Any, Meta(extra_json_schema={"engine": True})]
"""The rule of this key is the engine's."""
_Word = Annotated[str, Meta(pattern="^[a-z][a-z0-9_-]*$", description="a name of lower-case letters, digits, - and _")]
_Text = Annotated[str, Meta(min_length=1)]
_Line = Annotated[str, Meta(min_length=1, pattern="^[^\\u0000-\\u001f\\u007f]*$", description="a string of one line")]
_DevicePorts = Annotated[
    Annotated[int, Meta(ge=0, le=511)] | Annotated[str, Meta(pattern=_PORT_LIST)],
    Meta(description="device ports such as 128-131 or 128,136,144"),
]
_Numbers = Annotated[
    Annotated[int, Meta(ge=1, le=512)] | Annotated[str, Meta(pattern=_PORT_LIST)],
    Meta(
        title="numbers of the ports of this group; in all 1 to N without gaps",
        description="port numbers such as 3, 1-18 or 1-4,7",
    ),
]
_PortsOfNode = Annotated[
    str,
    Meta(
        pattern="^[a-z][a-z0-9_-]*:[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*$",
        description="node and ports such as tester:1-18 or wrs:3",
    ),
]


class _Mapping(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A mapping whose keys are all declared here."""


class EngineMapping(Struct, frozen=True, kw_only=True):
    """A mapping that has keys of the engine, too; the schema knows them all."""

    ENGINE: ClassVar[str]
    """Where the engine describes them: keys on the way through its document."""
    NOT_IN_FILES: ClassVar[frozenset[str]] = frozenset()
    """Keys of the engine's document that a file says otherwise."""


class Bfd(_Mapping, frozen=True, kw_only=True):
    """BFD beside the BGP sessions (RFC 5880)."""

    interval_ms: Annotated[int, Meta(ge=1, le=60_000, title="interval in both directions")] = 150
    multiplier: Annotated[int, Meta(ge=1, le=255, title="packets in a row whose loss ends the session")] = 3


class BgpPeers(_Mapping, frozen=True, kw_only=True):
    """Sessions of the stations of routed streams with their routers (RFC 4271); each station has an AS of its own."""

    first_as: Annotated[int, Meta(ge=1, le=_HIGHEST_AS - 512, title="AS of the station on port 1; the others follow")]
    router_as: Annotated[int, Meta(ge=1, le=_HIGHEST_AS, title="AS of the routers")]
    hold_time_s: Annotated[
        int,
        Meta(
            ge=0,
            le=65_535,
            title="silence after which a session ends, at least 3; 0 keeps sessions without KEEPALIVEs",
        ),
    ] = 90
    bfd: Annotated[Bfd | None, Meta(title="BFD beside each session; {} for its defaults")] = None
    graceful_restart: Annotated[
        bool,
        Meta(
            title="keep routes of a router while it restarts (RFC 4724): not supported",
            description="false: graceful restart is not supported, routes of a session go with it",
            extra_json_schema={"enum": [False]},
        ),
    ] = False
    wait_s: Annotated[float, Meta(ge=0, le=3600, title="from the last announcement to the start of streams")] = 1


class LiveSwitch(_Mapping, frozen=True, kw_only=True):
    """The engine that runs the tester on target ``live``."""

    access: Annotated[
        Literal["best", "af_xdp", "af_packet"],
        Meta(
            title="how frames get to and from interfaces; best: af_xdp where the kernel has it, else af_packet; fast "
            "trials then send frames of XDP where all interfaces take them"
        ),
    ] = "best"
    passes_per_s: Annotated[
        Annotated[int, Meta(ge=10_000, le=100_000_000)] | None,
        Meta(title="loop passes that this machine manages; without it 2000000"),
    ] = None


class FrontLoop(_Mapping, frozen=True, kw_only=True):
    """A front port of a Tofino in loopback."""

    device_port: Annotated[int, Meta(ge=1, le=511, title="its device port")]
    rate_bps: Annotated[int, Meta(title="its rate", extra_json_schema={"engine": "network.tester.ports.rate_bps"})]


class FrontPorts(_Mapping, frozen=True, kw_only=True):
    """Set-up of front ports of a Tofino."""

    device_ports: Annotated[_DevicePorts, Meta(title="device ports with these settings")]
    fec: Annotated[Literal["none", "firecode", "reed_solomon"], Meta(title="forward error correction")] = "none"
    autonegotiation: Annotated[Literal["default", "on", "off"], Meta(title="autonegotiation")] = "default"
    lanes: Annotated[
        Annotated[int, Meta(ge=1, le=8)] | None,
        Meta(title="lanes of each port of a connector that is broken out; as many as usual without this key"),
    ] = None


class TlsFiles(_Mapping, frozen=True, kw_only=True):
    """Files in PEM with which the controller meets a server that uses TLS."""

    ca: Annotated[
        _Text, Meta(title="file in PEM with the authorities of the server's certificate, relative to this file")
    ] = ""
    certificate: Annotated[
        _Text,
        Meta(title="file in PEM with the controller's own certificate, where the server asks for one"),
    ] = ""
    key: Annotated[_Text, Meta(title="file in PEM with the key of this certificate")] = ""
    server_name: Annotated[
        _Text, Meta(title="name in the server's certificate, where it is not the host of the address")
    ] = ""


class TofinoSwitch(_Mapping, frozen=True, kw_only=True):
    """The switch that runs the tester on target ``tofino``."""

    chip: Annotated[Literal["tofino1", "tofino2"], Meta(title="its chip")]
    api: Annotated[
        Literal["bfrt", "p4runtime"],
        Meta(title="how the controller speaks to it: bfrt (bf_switchd), or p4runtime (such as Stratum)"),
    ] = "p4runtime"
    pipes: Annotated[
        Annotated[int, Meta(ge=1, le=4)] | None,
        Meta(
            title="pipes of the chip; 2 on a tofino1 and 4 on a tofino2 without this key; with more than 2 a tofino1"
            " needs the program for four"
        ),
    ] = None
    address: Annotated[
        str,
        Meta(
            title="HOST:PORT of its server; bf_switchd listens on port 50052",
            pattern="^.+:[0-9]+$",
            description="HOST:PORT such as 192.0.2.1:9559",
        ),
    ]
    tls: Annotated[
        TlsFiles | None,
        Meta(title="the server uses TLS, with api p4runtime; {} where gRPC knows the authority of its certificate"),
    ] = None
    device_config: Annotated[
        _Text,
        Meta(
            title="file with the compiled program in the form that this server takes, relative to this file; needed"
            " with api p4runtime"
        ),
    ] = ""
    program: Annotated[_Text, Meta(title="name under which bf_switchd runs the program, with api bfrt")] = "p4mesh"
    profile: Annotated[
        Literal["ipdv"] | None,
        Meta(
            title="profile of the program, with api bfrt: ipdv for a tofino2 whose program was compiled with -DIPDV=1,"
            " which measures IPDV of 16,384 flows and whole messages; without this key 65,536 flows and neither"
        ),
    ] = None
    cpu_interface: Annotated[
        _Text,
        Meta(title="network interface of the CPU port, on the machine of bf_switchd; needed with api bfrt"),
    ] = ""
    request_timeout_s: Annotated[
        float,
        Meta(
            ge=1,
            le=3600,
            title="longest time for the answer to a request of up to 1024 entries or of one whole table, with api "
            "bfrt; raise it for a slow switch, such as a model of one",
        ),
    ] = 30
    port_settings: Annotated[
        Annotated[list[FrontPorts], Meta(min_length=1)] | None,
        Meta(title="set-up of front ports, with api bfrt; ports that are not named have the defaults"),
    ] = None
    device_id: Annotated[
        Annotated[int, Meta(ge=0)] | None,
        Meta(
            title="number of the device at this server; 1 without this key with api p4runtime, 0 with api bfrt",
            extra_json_schema={"maximum": _MOST},
        ),
    ] = None
    election_id: Annotated[
        int,
        Meta(
            ge=1,
            title="the controller with the largest one is primary, with api p4runtime",
            extra_json_schema={"maximum": _MOST},
        ),
    ] = 1
    loop_latency_ns: Annotated[
        Annotated[float, Meta(ge=0, le=1_000_000_000)] | None,
        Meta(
            title="from the last bit of a seed on the recirculation port to its next pass; 700 without this key, "
            "1000 on a tofino2"
        ),
    ] = None
    loop_headroom_pct: Annotated[
        float,
        Meta(ge=0, le=50, title="share of each loop that streams leave free; 0 fills it, which is unproved on a chip"),
    ] = 1
    front_loops: Annotated[
        list[FrontLoop], Meta(max_length=8, title="front ports in loopback that carry seeds, too")
    ] = field(default_factory=list)
    inner_loops: Annotated[
        list[int],
        Meta(
            max_length=3,
            title="ports of pipe 0 of a tofino2 that carry seeds, too, and that bf_switchd has put into loopback: 1 "
            "(50G), 2 and 4 (100G); an Ethernet CPU port takes 2 and 4",
        ),
    ] = field(default_factory=list)
    pipe_frames_per_s: Annotated[
        Annotated[int, Meta(ge=1_000_000, le=10_000_000_000)] | None,
        Meta(
            title="frames that a pipe passes: the clock of this very chip in Hz, which some SKUs reduce; 1220000000 "
            "without this key, 1100000000 on a tofino2"
        ),
    ] = None
    bad_fcs: Annotated[bool, Meta(title="the program was compiled with -DFORCE_TX_ERROR")] = False

    @property
    def device(self) -> int:
        """Number of the device at its server."""
        return int(self.api == "p4runtime") if self.device_id is None else self.device_id


class LoopKeys(EngineMapping, frozen=True, kw_only=True):
    """The recirculation port in which seed frames circulate."""

    ENGINE = "network.tester.loop"
    NOT_IN_FILES = frozenset({"port", "queue_frames"})

    rate_bps: Annotated[
        int,
        Meta(
            title="rate of the loop; without tester.loop four times the fastest port, in 400000000000..3200000000000",
            extra_json_schema={"engine": True},
        ),
    ]
    latency_ns: Annotated[
        float, Meta(ge=0, le=10_000_000, title="from the last bit sent to the ingress pass; 400 without tester.loop")
    ]
    """Some rounds before the first departure must fit into the 32 bits of a packet-out."""


_ONE_MAC = "[0-9a-fA-F][02468aceACE](:[0-9a-fA-F]{2}){5}"


class TesterPorts(EngineMapping, frozen=True, kw_only=True):
    """A group of ports of the tester."""

    ENGINE = "network.tester.ports"
    NOT_IN_FILES = frozenset({"number"})

    numbers: _Numbers
    device_ports: Annotated[
        _DevicePorts | None,
        Meta(title="their device ports on a Tofino, in this order; needed for --target tofino"),
    ] = None
    interface: Annotated[
        Annotated[
            str,
            Meta(
                pattern="^[^/,\\s]{1,127}(,[^/,\\s]{1,127})*$",
                description="names of interfaces such as enp3s0f0 or enp3s0f0,enp3s0f1",
            ),
        ],
        Meta(
            title="interfaces of this machine that they are, in this order, for targets live and bmv2, by name or by"
            " another name (altname); what is cabled to them is outside of this machine"
        ),
    ] = ""
    name: Annotated[_Text, Meta(title="prefix of the ports' names")] = "p"
    role: Annotated[_Word, Meta(title="what the ports are for; traffic files name ports by it")] = ""
    layer: Annotated[
        _Word, Meta(title="layer of the network that the ports belong to; traffic files name ports by it")
    ] = ""
    station_mac: Annotated[
        Annotated[
            str,
            Meta(
                pattern=f"^{_ONE_MAC}(,{_ONE_MAC})*$",
                description="MAC addresses of single stations such as 02:00:00:00:01:01,02:00:00:00:01:02",
            ),
        ],
        Meta(
            title="MAC addresses of their stations, in this order; without this key those of RFC 4814 4.2, which"
            " p4mesh topology check prints"
        ),
    ] = ""
    router_mac: Annotated[
        Annotated[
            str,
            Meta(
                pattern=f"^{_ONE_MAC}$",
                description="a MAC address of one station, such as 02:00:00:00:01:01",
            ),
        ],
        Meta(
            title="MAC address of the router behind these ports, which then need not answer ARP or neighbour discovery;"
            " p4mesh topology check prints the addresses of the stations, which such a router must know"
        ),
    ] = ""
    rate_bps: Engine
    ifg_bits: Annotated[
        int,
        Meta(
            title="shortest inter-frame gap; a load of 100 % has 96 bits between frames",
            ge=0,
            le=STANDARD_GAP_BITS,
        ),
    ] = STANDARD_GAP_BITS
    ifg_bytes: Annotated[int, Meta(ge=0, le=STANDARD_GAP_BITS // 8, title="the gap in bytes, in place of ifg_bits")] = (
        STANDARD_GAP_BITS // 8
    )
    clock_offset_ppm: Engine
    start_skew_ns: Annotated[int, Meta(ge=0, le=1_000_000_000, title="how much later the port starts than asked")] = 0


class Tester(EngineMapping, frozen=True, kw_only=True):
    """The tester: a P4 program with ports."""

    ENGINE = "network.tester"
    NOT_IN_FILES = frozenset(
        {
            *("name", "cpu_port", "drop_port", "ingress_latency_ns", "egress_latency_ns", "max_frame_bytes"),
            "packet_in_limit",
        }
    )

    switches: Engine
    clock_tick_ps: Engine
    loop: Annotated[LoopKeys | None, Meta(title="recirculation port in which seed frames circulate")] = None
    tofino: Annotated[
        TofinoSwitch | None, Meta(title="switch that runs the tester, for --target tofino (docs/TOFINO.md)")
    ] = None
    bgp: Annotated[
        BgpPeers | None,
        Meta(title="stations of routed streams tell their routers by BGP which networks are behind them"),
    ] = None
    live: Annotated[LiveSwitch, Meta(title="the engine on Linux interfaces, for --target live")] = LiveSwitch()
    ports: Annotated[list[TesterPorts], Meta(min_length=1, title="groups of ports")]


class NodePorts(EngineMapping, frozen=True, kw_only=True):
    """A group of ports of a device."""

    ENGINE = "network.nodes.ports"
    NOT_IN_FILES = frozenset({"number"})

    numbers: _Numbers
    rate_bps: Engine
    queue_frames: Engine
    clock_offset_ppm: Engine
    ifg_bits: Engine
    ifg_bytes: Annotated[int, Meta(ge=0, le=125_000, title="the gap in bytes, in place of ifg_bits")] = 12


class Node(EngineMapping, frozen=True, kw_only=True):
    """A device under test; each model has keys of its own besides these."""

    ENGINE = "network.nodes"

    name: Annotated[
        str,
        Meta(
            title="name for links",
            pattern="^[a-z][a-z0-9_-]*$",
            description="a name of lower-case letters, digits, - and _ other than tester",
            extra_json_schema={"not": {"const": "tester"}},
        ),
    ]
    device: Annotated[str, Meta(title="the model", extra_json_schema={"engine": "models"})]
    ports: Annotated[list[NodePorts], Meta(min_length=1, title="groups of ports")]
    reset: Engine = None
    latency_ns: Engine
    on_linux: Annotated[
        str,
        Meta(
            title="what stands for the node on Linux interfaces (targets live and bmv2, p4mesh net): bridge or"
            " openvswitch for an ethernet_switch, linux, frr, bird or smcroute for a router, simple_switch_grpc or"
            " p4mesh_switch for p4; without this key the first of each",
            extra_json_schema={"enum": sorted({software for parts in ON_LINUX.values() for software in parts})},
        ),
    ] = ""


class P4Keys(_Mapping, frozen=True, kw_only=True):
    """Keys of a node of device ``p4`` that a file has in another form than the engine's document."""

    program: Annotated[
        str,
        Meta(
            title="the program",
            pattern="^([a-z][a-z0-9_]*|.+\\.json)$",
            description="name of a program in p4src/compiled, such as l2_switch, or p4c's JSON of your own, such as"
            " my_dut.json, beside the topology file",
        ),
    ]


class Cable(EngineMapping, frozen=True, kw_only=True):
    """Cables with equal properties."""

    ENGINE = "network.links"

    from_: Annotated[_PortsOfNode, Meta(title="node and ports")] = field(name="from")
    to: Annotated[_PortsOfNode, Meta(title="as many ports of another node")]
    latency_ns: Engine
    line_code: Annotated[
        Literal["none", "base_r", "rs_528_514", "rs_544_514"],
        Meta(
            title="forward error correction: base_r (Firecode), rs_528_514 (KR4) or rs_544_514 (KP4); bit errors are"
            " what it leaves"
        ),
    ] = "none"
    bit_errors_per_1e15: Engine
    outages: Engine = ()
    line_code_ns: Annotated[
        Annotated[float, Meta(ge=0, le=1_000_000)] | None,
        Meta(
            title="latency that the line code adds in each direction, as measured; without this key the time of one"
            " code word, the least that a decoder takes"
        ),
    ] = None


class TopologyFile(EngineMapping, frozen=True, kw_only=True):
    """A mapping with name, tester, nodes and links; see topologies/ for complete examples."""

    ENGINE = "network"
    NOT_IN_FILES = frozenset({"skip_idle_loops"})

    name: Annotated[_Line, Meta(title="name of the set-up")]
    description: Annotated[str, Meta(title="one sentence for people")] = ""
    seed: Engine
    tester: Annotated[Tester, Meta(title="the tester: a P4 program with ports")]
    notes: Annotated[
        dict[
            Annotated[str, Meta(pattern="^[a-z][a-z0-9_-]{0,39}$")],
            Annotated[
                str,
                Meta(
                    min_length=1,
                    max_length=500,
                    pattern="^[^\\u0000-\\u0009\\u000b-\\u001f\\u007f]*$",
                    description="a text",
                ),
            ],
        ],
        Meta(
            title="what a report says about the set-up, such as device, firmware, cables and operator; run --note adds"
            " more"
        ),
    ] = field(default_factory=dict)
    tests: Annotated[
        dict[
            str,
            dict[
                str,
                Annotated[str | int | float | bool, Meta(description="a word, a number, true or false")],
            ],
        ],
        Meta(
            title="parameters that tests have on this set-up unless --set says otherwise: test name, then parameter"
            " and value"
        ),
    ] = field(default_factory=dict)
    nodes: Annotated[list[Node], Meta(title="devices under test")] = field(default_factory=list)
    links: Annotated[list[Cable], Meta(min_length=1, title="cables; a cable between two tester ports is a wire")]
