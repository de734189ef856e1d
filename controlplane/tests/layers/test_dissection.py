"""Frames dissected by tshark, where it is installed: an opinion on layers and checksums beside that of Scapy."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import pytest
from scapy.packet import Raw
from scapy.utils import wrpcap
from support.stacks import BRIDGED, OUTER4, OUTER6, STACKS

from p4mesh.layers import (
    Authentication,
    Bth,
    DestinationOptions,
    Encapsulation,
    Ethernet,
    Fragment,
    Frame,
    IPv4,
    IPv6,
    Layer,
    Mobility,
    Routing,
    Udp,
)
from p4mesh.layers.layer import BAD_CHECKSUM, all_layers

TSHARK = shutil.which("tshark")
pytestmark = pytest.mark.skipif(TSHARK is None, reason="tshark is not installed (Debian: apt-get install tshark)")
BAD, GOOD, NONE, ZERO_OVER_IPV6 = "0", "1", "3", "4"
"""Words of tshark on a checksum; RFC 6935 lets that of a tunnel over IPv6 be 0."""
OF_A_MAKER = bytes.fromhex("001b21000001")
"""tshark 4.0 finds the Ethernet header of a pseudowire by addresses that a manufacturer has."""
DISSECTED = {name: layers for name, layers in STACKS.items() if name != "the port of a tunnel"} | {
    "routing": (Ethernet(), IPv6(), Routing(), DestinationOptions(), Fragment(), Udp()),
    "authentication": (Ethernet(), IPv6(), Authentication(), Udp()),
    "encapsulation": (Ethernet(), IPv6(), Encapsulation(), Udp()),
    "mobility": (Ethernet(), IPv6(), Mobility(), Udp()),
    "pseudowire": (*STACKS["pseudowire"][:4], Ethernet(OF_A_MAKER, OF_A_MAKER), *BRIDGED[1:]),
    "rdma over ipv6": (Ethernet(), OUTER6, Udp(), Bth()),
}
NAMES = {
    "ethernet": "eth", "service_tag": "ieee8021ad", "control_word": "pwethcw", "pppoe": "pppoes", "ipv4": "ip",
    "hop_by_hop": "ipv6.hopopts", "destination": "ipv6.dstopts", "segment_routing": "ipv6.routing",
    "routing": "ipv6.routing", "fragment": "ipv6.fraghdr", "gtpu": "gtp", "mobility": "mipv6", "bth": "infiniband",
}  # fmt: skip
PARTS = ("vxlan_gpe", "gtpu_options", "pdu_session", "bytes")
"""Layers that tshark shows as parts of others, or not by a name."""
OTHER_NAMES = ("ethertype", "data", "ppp", "pwethheuristic")


def dissected(frames: Sequence[bytes], folder: Path, *fields: str) -> list[list[str]]:
    """The values of fields of each frame, those of several layers with commas."""
    wrpcap(str(folder / "frames.pcap"), [Raw(frame) for frame in frames], linktype=1)
    assert TSHARK is not None
    checks = (f"{name}.check_checksum:TRUE" for name in ("ip", "udp", "tcp"))
    told = subprocess.run(
        [TSHARK, "-r", str(folder / "frames.pcap"), "-T", "fields"]
        + [word for check in checks for word in ("-o", check)]
        + [word for field in fields for word in ("-e", field)],
        capture_output=True,
        text=True,
        check=True,
    )
    return [line.split("\t") for line in told.stdout.splitlines()]


def written(layers: Sequence[Layer]) -> bytes:
    return Frame(tuple(layers)).write(bytes(range(100)))


STATUS = [f"{name}.checksum.status" for name in ("ip", "udp", "tcp", "icmp", "icmpv6")]


def test_every_layer_is_dissected() -> None:
    assert {kind.kind for kind in all_layers()} == {layer.kind for layers in DISSECTED.values() for layer in layers}


def test_layers_and_checksums_are_those_that_tshark_finds(tmp_path: Path) -> None:
    found = dissected([written(layers) for layers in DISSECTED.values()], tmp_path, "frame.protocols", *STATUS)
    for (name, layers), (protocols, *statuses) in zip(DISSECTED.items(), found, strict=True):
        kinds = [NAMES.get(layer.kind, layer.kind) for layer in layers if layer.kind not in PARTS]
        # Behind these it looks at nothing: what follows may be encrypted, or is none of its business (RFC 6275 6.1.1).
        for last in {"esp", "mipv6"} & set(kinds):
            kinds = kinds[: kinds.index(last) + 1]
        # tshark names a stack of labels once.
        shown = [kind for kind in protocols.split(":") if kind not in OTHER_NAMES]
        assert [kind for kind, _ in groupby(shown)] == [kind for kind, _ in groupby(kinds)], name
        told = {status for field in statuses for status in field.split(",") if status}
        assert told <= {GOOD, NONE, ZERO_OVER_IPV6}, name
        assert ZERO_OVER_IPV6 not in told or any(layer.in_udp_without_checksum for layer in layers), name


@pytest.mark.parametrize(
    ("layers", "place", "field"),
    [
        ((Ethernet(), IPv4(), Udp()), 1, "ip"),
        ((Ethernet(), IPv4(), Udp()), 2, "udp"),
        ((Ethernet(), IPv6(), Udp()), 2, "udp"),
        (STACKS["tcp"], 2, "tcp"),
        (STACKS["icmp"], 2, "icmp"),
        (STACKS["icmpv6"], 2, "icmpv6"),
        ((Ethernet(), OUTER4, *STACKS["vxlan"][2:4], *BRIDGED), 1, "ip"),
        ((Ethernet(), OUTER4, *STACKS["vxlan"][2:4], *BRIDGED), 2, "udp"),
    ],
)
def test_a_bad_checksum_is_bad_for_tshark(layers: tuple[Layer, ...], place: int, field: str, tmp_path: Path) -> None:
    (bad,) = Frame((layers[place],)).changed(type(layers[place]), checksum=BAD_CHECKSUM).layers
    frame = written((*layers[:place], bad, *layers[place + 1 :]))
    ((status,),) = dissected([frame], tmp_path, f"{field}.checksum.status")
    assert status.split(",")[0] == BAD
