//! Two hosts on a wire: sessions, routes, failures.

use std::net::{IpAddr, Ipv4Addr};

use ipnet::IpNet;
use p4mesh_peers::bgp::{Announcement, Attributes, Families, GracefulRestart, Origin, Segment, State};
use p4mesh_peers::{
    BfdSettings, EventKind, HostAddresses, Ipv4Interface, Ipv6Interface, Multihop, NeighbourSettings, Speaker,
};
use smoltcp::wire::{Ipv4Packet, TcpPacket};

const S: u64 = 1_000_000_000;
const DELAY_NS: u64 = 10_000;

fn host(number: u8) -> HostAddresses {
    HostAddresses {
        mac: [2, 0, 0, 0, 0, number],
        ipv4: Some(Ipv4Interface { address: Ipv4Addr::new(192, 0, 2, number), prefix_bits: 24 }),
        ipv6: Some(Ipv6Interface {
            address: format!("2001:db8::{number}").parse().unwrap(),
            prefix_bits: 64,
        }),
    }
}

fn towards(own: u8, other: u8) -> NeighbourSettings {
    NeighbourSettings {
        address: IpAddr::from([192, 0, 2, other]),
        neighbour_as: Some(64_512 + u32::from(other)),
        own_as: 64_512 + u32::from(own),
        router_id: Ipv4Addr::new(10, 0, 0, own),
        hold_time_s: 9,
        families: Families { ipv4: true, ipv6: true },
        passive: own == 2,
        connect_retry_s: 5,
        bfd: None,
        multihop: None,
        restart: None,
    }
}

/// A wire with any number of hosts; a frame goes to all other hosts.
struct Wire {
    hosts: Vec<Speaker>,
    now: u64,
    flying: Vec<(u64, usize, Vec<u8>)>,
    cut: bool,
    /// There is a router on the wire: it takes one hop of each IPv4 packet.
    routed: bool,
    /// TCP segments over IPv4 have no checksum, as between interfaces of Linux that leave it to each other.
    unsummed: bool,
    /// TCP segments get the option of an MD5 signature.
    signed: bool,
    /// One frame in so many is lost; 0: no loss.
    lose_every: usize,
    sent: usize,
    events: Vec<(usize, EventKind, u64)>,
}

impl Wire {
    fn new(hosts: Vec<Speaker>) -> Wire {
        Wire {
            hosts,
            now: 0,
            flying: Vec::new(),
            cut: false,
            routed: false,
            unsummed: false,
            signed: false,
            lose_every: 0,
            sent: 0,
            events: Vec::new(),
        }
    }

    fn pair(one: NeighbourSettings, two: NeighbourSettings) -> Wire {
        let speaker =
            |number: u8, settings| Speaker::new(&host(number), &[settings], u64::from(number), 0).unwrap();
        Wire::new(vec![speaker(1, one), speaker(2, two)])
    }

    fn run_until(&mut self, until: u64) {
        loop {
            self.collect();
            let arrival = self.flying.iter().map(|it| it.0).min();
            let timers = self.hosts.iter_mut().filter_map(|it| it.next_event(self.now)).min();
            let next = arrival.into_iter().chain(timers).min().unwrap_or(u64::MAX);
            if next > until {
                self.now = until;
                return;
            }
            assert!(next >= self.now, "a timer of the past");
            self.now = next;
            let (arrived, flying): (Vec<_>, Vec<_>) = self.flying.drain(..).partition(|it| it.0 <= next);
            self.flying = flying;
            for (_, from, frame) in arrived {
                for (index, other) in self.hosts.iter_mut().enumerate().filter(|it| it.0 != from) {
                    let _ = index;
                    other.on_frame(&frame, next);
                }
            }
            for one in &mut self.hosts {
                if one.next_event(self.now).is_some_and(|at| at <= next) {
                    one.on_time(next);
                }
            }
        }
    }

