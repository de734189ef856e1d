//! Routers that route multicast: hosts that join, fixed routes, and a chain of two routers with PIM.

use std::net::Ipv4Addr;

use p4mesh_sim::Network;
use p4mesh_wire::ethernet::{self, Header, TYPE_IPV4};
use p4mesh_wire::membership::{Mode, Record};
use p4mesh_wire::{igmp, ipv4, pim};

const S_PS: u64 = 1_000_000_000_000;
const GROUP: Ipv4Addr = Ipv4Addr::new(225, 1, 1, 1);
const SENDER: Ipv4Addr = Ipv4Addr::new(198, 18, 1, 2);
const NONE: [u16; 0] = [];
const OTHER: Ipv4Addr = Ipv4Addr::new(198, 18, 1, 3);

/// Hosts `h` ports 1 to 3 at `first`, whose port 4 is connected to port 1 of `second` with `h` port 4 at port 2.
fn network(first: &str, second: &str) -> Network {
    let ports = |count: u16| {
        let ports = (1..=count).map(|it| format!(r#"{{"number": {it}, "rate_bps": 1000000000}}"#));
        ports.collect::<Vec<_>>().join(", ")
    };
    let interfaces = |router: u8, numbers: &[u8]| {
        let interface = |(index, it): (usize, &u8)| {
            let own = if *it == 9 { router } else { 1 };
            let port = index + 1;
            format!(
                r#"{{"port": {port}, "mac": "02:00:00:00:0{router}:0{port}", "addresses": ["198.18.{it}.{own}/24"]}}"#
            )
        };
        numbers.iter().enumerate().map(interface).collect::<Vec<_>>().join(", ")
    };
    let link = |from: (&str, u16), to: (&str, u16)| {
        let end = |(node, port): (&str, u16)| format!(r#"{{"node": "{node}", "port": {port}}}"#);
        format!(r#"{{"from": {}, "to": {}}}"#, end(from), end(to))
    };
    let links = [
        link(("h", 1), ("first", 1)),
        link(("h", 2), ("first", 2)),
        link(("h", 3), ("first", 3)),
        link(("first", 4), ("second", 1)),
        link(("h", 4), ("second", 2)),
        link(("tester", 1), ("second", 3)),
    ];
    let document = format!(
        r#"{{"tester": {{"ports": [{}], "loop": {{"port": 509, "rate_bps": 400000000000}}}}, "nodes": [
            {{"name": "h", "device": "host", "ports": [{}]}},
            {{"name": "first", "device": "router", "ports": [{}], "interfaces": [{}], "multicast": {{{first}}}}},
            {{"name": "second", "device": "router", "ports": [{}], "interfaces": [{}],
              "routes": [{{"prefix": "0.0.0.0/0", "next_hops": ["198.18.9.1"]}}], "multicast": {{{second}}}}}],
          "links": [{}]}}"#,
        ports(1),
        ports(4),
        ports(4),
        interfaces(1, &[1, 2, 3, 9]),
        ports(3),
        interfaces(2, &[9, 4, 5]),
        links.join(", ")
    );
    Network::from_json(&document).unwrap()
}

fn frame(source: Ipv4Addr, destination: Ipv4Addr, protocol: u8, hops: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    let header = Header {
        destination: igmp::group_mac(destination),
        source: [2, 0, 0, 0, 7, 1],
        ether_type: TYPE_IPV4,
    };
    header.emit(&mut frame);
    ipv4::Header { source, destination, protocol, hops, dscp: 0, router_alert: protocol == igmp::PROTOCOL }
        .emit(payload, &mut frame);
    ethernet::pad(&mut frame);
    frame
}

struct Bench {
    network: Network,
    /// Frames that came to a host's port, other than data.
    told: Vec<(u16, Vec<u8>)>,
}

impl Bench {
    fn new(first: &str, second: &str) -> Bench {
        Bench { network: network(first, second), told: Vec::new() }
    }

    fn wait(&mut self, seconds: u64) -> Vec<(u16, Vec<u8>)> {
        let until_ps = self.network.now_ps() + seconds * S_PS;
        self.network.run_until(until_ps).unwrap();
        let taken = self.network.host_take("h").unwrap().into_iter().map(|(port, _, frame)| (port, frame));
        let (data, told): (Vec<_>, Vec<_>) = taken.partition(|(_, frame)| frame[23] == 17);
        self.told.extend(told);
        data
    }

    fn say(&mut self, port: u16, mode: Mode, sources: &[Ipv4Addr]) {
        let record = Record { mode, group: GROUP, sources: sources.to_vec() };
        let mut message = Vec::new();
        igmp::Message::ReportV3(vec![record]).emit(&mut message);
        let frame =
            frame([198, 18, port as u8, 2].into(), [224, 0, 0, 22].into(), igmp::PROTOCOL, 1, &message);
        self.network.host_send("h", port, &frame).unwrap();
    }

    /// Sends a packet to the group at port 1; returns the ports where it came out.
    fn send(&mut self, source: Ipv4Addr) -> Vec<u16> {
        self.send_from(1, source)
    }

    fn send_from(&mut self, port: u16, source: Ipv4Addr) -> Vec<u16> {
        self.wait(1);
        self.network.host_send("h", port, &frame(source, GROUP, 17, 9, &[0; 8])).unwrap();
        let mut ports: Vec<u16> = self.wait(1).into_iter().map(|it| it.0).collect();
        ports.sort_unstable();
        ports
    }

    fn drops(&mut self, node: &str, cause: &str) -> u64 {
        let truth = self.network.truth();
        truth.nodes[node].ports.values().filter_map(|it| it.drops.get(cause)).sum()
    }

    fn counter(&mut self, node: &str, name: &str) -> u64 {
        self.network.truth().nodes[node].counters[name]
    }
}

const HOSTS: &str = r#""host_ports": [1, 2, 3]"#;

#[test]
fn hosts_that_have_joined_get_the_group_with_one_hop_less_until_they_leave() {
    let mut bench = Bench::new(HOSTS, "");
    assert_eq!(bench.send(SENDER), NONE);
    assert_eq!(bench.drops("first", "no_members"), 1);
    bench.say(2, Mode::ToExclude, &[]);
    bench.say(3, Mode::Allow, &[SENDER]);
    assert_eq!(bench.send(SENDER), [2, 3]);
    assert_eq!(bench.send(OTHER), [2], "port 3 asked for one sender");
    bench.network.host_send("h", 1, &frame(SENDER, GROUP, 17, 9, &[0; 8])).unwrap();
    let (_, copy) = bench.wait(1).remove(0);
    assert_eq!(copy[..14], [1, 0, 0x5e, 1, 1, 1, 2, 0, 0, 0, 1, 2, 8, 0]);
    assert_eq!(ipv4::parse(&copy[14..]).unwrap().hops(), 8);
    bench.say(2, Mode::ToInclude, &[]);
    bench.say(3, Mode::Block, &[SENDER]);
    bench.wait(2);
    assert_eq!(bench.send(SENDER), NONE);
    let questions = bench.told.iter().filter(|it| it.0 == 2 && it.1[30..34] == GROUP.octets()).count();
    assert_eq!(questions, 2, "two questions after the leave");
}

#[test]
fn a_membership_that_ends_with_the_leave_message_is_not_asked_for() {
    let mut bench = Bench::new(&format!(r#"{HOSTS}, "leave_delay_ns": 0"#), "");
    bench.say(2, Mode::ToExclude, &[]);
    assert_eq!(bench.send(SENDER), [2]);
    bench.say(2, Mode::ToInclude, &[]);
    assert_eq!(bench.send(SENDER), NONE);
    assert!(bench.told.iter().all(|it| it.1[30..34] != GROUP.octets()));
}

#[test]
fn a_packet_comes_from_the_port_towards_its_sender_alone_and_local_groups_stay() {
    let mut bench = Bench::new(HOSTS, "");
    bench.say(3, Mode::ToExclude, &[]);
    assert_eq!(bench.send_from(2, SENDER), NONE);
    assert_eq!(bench.drops("first", "reverse_path"), 1);
    for (group, hops, cause) in [([224, 0, 0, 9], 9, "not_routed"), (GROUP.octets(), 1, "ttl_expired")] {
        bench.network.host_send("h", 1, &frame(SENDER, group.into(), 17, hops, &[0; 8])).unwrap();
        assert!(bench.wait(1).is_empty());
        assert_eq!(bench.drops("first", cause), 1);
    }
}

#[test]
fn fixed_routes_need_no_join() {
    let route = r#""routes": [{"groups": "225.1.0.0/16", "source": "198.18.1.2", "outputs": [2, 3]},
                              {"groups": "225.1.1.0/24", "source": "198.18.1.3", "input": 2, "outputs": [3]}]"#;
    let mut bench = Bench::new(route, "");
    assert_eq!(bench.send(SENDER), [2, 3]);
    assert_eq!(bench.send(OTHER), NONE, "it comes on port 2");
    assert_eq!(bench.send_from(2, OTHER), [3]);
}

#[test]
fn hosts_are_asked_and_forgotten_when_they_are_silent() {
    let keys = r#""host_ports": [2], "query_interval_s": 10, "response_s": 2"#;
    let mut bench = Bench::new(keys, "");
    bench.say(2, Mode::ToExclude, &[]);
    assert_eq!(bench.send(SENDER), [2]);
    bench.wait(40);
    assert_eq!(bench.send(SENDER), NONE, "2 intervals and the response time");
    // At 0, after a quarter of the interval, then each interval.
    let asked =
        bench.told.iter().filter(|(port, frame)| *port == 2 && frame[30..34] == [224, 0, 0, 1]).count();
    assert_eq!(asked, 6);
    assert!(bench.told.iter().all(|it| it.0 == 2));
}

#[test]
fn a_join_goes_to_the_neighbour_towards_its_root_and_a_prune_ends_it() {
    for (hosts_want, root) in [(&[][..], r#", "rendezvous_point": "198.18.9.1""#), (&[SENDER][..], "")] {
        let first = format!(r#"{HOSTS}, "pim": {{"ports": [4]{root}}}"#);
        let second = format!(r#""host_ports": [2], "pim": {{"ports": [1]{root}}}"#);
        let mut bench = Bench::new(&first, &second);
        assert_eq!(bench.send(SENDER), NONE);
        let joins = if hosts_want.is_empty() { Mode::ToExclude } else { Mode::Allow };
        bench.say(4, joins, hosts_want);
        assert_eq!(bench.send(SENDER), [4]);
        let from_other = bench.send(OTHER);
        assert_eq!(
            from_other.is_empty(),
            !hosts_want.is_empty(),
            "the tree of a source has its packets alone"
        );
        bench.wait(150);
        assert!(bench.counter("second", "pim_joins") >= 3, "joins are repeated");
        let leaves = if hosts_want.is_empty() { Mode::ToInclude } else { Mode::Block };
        bench.say(4, leaves, hosts_want);
        bench.wait(3);
        assert_eq!(bench.counter("second", "pim_prunes"), 1);
        assert_eq!(bench.send(SENDER), NONE);
        assert!(bench.drops("first", "no_members") >= 2, "the first router has been pruned");
    }
}

#[test]
fn a_neighbour_that_falls_silent_or_never_said_hello_gets_and_gives_nothing() {
    let root = r#""rendezvous_point": "198.18.9.1""#;
    let first = format!(r#"{HOSTS}, "pim": {{"ports": [2], {root}}}"#);
    let second = format!(r#""host_ports": [2], "pim": {{"ports": [1], {root}}}"#);
    let mut bench = Bench::new(&first, &second);
    bench.say(4, Mode::ToExclude, &[]);
    assert_eq!(bench.send(SENDER), NONE);
    assert_eq!(bench.counter("second", "pim_joins"), 0, "no neighbour, no join");
    // A neighbour at port 2 joins for 5 s.
    let send = |bench: &mut Bench, message: pim::Message| {
        let mut payload = Vec::new();
        message.emit(&mut payload);
        let hello = frame([198, 18, 2, 9].into(), pim::ALL_ROUTERS, pim::PROTOCOL, 1, &payload);
        bench.network.host_send("h", 2, &hello).unwrap();
    };
    send(&mut bench, pim::Message::Hello { hold_time_s: 105, generation: Some(1) });
    let root = pim::Source { address: [198, 18, 9, 1].into(), any: true };
    let groups = vec![pim::Group { group: GROUP, joined: vec![root], pruned: vec![] }];
    let upstream = [198, 18, 2, 1].into();
    send(&mut bench, pim::Message::JoinPrune { upstream, hold_time_s: 5, groups });
    assert_eq!(bench.send(SENDER), [2]);
    bench.wait(5);
    assert_eq!(bench.send(SENDER), NONE);
    let hellos = bench.told.iter().filter(|it| it.1[23] == pim::PROTOCOL).count();
    assert!(hellos >= 2, "one at the start, one for the new neighbour");
}
