"""``p4mesh clab``: labs of every shape become a topology and a run file that fit, or are refused in one message.

``golden/clab.txt`` has what is printed for each lab and for each fault; ``P4MESH_UPDATE_GOLDEN=1`` writes it anew.
"""

from __future__ import annotations

import copy
import json
import os
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.golden import GoldenTable

from p4mesh.cli.main import main
from p4mesh.containerlab.commands import configured
from p4mesh.containerlab.set_up import SetUp, set_up
from p4mesh.errors import LabFileError
from p4mesh.run.options import RunOptions
from p4mesh.run.run_files import plan_file
from p4mesh.run_file.reader import load_run_file
from p4mesh.topology import load_topology

FILES = Path(__file__).parents[1] / "fixtures" / "containerlab"
GOLDEN = GoldenTable("clab")
USABLE = (
    *("two_vendors", "clos_of_three", "clos_of_groups", "frr_ring", "vxlan_pair", "quickstart", "bridges"),
    *("other_links", "short_links", "back_to_back", "vlans"),
)
ROUTER = """\
name: pair
topology:
  nodes:
    r: {kind: linux, image: alpine}
    tester: {kind: linux, image: p4mesh}
  links:
    - endpoints: ["tester:eth1", "r:eth1"]
    - endpoints: ["tester:eth2", "r:eth2"]
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder, without the variables that labs of these tests name."""
    for file in FILES.iterdir():
        shutil.copy(file, tmp_path)
    for name in ("LAB", "IMAGE", "MTU", "HOSTNAME_OF_NODE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def made(text: str, node: str | None = None, device: str | None = None, **environment: str) -> SetUp:
    Path("case.clab.yml").write_text(text)
    return set_up(Path("case.clab.yml"), node, device, Path("out"), environment)


def changed(*changes: tuple[str, str]) -> str:
    text = ROUTER
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    return text


def routers(found: SetUp) -> list[list[str]]:
    return [[str(router) for router in port.routers] for port in found.tester.ports]


def interfaces(found: SetUp) -> list[str]:
    return [port.interface for port in found.tester.ports]


@pytest.mark.parametrize("name", USABLE)
def test_a_lab_becomes_files_that_fit_and_a_node(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["clab", f"{name}.clab.yml"]) == 0
    shown = capsys.readouterr().out
    assert shown == GOLDEN.text(name, shown)
    run = folder / f"p4mesh-{name}" / "run.yaml"
    assert len(plan_file(load_run_file(run), RunOptions(str(run)))) == 4
    lines = shown.splitlines()
    first = next(number for number, line in enumerate(lines) if "below topology.nodes" in line) + 1
    (node,) = yaml.safe_load("\n".join(lines[first : first + 6])).values()
    assert (node["kind"], node["image"].split(":")[0]) == ("linux", "p4mesh") or "registry" in node["image"]
    flag, script = shlex.split(node["cmd"])
    assert (node["entrypoint"], flag) == ("sh", "-c")
    ports = load_topology(run.with_name("topology.yaml")).tester_ports
    assert all(f"-e /sys/class/net/{port.interface.partition('.')[0]}" in script for port in ports)
    (bind,) = node["binds"]
    assert bind == f"p4mesh-{name}:/work/lab"


def test_the_run_file_measures_the_lab_on_sim_too(folder: Path) -> None:
    for name in ("frr_ring", "bridges", "back_to_back"):
        assert main(["clab", f"{name}.clab.yml"]) == 0
        words = ["run", f"p4mesh-{name}/run.yaml", "--target", "sim", "--sizes", "256", "--set", "scaled_frames=200"]
        assert main([*words, "--set", "search_resolution_pct=25", "--jobs", "1", "--out", name]) == 0


def test_the_tester_is_named_labelled_has_the_image_or_the_name() -> None:
    two = changed(("image: alpine", "image: p4mesh"))
    assert made(two, "tester").tester.node.name == made(ROUTER).tester.node.name == "tester"
    labelled = two.replace("    r: {kind: linux,", "    r: {kind: linux, labels: {p4mesh: tester},")
    assert made(labelled).tester.node.name == "r"
    assert made(ROUTER.replace("image: p4mesh", "image: other")).tester.node.name == "tester"
    assert made(ROUTER.replace("tester", "load")).tester.node.name == "load"


@pytest.mark.parametrize(
    "node", ["kind: keysight_ixia-c-one, image: registry.example/ixia-c:1", "kind: linux, image: ostinato/ostinato:v1"]
)
def test_the_tester_takes_the_place_of_another_traffic_generator(node: str) -> None:
    text = ROUTER.replace("tester", "load").replace("kind: linux, image: p4mesh", node)
    assert made(text).tester.node.name == "load"


def test_ports_are_in_the_order_of_their_interfaces() -> None:
    found = made(Path("clos_of_groups.clab.yml").read_text())
    assert interfaces(found) == ["eth1", "eth2", "eth10"]
    assert found.container == "clos5-source"


def test_addresses_come_from_links_then_commands_then_the_testers_own_and_are_chosen_else() -> None:
    found = made(Path("frr_ring.clab.yml").read_text())
    assert routers(found) == [["192.168.11.1/24", "2001:db8:11::1/64"], ["192.168.12.254/24"], ["192.168.13.2/24"]]
    assert found.tester.own_addresses == ("192.168.12.7/24 dev eth2", "192.168.13.1/24 dev eth3")
    given = changed(
        ('"r:eth1"]', '"r:eth1"]\n      ipv4: [10.1.1.7/24]'), ('"r:eth2"]', '"r:eth2"]\n      ipv4: ["", 10.2.2.9/24]')
    )
    assert routers(made(given)) == [["10.1.1.1/24"], ["10.2.2.9/24"]]
    assert routers(made(ROUTER))[1] == ["198.18.2.1/24", "2001:2:0:2::1/64"]
    assert [port.origin for port in made(ROUTER).tester.ports] == ["", ""]


FRR = """\
hostname r
interface lo
 ip address 10.255.0.1/32
!
interface eth1
 description to the tester
 ip address 10.1.0.1/24
 ipv6 address 2001:db8:1::1/64
exit
router bgp 65001
 ip address 10.9.0.1/24
interface v7
 ip address 10.2.0.1/24
"""


@pytest.mark.parametrize(
    ("bind", "file"),
    [
        ("r.conf:/etc/frr/frr.conf", "r.conf"),
        ("__clabNodeName__/frr.conf:/etc/frr/frr.conf:ro", "r/frr.conf"),
        ("configs/__clabNodeName__:/etc/frr", "configs/r/frr.conf"),
        ("configs:/etc/quagga/", "configs/zebra.conf"),
    ],
)
def test_addresses_are_in_files_that_routers_mount(bind: str, file: str) -> None:
    Path(file).parent.mkdir(parents=True, exist_ok=True)
    Path(file).write_text(FRR)
    tagged = '["ip link add link eth2 name v7 type vlan id 7"]'
    lab = changed(("image: alpine", f'image: alpine, binds: ["{bind}", "x:/y"], exec: {tagged}'))
    ports = made(lab).tester.ports
    assert [[str(router) for router in port.routers] for port in ports] == [
        ["10.1.0.1/24", "2001:db8:1::1/64"],
        ["10.2.0.1/24"],
    ]
    assert [(port.origin, port.tag) for port in ports] == [("files that r mounts", 0), ("files that r mounts", 7)]


def test_a_mounted_file_that_is_no_text_is_told() -> None:
    lab = changed(("image: alpine", 'image: alpine, binds: ["/dev/zero:/etc/frr/frr.conf"]'))
    with pytest.raises(LabFileError, match="/dev/zero: not a regular file"):
        made(lab)
    Path("r.conf").write_bytes(b"\xff")
    with pytest.raises(LabFileError, match=r"r\.conf: not text in UTF-8"):
        made(lab.replace("/dev/zero", "r.conf"))
    Path("r.conf").unlink()
    assert made(lab.replace("/dev/zero", "r.conf")).tester.ports[0].origin == ""


def test_commands_of_ip_are_read_as_labs_write_them() -> None:
    found = configured(
        (
            "ip a a 10.0.0.1/8 dev eth1",
            "bash -c 'set -e; ip -6 addr replace dev eth1 2001:db8::1/64 nodad && echo ip addr add'",
            "ip addr del 10.9.9.9/24 dev eth1",
            "ip addr add no/24 dev eth1 && ip addr add 10.7.7.7 dev eth1",
            "vtysh -c 'ip address 10.8.8.8/24'",
            "ip link add link eth2 name v type vlan id 7; ip addr add 10.2.0.1/24 dev v",
            "ip route add default via 10.0.0.254; ip r add 10.0.0.0/8 via nowhere",
            """sh -c "vtysh -c 'conf t' -c 'interface eth4' -c 'ip address 10.4.0.1/24' -c 'ip address no/1'" """,
        )
    )
    assert [str(item) for item in found.at("eth4")[0]] == ["10.4.0.1/24"]
    assert ([str(item) for item in found.at("eth1")[0]], found.at("eth1")[1]) == (["10.0.0.1/8", "2001:db8::1/64"], 0)
    assert ([str(item) for item in found.at("eth2")[0]], found.at("eth2")[1]) == (["10.2.0.1/24"], 7)
    assert found.at("eth3") == ([], 0)
    assert [str(gateway) for gateway in found.gateways] == ["10.0.0.254"]


def test_frames_are_as_long_as_every_link_carries() -> None:
    run = yaml.safe_load(made(Path("short_links.clab.yml").read_text()).run)
    assert run["sizes"] == [64, 128, 256, 512, 1024, 1218]
    assert yaml.safe_load(made(ROUTER).run)["sizes"] == [64, 128, 256, 512, 1024, 1280, 1518]


def test_ipv6_alone_makes_a_run_of_ipv6() -> None:
    text = changed(*((f'"r:eth{n}"]', f'"r:eth{n}"]\n      ipv6: ["", "2001:db8:{n}::1/64"]') for n in (1, 2)))
    run = yaml.safe_load(made(text).run)
    assert (run["parameters"], run["sizes"][:2]) == ({"routed": True, "frame_format": "ipv6"}, [84, 128])


def test_bridges_alone_are_a_switch_and_the_option_comes_first() -> None:
    text = ROUTER.replace("r: {kind: linux, image: alpine}", "r: {kind: bridge}")
    assert interfaces(made(Path("vlans.clab.yml").read_text(), device="switch")) == ["eth1", "eth2"]
    kinds = [made(given, device=device) for given, device in ((text, None), (text, "router"), (ROUTER, "switch"))]
    assert [yaml.safe_load(found.topology)["nodes"][0]["device"] for found in kinds] == [
        *("ethernet_switch", "router", "ethernet_switch")
    ]


def test_links_of_the_tester_to_itself_are_cables() -> None:
    found = made(Path("back_to_back.clab.yml").read_text())
    assert interfaces(found) == ["eth1", "eth4", "eth2", "eth3"]  # Tests send between neighbours.
    topology = yaml.safe_load(found.topology)
    assert "nodes" not in topology
    assert topology["links"] == [{"from": f"tester:{n}", "to": f"tester:{n + 1}"} for n in (1, 3)]


def test_variables_are_replaced_as_containerlab_does_it() -> None:
    text = "# $A\n" + changed(
        ("name: pair", "name: ${A:=pair}"), ("image: alpine", "image: $B, exec: ['echo ${C} $D']")
    )
    assert made(text).lab.name == "pair"
    found = made(text, A="", B="beta", D="4").lab
    assert (found.name, found.nodes["r"].image, found.nodes["r"].commands) == ("pair", "beta", ("echo ${C} 4",))
    assert made(text.replace(":=", "="), A="own").container == "clab-own-tester"


def test_json_says_the_same(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["clab", "other_links.clab.yml", "--json", "--out", "new/out"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["files"] == ["new/out/topology.yaml", "new/out/run.yaml"]
    assert [port["to"] for port in data["ports"]] == ["edge:ether2", "host:lab-eth2"]
    assert list(data["left_out"]) == ["eth3", "eth4", "eth5"]
    assert yaml.safe_load(data["node"])["tester"]["binds"] == ["new/out:/work/lab"]


def test_no_file_is_overwritten(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "out").mkdir()
    (folder / "out" / "run.yaml").write_text("mine")
    GOLDEN.expect_refusal("exists", ("clab", "frr_ring.clab.yml", "--out", "out"), folder, capsys)
    GOLDEN.expect_refusal("out_is_a_file", ("clab", "frr_ring.clab.yml", "--out", "bridges.clab.yml"), folder, capsys)
    assert (folder / "out" / "run.yaml").read_text() == "mine"


LINK = '    - endpoints: ["tester:eth2", "r:eth2"]\n'
FAULTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "absent": ("", ("absent.clab.yml",)),
    "address_without_prefix": (changed(('"r:eth2"]', '"r:eth2"]\n      ipv4: ["", 10.2.2.9]')), ()),
    "address_without_room": (changed(('"r:eth2"]', '"r:eth2"]\n      ipv4: ["", 10.2.2.9/32]')), ()),
    "cable_and_device": ("", ("back_to_back.clab.yml", "--device", "switch")),
    "cable_and_links": (changed(('"r:eth2"', '"tester:eth3"')), ()),
    "bridge": (ROUTER.replace("kind: linux, image: p4mesh", "kind: bridge"), ("--node", "tester")),
    "bomb": (
        "a: &a [x, x, x, x, x, x, x, x, x]\n"
        + "".join(f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join([f'*{chr(97 + n)}'] * 9)}]\n" for n in range(9)),
        (),
    ),
    "control_characters": (changed(("    r:", '    "\\e[31mr":')), ()),
    "device": (ROUTER, ("--device", "hub")),
    "directory": ("", (".",)),
    "end_used_twice": (changed(('"r:eth2"', '"r:eth1"')), ()),
    "eth0": (changed(('"tester:eth2"', '"tester:eth0"')), ()),
    "host_network": (changed(("image: p4mesh", "image: p4mesh, network-mode: host")), ()),
    "interface_alias": (ROUTER.replace("tester:eth1", "tester:ethernet-1/1"), ()),
    "ip_versions_differ": (
        changed(
            ('"r:eth1"]', '"r:eth1"]\n      ipv4: ["", 10.1.1.1/24]'),
            ('"r:eth2"]', '"r:eth2"]\n      ipv6: ["", "2001:db8::1/64"]'),
        ),
        (),
    ),
    "link_key": (changed(('"r:eth2"]', '"r:eth2"]\n      mtus: 1500')), ()),
    "link_type": (changed((LINK, "    - {type: wifi, endpoint: {node: tester, interface: eth2}}\n")), ()),
    "mtu_too_small": (changed(('"r:eth2"]', '"r:eth2"]\n      mtu: 40')), ()),
    "name_missing": (ROUTER.replace("name: pair\n", ""), ()),
    "name_of_many_letters": (ROUTER.replace("pair", "p" * 65), ()),
    "name_that_is_a_path": (ROUTER.replace("pair", "../../pair"), ()),
    "prefix_that_is_a_path": (ROUTER.replace("name: pair", "name: pair\nprefix: ../.."), ()),
    "kind_that_is_a_list": (ROUTER.replace("kind: linux, image: alpine", "kind: [linux]"), ()),
    "node_given_twice": (ROUTER.replace("  links", "    r: {kind: linux}\n  links"), ()),
    "network_twice": (
        changed(
            ('"r:eth1"]', '"r:eth1"]\n      ipv4: ["", 10.1.1.1/24]'),
            ('"r:eth2"]', '"r:eth2"]\n      ipv4: ["", 10.1.0.1/16]'),
        ),
        (),
    ),
    "no_end": (changed((LINK, "    - {type: veth, endpoint: {node: tester, interface: eth2}}\n")), ()),
    "no_tester": (ROUTER.replace("tester", "load").replace("p4mesh", "alpine"), ()),
    "node_unknown": (ROUTER, ("--node", "load")),
    "node_of_link_unknown": (changed(('"r:eth2"', '"r2:eth2"')), ()),
    "not_yaml": ("name: [", ()),
    "one_link": (changed((LINK, "")), ()),
    "one_port": (changed(('"r:eth2"', '"mgmt-net:x"')), ()),
    "self_alias": ("name: x\ntopology: &t {nodes: *t}", ()),
    "template": ("", ("template.clab.gotmpl",)),
    "topology_key": (ROUTER.replace("links:", "link:"), ()),
    "two_hosts": ("", ("two_clients.clab.yml",)),
    "two_clients": ("", ("two_clients.clab.yml", "--node", "client1")),
    "two_testers": (ROUTER.replace("alpine", "registry.example/p4mesh:2"), ()),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_one_message(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, words = FAULTS[name]
    (folder / "case.clab.yml").write_text(text)
    arguments = words if words and not words[0].startswith("--") else ("case.clab.yml", *words)
    GOLDEN.expect_refusal(name, ("clab", *arguments), folder, capsys)


def test_every_golden_text_has_a_case() -> None:
    assert set(GOLDEN.cases()) == {*USABLE, *FAULTS, "exists", "out_is_a_file"}


def test_a_file_that_never_ends_is_not_read() -> None:
    assert main(["clab", "/dev/zero"]) == 2
    os.mkfifo("pipe.clab.yml")
    assert main(["clab", "pipe.clab.yml"]) == 2
    Path("long.clab.yml").write_text("#" * 1_000_001)
    assert main(["clab", "long.clab.yml"]) == 2


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    keys = data if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ()
    for key in keys:
        yield from places(data[key], (*path, key))


@pytest.mark.parametrize("value", [None, -1, True, "x", "\n- {{", [[]], {"a": None}])
@pytest.mark.parametrize("name", ["frr_ring", "quickstart"])
def test_anything_anywhere_is_read_or_refused(name: str, value: Any) -> None:
    data = yaml.safe_load(Path(f"{name}.clab.yml").read_text())
    for path in places(data):
        other = copy.deepcopy(data)
        place = other
        for key in path[:-1]:
            place = place[key]
        if path:
            place[path[-1]] = value
        try:
            made(json.dumps(other if path else value))  # which is YAML, too
        except LabFileError as error:
            assert error.hint