    fn collect(&mut self) {
        for (index, one) in self.hosts.iter_mut().enumerate() {
            for mut frame in one.frames() {
                if self.routed && frame[12..14] == [8, 0] {
                    let mut packet = Ipv4Packet::new_unchecked(&mut frame[14..]);
                    packet.set_hop_limit(packet.hop_limit() - 1);
                    packet.fill_checksum();
                }
                if self.unsummed && frame[12..14] == [8, 0] && frame[23] == 6 {
                    TcpPacket::new_unchecked(&mut frame[34..]).set_checksum(0);
                }
                if self.signed && frame[12..14] == [8, 0] && frame[23] == 6 {
                    sign(&mut frame);
                }
                self.sent += 1;
                let lost = self.cut || self.lose_every > 0 && self.sent % self.lose_every == 0;
                if !lost {
                    self.flying.push((self.now + DELAY_NS, index, frame));
                }
            }
            self.events.extend(one.events().into_iter().map(|event| (index, event.kind, event.at)));
        }
    }

    fn downs(&self) -> Vec<(usize, &str, u64)> {
        let downs = self.events.iter().filter_map(|(host, kind, at)| match kind {
            EventKind::Down(reason) => Some((*host, reason.as_str(), *at)),
            _ => None,
        });
        downs.collect()
    }
}

/// Gives a TCP segment over IPv4 the option of an MD5 signature, of zeros.
fn sign(frame: &mut Vec<u8>) {
    const OPTION: [u8; 20] = [19, 18, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1];
    let header = 34 + usize::from(frame[46] >> 4) * 4;
    frame.splice(header..header, OPTION);
    frame[46] += (OPTION.len() as u8 / 4) << 4;
    let mut packet = Ipv4Packet::new_unchecked(&mut frame[14..]);
    packet.set_total_len(packet.total_len() + OPTION.len() as u16);
    packet.fill_checksum();
    let (from, to) = (packet.src_addr().into(), packet.dst_addr().into());
    TcpPacket::new_unchecked(packet.payload_mut()).fill_checksum(&from, &to);
}

fn networks(count: u32) -> Vec<IpNet> {
    let ipv4 =
        (0..count).map(|it| IpNet::new(IpAddr::from((0x1400_0000 + (it << 8)).to_be_bytes()), 24).unwrap());
    ipv4.collect()
}

fn networks_v6(count: u32) -> Vec<IpNet> {
    let address =
        |it: u32| IpAddr::from(((0x2001_0db8_u128 << 96) | (1 << 95) | (u128::from(it) << 64)).to_be_bytes());
    (0..count).map(|it| IpNet::new(address(it), 64).unwrap()).collect()
}

#[test]
fn routes_of_both_families_cross_and_are_withdrawn() {
    let mut wire = Wire::pair(towards(1, 2), towards(2, 1));
    let all: Vec<IpNet> = networks(2_048).into_iter().chain(networks_v6(1_024)).collect();
    wire.hosts[0].announce(0, &Announcement::new(all.clone(), &[65_000]), 0);
    wire.run_until(2 * S);
    assert!(wire.hosts.iter().all(|it| it.is_up(0)));
    assert_eq!(wire.hosts[1].learned(0), all.len());
    let changes = wire.hosts[1].route_changes(0);
    assert_eq!(changes.len(), all.len());
    for change in &changes {
        let attributes = change.attributes.as_ref().unwrap();
        assert!(attributes.path().eq([64_513, 65_000]));
        let expected: IpAddr =
            if change.network.addr().is_ipv4() { "192.0.2.1" } else { "2001:db8::1" }.parse().unwrap();
        assert_eq!(attributes.next_hop, Some(expected));
    }
    assert_eq!(wire.events.iter().filter(|it| it.1 == EventKind::Announced).count(), 1);
    wire.hosts[0].withdraw(0, &all[100..2_100], wire.now);
    wire.run_until(4 * S);
    assert_eq!(wire.hosts[1].learned(0), all.len() - 2_000);
    let gone = wire.hosts[1].route_changes(0);
    assert!(gone.len() == 2_000 && gone.iter().all(|it| it.attributes.is_none()));
}

