"""Routes of BGP over the Open Traffic Generator API: what a device announces is what the other has learned.

Method: two devices on the ends of a wire are peers of each other, each the gateway of the other; and a router of the
simulation between them.
"""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import ip_address, ip_network
from types import SimpleNamespace
from typing import Any

import pytest
from snappi import otg_pb2 as pb2
from support.otg import TRANSPORTS, OtgServer, add_flow, errors_of, serving_otg, two_ports
from support.otg_bgp import ADDRESSES, LOOPBACKS, protocols, switch_peers, two_speakers

from p4mesh.errors import OtgError
from p4mesh.otg.bgp_actions import Notification, read_bgp_action
from p4mesh.otg.bgp_states import Prefix, bgp_prefixes
from p4mesh.otg.elements import Element

ROUTES = {4: "198.51.100.0", 6: "2001:db8:100::"}


def announced(peer: Any, version: int, count: int = 1) -> Any:
    """Add a range of routes."""
    routes = getattr(peer, f"v{version}_routes").add(name=f"{peer.name}.v{version}")
    routes.addresses.add(address=ROUTES[version], prefix=28 if version == 4 else 64, count=count)
    return routes


def prefixes(api: Any, peer: str, **wanted: Any) -> tuple[list[Any], list[Any]]:
    """The routes of both versions that a peer has learned, after five seconds."""
    request = api.states_request()
    request.bgp_prefixes.set(bgp_peer_names=[peer], **wanted)
    for _ in range(5):
        (state,) = api.get_states(request).bgp_prefixes
    return list(state.ipv4_unicast_prefixes), list(state.ipv6_unicast_prefixes)


def sessions(api: Any, *names: str) -> list[tuple[str, int, int]]:
    """State, flaps and routes received of the sessions of peers; a second passes."""
    request = api.metrics_request()
    request.bgpv4.peer_names = list(names)
    return [
        (it.session_state, it.session_flap_count, it.routes_received) for it in api.get_metrics(request).bgpv4_metrics
    ]


def test_sessions_go_on_while_flows_are_added_and_taken_away(server: OtgServer) -> None:
    api = server.api()
    config, (peer, _) = two_speakers(api)
    announced(peer, 4)
    api.set_config(config)
    protocols(api, "start")
    assert len(prefixes(api, "peer2")[0]) == 1
    more = api.config_append()
    more.config_append_list.add().flows.append(add_flow(api.config(), "f").clone())
    api.append_config(more)
    less = api.config_delete()
    less.config_delete_list.add().flows = ["f"]
    api.delete_config(less)
    assert sessions(api, "peer1", "peer2") == [("up", 0, 0), ("up", 0, 1)]


def end(api: Any, how: Callable[[Any], object]) -> None:
    """Let the session of peer1 end by a control action, which ``how`` fills."""
    action = api.control_action()
    how(action.protocol.bgp)
    api.set_control_action(action)


def speaking(server: OtgServer, transport: str, **graceful_restart: bool | int) -> Any:
    """A client of two peers that are up; peer1 has announced three networks of each version."""
    api = server.api(transport)
    config, peers = two_speakers(api)
    for version in (4, 6):
        announced(peers[0], version, count=3)
    for peer in peers if graceful_restart else ():
        peer.graceful_restart.set(enable_gr=True, **graceful_restart)
    api.set_config(config)
    protocols(api, "start")
    assert [len(found) for found in prefixes(api, "peer2")] == [3, 3]
    return api


