"""Field modifiers: a header field changes from frame to frame by rule, list or pseudo-random value."""

from __future__ import annotations

import zlib

from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from streams import StreamTest, stream

from p4mesh.traffic.stream import PatternKind
from p4mesh.trial.plan import Plan, Transmitter


class ModifierTest(StreamTest):
    """Runs one stream from port 1 to port 2 with modifiers on its transmitter."""

    __test__ = False

    def run_modified(self, count: int, **modifiers: tuple[str, dict[str, int]]) -> list[bytes]:
        """Send ``count`` frames; ``a`` and ``b`` are (action, parameters) of the modifiers."""

        def install(plan: Plan) -> None:
            (transmitter,) = plan.streams[0].transmitters
            for letter, (action, params) in modifiers.items():
                self.install(
                    self.entry(
                        f"modifier_{letter}.modifier",
                        {"transmitter": transmitter.id},
                        f"modifier_{letter}.{action}",
                        params,
                    )
                )
            self._enable(plan, transmitter, sum({"a": 1, "b": 2}[letter] for letter in modifiers))

        self.run_streams(stream(PatternKind.PAIRS, count, tx_ports=(1,), rx_ports=(2,)), prepare=install)
        return self.received(1, count)

    def _enable(self, plan: Plan, transmitter: Transmitter, modified: int) -> None:
        entry = self.tester.transmitter_entry(plan.streams[0].stream, transmitter, modified=modified)
        self.client.modify([entry])


class ProgressionWraps(ModifierTest):
    """Goal: UDP destination +0, +3, +6, +9, +0, ...; source +0, -1, -2 (modulo 2^16), ..."""

    __test__ = True

    def runTest(self) -> None:
        up = ("progression_of", {"field_code": self.contract["FIELD_UDP_DST"], "last_step": 3, "step_size": 3})
        down = (
            "progression_of",
            {"field_code": self.contract["FIELD_UDP_SRC"], "last_step": 2, "step_size": (1 << 32) - 1},
        )
        frames = [Ether(frame) for frame in self.run_modified(9, a=up, b=down)]
        self.assertEqual([frame[UDP].dport - 20001 for frame in frames], [0, 3, 6, 9, 0, 3, 6, 9, 0])
        self.assertEqual([frame[UDP].sport - 20001 for frame in frames], [0, -1, -2, 0, -1, -2, 0, -1, -2])


class ListGivesItsValuesInTurn(ModifierTest):
    """Goal: source MAC addresses from a list, as RFC 4814 needs them."""

    __test__ = True

    def runTest(self) -> None:
        values = (0x020304050607, 0xFC0000ABCDEF, 5)
        base = 100
        self.install(
            *(
                self.entry("modifier_a.list_value", {"entry": base + k}, "modifier_a.set_value", {"addend": value})
                for k, value in enumerate(values)
            )
        )
        listed = (
            "list_of",
            {"field_code": self.contract["FIELD_ETHERNET_SRC"], "last_step": 2, "first_entry": base},
        )
        sources = [int.from_bytes(frame[6:12], "big") for frame in self.run_modified(7, a=listed)]
        origin = (sources[0] - values[0]) % (1 << 48)
        self.assertEqual(sources, [(origin + values[k % 3]) % (1 << 48) for k in range(7)])


class RandomIsTheChecksumOfSeedAndStep(ModifierTest):
    """Goal: pseudo-random IPv4 addresses, reproducible by the controller, with a valid checksum."""

    __test__ = True

    def runTest(self) -> None:
        seed, mask = 0x12345678, 0x0000FFFF
        random = (
            "random_of",
            {"field_code": self.contract["FIELD_IPV4_DST"], "last_step": 0xFFFFFFFF, "seed": seed, "mask": mask},
        )
        frames = self.run_modified(5, a=random)
        addresses = [int.from_bytes(frame[30:34], "big") for frame in frames]
        values = [zlib.crc32(seed.to_bytes(4, "big") + k.to_bytes(4, "big")) & mask for k in range(5)]
        origin = addresses[0] - values[0]
        self.assertEqual(addresses, [origin + value for value in values])
        self.assertEqual(len(set(values)), 5)
        for frame in frames:
            header = IP(frame[14:34])
            sent = header.chksum
            header.chksum = None
            self.assertEqual(IP(bytes(header)).chksum, sent)