#[test]
fn a_session_stays_up_for_an_hour_and_a_cut_wire_ends_it_after_the_hold_time() {
    let mut wire = Wire::pair(towards(1, 2), towards(2, 1));
    wire.run_until(3_600 * S);
    assert!(wire.downs().is_empty() && wire.hosts[0].is_up(0));
    wire.cut = true;
    wire.run_until(3_620 * S);
    let downs = wire.downs();
    assert_eq!(downs.len(), 2, "{downs:?}");
    for (_, reason, at) in downs {
        assert!(reason.contains("hold time") && reason.contains("9 s"), "{reason}");
        assert!(at > 3_605 * S && at <= 3_609 * S, "{at}");
    }
    wire.cut = false;
    wire.run_until(3_640 * S);
    assert!(wire.hosts.iter().all(|it| it.is_up(0)));
}

#[test]
fn routes_are_gone_with_the_session_and_come_again_with_it() {
    let mut wire = Wire::pair(towards(1, 2), towards(2, 1));
    wire.hosts[0].announce(0, &Announcement::new(networks(8), &[]), 0);
    wire.run_until(2 * S);
    assert_eq!(wire.hosts[1].learned(0), 8);
    wire.cut = true;
    wire.run_until(15 * S);
    assert_eq!(wire.hosts[1].learned(0), 0);
    wire.cut = false;
    wire.run_until(40 * S);
    assert_eq!(wire.hosts[1].learned(0), 8);
    wire.hosts[0].stop(0, wire.now);
    wire.run_until(60 * S);
    assert_eq!(wire.hosts[1].learned(0), 0);
    assert!(
        wire.downs().iter().any(|it| it.0 == 1 && it.1.contains("AdministrativeShutdown")),
        "{:?}",
        wire.downs()
    );
    assert!(!wire.hosts[0].is_up(0));
}

#[test]
fn a_notification_of_any_code_ends_the_session_which_comes_again() {
    // Codes that RFCs define, and others, to which nobody answers with a NOTIFICATION.
    for (code, subcode, told) in [(6, 4, "AdministrativeReset"), (3, 7, "3/7"), (250, 251, "250/251")] {
        let mut wire = Wire::pair(towards(1, 2), towards(2, 1));
        wire.hosts[0].announce(0, &Announcement::new(networks(8), &[]), 0);
        assert!(!wire.hosts[0].notify(0, (code, subcode), 0, 0), "there is no session yet");
        wire.run_until(2 * S);
        assert!(wire.hosts[0].notify(0, (code, subcode), 0, wire.now));
        assert!(!wire.hosts[0].is_up(0));
        wire.run_until(3 * S);
        assert_eq!(wire.hosts[1].learned(0), 0);
        let downs = wire.downs();
        assert_eq!(downs.len(), 2, "{downs:?}");
        assert!(downs[0].0 == 0 && downs[0].1.contains(&format!("asked for, {code}/{subcode}")), "{downs:?}");
        assert!(downs[1].0 == 1 && downs[1].1.contains("the neighbour ends the session"), "{downs:?}");
        assert!(downs[1].1.contains(told), "{downs:?}");
        wire.run_until(10 * S);
        assert!(wire.hosts.iter().all(|it| it.is_up(0)));
        assert_eq!((wire.hosts[1].learned(0), wire.downs().len()), (8, 2));
    }
}

