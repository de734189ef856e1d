//! A router that learns its routes by BGP, between two hosts that speak it.

use std::net::{IpAddr, Ipv4Addr};

use ipnet::IpNet;
use p4mesh_peers::bgp::{Announcement, Families};
use p4mesh_peers::{BfdSettings, HostAddresses, Ipv4Interface, Ipv6Interface, NeighbourSettings, Speaker};
use p4mesh_sim::device::RefusedRoutes;
use p4mesh_sim::Network;

const MS_PS: u64 = 1_000_000_000;
const S: u64 = 1_000;

fn document(bgp: &str) -> String {
    format!(
        r#"{{"seed": 1, "tester": {{"name": "tester", "ports": [{{"number": 1, "rate_bps": 1000000000}}], "loop": {{"port": 509, "rate_bps": 400000000000, "latency_ns": 400}}, "cpu_port": 510, "drop_port": 511, "clock_tick_ps": 1000}}, "nodes": [
            {{"name": "t", "device": "host", "ports": [{{"number": 1, "rate_bps": 1000000000}}]}},
            {{"name": "h", "device": "host", "ports": [
                {{"number": 1, "rate_bps": 1000000000}}, {{"number": 2, "rate_bps": 1000000000}}]}},
            {{"name": "dut", "device": "router", "ports": [
                {{"number": 1, "rate_bps": 1000000000}}, {{"number": 2, "rate_bps": 1000000000}}],
              "interfaces": [
                {{"port": 1, "mac": "02:00:00:00:01:01", "addresses": ["198.18.1.1/24", "2001:2:0:1::1/64"]}},
                {{"port": 2, "mac": "02:00:00:00:01:02", "addresses": ["198.18.2.1/24", "2001:2:0:2::1/64"]}}],
              "bgp": {{"as": 65000, "router_id": "198.18.1.1", "hold_time_s": 9, {bgp}
                "neighbours": [
                  {{"address": "198.18.1.2", "as": 64513, "bfd": {{"interval_ms": 100}}}},
                  {{"address": "198.18.2.2", "as": 64514}}]}}}}],
          "links": [
            {{"from": {{"node": "tester", "port": 1}}, "to": {{"node": "t", "port": 1}}}},
            {{"from": {{"node": "h", "port": 1}}, "to": {{"node": "dut", "port": 1}}}},
            {{"from": {{"node": "h", "port": 2}}, "to": {{"node": "dut", "port": 2}}}}]}}"#
    )
}

fn peer(port: u8) -> Speaker {
    let addresses = HostAddresses {
        mac: [2, 0, 0, 0, 2, port],
        ipv4: Some(Ipv4Interface { address: Ipv4Addr::new(198, 18, port, 2), prefix_bits: 24 }),
        ipv6: Some(Ipv6Interface {
            address: format!("2001:2:0:{port}::2").parse().unwrap(),
            prefix_bits: 64,
        }),
    };
    let settings = NeighbourSettings {
        address: IpAddr::from([198, 18, port, 1]),
        neighbour_as: Some(65_000),
        own_as: 64_512 + u32::from(port),
        router_id: Ipv4Addr::new(198, 18, port, 2),
        hold_time_s: 9,
        families: Families { ipv4: true, ipv6: true },
        passive: false,
        connect_retry_s: 1,
        bfd: (port == 1).then_some(BfdSettings { interval_us: 100_000, multiplier: 3 }),
        multihop: None,
        restart: None,
    };
    Speaker::new(&addresses, &[settings], u64::from(port), 0).unwrap()
}

/// The network with two peers on the ports of its host.
struct Bench {
    network: Network,
    peers: [Speaker; 2],
    /// Frames that came to a port and belong to no peer.
    data: Vec<(u16, Vec<u8>)>,
    deaf: bool,
}

