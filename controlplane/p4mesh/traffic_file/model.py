"""Models a traffic file: one class per mapping of the file. The JSON Schema is made from these classes.

Keys have their unit as their last word. Words and numbers that a JSON Schema cannot check are checked where the file
is laid over a topology.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field

from p4mesh.layers.extension import extension_kinds
from p4mesh.layers.layer import modifiable_names
from p4mesh.traffic.imix import MIX_PATTERN, NAMED_MIXES
from p4mesh.traffic.line_rate import LARGEST_FRAME_BYTES, SMALLEST_FRAME_BYTES
from p4mesh.traffic.patterns.base import USUAL_GROUP
from p4mesh.traffic.rates import BIT_RATE_PATTERN, RATE_PATTERN, VALID_BIT_RATES, VALID_RATES
from p4mesh.traffic.stream import MAX_MODIFIERS

if TYPE_CHECKING:
    _Extension = str
else:
    _Extension = Literal[extension_kinds()]

_LONGEST_S = 10 * 24 * 3600
_MOST_FRAMES = 1 << 48
_NAME = "^[a-z][a-z0-9_-]{0,30}$"
_NAME_WORDS = "a name of lower-case letters, digits, - and _ that begins with a letter"

Name = Annotated[str, Meta(pattern=_NAME, description=_NAME_WORDS)]
Ports = Annotated[
    int | str,
    Meta(description="ports such as 3, 1-6 or 1-4,7, or names of groups, roles, layers and devices, such as access"),
]
RECORDED = "recorded"
"""Rate or sizes as those of the replay have been."""
RateText = Annotated[
    str,
    Meta(
        pattern=f"{RATE_PATTERN}|^{RECORDED}$", description=f"{VALID_RATES}, or {RECORDED}: that of the times of replay"
    ),
]
_FrameBytes = Annotated[int, Meta(ge=SMALLEST_FRAME_BYTES, le=LARGEST_FRAME_BYTES)]
_SIZES = f"^({RECORDED}|{MIX_PATTERN}|[0-9]{{2,5}}-[0-9]{{2,5}}( step [0-9]{{1,4}})?)$"
# In the schema alone, by which files are checked: for a pattern beside a list, msgspec 0.22 frees memory twice.
_Sizes = Annotated[str, Meta(extra_json_schema={"pattern": _SIZES})]
_VALID_SIZES = (
    f"bytes with FCS in {SMALLEST_FRAME_BYTES}..{LARGEST_FRAME_BYTES}, {', '.join(NAMED_MIXES)}, a genome of RFC 6985 "
    "such as a7d4g1, a range such as 64-1518 or 64-1518 step 2, a list of {bytes: 64, weight: 7}, or recorded: those "
    "of the capture of replay"
)
_Seconds = Annotated[float, Meta(gt=0, le=_LONGEST_S, description=f"seconds above 0, up to {_LONGEST_S}")]
_Pause = Annotated[float, Meta(ge=0, le=600_000)]
_Frames = Annotated[int, Meta(ge=0, le=_MOST_FRAMES)]
_Microseconds = Annotated[float, Meta(ge=0, le=4_294_967, description="microseconds in 0..4294967")]
_Priority = Annotated[int, Meta(ge=0, le=7)]
_UdpPort = Annotated[int, Meta(ge=0, le=65_535)]
_Vlan = Annotated[int, Meta(ge=1, le=4094)]
_Ratio = Annotated[
    Annotated[float, Meta(ge=0, le=1)] | Annotated[str, Meta(pattern=r"^[0-9](\.[0-9]{1,9})?e-[0-9]{1,2}$")],
    Meta(description="a ratio in 0..1, such as 0, 0.001 or 1e-9"),
]


class SizeShare(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One frame size of a mix."""

    bytes: Annotated[_FrameBytes, Meta(title="frame size with FCS")]
    weight: Annotated[int, Meta(ge=1, le=10_000, title="share in frames")] = 1