#[test]
fn the_connection_closes_some_time_after_a_notification() {
    let mut wire = Wire::pair(towards(1, 2), towards(2, 1));
    wire.run_until(2 * S);
    // The neighbour hangs up by itself; this side stays silent until its time has come, and for the pause after that.
    assert!(wire.hosts[0].notify(0, (6, 2), 8 * S, wire.now));
    wire.run_until(14 * S);
    assert!(!wire.hosts[0].is_up(0) && wire.downs().len() == 2);
    wire.run_until(20 * S);
    assert!(wire.hosts.iter().all(|it| it.is_up(0)));
    assert!(wire.hosts[0].notify(0, (6, 2), 8 * S, wire.now));
    wire.hosts[0].stop(0, wire.now);
    wire.run_until(60 * S);
    assert!(!wire.hosts[0].is_up(0));
}

#[test]
fn a_session_that_is_stopped_stays_down_until_it_is_started() {
    // Host 0 connects, host 1 listens. A stop comes while the session is up, and before there is one.
    for (host, first_stop) in [(0, 2 * S), (1, 2 * S), (0, 0), (1, 0)] {
        let mut wire = Wire::pair(towards(1, 2), towards(2, 1));
        wire.hosts[1 - host].announce(0, &Announcement::new(networks(8), &[]), 0);
        let mut flaps = 0;
        for stop_at in [first_stop, 62 * S] {
            wire.run_until(stop_at);
            flaps += usize::from(wire.hosts[host].is_up(0));
            wire.hosts[host].stop(0, wire.now);
            wire.hosts[host].stop(0, wire.now);
            wire.run_until(stop_at + 40 * S);
            assert!(wire.hosts.iter().all(|it| !it.is_up(0)));
            assert_eq!((wire.hosts[host].learned(0), wire.hosts[host].state(0)), (0, State::Idle));
            wire.hosts[host].start(0, wire.now);
            wire.hosts[host].start(0, wire.now);
            wire.run_until(stop_at + 55 * S);
            assert!(wire.hosts.iter().all(|it| it.is_up(0)), "host {host}, stopped after {stop_at} ns");
            assert_eq!(wire.hosts[host].learned(0), 8);
        }
        let of_host = wire.downs().iter().filter(|it| *it == &(host, "stopped", it.2)).count();
        assert_eq!(of_host, flaps);
        let told = wire.downs().iter().filter(|it| it.1.contains("AdministrativeShutdown")).count();
        assert_eq!(told, flaps);
    }
}

#[test]
fn a_host_that_listens_refuses_a_neighbour_that_is_stopped_alone() {
    let listening = [towards(2, 10), towards(2, 11)];
    let mut hosts = vec![Speaker::new(&host(2), &listening, 2, 0).unwrap()];
    hosts[0].stop(0, 0);
    hosts.extend([10, 11].map(|it| Speaker::new(&host(it), &[towards(it, 2)], u64::from(it), 0).unwrap()));
    let mut wire = Wire::new(hosts);
    wire.run_until(30 * S);
    assert_eq!([wire.hosts[0].is_up(0), wire.hosts[0].is_up(1)], [false, true]);
    wire.hosts[0].start(0, wire.now);
    wire.run_until(60 * S);
    assert!(wire.hosts[0].is_up(0) && wire.hosts[0].is_up(1));
}

fn graceful(own: u8, other: u8, notifications: bool) -> NeighbourSettings {
    NeighbourSettings { restart: Some(GracefulRestart { time_s: 20, notifications }), ..towards(own, other) }
}