def path(prefix: Any) -> list[tuple[str, list[int]]]:
    return [(segment.type, list(segment.as_numbers)) for segment in prefix.as_path.segments]


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_attributes_arrive_as_they_were_announced(server: OtgServer, transport: str) -> None:
    api = server.api(transport)
    config, (one, _) = two_speakers(api)
    for version, hop in ((4, "10.0.0.77"), (6, "2001:db8::77")):
        routes = announced(one, version)
        routes.set(next_hop_mode="manual", next_hop_address_type=f"ipv{version}")
        setattr(routes, f"next_hop_ipv{version}_address", hop)
        routes.advanced.set(multi_exit_discriminator=50, origin="egp")
        routes.communities.add(type="manual_as_number", as_number=1, as_custom=2)
        routes.communities.add(type="no_export")
        routes.extended_communities.add().transitive_2octet_as_type.route_target_subtype.set(
            global_2byte_as=65001, local_4byte_admin=258
        )
        routes.extended_communities.add().custom.set(community_type="43", community_subtype="0a", value="010203040506")
        routes.as_path.as_set_mode = "include_as_seq"
        routes.as_path.segments.add(type="as_set", as_numbers=[7, 4200000001])
    api.set_config(config)
    protocols(api, "start")
    for version, found in zip((4, 6), prefixes(api, "peer2"), strict=True):
        (prefix,) = found
        assert getattr(prefix, f"ipv{version}_address") == ROUTES[version]
        assert prefix.prefix_length == (28 if version == 4 else 64)
        assert getattr(prefix, f"ipv{version}_next_hop") == ("10.0.0.77" if version == 4 else "2001:db8::77")
        assert (prefix.origin, prefix.multi_exit_discriminator, prefix.local_preference) == ("egp", 50, None)
        assert path(prefix) == [("as_seq", [65001]), ("as_set", [7, 4200000001])]
        told = [(it.type, it.as_number, it.as_custom) for it in prefix.communities]
        assert told == [("manual_as_number", 1, 2), ("no_export", 0xFFFF, 0xFF01)]
        assert [it.raw for it in prefix.extended_communities] == ["0002fde900000102", "430a010203040506"]


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("do_not_include_local_as", [("as_seq", [7, 8])]),
        ("include_as_seq", [("as_seq", [65001]), ("as_seq", [7, 8])]),
        ("include_as_set", [("as_set", [65001]), ("as_seq", [7, 8])]),
        ("prepend_to_first_segment", [("as_seq", [65001, 7, 8])]),
    ],
)
def test_the_own_as_is_put_into_the_path(server: OtgServer, mode: str, expected: list[tuple[str, list[int]]]) -> None:
    api = server.api()
    config, (one, _) = two_speakers(api)
    routes = announced(one, 4)
    routes.as_path.as_set_mode = mode
    routes.as_path.segments.add(type="as_seq", as_numbers=[7, 8])
    api.set_config(config)
    protocols(api, "start")
    assert [path(prefix) for prefix in prefixes(api, "peer2")[0]] == [expected]


def test_within_an_as_the_path_is_empty_and_the_preference_is_told(server: OtgServer) -> None:
    api = server.api()
    config, (one, _) = two_speakers(api, as_type="ibgp")
    announced(one, 4).advanced.local_preference = 200
    api.set_config(config)
    protocols(api, "start")
    (prefix,) = prefixes(api, "peer2")[0]
    assert (path(prefix), prefix.local_preference, prefix.ipv4_next_hop) == ([], 200, ADDRESSES[4][0])


def test_routes_with_the_own_as_in_their_path_are_among_those_that_came(server: OtgServer) -> None:
    api = server.api()
    config, (one, _) = two_speakers(api)
    routes = announced(one, 4)
    routes.as_path.as_set_mode = "include_as_seq"
    routes.as_path.segments.add(type="as_seq", as_numbers=[65002])
    api.set_config(config)
    protocols(api, "start")
    assert [prefix.ipv4_address for prefix in prefixes(api, "peer2")[0]] == [ROUTES[4]]


