"""Configurations and requests that are refused: where, what, and what is valid (``golden/otg.txt``)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import grpc
import pytest
import requests
from google.protobuf import json_format
from snappi import otg_pb2 as pb2
from snappi import otg_pb2_grpc
from support.golden import GoldenTable
from support.otg import OtgServer, add_flow, ended, errors_of, flow_metrics, transmit, two_ports

GOLDEN = GoldenTable("otg")


def with_flow(change: Callable[[Any], object]) -> Callable[[Any], object]:
    """A request for a configuration with one flow that is changed."""

    def act(api: Any) -> object:
        config = two_ports(api)
        change(add_flow(config, "f"))
        return api.set_config(config)

    return act


def with_config(change: Callable[[Any], object]) -> Callable[[Any], object]:
    def act(api: Any) -> object:
        config = two_ports(api)
        change(config)
        return api.set_config(config)

    return act


def set_to(target: Any, **values: Any) -> object:
    for name, value in values.items():
        setattr(target, name, value)
    return target


def unknown_flow_metrics(api: Any) -> object:
    api.set_config(two_ports(api))
    return flow_metrics(api, "f")


def _five_changes(flow: Any) -> None:
    ethernet, ipv4, udp = flow.packet
    changing = (ethernet.src, ethernet.dst, ipv4.src, ipv4.dst, udp.src_port)
    for count, field in enumerate(changing, 300):
        field.increment.count = count


def _tunnels(flow: Any) -> None:
    flow.packet.vxlan().ethernet().ipv4().udp()
    flow.packet[2].dst_port.increment.set(start=4789, count=257)


def _many_tags(flow: Any) -> None:
    flow.packet[1].dst.increment.count = 1000
    flow.packet[1].dst.metric_tags.add(name="t")


def _mixed(flow: Any) -> None:
    flow.size.increment.set(start=100, end=356, step=1)
    flow.metrics.latency.mode = "store_forward"


def _egress_tag(field: Any) -> None:
    field.metric_tags.add(name="t")


def _tags_on_two_headers(flow: Any) -> None:
    _, vlan, ipv4 = flow.egress_packet.ethernet().vlan().ipv4()
    vlan.priority.metric_tags.add(name="priority")
    ipv4.priority.raw.metric_tags.add(name="octet")


CASES: dict[str, Callable[[Any], object]] = {
    "a_location_that_is_no_port": with_config(lambda config: set_to(config.ports[1], location="eth7")),
    "two_names_of_one_port": with_config(lambda config: set_to(config.ports[1], location="1")),
    "a_name_that_two_elements_have": with_config(lambda config: set_to(config.ports[1], name="p1")),
    "a_flow_from_no_port": with_flow(lambda flow: set_to(flow.tx_rx.port, tx_name="p9")),
    "a_header_that_there_is_not": with_flow(lambda flow: flow.packet.rsvp()),
    "headers_that_the_tester_does_not_send": with_flow(lambda flow: flow.packet.vlan()),
    "a_field_that_cannot_change": with_flow(_tunnels),
    "a_tag_outside_its_field": with_flow(
        lambda flow: flow.packet[2].src_port.metric_tags.add(name="t", offset=8, length=9)
    ),
    "a_tag_on_a_field_without_values": with_flow(lambda flow: flow.packet[1].protocol.metric_tags.add(name="t")),
    "tags_of_many_values": with_flow(_many_tags),
    "five_fields_that_change": with_flow(_five_changes),
    "a_wrong_checksum": with_flow(lambda flow: set_to(flow.packet[1].header_checksum, custom=7)),
    "a_next_protocol_that_does_not_follow": with_flow(lambda flow: set_to(flow.packet[1].protocol, value=6)),
    "frames_that_no_port_sends": with_flow(lambda flow: set_to(flow.size, fixed=20_000)),
    "more_than_the_line": with_flow(lambda flow: set_to(flow.rate, percentage=101)),
    "store_and_forward_latency_of_many_sizes": with_flow(_mixed),
    "no_rate": with_flow(lambda flow: set_to(flow.rate, percentage=0)),
    "a_gap_of_its_own": with_flow(lambda flow: set_to(flow.duration.fixed_packets, packets=5, gap=20)),
    "a_payload_that_is_not_in_hex": with_flow(lambda flow: set_to(flow.payload.fixed, pattern="-abc")),
    "tags_on_many_bits_that_come": with_flow(lambda flow: _egress_tag(flow.egress_packet.ethernet()[-1].dst)),
    "tags_on_headers_of_two_kinds": with_flow(_tags_on_two_headers),
    "a_tag_on_a_second_header": with_flow(lambda flow: _egress_tag(flow.egress_packet.ethernet().vlan().vlan()[-1].id)),
    "a_tag_on_a_port_that_comes": with_flow(lambda flow: _egress_tag(flow.egress_packet.ethernet().udp()[-1].dst_port)),
    "a_value_of_a_field_that_comes": with_flow(
        lambda flow: set_to(flow.egress_packet.ethernet().vlan()[-1].id, value=7)
    ),
    "a_lag": with_config(lambda config: config.lags.lag(name="lag")),
    "lldp": with_config(lambda config: set_to(config.lldp.add(name="l").connection, port_name="p1")),
    "isis": with_config(lambda config: _isis_router(config)),
    "a_loopback_without_an_address": with_config(lambda config: _loopback(config)),
    "a_device_without_a_port": with_config(lambda config: set_to(_ethernet(config).connection, port_name="p7")),
    "a_device_flow_to_nobody": with_flow(lambda flow: flow.tx_rx.device.set(tx_names=["d"], rx_names=["e"])),
    "two_things_at_once": with_config(
        lambda config: (config.lags.lag(name="lag"), set_to(add_flow(config, "f").rate, percentage=0))
    ),
    "metrics_of_a_flow_that_there_is_not": unknown_flow_metrics,
    "routes_beyond_the_last_address": with_config(lambda config: _routes(config, count=257)),
    "an_unknown_mode_of_a_path": with_config(
        lambda config: set_to(_routes(config).as_path, as_set_mode="include_as_confed_seq")
    ),
    "a_next_hop_of_another_version": with_config(
        lambda config: set_to(_routes(config), next_hop_mode="manual", next_hop_address_type="ipv6")
    ),
    "many_communities": with_config(
        lambda config: [routes.communities.add(type="no_export") for routes in [_routes(config)] * 33]
    ),
    "a_reserved_as": with_config(lambda config: set_to(_peer(config), as_number=23456)),
    "a_peer_beyond_a_gateway_that_is_not_there": with_config(
        lambda config: (
            set_to(_peer(config), peer_address="192.0.2.9"),
            set_to(config.devices[0].ethernets[0].ipv4_addresses[0], gateway="192.0.2.1"),
        )
    ),
    "six_loopbacks_with_peers": with_config(lambda config: _loopbacks_with_peers(config)),
    "prefixes_of_labels": lambda api: api.get_states(_prefixes(api, prefix_filters=["ipv4_mpls_unicast"])),
    "prefixes_of_a_peer_that_there_is_not": lambda api: api.get_states(_prefixes(api, bgp_peer_names=["nobody"])),
    "a_notification_of_a_peer_that_there_is_not": lambda api: api.set_control_action(_notification(api)),
    "a_notification_of_a_code_of_two_bytes": lambda api: api.set_control_action(_notification(api, code=256)),
    "a_restart_of_a_peer_that_does_not_offer_it": lambda api: _restarted(api),
    "a_peer_that_is_up_before_bgp_is_started": lambda api: api.set_control_state(_peer_up(api)),
    "a_peer_that_there_is_not": lambda api: api.set_control_state(_peer_up(api, "nobody")),
    "a_long_time_to_restart": with_config(lambda config: set_to(_peer(config).graceful_restart, restart_time=4096)),
    "a_restart_for_days": with_config(lambda config: set_to(_peer(config).graceful_restart, enable_llgr=True)),
    "many_addresses": with_config(lambda config: _addresses(config, 2049)),
    "many_ports": with_config(lambda config: [config.ports.add(name=f"q{number}") for number in range(511)]),
    "many_flows": with_config(lambda config: [add_flow(config, f"f{number}") for number in range(257)]),
    "a_reboot": lambda api: api.set_control_action(_reboot(api)),
    "a_start_of_a_flow_that_there_is_not": lambda api: transmit(api, "start", "g"),
    "metrics_of_a_protocol_that_there_is_not": lambda api: api.get_metrics(_isis(api)),
}


def _notification(api: Any, **custom: int) -> Any:
    api.set_config(two_ports(api))
    action = api.control_action()
    if custom:
        action.protocol.bgp.notification.custom.set(**custom, subcode=0)
    else:
        action.protocol.bgp.notification.names = ["peer"]
    return action


def _addresses(config: Any, count: int) -> None:
    for number in range(count):
        address, gateway = f"10.{number // 256}.{number % 256}.1", f"10.{number // 256}.{number % 256}.2"
        ethernet = _ethernet(config) if not number else config.devices[0].ethernets[0]
        ethernet.ipv4_addresses.add(name=f"v4.{number}", address=address, gateway=gateway)


def _restarted(api: Any) -> object:
    config = two_ports(api)
    _peer(config)
    api.set_config(config)
    action = api.control_action()
    action.protocol.bgp.initiate_graceful_restart.peer_names = ["peer"]
    return api.set_control_action(action)


def _peer_up(api: Any, *names: str) -> Any:
    config = two_ports(api)
    _peer(config)
    api.set_config(config)
    control = api.control_state()
    control.protocol.bgp.peers.set(peer_names=list(names), state="up")
    return control


def _reboot(api: Any) -> Any:
    action = api.control_action()
    action.port.reboot.port_names = ["p1"]
    return action


def _peer(config: Any) -> Any:
    _ethernet(config).ipv4_addresses.add(name="v4", address="10.0.0.1", gateway="10.0.0.2")
    config.devices[0].bgp.router_id = "10.0.0.1"
    peer = config.devices[0].bgp.ipv4_interfaces.add(ipv4_name="v4").peers.add(name="peer")
    peer.set(peer_address="10.0.0.2", as_type=peer.EBGP, as_number=65001)
    return peer


def _routes(config: Any, count: int = 1) -> Any:
    routes = _peer(config).v4_routes.add(name="routes")
    routes.addresses.add(address="255.255.0.0", prefix=24, count=count)
    return routes


def _loopbacks_with_peers(config: Any) -> None:
    _peer(config)
    for number in range(1, 7):
        name = f"lo{number}"
        config.devices[0].ipv4_loopbacks.add(name=name, eth_name="e", address=f"192.0.2.{number}")
        peer = config.devices[0].bgp.ipv4_interfaces.add(ipv4_name=name).peers.add(name=f"peer{number}")
        peer.set(peer_address=f"192.0.2.10{number}", as_type=peer.EBGP, as_number=65001)


def _prefixes(api: Any, **wanted: Any) -> Any:
    request = api.states_request()
    request.bgp_prefixes.set(**wanted)
    return request


def _loopback(config: Any) -> None:
    ethernet = _ethernet(config)
    ethernet.ipv6_addresses.add(name="v6", address="2001:db8::1", gateway="2001:db8::2")
    config.devices[0].ipv4_loopbacks.add(name="lo", eth_name="e", address="192.0.2.1")


def _isis_router(config: Any) -> None:
    isis = config.devices.add(name="d").isis
    isis.set(name="i", system_id="640000000001")
    isis.interfaces.add(name="ii", eth_name="e")


def _ethernet(config: Any) -> Any:
    ethernet = config.devices.add(name="d").ethernets.add(name="e", mac="02:00:00:00:00:07")
    ethernet.connection.port_name = "p1"
    return ethernet


def _isis(api: Any) -> Any:
    request = api.metrics_request()
    request.choice = request.ISIS
    return request


@pytest.mark.parametrize("case", CASES)
def test_what_is_not_supported_is_refused_with_its_place_and_what_is_valid(server: OtgServer, case: str) -> None:
    api = server.api()
    told = errors_of(lambda: CASES[case](api))
    text = "".join(f"{line}\n" for line in told)
    assert text == GOLDEN.text(case, text)


def _header(kind: str, **fields: Any) -> dict[str, Any]:
    """JSON of a configuration with a third flow whose second header has fields of its own."""
    flows: list[dict[str, Any]] = [
        {"name": name, "tx_rx": {"choice": "port", "port": {"tx_name": "p1"}}} for name in ("f", "g", "h")
    ]
    flows[2]["packet"] = [{"choice": "ethernet"}, {"choice": kind, kind: fields}]
    return {"flows": flows}


INVALID: dict[str, tuple[dict[str, Any], list[str]]] = {
    "an address": (
        _header("ipv4", dst={"choice": "value", "value": "10.0.0.300"}),
        ['flows[2].packet[1].ipv4.dst.value is "10.0.0.300" (valid: an IPv4 address, such as 192.0.2.1)'],
    ),
    "an address of a list": (
        _header("ipv6", src={"choice": "values", "values": ["2001:db8::1", "", "10.0.0.1"]}),
        [
            f"flows[2].packet[1].ipv6.src.values[{place}] is {text} (valid: an IPv6 address, such as 2001:db8::1)"
            for place, text in ((1, '""'), (2, '"10.0.0.1"'))
        ],
    ),
    "a number": (
        _header("udp", src_port={"choice": "increment", "increment": {"start": 65_536}}),
        ["flows[2].packet[1].udp.src_port.increment.start is 65536 (valid: 0 to 65,535)"],
    ),
    "a name that is left out": (
        {"devices": [{"name": "d", "ethernets": [{"mac": "02:00:00:00:00:01"}]}]},
        ["devices[0].ethernets[0].name is left out (valid: a text)"],
    ),
    "a list that is left out": (
        {"captures": [{"name": "c"}]},
        ["captures[0].port_names is left out (valid: a text)"],
    ),
}
"""Values that the API finds invalid, in both transports."""


@pytest.mark.parametrize("case", INVALID)
def test_invalid_values_are_refused_with_their_place_and_what_is_valid(server: OtgServer, case: str) -> None:
    data, told = INVALID[case]
    answer = requests.post(f"{server.places['http']}/config", json=data, timeout=30)
    assert (answer.status_code, answer.json()["errors"]) == (400, told)
    assert _refused_over_grpc(server, json_format.ParseDict(data, pb2.Config())) == told


UNREADABLE: dict[str, tuple[dict[str, Any], list[str]]] = {
    "a text for a number": (
        {"flows": [{"name": "f", "tx_rx": {"port": {"txName": "p1"}}, "size": {"fixed": "x"}}]},
        ['flows[0].size.fixed is "x" (valid: 0 to 4,294,967,295)'],
    ),
    "a negative number": (
        _header("vlan", id={"choice": "value", "value": -1}),
        ["flows[2].packet[1].vlan.id.value is -1 (valid: 0 to 4,095)"],
    ),
    "an object for a list": ({"flows": {}}, ["flows is {} (valid: a list)"]),
    "a list for an object": ({"options": [1]}, ["options is [1] (valid: an object)"]),
    "a choice that there is not": (
        {"flows": [{"name": "f", "tx_rx": {"choice": "wire"}}]},
        ['flows[0].tx_rx.choice is "wire" (valid: port, device)'],
    ),
    "a key that there is not": (
        {"options": {"surprise": 1}},
        [
            "options.surprise is no element of the API (valid: port_options, protocol_options, per_port_options,"
            " flow_options)"
        ],
    ),
    "a number for true": (
        {"flows": [{"name": "f", "tx_rx": {"port": {"tx_name": "p1"}}, "metrics": {"enable": 1}}]},
        ["flows[0].metrics.enable is 1 (valid: true or false)"],
    ),
}
"""Values that cannot be read at all: over HTTP alone."""


@pytest.mark.parametrize("case", UNREADABLE)
def test_unreadable_values_are_refused_with_their_place_and_what_is_valid(server: OtgServer, case: str) -> None:
    data, told = UNREADABLE[case]
    answer = requests.post(f"{server.places['http']}/config", json=data, timeout=30)
    assert (answer.status_code, answer.json()["errors"]) == (400, told)


def _flow(**elements: Any) -> dict[str, Any]:
    """JSON of a configuration with one flow."""
    ports = [{"name": f"p{number}", "location": str(number)} for number in (1, 2)]
    return {
        "ports": ports,
        "flows": [{"name": "f", "tx_rx": {"port": {"tx_name": "p1", "rx_names": ["p2"]}}, **elements}],
    }


@pytest.mark.parametrize(
    ("elements", "told"),
    [
        ({"rate": {"choice": "gbps", "pps": 1, "gbps": 1}}, "rate.pps is not the choice, which is gbps (valid: gbps)"),
        ({"rate": {"pps": 1, "gbps": 1}}, "rate.gbps is not the choice, which is pps (valid: pps)"),
    ],
    ids=["named", "not named"],
)
def test_a_second_kind_beside_the_choice_is_refused(server: OtgServer, elements: dict[str, Any], told: str) -> None:
    answer = requests.post(f"{server.places['http']}/config", json=_flow(**elements), timeout=30)
    assert (answer.status_code, answer.json()["errors"]) == (400, [f"flows[0].{told}"])


def test_a_kind_that_is_given_is_the_choice_where_none_is_named(server: OtgServer) -> None:
    flow = _flow(
        rate={"pps": 100}, size={"fixed": 256}, duration={"fixed_packets": {"packets": 7}}, metrics={"enable": True}
    )
    assert requests.post(f"{server.places['http']}/config", json=flow, timeout=30).status_code == 200
    metric = ended(server.api())
    assert (metric.frames_rx, metric.bytes_rx) == (7, 7 * 256)


def test_words_that_are_unspecified_are_left_out(server: OtgServer) -> None:
    """Clients in Go send them."""
    weights = {"choice": "custom", "predefined": "unspecified", "custom": [{"size": 100}, {"size": 200}]}
    flow = _flow(
        size={"choice": "weight_pairs", "weight_pairs": weights},
        duration={"fixed_packets": {"packets": 6}},
        metrics={"enable": True},
    )
    assert requests.post(f"{server.places['http']}/config", json=flow, timeout=30).status_code == 200
    api = server.api()
    assert api.get_config().flows[0].size.weight_pairs.choice == "custom"
    assert ended(api).bytes_rx == 3 * (100 + 200)


def test_a_device_and_a_flow_may_have_the_name_of_a_port(server: OtgServer) -> None:
    api = server.api()
    config = two_ports(api)
    for place in (0, 1):
        ethernet = config.devices.add(name=f"p{place + 1}").ethernets.add(
            name=f"e{place}", mac=f"02:00:00:00:00:0{place}"
        )
        ethernet.connection.port_name = f"p{place + 1}"
        address, gateway = (f"10.0.0.{host}" for host in (1 + place, 2 - place))
        ethernet.ipv4_addresses.add(name=f"a{place}", address=address, gateway=gateway)
    flow = add_flow(config, "p1")
    flow.tx_rx.device.tx_names, flow.tx_rx.device.rx_names = ["p1"], ["p2"]
    flow.duration.fixed_packets.packets = 9
    api.set_config(config)
    assert ended(api, "p1").frames_rx == 9


def test_elements_of_a_newer_version_are_refused_with_their_place(server: OtgServer) -> None:
    config = pb2.Config()
    config.flows.add(name="f").size.MergeFromString(b"\xfa\x3f\x01x")
    told = "flows[0].size has elements of a newer version of the API (valid: those of the server's version)"
    assert _refused_over_grpc(server, config) == [told]


def _refused_over_grpc(server: OtgServer, config: Any) -> Any:
    with grpc.insecure_channel(server.places["grpc"]) as channel, pytest.raises(grpc.RpcError) as refused:
        otg_pb2_grpc.OpenapiStub(channel).SetConfig(pb2.SetConfigRequest(config=config))
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    return json.loads(refused.value.details() or "")["errors"]


def test_both_transports_tell_the_same(server: OtgServer) -> None:
    case = CASES["no_rate"]
    assert errors_of(lambda: case(server.api("http"))) == errors_of(lambda: case(server.api("grpc")))


def test_a_refused_configuration_leaves_the_one_before(server: OtgServer) -> None:
    api = server.api()
    config = two_ports(api)
    add_flow(config, "kept")
    api.set_config(config)
    errors_of(lambda: CASES["no_rate"](api))
    assert [flow.name for flow in api.get_config().flows] == ["kept"]
    assert set(flow_metrics(api)) == {"kept"}