#[test]
fn routes_stay_while_their_neighbour_restarts_gracefully() {
    let mut wire = Wire::pair(graceful(1, 2, true), graceful(2, 1, true));
    let all: Vec<IpNet> = networks(8).into_iter().chain(networks_v6(4)).collect();
    wire.hosts[0].announce(0, &Announcement::new(all.clone(), &[]), 0);
    wire.run_until(2 * S);
    wire.hosts[1].route_changes(0);
    assert!(wire.hosts[0].restart(0, None, 10 * S, wire.now));
    wire.run_until(11 * S);
    assert!(wire.hosts.iter().all(|it| !it.is_up(0)));
    assert_eq!(wire.hosts[1].learned(0), 12);
    // Routes that are not announced again go when the other side has said everything.
    wire.hosts[0].withdraw(0, &all[6..10], wire.now);
    wire.run_until(13 * S);
    assert!(wire.hosts.iter().all(|it| it.is_up(0)));
    assert_eq!(wire.hosts[1].learned(0), 8);
    let changes = wire.hosts[1].route_changes(0);
    let gone = changes.iter().filter(|it| it.attributes.is_none()).map(|it| it.network);
    assert_eq!(gone.collect::<Vec<_>>(), all[6..10]);
    // It does not come back in its time.
    wire.hosts[0].restart(0, None, 60 * S, wire.now);
    wire.run_until(13 * S + 19 * S);
    assert_eq!(wire.hosts[1].learned(0), 8);
    wire.run_until(13 * S + 21 * S);
    assert_eq!(wire.hosts[1].learned(0), 0);
    wire.run_until(80 * S);
    assert_eq!(wire.hosts[1].learned(0), 8);
}

#[test]
fn routes_stay_after_a_notification_where_both_sides_say_so() {
    for (other_says_so, notification, kept) in
        [(true, (6, 4), 8), (true, (250, 251), 8), (true, (6, 9), 0), (false, (6, 4), 0)]
    {
        for restarts in [false, true] {
            let mut wire = Wire::pair(graceful(1, 2, true), graceful(2, 1, other_says_so));
            for host in 0..2 {
                wire.hosts[host].announce(0, &Announcement::new(networks(8), &[]), 0);
            }
            wire.run_until(2 * S);
            let now = wire.now;
            if restarts {
                assert!(wire.hosts[0].restart(0, Some(notification), 3 * S, now));
            } else {
                assert!(wire.hosts[0].notify(0, notification, 0, now));
            }
            wire.run_until(4 * S);
            let learned = [wire.hosts[0].learned(0), wire.hosts[1].learned(0)];
            assert_eq!(learned, [if restarts { 0 } else { kept }, kept], "{notification:?}, {restarts}");
            wire.run_until(20 * S);
            assert!(wire.hosts.iter().all(|it| it.is_up(0) && it.learned(0) == 8));
        }
    }
}

#[test]
fn no_route_stays_of_a_host_that_is_stopped() {
    for (other_says_so, told) in [(true, "HardReset { value: [6, 2] }"), (false, "AdministrativeShutdown")] {
        let mut wire = Wire::pair(graceful(1, 2, true), graceful(2, 1, other_says_so));
        wire.hosts[0].announce(0, &Announcement::new(networks(8), &[]), 0);
        wire.run_until(2 * S);
        assert_eq!(wire.hosts[1].learned(0), 8);
        wire.hosts[0].stop(0, wire.now);
        wire.run_until(3 * S);
        assert_eq!(wire.hosts[1].learned(0), 0);
        assert!(wire.downs().iter().any(|it| it.0 == 1 && it.1.contains(told)), "{:?}", wire.downs());
    }
}

#[test]
fn a_neighbour_that_has_lost_its_state_keeps_no_routes() {
    // It comes back as a new one: its OPEN does not say that frames went on.
    let mut wire = Wire::pair(graceful(1, 2, true), graceful(2, 1, true));
    wire.hosts[0].announce(0, &Announcement::new(networks(8), &[]), 0);
    wire.run_until(2 * S);
    wire.hosts[0].restart(0, None, 100 * S, wire.now);
    wire.run_until(3 * S);
    assert_eq!(wire.hosts[1].learned(0), 8);
    wire.hosts[0] = Speaker::new(&host(1), &[graceful(1, 2, true)], 7, wire.now).unwrap();
    wire.run_until(10 * S);
    assert!(wire.hosts.iter().all(|it| it.is_up(0)));
    assert_eq!(wire.hosts[1].learned(0), 0);
}