def test_requests_ask_for_some_of_the_routes(server: OtgServer) -> None:
    """Of 3 routes of each version some are asked for; a peer without the filter of learned information keeps none."""
    api = server.api()
    config, (one, two) = two_speakers(api)
    for peer in (one, two):
        for version in (4, 6):
            announced(peer, version, count=3)
    one.learned_information_filter.unicast_ipv4_prefix = False
    api.set_config(config)
    protocols(api, "start")
    assert [len(found) for found in prefixes(api, "peer2")] == [3, 3]
    assert [len(found) for found in prefixes(api, "peer1")] == [0, 3]
    assert [len(found) for found in prefixes(api, "peer2", prefix_filters=["ipv6_unicast"])] == [0, 3]
    request = api.states_request()
    request.bgp_prefixes.bgp_peer_names = ["peer2"]
    request.bgp_prefixes.ipv4_unicast_filters.add(addresses=["198.51.100.16", "198.51.100.99"], origin="igp")
    request.bgp_prefixes.ipv4_unicast_filters.add(addresses=["198.51.100.32"], prefix_length=24)
    (state,) = api.get_states(request).bgp_prefixes
    assert [prefix.ipv4_address for prefix in state.ipv4_unicast_prefixes] == ["198.51.100.16"]
    protocols(api, "stop")
    assert prefixes(api, "peer2") == ([], [])


def told(wanted: dict[str, Any], *routes: dict[str, Any]) -> Any:
    """State in the API of a peer that has these routes of both families."""
    usual = {
        "network": "198.51.100.0/24",
        "origin": "egp",
        "next_hop": None,
        "local_preference": None,
        "metric": None,
        "as_path": (),
        "communities": (),
        "extended_communities": (),
    }
    peers: Any = {"p": SimpleNamespace(kept_versions=(4, 6))}
    found = bgp_prefixes(Element(wanted, ""), peers, lambda _: [{**usual, **route} for route in routes])
    (state,) = found.bgp_prefixes
    return state


def test_a_route_is_told_by_hand() -> None:
    route = {
        "next_hop": ip_address("192.0.2.1"),
        "local_preference": 200,
        "metric": 0,
        "as_path": [(False, [65001, 65002]), (True, [3])],
        "communities": [65001 << 16 | 77, 0xFFFFFF01],
        "extended_communities": [[0, 2, 253, 233, 0, 0, 0, 9]],
    }
    (found,) = told({}, route).ipv4_unicast_prefixes
    assert (found.ipv4_address, found.prefix_length, found.ipv4_next_hop) == ("198.51.100.0", 24, "192.0.2.1")
    assert (found.origin, found.local_preference) == (type(found).Origin.Enum.Value("egp"), 200)
    assert found.HasField("multi_exit_discriminator") and found.multi_exit_discriminator == 0
    segments = pb2.ResultBgpAsPathSegment.Type
    assert [(segment.type, list(segment.as_numbers)) for segment in found.as_path.segments] == [
        (segments.as_seq, [65001, 65002]),
        (segments.as_set, [3]),
    ]
    kinds = pb2.ResultBgpCommunity.Type
    assert [(one.type, one.as_number, one.as_custom) for one in found.communities] == [
        (kinds.manual_as_number, 65001, 77),
        (kinds.no_export, 65535, 65281),
    ]
    assert [one.raw for one in found.extended_communities] == ["0002fde900000009"]
    (bare,) = told({}, {"network": "2001:db8::/32"}).ipv6_unicast_prefixes
    assert (bare.ipv6_address, bare.prefix_length) == ("2001:db8::", 32)
    assert not any(map(bare.HasField, ("local_preference", "multi_exit_discriminator", "ipv6_next_hop")))


@pytest.mark.parametrize(
    ("wanted", "lengths"),
    [
        ({}, [24, 25, 48]),
        ({"prefix_filters": ["ipv6_unicast"]}, [48]),
        ({"ipv4_unicast_filters": [{"prefix_length": 25}]}, [25, 48]),
        ({"ipv4_unicast_filters": [{"addresses": ["198.51.100.0"]}, {"origin": "igp"}]}, [24, 25, 48]),
        ({"ipv4_unicast_filters": [{"addresses": ["198.51.100.0"], "origin": "igp"}]}, [48]),
        ({"ipv4_unicast_filters": [{"origin": "igp"}], "ipv6_unicast_filters": [{"origin": "igp"}]}, [25]),
    ],
)
def test_filters_of_routes_by_hand(wanted: dict[str, Any], lengths: list[int]) -> None:
    """A route passes one of the filters of its family, all conditions of which it meets."""
    routes: tuple[dict[str, Any], ...] = (
        {},
        {"network": "198.51.100.128/25", "origin": "igp"},
        {"network": "2001:db8::/48"},
    )
    state = told(wanted, *routes)
    found = [*state.ipv4_unicast_prefixes, *state.ipv6_unicast_prefixes]
    assert [prefix.prefix_length for prefix in found] == lengths
    with pytest.raises(OtgError, match="prefix_filters has ipv4_labeled"):
        told({"prefix_filters": ["ipv4_unicast", "ipv4_labeled"]})