class Headers(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Headers of the frames of a class."""

    format: Annotated[Literal["ipv4", "ipv6", "ethernet"], Meta(title="UDP over IP, or plain Ethernet")] = "ipv4"
    dscp: Annotated[int, Meta(ge=0, le=63, title="differentiated services code point")] = 0
    ttl: Annotated[int, Meta(ge=1, le=255, title="time to live or hop limit")] = 64
    udp_source: Annotated[_UdpPort, Meta(title="UDP source port")] = 20_001
    udp_destination: Annotated[_UdpPort, Meta(title="UDP destination port")] = 20_001
    layers: Annotated[
        str | UnsetType,
        Meta(title="stack of layers instead of all others ([HEADERS](HEADERS.md)), such as mpls(label=100)/ipv4/udp"),
    ] = UNSET
    extensions: Annotated[
        list[_Extension],
        Meta(max_length=4, title="IPv6 extension headers in order"),
    ] = field(default_factory=list)


class Random(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Pseudo-random values of a modifier."""

    mask: Annotated[int, Meta(ge=1, le=0xFFFFFFFF, title="bits that vary")]
    seed: Annotated[int, Meta(ge=0, le=0xFFFFFFFF, title="first value of the sequence")] = 0
    count: Annotated[int, Meta(ge=1, le=1 << 32, title="values before they repeat")] = 1 << 32


class Modifier(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A field that changes from frame to frame, by what is added to it."""

    field: Annotated[
        str,
        Meta(
            title="the field",
            pattern=rf"^({'|'.join(modifiable_names())}|[a-z0-9_]+(\[[0-9]\])?\.[a-z0-9_]+)$",
            description=f"{', '.join(modifiable_names())}, or one of any layer: mpls.label, ipv4[0].source",
        ),
    ]
    count: Annotated[
        Annotated[int, Meta(ge=1, le=1 << 32)] | UnsetType,
        Meta(title="adds 0, step, 2 step, ...: values before they repeat"),
    ] = UNSET
    step: Annotated[int, Meta(ge=-(1 << 31), lt=1 << 31, title="distance of the values of a progression")] = 1
    values: Annotated[
        Annotated[list[Annotated[int, Meta(ge=0, lt=1 << 48)]], Meta(min_length=1)] | UnsetType,
        Meta(title="adds these in turn"),
    ] = UNSET
    random: Annotated[Random | UnsetType, Meta(title="adds pseudo-random values")] = UNSET


class Groups(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Consecutive multicast groups."""

    first: Annotated[str, Meta(min_length=1, title="first group address")] = USUAL_GROUP
    count: Annotated[int, Meta(ge=1, le=65_536, title="how many, consecutive")] = 1
    receivers: Annotated[Ports | UnsetType, Meta(title="ports that receive them, if not all receivers")] = UNSET


class Arrivals(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Departures that are not evenly spaced; their mean rate is that of the class."""

    shape: Annotated[
        Literal["poisson", "on_off", "sine", "saw", "steps", "ramp", "flash_crowd", "replay"],
        Meta(title="how departures lie in time"),
    ]
    period_ms: Annotated[
        Annotated[float, Meta(gt=0, le=1_000_000, description="milliseconds above 0, up to 1000000")] | UnsetType,
        Meta(title="of sine, saw, steps, ramp and flash_crowd; else the duration of the class"),
    ] = UNSET
    low_pct: Annotated[float, Meta(ge=0, le=100, title="lowest rate of these shapes, in percent of the highest")] = 0
    stairs: Annotated[int, Meta(ge=2, le=100, title="rates of steps, from the lowest to the highest")] = 4
    on_pct: Annotated[float, Meta(gt=0, le=100, title="mean share of the time in which on_off sends")] = 50
    bursts: Annotated[int, Meta(ge=1, le=1000, title="times on, and times off, of on_off before they come again")] = 100
    seed: Annotated[int, Meta(ge=0, le=0xFFFFFFFF, title="of poisson and on_off")] = 0
    gaps_us: Annotated[
        list[Annotated[float, Meta(ge=0, le=1_000_000_000)]],
        Meta(max_length=65_536, title="times between frames of replay in turn, which the rate stretches"),
    ] = field(default_factory=list)
    pcap: Annotated[
        str | UnsetType,
        Meta(title="pcap or pcapng file whose times, and sizes, replay has; beside the traffic file"),
    ] = UNSET


class Accept(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Criteria of a class; each key that is given is one criterion."""

    loss_ratio: Annotated[_Ratio | UnsetType, Meta(title="lost of expected frames")] = UNSET
    lost_frames: Annotated[_Frames | UnsetType, Meta(title="lost frames")] = UNSET
    reordered_frames: Annotated[_Frames | UnsetType, Meta(title="reordered frames")] = UNSET
    duplicate_frames: Annotated[_Frames | UnsetType, Meta(title="frames that came twice")] = UNSET
    latency_us: Annotated[_Microseconds | UnsetType, Meta(title="largest latency")] = UNSET
    mean_latency_us: Annotated[_Microseconds | UnsetType, Meta(title="mean latency")] = UNSET
    jitter_us: Annotated[_Microseconds | UnsetType, Meta(title="largest jitter (RFC 4689)")] = UNSET


class TrafficClass(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Streams of one kind, with one verdict."""

    senders: Annotated[Ports, Meta(title="ports that send")]
    receivers: Annotated[
        Ports | UnsetType,
        Meta(title="ports that receive; in a mesh, of a broadcast or multicast the senders by default"),
    ] = UNSET
    pattern: Annotated[
        Literal[
            "mesh",
            "mesh_streams",
            "pairs",
            "rotate",
            "in_phase",
            "one_to_many",
            "many_to_one",
            "broadcast",
            "multicast",
        ],
        Meta(title="receivers of each sender, and their order (methodology 0.4)"),
    ]
    bidirectional: Annotated[bool, Meta(title="receivers send to the senders as well")] = False
    groups: Annotated[list[Groups], Meta(title="multicast groups of pattern multicast")] = field(default_factory=list)
    own_groups: Annotated[bool, Meta(title="each sender has one of the groups for itself")] = False
    rate: Annotated[RateText, Meta(title="rate of each sender, all sizes together")]
    sizes: Annotated[
        _FrameBytes | _Sizes | Annotated[list[SizeShare], Meta(min_length=1)],
        Meta(title="frame size or sizes", description=_VALID_SIZES),
    ]
    duration_s: Annotated[_Seconds | UnsetType, Meta(title="how long senders send; else that of the file")] = UNSET
    frames: Annotated[
        Annotated[int, Meta(ge=1, le=_MOST_FRAMES)] | UnsetType,
        Meta(title="frames per sender, not duration_s"),
    ] = UNSET
    start_ms: Annotated[_Pause, Meta(title="first departure after the start of the run")] = 0
    stagger_us: Annotated[
        Annotated[float, Meta(ge=0, le=1_000_000)], Meta(title="start of each sender after the one before it")
    ] = 0
    phases: Annotated[
        Literal["in_step", "independent", "drifting"],
        Meta(
            title="all senders at the same moment, each at a moment of its own within one interval, or by clocks that "
            "drift apart, too"
        ),
    ] = "in_step"
    burst_frames: Annotated[
        Annotated[int, Meta(ge=1, le=65_535)], Meta(title="frames back to back; 1 = evenly spaced")
    ] = 1
    arrivals: Annotated[Arrivals | UnsetType, Meta(title="departures that are not evenly spaced")] = UNSET
    priority: Annotated[_Priority, Meta(title="queue of the sender's port and, with a VLAN tag, its priority")] = 0
    vlan: Annotated[
        _Vlan | Annotated[list[_Vlan], Meta(min_length=1, max_length=2)] | UnsetType,
        Meta(
            title="802.1Q tag, or two of them, outermost first",
            description="a VLAN in 1..4094, or a list of two such as [100, 7]",
        ),
    ] = UNSET
    headers: Annotated[Headers, Meta(title="headers of the frames")] = field(default_factory=Headers)
    modifiers: Annotated[
        list[Modifier],
        Meta(
            max_length=MAX_MODIFIERS,
            title="fields that change from frame to frame",
            description=f"a list of at most {MAX_MODIFIERS}",
        ),
    ] = field(default_factory=list)
    accept: Annotated[Accept | UnsetType, Meta(title="criteria; without them there is no verdict")] = UNSET


class Phases(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Phases before and after the transmission (RFC 2544 23)."""

    learning_frames: Annotated[int, Meta(ge=0, le=100, title="learning frames per address; 0 = no learning")] = 1
    learning_rate_fps: Annotated[int, Meta(ge=1, le=1_000_000, title="rate of the learning frames")] = 50
    learning_verify: Annotated[bool, Meta(title="verify that every address is learned")] = True
    learning_wait_ms: Annotated[_Pause, Meta(title="silence between learning and traffic")] = 2000
    settle_ms: Annotated[_Pause, Meta(title="wait for residual frames before counters are read")] = 2000
    restabilise_ms: Annotated[_Pause, Meta(title="silence after a run")] = 5000
    stop_on_los: Annotated[bool, Meta(title="a link that is lost ends the run")] = True


class Samples(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Looks at the counts while traffic runs."""

    every_s: Annotated[
        Annotated[float, Meta(gt=0, le=3600, description="seconds above 0, up to 3600")],
        Meta(title="distance of two samples; a shorter run has none"),
    ] = 1
    flows: Annotated[bool, Meta(title="of every flow, beside classes and ports")] = False


class Sweep(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of runs; keys are those of --set, such as dm.rate."""

    product: Annotated[
        dict[str, Annotated[list[Any], Meta(min_length=1)]], Meta(title="every combination of these values")
    ] = field(default_factory=dict)
    rows: Annotated[list[dict[str, Any]], Meta(title="one run, or one for every combination of product, each")] = field(
        default_factory=list, name="list"
    )


class TrafficFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A whole traffic file."""

    name: Annotated[Name, Meta(title="name of the traffic")]
    description: Annotated[str, Meta(title="one sentence for people")] = ""
    duration_s: Annotated[_Seconds | UnsetType, Meta(title="how long classes send that do not say otherwise")] = UNSET
    repeat: Annotated[int, Meta(ge=1, le=100, title="how often everything is run")] = 1
    port_rate_cap: Annotated[
        Annotated[str, Meta(pattern=BIT_RATE_PATTERN)] | UnsetType,
        Meta(title="100 % of cap", description=VALID_BIT_RATES),
    ] = UNSET
    latency_definition: Annotated[
        Literal["FIFO", "LIFO", "LILO", "FILO", "MIMO"], Meta(title="which bits of a frame delimit its latency")
    ] = "LILO"
    departure_error_ns: Annotated[
        int,
        Meta(ge=1, le=1_000_000, title="how late a frame may leave, in ns; seeds are added where the loop has room"),
    ] = 20
    percentiles: Annotated[bool, Meta(title="a histogram of latencies per class")] = True
    interarrival: Annotated[
        Literal["class", "flow"] | UnsetType,
        Meta(
            title="histograms of the times between frames of a flow, at sender and receiver: one per class or per flow"
        ),
    ] = UNSET
    groups: Annotated[dict[Name, Ports], Meta(title="names for ports")] = field(default_factory=dict)
    classes: Annotated[dict[Name, TrafficClass], Meta(min_length=1, title="classes of streams")]
    phases: Annotated[Phases, Meta(title="what is around the transmission")] = field(default_factory=Phases)
    samples: Annotated[Samples, Meta(title="samples of the counts while traffic runs")] = field(default_factory=Samples)
    sweep: Annotated[Sweep | UnsetType, Meta(title="a table of runs")] = UNSET