#[test]
fn a_wire_that_loses_frames_only_makes_it_slower() {
    let mut wire = Wire::pair(towards(1, 2), towards(2, 1));
    wire.lose_every = 7;
    wire.hosts[0].announce(0, &Announcement::new(networks(20_000), &[]), 0);
    wire.run_until(120 * S);
    assert_eq!(wire.hosts[1].learned(0), 20_000);
}

#[test]
fn a_table_of_128000_routes_is_learned() {
    let mut wire = Wire::pair(towards(1, 2), towards(2, 1));
    wire.hosts[0].announce(0, &Announcement::new(networks(128_000), &[]), 0);
    wire.run_until(10 * S);
    assert_eq!(wire.hosts[1].learned(0), 128_000);
}

#[test]
fn the_wrong_as_is_refused_with_the_reason_on_both_sides() {
    let mut wire = Wire::pair(towards(1, 2), NeighbourSettings { neighbour_as: Some(7), ..towards(2, 1) });
    wire.run_until(3 * S);
    let downs = wire.downs();
    assert!(downs.iter().any(|it| it.0 == 1 && it.1.contains("its AS is 64513, not 7")), "{downs:?}");
    assert!(downs.iter().any(|it| it.0 == 0 && it.1.contains("BadPeerAs")), "{downs:?}");
    assert!(!wire.hosts[0].is_up(0));
}

#[test]
fn as_numbers_of_four_octets_are_known() {
    let one = NeighbourSettings { own_as: 4_200_000_001, ..towards(1, 2) };
    let two = NeighbourSettings { neighbour_as: Some(4_200_000_001), ..towards(2, 1) };
    let mut wire = Wire::pair(one, two);
    wire.hosts[0].announce(0, &Announcement::new(networks(1), &[]), 0);
    wire.run_until(2 * S);
    let changes = wire.hosts[1].route_changes(0);
    assert!(changes[0].attributes.as_ref().unwrap().path().eq([4_200_000_001]));
}

#[test]
fn routes_with_the_own_as_in_their_path_are_not_used() {
    let mut wire = Wire::pair(towards(1, 2), towards(2, 1));
    wire.hosts[0].announce(0, &Announcement::new(networks(3), &[64_514]), 0);
    wire.run_until(2 * S);
    assert!(wire.hosts[1].is_up(0));
    assert_eq!((wire.hosts[1].learned(0), wire.hosts[1].received(0)), (0, 3));
    assert!(wire.hosts[1].route_changes(0).is_empty());
}

/// Attributes of every kind.
fn attributes() -> Attributes {
    Attributes {
        origin: Origin::Incomplete,
        as_path: vec![
            Segment { is_set: false, as_numbers: vec![7, 4_200_000_001] },
            Segment { is_set: true, as_numbers: vec![8, 9] },
        ],
        next_hop: Some(IpAddr::from([192, 0, 2, 9])),
        metric: Some(50),
        local_preference: Some(200),
        communities: vec![0x0001_0002, 0xffff_ff01],
        extended_communities: vec![
            [0, 2, 0, 1, 0, 0, 0, 9],
            [3, 11, 0, 0, 0, 0, 0, 7],
            [0x77, 1, 2, 3, 4, 5, 6, 7],
        ],
    }
}

#[test]
fn attributes_arrive_as_they_were_announced() {
    let within =
        |own: u8, other: u8| NeighbourSettings { own_as: 64_512, neighbour_as: None, ..towards(own, other) };
    let sequence = |as_numbers: &[u32]| Segment { is_set: false, as_numbers: as_numbers.to_vec() };
    for (one, two, whole_path, first, local_preference) in [
        (towards(1, 2), towards(2, 1), true, sequence(&[7, 4_200_000_001]), None),
        (towards(1, 2), towards(2, 1), false, sequence(&[64_513, 7, 4_200_000_001]), None),
        // Within an AS the path stays as it is, and the preference is told.
        (within(1, 2), within(2, 1), false, sequence(&[7, 4_200_000_001]), Some(200)),
    ] {
        let mut wire = Wire::pair(one, two);
        let all = vec![networks(1)[0], networks_v6(1)[0]];
        let announcement =
            Announcement { networks: all.clone(), attributes: attributes().into(), whole_path };
        wire.hosts[0].announce(0, &announcement, 0);
        wire.run_until(2 * S);
        let found: Vec<_> =
            wire.hosts[1].routes(0, None).map(|(network, it)| (network, it.clone())).collect();
        let expected = |next_hop: &str| Attributes {
            as_path: vec![first.clone(), attributes().as_path[1].clone()],
            next_hop: Some(next_hop.parse().unwrap()),
            local_preference,
            ..attributes()
        };
        assert_eq!(found, [(all[0], expected("192.0.2.9")), (all[1], expected("2001:db8::1"))]);
    }
}