def test_an_answer_has_at_most_20000_routes(server: OtgServer) -> None:
    api = server.api()
    config, (one, _) = two_speakers(api)
    routes = one.v4_routes.add(name="many")
    routes.addresses.add(address="20.0.0.0", prefix=32, count=20_001)
    api.set_config(config)
    protocols(api, "start")
    request = api.metrics_request()
    request.bgpv4.peer_names = ["peer2"]
    for _ in range(20):
        (metric,) = api.get_metrics(request).bgpv4_metrics
        if metric.routes_received == 20_001:
            break
    (told,) = errors_of(lambda: prefixes(api, "peer2"))
    assert told.startswith("the routes are more than 20000 (ask for ")
    assert [len(found) for found in prefixes(api, "peer2", prefix_filters=["ipv6_unicast"])] == [0, 0]


@pytest.mark.parametrize("version", [4, 6])
def test_sessions_from_loopbacks_go_by_way_of_the_gateway(server: OtgServer, version: int) -> None:
    """The next hop is the loopback; routes of the other version have the address of the Ethernet interface."""
    api = server.api()
    config, (one, _) = two_speakers(api, version, on_loopbacks=True)
    for each in (4, 6):
        announced(one, each)
    api.set_config(config)
    protocols(api, "start")
    hops = [[prefix.ipv4_next_hop or prefix.ipv6_next_hop for prefix in found] for found in prefixes(api, "peer2")]
    own = {**{each: ADDRESSES[each][0] for each in (4, 6)}, version: LOOPBACKS[version][0]}
    assert hops == [[own[4]], [own[6]]]


def test_a_router_tells_a_device_what_another_has_announced() -> None:
    """The router of the topology has AS 64512 and takes the stations 198.18.P.2 of AS 64512 + P as neighbours."""
    with serving_otg("router-4x1g-bgp") as server:
        api = server.api()
        config = two_ports(api)
        for number in (1, 2):
            device = config.devices.add(name=f"d{number}")
            ethernet = device.ethernets.add(name=f"e{number}", mac=f"02:00:00:00:00:0{number}")
            ethernet.connection.port_name = f"p{number}"
            own, router = (f"198.18.{number}.{host}" for host in (2, 1))
            ethernet.ipv4_addresses.add(name=f"i{number}", address=own, gateway=router)
            device.bgp.router_id = own
            peer = device.bgp.ipv4_interfaces.add(ipv4_name=f"i{number}").peers.add(name=f"peer{number}")
            peer.set(peer_address=router, as_type="ebgp", as_number=64512 + number)
            peer.learned_information_filter.unicast_ipv4_prefix = True
            peer.v4_routes.add(name=f"r{number}").addresses.add(address=f"10.{number}.0.0", prefix=24, count=2)
        api.set_config(config)
        protocols(api, "start")
        found, _ = prefixes(api, "peer2")
        assert [(it.ipv4_address, it.ipv4_next_hop, path(it)) for it in found] == [
            (f"10.1.{host}.0", "198.18.2.1", [("as_seq", [64512, 64513])]) for host in (0, 1)
        ]


@pytest.mark.parametrize(
    ("given", "code", "subcode"),
    [
        ({}, 6, 2),
        ({"choice": "cease", "cease": {"subcode": "hard_reset_code6_subcode9"}}, 6, 9),
        ({"choice": "cease", "cease": {"subcode": "bfd_session_down_code6_subcode10"}}, 6, 10),
        ({"choice": "message_header_error", "message_header_error": {}}, 1, 1),
        ({"choice": "open_message_error", "open_message_error": {}}, 2, 1),
        (
            {
                "choice": "update_message_error",
                "update_message_error": {"subcode": "abnormal_aspath_code3_subcode11"},
            },
            3,
            11,
        ),
        ({"choice": "hold_timer_expired"}, 4, 0),
        ({"choice": "finite_state_machine_error"}, 5, 0),
        ({"choice": "custom", "custom": {"code": 7, "subcode": 255}}, 7, 255),
    ],
)
def test_a_notification_has_the_code_of_the_api(given: dict[str, Any], code: int, subcode: int) -> None:
    told: Notification = (code, subcode)
    _, ending = read_bgp_action(Element({"notification": given}, "bgp"), {})
    assert ending.notification == told


