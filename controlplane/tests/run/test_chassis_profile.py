"""The shipped profile of a chassis has every part of the published report, and can run."""

from __future__ import annotations

from pathlib import Path

import pytest

from p4mesh.run.options import RunOptions
from p4mesh.run.preparation import Prepared
from p4mesh.run.run_files import plan_file
from p4mesh.run_file.reader import load_run_file

PROFILE = Path(__file__).parents[3] / "profiles" / "nexus9508.yaml"
SIZES = {64, 128, 256, 512, 1024, 1280, 1518, 9216}
IPV6_SIZES = SIZES - {64} | {86}
PARTS = {
    "test-bed-copper": SIZES,
    "test-bed-fiber": SIZES,
    "layer-2-unicast": SIZES,
    "ipv4-unicast": SIZES,
    "ipv4-unicast-bgp": SIZES,
    "ipv6-unicast": IPV6_SIZES,
    "ipv6-unicast-bgp": IPV6_SIZES,
    "layer-2-multicast": SIZES,
    "layer-2-multicast-n-to-n": SIZES,
    "ipv4-multicast": SIZES,
    "layer-2-without-fec": SIZES - {64},
    "layer-2-with-fec": SIZES - {64},
}


@pytest.fixture(scope="module")
def planned() -> dict[str, Prepared]:
    found = {}
    for one in plan_file(load_run_file(PROFILE), RunOptions(str(PROFILE))):
        assert isinstance(one.prepared, Prepared), one.prepared
        found[one.label] = one.prepared
    return found


@pytest.mark.parametrize("part", PARTS)
def test_every_part_of_the_report_has_all_frame_sizes(part: str, planned: dict[str, Prepared]) -> None:
    """Sizes with a search of their own are tests of their own: their names end with the size."""
    names = {part, *(f"{part}-{size}" for size in SIZES | IPV6_SIZES)} & set(planned)
    sizes = [size for name in names for size in planned[name].sizes]
    assert sorted(sizes) == sorted(PARTS[part])


def test_every_part_shows_latency_and_jitter_at_every_load(planned: dict[str, Prepared]) -> None:
    for name, one in planned.items():
        assert one.method.name.startswith("chassis."), name
        parameters = one.job.parameters
        bed = name.startswith("test-bed")
        assert parameters.text("latency_definition") == ("FIFO" if bed else "LIFO"), name
        if "ppm_below" in parameters.values:
            assert parameters.number("ppm_below") == (0 if bed else 60), name
        if parameters.values.get("frame_format") not in ("ethernet",):
            assert parameters.text("udp_ports") == ("random" if "bgp" in name else "in_turn"), name


def test_networks_and_groups_are_those_of_the_report(planned: dict[str, Prepared]) -> None:
    def number(test: str, name: str) -> int:
        return planned[test].job.parameters.integer(name)

    ports = len(planned["ipv4-unicast-bgp"].job.bed.ports)
    assert ports * number("ipv4-unicast-bgp", "advertised_networks") == 2048
    assert ports * number("ipv6-unicast-bgp", "advertised_networks") == 1024
    for test in ("layer-2-multicast", "ipv4-multicast"):
        assert (ports - 1) * number(test, "groups") == 1_044_225
    assert planned["layer-2-multicast-n-to-n"].job.parameters.number("stagger_us") == 448