#[test]
fn sessions_from_addresses_on_no_wire_go_by_way_of_a_router() {
    let on_wire = |address: IpAddr, number: u8| match address {
        IpAddr::V4(_) => IpAddr::V4(host(number).ipv4.unwrap().address),
        IpAddr::V6(_) => IpAddr::V6(host(number).ipv6.unwrap().address),
    };
    for (source, other) in [("10.9.0.1", "10.9.0.2"), ("2001:db8:9::1", "2001:db8:9::2")] {
        let from = |own: u8, source: &str, neighbour: &str| NeighbourSettings {
            address: neighbour.parse().unwrap(),
            multihop: Some(Multihop {
                source: source.parse().unwrap(),
                gateway: on_wire(source.parse().unwrap(), 3 - own),
            }),
            ..towards(own, 3 - own)
        };
        let mut wire = Wire::pair(from(1, source, other), from(2, other, source));
        wire.hosts[0].announce(0, &Announcement::new(vec![networks(1)[0], networks_v6(1)[0]], &[]), 0);
        wire.run_until(5 * S);
        assert!(wire.hosts.iter().all(|it| it.is_up(0)), "{:?}", wire.downs());
        let hops: Vec<IpAddr> = wire.hosts[1].routes(0, None).filter_map(|it| it.1.next_hop).collect();
        assert_eq!(hops.len(), 2);
        assert!(hops.contains(&source.parse().unwrap()), "{hops:?}");
    }
}

#[test]
fn bfd_finds_a_cut_wire_long_before_bgp() {
    let bfd = Some(BfdSettings { interval_us: 150_000, multiplier: 3 });
    let mut wire =
        Wire::pair(NeighbourSettings { bfd, ..towards(1, 2) }, NeighbourSettings { bfd, ..towards(2, 1) });
    wire.run_until(10 * S);
    assert_eq!(wire.events.iter().filter(|it| it.1 == EventKind::BfdUp).count(), 2);
    wire.cut = true;
    wire.run_until(11 * S);
    let downs = wire.downs();
    assert_eq!(downs.len(), 2);
    for (_, reason, at) in downs {
        assert!(reason.contains("BFD"), "{reason}");
        assert!(at <= 10 * S + 450_000_000 && at > 10 * S + 200_000_000, "{at}");
    }
}

#[test]
fn bfd_packets_from_beyond_a_router_do_not_count() {
    let bfd = Some(BfdSettings { interval_us: 150_000, multiplier: 3 });
    let mut wire =
        Wire::pair(NeighbourSettings { bfd, ..towards(1, 2) }, NeighbourSettings { bfd, ..towards(2, 1) });
    wire.run_until(10 * S);
    assert_eq!(wire.events.iter().filter(|it| it.1 == EventKind::BfdUp).count(), 2);
    wire.routed = true;
    wire.run_until(11 * S);
    assert!(wire.downs().iter().all(|(_, reason, _)| reason.contains("BFD")) && wire.downs().len() == 2);
}