def test_a_notification_ends_a_session_which_comes_again(server: OtgServer) -> None:
    """Routes go with the session, and come again with it; a session that is down cannot be ended."""
    api = speaking(server, "grpc")
    end(api, lambda bgp: bgp.notification.custom.set(code=250, subcode=251))
    assert sessions(api, "peer1") == [("down", 1, 0)]
    (told,) = errors_of(lambda: end(api, lambda bgp: bgp.notification.set(names=["peer1"])))
    assert told == "the session of peer1 is not up (the metrics bgpv4 and bgpv6 show which are)"
    found = [sessions(api, "peer2")[0] for _ in range(8)]
    assert ("down", 1, 0) in found and found[-1] == ("up", 1, 6)


def test_the_connection_closes_some_time_after_a_notification(server: OtgServer) -> None:
    api = speaking(server, "http")
    end(api, lambda bgp: bgp.notification.set(names=["peer1"], fin_delay=10_000))
    found = [sessions(api, "peer1")[0] for _ in range(20)]
    assert found[8][0] == "down" and found[-1] == ("up", 1, 0)


def test_routes_stay_while_a_peer_restarts_gracefully(server: OtgServer) -> None:
    """It is away for 10 of the 45 seconds that it has."""
    api = speaking(server, "http", enable_notification=False)
    end(api, lambda bgp: bgp.initiate_graceful_restart.set(peer_names=["peer1"], restart_delay=10))
    found = [sessions(api, "peer2")[0] for _ in range(20)]
    assert found[8] == ("down", 1, 6) and found[-1] == ("up", 1, 6)
    assert {routes for _, _, routes in found} == {6}


def test_routes_of_a_peer_that_comes_too_late_are_gone(server: OtgServer) -> None:
    api = speaking(server, "http", restart_time=5)
    end(api, lambda bgp: bgp.initiate_graceful_restart.set(peer_names=["peer1"], restart_delay=10))
    found = [sessions(api, "peer2")[0] for _ in range(20)]
    assert found[3] == ("down", 1, 6) and found[8] == ("down", 1, 0) and found[-1] == ("up", 1, 6)


@pytest.mark.parametrize(
    ("subcode", "kept"), [("admin_reset_code6_subcode4", True), ("hard_reset_code6_subcode9", False)]
)
def test_routes_stay_after_a_notification_but_not_after_a_hard_reset(
    server: OtgServer, subcode: str, kept: bool
) -> None:
    api = speaking(server, "http", enable_notification=True)
    end(api, lambda bgp: bgp.notification.cease.set(subcode=subcode))
    found = [sessions(api, "peer2")[0] for _ in range(8)]
    assert (("down", 1, 0) in found) is not kept
    assert found[-1] == ("up", 1, 6)


@pytest.mark.parametrize(("transport", "ending"), [("http", "peer1"), ("grpc", "peer2")])
def test_a_peer_that_is_down_stays_down_until_it_is_up(server: OtgServer, transport: str, ending: str) -> None:
    """Goal: the peer that connects does, and the one that waits; all come up when protocols start.

    Method: one is taken down for 20 seconds; a NOTIFICATION says so once.
    """
    api = speaking(server, transport)
    assert sessions(api, "peer1", "peer2") == [("up", 0, 0), ("up", 0, 6)]
    switch_peers(api, "down", ending)
    found = [sessions(api, "peer1", "peer2") for _ in range(20)]
    assert all(states == [("down", 1, 0), ("down", 1, 0)] for states in found[1:])
    near, far = (metric(api, name) for name in (ending, "peer2" if ending == "peer1" else "peer1"))
    assert (near.fsm_state, near.notifications_sent, far.notifications_received) == ("idle", 1, 1)
    assert prefixes(api, "peer2") == ([], [])
    switch_peers(api, "up", ending)
    assert [len(found) for found in prefixes(api, "peer2")] == [3, 3]
    assert sessions(api, "peer1", "peer2") == [("up", 1, 0), ("up", 1, 6)]
    switch_peers(api, "down")
    assert [state for state, _, _ in sessions(api, "peer1", "peer2")] == ["down", "down"]
    protocols(api, "start")
    assert [len(found) for found in prefixes(api, "peer2")] == [3, 3]


