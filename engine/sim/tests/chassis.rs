//! Ports on modules and the fabric between them, against closed-form answers.

mod common;

use common::{frame, mac, port_with, SECOND_PS};
use p4mesh_sim::config::{Latency, Place, RateFps, Whole};
use p4mesh_sim::device::{ChassisConfig, EthernetSwitch, EthernetSwitchConfig, Received, Station, Stream};
use p4mesh_sim::{DevicePort, Network};

const GIGABIT: u64 = 1_000_000_000;
const START_PS: u64 = 100_000_000;
const LATENCY_PS: u64 = 500_000;
const CROSSING_PS: u64 = 1_700_000;

fn chassis() -> ChassisConfig {
    ChassisConfig {
        ports_per_module: Whole::of(2),
        crossing_ns: Latency::from_ps(CROSSING_PS),
        stages: Whole::of(2),
        links_per_module: None,
        local_ipv4_ns: Latency::from_ps(700_000),
        unicast_slots_fps: None,
        ipv6_slots_fps: None,
    }
}

fn ports(queue_frames: usize) -> Vec<DevicePort> {
    (1..=4).map(|id| port_with(id, GIGABIT, 0, 96, queue_frames)).collect()
}

fn stream(from: usize, to: usize, wire_bytes: usize, ether_type: u16, count: u64) -> Stream {
    let mut frame = frame(mac(to), mac(from), wire_bytes);
    frame[12..14].copy_from_slice(&ether_type.to_be_bytes());
    let interval_ps = (wire_bytes as u64 + 20) * 8_000;
    Stream { port: from, frame, start_ps: START_PS, interval_ps, count }
}

fn hello(station: usize) -> Stream {
    Stream { port: station, frame: frame([0xff; 6], mac(station), 64), start_ps: 0, interval_ps: 0, count: 1 }
}

fn run(chassis: ChassisConfig, queue_frames: usize, mut streams: Vec<Stream>) -> Network {
    // A port has one stream: those that send are learned by it.
    let silent: Vec<usize> = (0..4).filter(|port| streams.iter().all(|it| it.port != *port)).collect();
    streams.extend(silent.into_iter().map(hello));
    let numbers: Vec<u16> = (1..=4).collect();
    let config = EthernetSwitchConfig { chassis: Some(chassis), ..Default::default() };
    config.check(&Place::default(), &numbers).unwrap();
    let device = EthernetSwitch::with_ports(config, Latency::from_ps(LATENCY_PS), "dut", 7, &numbers);
    let mut network = common::station_and(Box::new(device), &ports(64), &ports(queue_frames), streams, 0);
    network.run_until(SECOND_PS).unwrap();
    assert_eq!(network.in_flight(), 0);
    network
}

/// The unicast frames that came to a port.
fn received(network: &mut Network, port: usize) -> Vec<Received> {
    let log = &network.device::<Station>(0).unwrap().log;
    log.iter().filter(|it| it.port == port && it.first_bit_ps > START_PS).cloned().collect()
}

/// From the last bit of the first frame at the device to its first bit behind it.
fn lifo_ps(network: &mut Network, to: usize, wire_bytes: u64) -> u64 {
    received(network, to)[0].first_bit_ps - (START_PS + 64_000 + 8_000 * wire_bytes)
}

#[test]
fn a_frame_that_crosses_the_fabric_is_stored_in_each_stage() {
    for wire_bytes in [64, 1_518] {
        let mut network = run(chassis(), 64, vec![stream(0, 1, wire_bytes, 0xffff, 1)]);
        assert_eq!(lifo_ps(&mut network, 1, wire_bytes as u64), LATENCY_PS);
        let mut network = run(chassis(), 64, vec![stream(0, 2, wire_bytes, 0xffff, 1)]);
        let stored = 2 * 8_000 * wire_bytes as u64;
        assert_eq!(lifo_ps(&mut network, 2, wire_bytes as u64), LATENCY_PS + CROSSING_PS + stored);
    }
}