#[test]
fn a_neighbour_that_signs_its_segments_is_refused_with_the_reason() {
    let mut wire = Wire::pair(towards(1, 2), towards(2, 1));
    wire.signed = true;
    wire.run_until(3 * S);
    assert!(!wire.hosts[0].is_up(0));
    let downs = wire.downs();
    assert!(!downs.is_empty());
    for (_, reason, _) in downs {
        assert_eq!(reason, "the neighbour signs its segments with MD5 (RFC 2385), which is not supported");
    }
}

#[test]
fn a_neighbour_that_leaves_out_checksums_is_heard() {
    let mut wire = Wire::pair(towards(1, 2), towards(2, 1));
    wire.unsummed = true;
    wire.run_until(3 * S);
    assert!(wire.hosts.iter().all(|it| it.is_up(0)));
}

#[test]
fn a_host_that_listens_serves_many_neighbours() {
    let many: Vec<u8> = (10..40).collect();
    let listening: Vec<NeighbourSettings> = many.iter().map(|it| towards(2, *it)).collect();
    let mut hosts = vec![Speaker::new(&host(2), &listening, 2, 0).unwrap()];
    hosts.extend(
        many.iter().map(|it| Speaker::new(&host(*it), &[towards(*it, 2)], u64::from(*it), 0).unwrap()),
    );
    let mut wire = Wire::new(hosts);
    wire.run_until(30 * S);
    for index in 0..many.len() {
        assert!(wire.hosts[0].is_up(index), "neighbour {index}");
        assert!(wire.hosts[1 + index].is_up(0));
    }
}

#[test]
fn sessions_over_ipv6_carry_both_families() {
    let over_ipv6 = |own: u8, other: u8| NeighbourSettings {
        address: format!("2001:db8::{other}").parse().unwrap(),
        ..towards(own, other)
    };
    let mut wire = Wire::pair(over_ipv6(1, 2), over_ipv6(2, 1));
    let all: Vec<IpNet> = networks(5).into_iter().chain(networks_v6(5)).collect();
    wire.hosts[0].announce(0, &Announcement::new(all, &[]), 0);
    wire.run_until(5 * S);
    assert_eq!(wire.hosts[1].learned(0), 10);
}

#[test]
fn settings_that_cannot_be_are_refused() {
    let refused =
        |settings: NeighbourSettings| Speaker::new(&host(1), &[settings], 1, 0).err().unwrap().to_string();
    let good = towards(1, 2);
    let far = NeighbourSettings { address: IpAddr::from([198, 51, 100, 1]), ..good.clone() };
    assert_eq!(
        refused(far),
        "address: 198.51.100.1 is not a neighbour on the wire; valid: an address in the host's network"
    );
    let long = GracefulRestart { time_s: 4_096, notifications: false };
    assert_eq!(
        refused(NeighbourSettings { restart: Some(long), ..good.clone() }),
        "restart.time_s: 4096 s; valid: 0 to 4095"
    );
    assert_eq!(
        refused(NeighbourSettings { hold_time_s: 2, ..good.clone() }),
        "hold_time_s: 2 s; valid: 0, or 3 to 65535"
    );
    assert!(refused(NeighbourSettings { own_as: 0, ..good }).starts_with("own_as: AS 0 is reserved"));
}

#[test]
fn frames_of_any_content_change_nothing() {
    let mut wire = Wire::pair(towards(1, 2), towards(2, 1));
    wire.run_until(2 * S);
    let mut number: u64 = 1;
    for _ in 0..20_000 {
        let mut frame = Vec::new();
        for _ in 0..(number >> 33) % 90 {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            frame.push((number >> 40) as u8);
        }
        number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
        if frame.len() > 34 && number % 2 == 0 {
            let head = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45];
            frame[..head.len()].copy_from_slice(&head);
            frame[23] = if number % 4 == 0 { 6 } else { 17 };
        }
        wire.hosts[0].on_frame(&frame, wire.now);
    }
    wire.run_until(20 * S);
    assert!(wire.hosts[0].is_up(0) && wire.downs().is_empty());
}