impl Bench {
    fn new(bgp: &str) -> Bench {
        let network = Network::from_json(&document(bgp)).unwrap();
        Bench { network, peers: [peer(1), peer(2)], data: Vec::new(), deaf: false }
    }

    fn run_until_ms(&mut self, until_ms: u64) {
        while self.network.now_ps() < until_ms * MS_PS {
            let now_ps = self.network.now_ps();
            for (peer, port) in self.peers.iter_mut().zip(1..) {
                if peer.next_event(now_ps / 1_000).is_some_and(|at| at <= now_ps / 1_000) {
                    peer.on_time(now_ps / 1_000);
                }
                for frame in peer.frames() {
                    if !self.deaf {
                        self.network.host_send("h", port, &frame).unwrap();
                    }
                }
            }
            self.network.run_until(now_ps + MS_PS).unwrap();
            for (port, _, frame) in self.network.host_take("h").unwrap() {
                assert!(frame.len() >= 60, "a switch on the way drops shorter ones");
                if frame.len() > 200 && frame[23] == 17 {
                    self.data.push((port, frame));
                } else if !self.deaf {
                    self.peers[usize::from(port) - 1].on_frame(&frame, self.network.now_ps() / 1_000);
                }
            }
        }
    }

    /// Sends a datagram of 300 bytes from port 1 and returns the port where it came out.
    fn route(&mut self, to: [u8; 4]) -> Option<u16> {
        let mut frame = vec![0; 300];
        frame[..14].copy_from_slice(&[2, 0, 0, 0, 1, 1, 2, 0, 0, 0, 2, 1, 8, 0]);
        frame[14..34].copy_from_slice(&[0x45, 0, 1, 30, 0, 0, 0, 0, 64, 17, 0, 0, 198, 18, 1, 9, 0, 0, 0, 0]);
        frame[30..34].copy_from_slice(&to);
        let words = frame[14..34].chunks(2).map(|it| u32::from(it[0]) << 8 | u32::from(it[1])).sum::<u32>();
        let sum = (words & 0xffff) + (words >> 16);
        frame[24..26].copy_from_slice(&(!(sum as u16)).to_be_bytes());
        self.data.clear();
        self.network.host_send("h", 1, &frame).unwrap();
        let now_ms = self.network.now_ps() / MS_PS;
        self.run_until_ms(now_ms + 50);
        self.data.first().map(|it| it.0)
    }

    fn counter(&mut self, name: &str) -> u64 {
        let truth = self.network.truth();
        truth.nodes["dut"].counters[name]
    }
}

fn networks(count: u32) -> Vec<IpNet> {
    let network = |it: u32| IpNet::new(IpAddr::from((0x1400_0000 + (it << 8)).to_be_bytes()), 24).unwrap();
    (0..count).map(network).collect()
}

#[test]
fn packets_take_learned_routes_while_their_session_is_up() {
    let mut bench = Bench::new("");
    bench.peers[1].announce(0, &Announcement::new(networks(500), &[]), 0);
    bench.run_until_ms(3 * S);
    assert!(bench.peers.iter().all(|it| it.is_up(0)));
    assert_eq!(bench.counter("bgp_routes"), 500);
    assert_eq!(bench.route([20, 0, 7, 1]), Some(2));
    assert_eq!(bench.route([21, 0, 0, 1]), None, "no route");
    let told = bench.peers[0].route_changes(0);
    assert_eq!(told.len(), 500, "the other neighbour is told of them");
    assert!(told
        .iter()
        .map(|it| it.attributes.as_ref().unwrap())
        .all(|it| it.path().eq([65_000, 64_514]) && it.next_hop == Some(IpAddr::from([198, 18, 1, 1]))));
    bench.peers[1].withdraw(0, &networks(8), 3 * S * 1_000_000);
    bench.run_until_ms(4 * S);
    assert_eq!(bench.route([20, 0, 7, 1]), None, "withdrawn");
    assert_eq!(bench.route([20, 0, 9, 1]), Some(2));
    assert_eq!(bench.peers[0].learned(0), 492);
    bench.deaf = true;
    bench.run_until_ms(20 * S);
    bench.deaf = false;
    assert_eq!(bench.counter("bgp_routes"), 0, "the hold time is over");
    assert!(bench.counter("bgp_sessions_lost") >= 2);
}