def metric(api: Any, peer: str, version: int = 4) -> Any:
    """The metric of a peer; a second passes."""
    request = api.metrics_request()
    getattr(request, f"bgpv{version}").peer_names = [peer]
    (found,) = getattr(api.get_metrics(request), f"bgpv{version}_metrics")
    return found


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_messages_are_counted_at_both_ends(server: OtgServer, transport: str) -> None:
    """An UPDATE and an end of routes of each version; three routes are withdrawn; a NOTIFICATION, and a second OPEN."""
    api = speaking(server, transport, restart_time=60)
    control = api.control_state()
    control.protocol.route.set(names=["peer1.v4"], state="withdraw")
    api.set_control_state(control)
    near, far = metric(api, "peer1"), metric(api, "peer2")
    assert (near.fsm_state, far.fsm_state) == ("established", "established")
    assert (near.opens_sent, near.updates_sent, near.route_withdraws_sent) == (1, 5, 3)
    assert (far.opens_sent, far.updates_sent, far.route_withdraws_sent) == (1, 2, 0)
    assert (near.end_of_rib_received, far.end_of_rib_received) == (2, 2)
    assert near.keepalives_sent > 0
    end(api, lambda bgp: bgp.notification.set(names=["peer1"]))
    for _ in range(5):
        near, far = metric(api, "peer1"), metric(api, "peer2")
    assert (near.opens_sent, near.notifications_sent, far.notifications_sent) == (2, 1, 0)
    for kind in ("opens", "updates", "keepalives", "notifications", "route_withdraws"):
        assert getattr(near, f"{kind}_sent") == getattr(far, f"{kind}_received"), kind
        assert getattr(far, f"{kind}_sent") == getattr(near, f"{kind}_received"), kind


@pytest.mark.parametrize("version", [4, 6])
def test_the_state_machine_is_told_before_there_is_a_session(server: OtgServer, version: int) -> None:
    """Nobody has the address of one neighbour; the other peer waits for its neighbour."""
    api = server.api()
    config, (one, other) = two_speakers(api, version)
    one.peer_address = f"{ADDRESSES[version][1]}9"
    other.advanced.passive_mode = True
    api.set_config(config)
    assert [metric(api, peer, version).fsm_state for peer in ("peer1", "peer2")] == ["idle", "idle"]
    protocols(api, "start")
    assert [metric(api, peer, version).fsm_state for peer in ("peer1", "peer2")] == ["connect", "active"]
    assert metric(api, "peer1", version).opens_sent == 0


def test_columns_of_metrics_are_chosen(server: OtgServer) -> None:
    api = speaking(server, "http")
    request = api.metrics_request()
    request.bgpv4.set(peer_names=["peer1"], column_names=["opens_sent", "fsm_state"])
    (found,) = api.get_metrics(request).bgpv4_metrics
    assert found.serialize("dict") == {"name": "peer1", "opens_sent": "1", "fsm_state": "established"}


@pytest.mark.parametrize("text", ["10.0.0.0/8", "0.0.0.0/0", "2001:db8::/32", "::/0", "::ffff:10.1.0.0/112"])
def test_a_prefix_is_what_the_library_of_addresses_reads(text: str) -> None:
    read, prefix = ip_network(text), Prefix.of(text)
    assert (prefix.address, prefix.bits) == (str(read.network_address), read.prefixlen)
    assert prefix.version == read.version
