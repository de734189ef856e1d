"""Headers of frames: one file per protocol, and the frame that they make (docs/designs/0019-frames-as-layers.md).

A new protocol is a file here and a line in this one.
"""

from p4mesh.layers.bytes_of_ones_own import OwnBytes
from p4mesh.layers.ethernet import Ethernet
from p4mesh.layers.extension import ExtensionHeader
from p4mesh.layers.frame import PLAIN, UDP_OVER_IPV4, UDP_OVER_IPV6, Frame
from p4mesh.layers.geneve import Geneve
from p4mesh.layers.gre import Gre
from p4mesh.layers.gtpu import Gtpu, GtpuOptions, PduSession
from p4mesh.layers.icmp import Icmp, Icmpv6
from p4mesh.layers.ipsec import Authentication, Encapsulation
from p4mesh.layers.ipv4 import IPv4
from p4mesh.layers.ipv6 import IPv6
from p4mesh.layers.ipv6_fragment import Fragment
from p4mesh.layers.ipv6_options import DestinationOptions, HopByHop
from p4mesh.layers.ipv6_routing import Routing, SegmentRouting
from p4mesh.layers.layer import Layer, Modifiable
from p4mesh.layers.mobility import Mobility
from p4mesh.layers.mpls import ControlWord, Mpls
from p4mesh.layers.pppoe import Pppoe
from p4mesh.layers.roce import Bth
from p4mesh.layers.tcp import Tcp
from p4mesh.layers.udp import Udp
from p4mesh.layers.vlan import ServiceTag, Vlan
from p4mesh.layers.vxlan import Vxlan
from p4mesh.layers.vxlan_gpe import VxlanGpe

__all__ = [
    "PLAIN",
    "UDP_OVER_IPV4",
    "UDP_OVER_IPV6",
    "Authentication",
    "Bth",
    "ControlWord",
    "DestinationOptions",
    "Encapsulation",
    "Ethernet",
    "ExtensionHeader",
    "Fragment",
    "Frame",
    "Geneve",
    "Gre",
    "Gtpu",
    "GtpuOptions",
    "HopByHop",
    "IPv4",
    "IPv6",
    "Icmp",
    "Icmpv6",
    "Layer",
    "Mobility",
    "Modifiable",
    "Mpls",
    "OwnBytes",
    "PduSession",
    "Pppoe",
    "Routing",
    "SegmentRouting",
    "ServiceTag",
    "Tcp",
    "Udp",
    "Vlan",
    "Vxlan",
    "VxlanGpe",
]