#[test]
fn the_table_has_a_limit_that_is_counted() {
    let mut bench = Bench::new(r#""max_ipv4_routes": 100,"#);
    bench.peers[1].announce(0, &Announcement::new(networks(130), &[]), 0);
    bench.run_until_ms(3 * S);
    assert_eq!((bench.counter("bgp_routes"), bench.counter("bgp_routes_refused")), (100, 30));
    let refused = |networks| vec![("dut".to_string(), RefusedRoutes { ip_version: 4, networks, most: 100 })];
    assert_eq!(bench.network.take_refused_routes(), refused(30));
    assert_eq!(bench.network.take_refused_routes(), [], "told once");
    for again in 0..2 {
        // The 30 do not fit again, and each of them is one network however often it comes.
        bench.peers[1].withdraw(0, &networks(130)[100..], (4 + 2 * again) * S * 1_000_000);
        bench.run_until_ms((5 + 2 * again) * S);
        let announcement = Announcement::new(networks(130)[100..].to_vec(), &[]);
        bench.peers[1].announce(0, &announcement, (5 + 2 * again) * S * 1_000_000);
        bench.run_until_ms((6 + 2 * again) * S);
    }
    assert_eq!(bench.counter("bgp_routes_refused"), 90);
    assert_eq!(bench.network.take_refused_routes(), refused(30));
}

#[test]
fn the_processor_works_off_one_change_after_the_other() {
    let mut bench = Bench::new(r#""route_time_ns": 1000000000,"#);
    bench.run_until_ms(3 * S);
    let now_ns = 3 * S * 1_000_000;
    bench.peers[1].announce(0, &Announcement::new(networks(3), &[]), now_ns);
    bench.peers[1].withdraw(0, &networks(1), now_ns);
    for (done, reached) in
        [(0, [false, false, false]), (1, [true, false, false]), (3, [true; 3]), (4, [false, true, true])]
    {
        bench.run_until_ms((3 + done) * S + 200);
        for (number, wanted) in (0..).zip(reached) {
            assert_eq!(
                bench.route([20, 0, number, 1]).is_some(),
                wanted,
                "network {number} after {done} changes"
            );
        }
    }
}

#[test]
fn a_new_start_forgets_the_routes_and_learns_them_again() {
    let mut bench = Bench::new("");
    bench.peers[1].announce(0, &Announcement::new(networks(10), &[]), 0);
    bench.run_until_ms(3 * S);
    bench.network.reset_device("dut", 300 * MS_PS).unwrap();
    bench.run_until_ms(3_500);
    assert_eq!(bench.counter("bgp_routes"), 0);
    bench.run_until_ms(20 * S);
    assert_eq!(bench.counter("bgp_routes"), 10);
}

#[test]
fn keys_that_cannot_be_are_refused_at_their_place() {
    let error = Network::from_json(&document(r#""max_ipv4_routes": -1,"#)).err().unwrap().to_string();
    assert!(error.contains("bgp.max_ipv4_routes: invalid value"), "{error}");
    let far = document("").replace("198.18.2.2", "198.18.9.2");
    let error = Network::from_json(&far).err().unwrap().to_string();
    assert!(
        error.contains("bgp.neighbours[1].address: 198.18.9.2 is in no network of an interface"),
        "{error}"
    );
    let short = document("").replace(r#""hold_time_s": 9"#, r#""hold_time_s": 2"#);
    let error = Network::from_json(&short).err().unwrap().to_string();
    assert!(error.contains("nodes[2].bgp.hold_time_s: 2 s; valid: 0, or 3 to 65535"), "{error}");
}