#[test]
fn ipv4_makes_a_detour_within_a_module_only() {
    let mut local = run(chassis(), 64, vec![stream(0, 1, 128, 0x0800, 1)]);
    assert_eq!(lifo_ps(&mut local, 1, 128), LATENCY_PS + 700_000);
    let mut other = run(chassis(), 64, vec![stream(0, 1, 128, 0x86dd, 1)]);
    assert_eq!(lifo_ps(&mut other, 1, 128), LATENCY_PS);
    let mut crossing = run(chassis(), 64, vec![stream(0, 3, 128, 0x0800, 1)]);
    assert_eq!(lifo_ps(&mut crossing, 3, 128), LATENCY_PS + CROSSING_PS + 2 * 8_000 * 128);
}

#[test]
fn a_near_frame_overtakes_those_that_cross_and_frames_of_a_flow_keep_their_order() {
    let mut near = stream(1, 0, 100, 0xffff, 1);
    near.start_ps += 100_000;
    let mut network = run(chassis(), 64, vec![stream(2, 0, 64, 0xffff, 3), near]);
    let sizes: Vec<u32> = received(&mut network, 0).iter().map(|it| it.wire_bytes).collect();
    assert_eq!(sizes, [100, 64, 64, 64]);
}

#[test]
fn slots_limit_short_unicast_frames_and_no_others() {
    // 120.545 bytes of the line: 69.6875 % for 64 bytes, all of it from 128 on; IPv6 has shorter ones.
    let slots = ChassisConfig {
        unicast_slots_fps: Some(RateFps::of(1_037_000)),
        ipv6_slots_fps: Some(RateFps::of(1_200_000)),
        ..chassis()
    };
    let passed = |wire_bytes, ether_type| {
        let mut network = run(slots.clone(), 64, vec![stream(0, 2, wire_bytes, ether_type, 20_000)]);
        received(&mut network, 2).len() as u64
    };
    let share = |rate_fps: u64| 20_000 * rate_fps * 672 / GIGABIT + 64;
    assert!(passed(64, 0x0800).abs_diff(share(1_037_000)) <= 2, "{}", passed(64, 0x0800));
    assert!(passed(64, 0x86dd).abs_diff(share(1_200_000)) <= 2, "{}", passed(64, 0x86dd));
    assert_eq!(passed(128, 0x0800), 20_000);
    let mut multicast = stream(0, 2, 64, 0x0800, 20_000);
    multicast.frame[0] |= 1;
    let mut network = run(slots.clone(), 64, vec![multicast]);
    assert_eq!(received(&mut network, 2).len(), 20_000);
}

#[test]
fn frames_wait_for_a_busy_link_into_a_module() {
    let narrow = ChassisConfig { links_per_module: Some(Whole::of(1)), ..chassis() };
    // Two ports of one module send to two ports of another over one link.
    let streams = vec![stream(0, 2, 64, 0xffff, 10), stream(1, 3, 64, 0xffff, 10)];
    let mut network = run(narrow, 64, streams);
    let mut last_ps: Vec<u64> = [2, 3].iter().map(|&to| received(&mut network, to)[9].first_bit_ps).collect();
    last_ps.sort_unstable();
    let first_ps = START_PS + 64_000 + 512_000 + LATENCY_PS + CROSSING_PS + 2 * 512_000;
    // The link is busy with twenty frames of 512 ns, one after the other.
    assert_eq!(last_ps, [first_ps + 18 * 512_000, first_ps + 19 * 512_000]);
}

#[test]
fn modules_are_equal_parts_of_the_ports() {
    let config = ChassisConfig { ports_per_module: Whole::of(3), ..chassis() };
    let config = EthernetSwitchConfig { chassis: Some(config), ..Default::default() };
    let error = config.check(&Place::default(), &[1, 2, 3, 4]).unwrap_err().to_string();
    assert_eq!(error, "chassis.ports_per_module: is 3; valid: a divisor of 4, the number of ports");
}
