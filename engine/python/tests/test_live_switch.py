"""A switch on pcap files and on interfaces, from Python."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from p4mesh._engine import EngineError, LiveSwitch


def pcap(*frames: bytes) -> bytes:
    """A pcap file with one frame per microsecond."""
    records = (struct.pack("<IIII", 0, at, len(frame), len(frame)) + frame for at, frame in enumerate(frames))
    return struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1) + b"".join(records)


def test_without_a_program_every_frame_of_a_file_is_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("veth0_in.pcap").write_bytes(pcap(b"", bytes(60), bytes(1500)))
    switch = LiveSwitch([(1, "veth0")], use_files_s=0)
    switch.start()
    while switch.counters()["received"] < 3:
        assert not switch.wait(0.01)
    switch.stop()
    assert switch.counters()["drop_no_program"] == 3
    assert Path("veth0_out.pcap").read_bytes() == pcap()


def test_what_cannot_be_opened_is_named() -> None:
    with pytest.raises(EngineError, match="^interface 'nosuchif0': no such interface$"):
        LiveSwitch([(1, "nosuchif0")])
    with pytest.raises(EngineError, match="^/nowhere/x_in.pcap: cannot open: No such file or directory"):
        LiveSwitch([(1, "/nowhere/x")], use_files_s=0)
    with pytest.raises(EngineError, match="^not valid JSON"):
        LiveSwitch([], "{")
