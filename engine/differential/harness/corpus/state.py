"""Programs that probe counters, meters, registers, hashes, random numbers and checksums."""

from __future__ import annotations

import struct

from harness.corpus.recipe import Recipe, frames_only
from harness.generate import Generator
from harness.scenario import Frame

_OUT = (1, 2, 3)


def _counters(generator: Generator) -> None:
    keys = generator.values(12, 32)
    generator.fill("exacts", 6, keys={"hdr.ops.key": keys})
    generator.fill("routes", 10, keys={"hdr.ops.key": keys}, params={"port": _OUT})
    generator.fill("rules", 6, keys={"hdr.ops.key": keys})
    layout = "8{0-4} 16{0,1,7,14,15} 32@keys *0-30"
    generator.frames(60, layout, keys=keys)
    for name in ("packets", "octets", "both", "leaving"):
        data = {"packets": generator.rng.randrange(1000), "bytes": generator.rng.getrandbits(40)}
        generator.write("MODIFY", "counter", name=name, index=generator.rng.randrange(4), data=data)
    for entry in generator.entries[::3]:
        place = {key: entry[key] for key in ("table", "match", "priority") if key in entry}
        generator.write("MODIFY", "direct_counter", **place, data={"packets": 5, "bytes": 0})
    generator.frames(50, layout, keys=keys)


def _meters(generator: Generator) -> None:
    for name, scale in (("by_packets", 1), ("by_bytes", 40)):
        for index in range(6):
            committed = generator.rng.randint(1, 8) * scale
            peak = committed + generator.rng.randint(0, 6) * scale
            config = {"cir": 0, "cburst": committed, "pir": 0, "pburst": peak}
            generator.write("MODIFY", "meter", name=name, index=index, config=config)
    keys = generator.values(6, 16)
    generator.fill("flows", 5, keys={"hdr.ops.key": keys}, params={"port": _OUT})
    for entry in generator.entries[:3]:
        config = {"cir": 0, "cburst": generator.rng.randint(1, 6), "pir": 0, "pburst": generator.rng.randint(6, 12)}
        generator.write("MODIFY", "direct_meter", table="flows", match=entry["match"], config=config)
    generator.frames(110, "8{0-1} 8{0-7} 16@keys *0-30", keys=keys)


def _index_range(generator: Generator) -> None:
    for index in range(8):
        config = {"cir": 0, "cburst": generator.rng.randint(1, 3), "pir": 0, "pburst": generator.rng.randint(3, 6)}
        generator.write("MODIFY", "meter", name="metered", index=index, config=config)
    generator.frames(110, f"32{{0-5,7-9,14-17,255,{1 << 16},{(1 << 31) - 1},{1 << 31},{(1 << 32) - 1}}} 32 *0-6")


def _digests(generator: Generator) -> None:
    generator.insert("digest", name="learned_t")
    generator.insert("digest", name="other_t")
    generator.frames(110, "8{0-5} 16 5 3 *0-6")


def _checksum(generator: Generator) -> None:
    ip = "4{4} 4{5,5,5,6} 8 16 16 3 13 8{0,1,64,255} 8 "
    for _ in range(50):
        generator.frames(1, "8{0-2} " + ip + "16 32 32 5 11 8 16 16 32 16 *0-6", cut=8)
        last = generator.scenario.steps[-1]
        if isinstance(last, Frame) and len(last.data) >= 21 and generator.rng.random() < 0.7:
            generator.scenario.steps[-1] = Frame(last.port, with_checksum(last.data, 1, 20, 10))
    for _ in range(60):
        generator.frames(1, "8{3-6} 5 11 8 16 16 32 16 *0-6", cut=8)
        last = generator.scenario.steps[-1]
        if isinstance(last, Frame) and len(last.data) >= 6 and generator.rng.random() < 0.5:
            generator.scenario.steps[-1] = Frame(
                last.port, last.data[:4] + ones_complement_sum(last.data[1:4]) + last.data[6:]
            )


def with_checksum(data: bytes, start: int, length: int, offset: int) -> bytes:
    header = bytearray(data[start : start + length])
    header[offset : offset + 2] = b"\0\0"
    header[offset : offset + 2] = ones_complement_sum(bytes(header))
    return data[:start] + bytes(header) + data[start + length :]


def ones_complement_sum(data: bytes) -> bytes:
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return struct.pack(">H", total ^ 0xFFFF)


def _checksum_payload(generator: Generator) -> None:
    for _ in range(110):
        generator.frames(1, "8{0-5} 16 16 16 16{0,1,0xffff} *0-40", cut=6)
        last = generator.scenario.steps[-1]
        if isinstance(last, Frame) and len(last.data) >= 9 and generator.rng.random() < 0.6:
            kind, udp, payload = last.data[:1], last.data[1:7], last.data[9:]
            if kind == b"\x01":
                payload = payload[2:]
            total = ones_complement_sum(b"\x0a\0\0\x01\0" + kind + udp + payload)
            generator.scenario.steps[-1] = Frame(last.port, kind + udp + total + last.data[9:])


def _checksum_options(generator: Generator) -> None:
    for _ in range(110):
        words = generator.rng.choice([5, 5, 6, 7, 10, 15, generator.rng.randrange(16)])
        layout = "8{0,1} 16 16 3{0,2} 13{0,5} 8{0,1,64} 8{6,17} 16 32 32"
        generator.frames(1, f"4{{4}} 4{{{words}}} {layout} *{(max(words, 5) - 5) * 4}-60", cut=8)
        last = generator.scenario.steps[-1]
        size = 4 * words
        if isinstance(last, Frame) and words >= 5 and len(last.data) >= size and generator.rng.random() < 0.7:
            generator.scenario.steps[-1] = Frame(last.port, with_checksum(last.data, 0, size, 10))


RECIPES = {
    "checksum": Recipe(_checksum),
    "checksum_options": Recipe(_checksum_options),
    "checksum_payload": Recipe(_checksum_payload),
    "counters": Recipe(_counters),
    "digest": Recipe(_digests, digest_counter="requested"),
    "hash": frames_only("32 16 8 5 11 *0-4"),
    "hash_ranges": frames_only("3 13 65 7 32 32{0,1,2,3,1000,0x10000,0x7fffffff,0xffffffff} *0-4"),
    "meters": Recipe(_meters),
    "random_range": frames_only("16 16{0,1,2,7,0xffff} *0-4"),
    "index_range": Recipe(_index_range, beyond_arrays=True),
    "registers": frames_only("8{0-3} 8{0-6,13,14} 64 *0-6"),
}
