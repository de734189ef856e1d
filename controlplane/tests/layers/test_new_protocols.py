"""A protocol is added in one file: in a process of its own, so that P4Mesh keeps the ones that it has."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from scapy.contrib.etherip import EtherIP
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1AH, Dot1Q, Ether
from scapy.packet import Raw

PAYLOAD = Raw(bytes(range(64)))
ETHER = Ether(src="00:00:00:00:00:00", dst="00:00:00:00:00:00")
USUAL: dict[str, Any] = {"sport": 20001, "dport": 20001}


def test_new_layers_are_written_as_scapy_writes_them_and_read_again() -> None:
    program = Path(__file__).with_name("new_protocols.py")
    done = subprocess.run([sys.executable, program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    outer = ETHER / IP(src="0.0.0.0", dst="0.0.0.0", id=0, proto=97) / EtherIP()
    tagged = ETHER / Dot1Q(vlan=9) / IP(src="0.0.0.0", dst="0.0.0.0", id=0) / UDP(chksum=0, **USUAL)
    plain = ETHER / IPv6(src="::", dst="::") / UDP(**USUAL)
    assert done.stdout.split() == [
        bytes(outer / tagged / PAYLOAD).hex(),
        bytes(ETHER / Dot1AH(prio=3, isid=0xABCDEF) / plain / PAYLOAD).hex(),
    ]
