//! The switch model against closed-form answers.

mod common;

use common::{frame, mac, port, port_with, station_and, SECOND_PS};
use p4mesh_sim::config::{Latency, PositiveSeconds, Whole};
use p4mesh_sim::device::{
    EthernetSwitch, EthernetSwitchConfig, Forwarding, MacTableConfig, Received, Station, Stream,
};
use p4mesh_sim::{DevicePort, Network, NetworkBuilder, STANDARD_GAP_BITS};

const GIGABIT: u64 = 1_000_000_000;
const BYTE_PS: u64 = 8_000;
const SLOT_64_PS: u64 = 84 * BYTE_PS;

fn switch(config: EthernetSwitchConfig) -> Box<EthernetSwitch> {
    switch_with(config, Latency::default())
}

fn switch_with(config: EthernetSwitchConfig, latency: Latency) -> Box<EthernetSwitch> {
    Box::new(EthernetSwitch::new(config, latency, "dut", 1))
}

/// The look-ahead of a White Rabbit switch.
fn cut_through() -> EthernetSwitchConfig {
    EthernetSwitchConfig {
        forwarding: Forwarding::CutThrough,
        look_ahead_bytes: Some(Whole::of(122)),
        ..Default::default()
    }
}

fn ports(count: usize) -> Vec<DevicePort> {
    (0..count).map(|index| port(index as u16 + 1, GIGABIT)).collect()
}

fn stream(
    port: usize,
    to: [u8; 6],
    wire_bytes: usize,
    start_ps: u64,
    interval_ps: u64,
    count: u64,
) -> Stream {
    Stream { port, frame: frame(to, mac(port), wire_bytes), start_ps, interval_ps, count }
}

/// One frame from port 1 that teaches the switch where station 1 is.
fn learning_frame() -> Stream {
    stream(1, [0xff; 6], 64, 0, 0, 1)
}

fn log_of(network: &mut Network, port: usize) -> Vec<Received> {
    let log = &network.device::<Station>(0).unwrap().log;
    log.iter().filter(|received| received.port == port).cloned().collect()
}

const START_PS: u64 = 100_000_000;

/// First bit out - first bit in, of a switch between two cables without delay.
fn forwarding_delay_ps(config: EthernetSwitchConfig, latency_ps: u64, wire_bytes: usize) -> u64 {
    let switch = switch_with(config, Latency::from_ps(latency_ps));
    let streams = vec![learning_frame(), stream(0, mac(1), wire_bytes, START_PS, 0, 1)];
    let mut network = station_and(switch, &ports(2), &ports(2), streams, 0);
    network.run_until(SECOND_PS / 1_000).unwrap();
    let received = log_of(&mut network, 1).pop().unwrap();
    assert_eq!(received.last_bit_ps - received.first_bit_ps, wire_bytes as u64 * BYTE_PS);
    received.first_bit_ps - (START_PS + 8 * BYTE_PS)
}

#[test]
fn store_and_forward_delay_is_the_frame_and_the_latency() {
    for size in [64, 512, 1518] {
        let delay_ps = forwarding_delay_ps(EthernetSwitchConfig::default(), 3_000_001, size);
        assert_eq!(delay_ps, size as u64 * BYTE_PS + 3_000_001);
    }
}

#[test]
fn cut_through_delay_is_the_lookahead_and_the_latency() {
    for size in [64, 90, 122, 128, 1518] {
        let delay_ps = forwarding_delay_ps(cut_through(), 1_720_000, size);
        assert_eq!(delay_ps, size.min(122) as u64 * BYTE_PS + 1_720_000);
    }
}

#[test]
fn a_larger_gap_limits_the_output_rate() {
    // The 16 B gap of a White Rabbit switch: 100 (L + 20) / (L + 24) % of the input comes out, and
    // the queue holds 64 frames at the end.
    for size in [64usize, 512, 1518] {
        let slot_ps = (size as u64 + 20) * BYTE_PS;
        let count = 20_000;
        let streams = vec![learning_frame(), stream(0, mac(1), size, START_PS, slot_ps, count)];
        let config = EthernetSwitchConfig::default();
        let dut_ports: Vec<_> = (1..=2).map(|id| port_with(id, GIGABIT, 0, 128, 64)).collect();
        let mut network = station_and(switch(config), &ports(2), &dut_ports, streams, 0);
        network.run_until(SECOND_PS).unwrap();
        let received = network.device::<Station>(0).unwrap().received[1];
        let sent_in_trial = count * slot_ps / ((size as u64 + 24) * BYTE_PS);
        let expected = (sent_in_trial + 65).min(count);
        assert!(received.abs_diff(expected) <= 1, "{size} B: {received}, expected {expected}");
        let truth = network.truth();
        let dropped = truth.nodes["dut"].ports[&2].drops.get("queue_full").copied().unwrap_or(0);
        assert_eq!(received + dropped, count, "{truth:?}");
    }
}

#[test]
fn congestion_fills_the_queue_and_drops_the_rest() {
    // Two ports at full rate into one: while n frames leave, 2 n arrive; at the end of the input
    // one frame is on the wire and 64 wait.
    let count = 5_000;
    let streams = vec![
        stream(2, [0xff; 6], 64, 0, 0, 1),
        stream(0, mac(2), 64, START_PS, SLOT_64_PS, count),
        stream(1, mac(2), 64, START_PS, SLOT_64_PS, count),
    ];
    let mut network = station_and(switch(Default::default()), &ports(3), &ports(3), streams, 0);
    network.run_until(SECOND_PS).unwrap();
    let received = network.device::<Station>(0).unwrap().received[2];
    assert_eq!(received, count + 64);
    assert_eq!(network.truth().nodes["dut"].ports[&3].drops["queue_full"], count - 64);
}

#[test]
fn unknown_and_broadcast_frames_are_flooded_but_never_back() {
    let streams = vec![stream(0, mac(9), 64, 0, 0, 1), stream(3, [0xff; 6], 64, START_PS, 0, 1)];
    let mut network = station_and(switch(Default::default()), &ports(4), &ports(4), streams, 0);
    network.run_until(SECOND_PS).unwrap();
    assert_eq!(network.device::<Station>(0).unwrap().received, [1, 2, 2, 1]);
    let counters = &network.truth().nodes["dut"].counters;
    assert_eq!((counters["flooded_unknown"], counters["flooded_group"], counters["learned"]), (1, 1, 2));
}

#[test]
fn an_address_is_forgotten_after_the_aging_time() {
    // The decision on the learning frame falls at its last bit; a frame whose last bit is exactly
    // one aging time later is still forwarded to one port, one picosecond later it is flooded.
    for (late_ps, flooded) in [(0, 0), (1, 1)] {
        let aging_ps = 200_000_000;
        let mac_table = MacTableConfig { aging_s: PositiveSeconds::from_ps(aging_ps), ..Default::default() };
        let config = EthernetSwitchConfig { mac_table, ..Default::default() };
        let streams = vec![learning_frame(), stream(0, mac(1), 64, aging_ps + late_ps, 0, 1)];
        let mut network = station_and(switch(config), &ports(3), &ports(3), streams, 0);
        network.run_until(SECOND_PS).unwrap();
        assert_eq!(network.truth().nodes["dut"].counters["flooded_unknown"], flooded);
    }
}

#[test]
fn frames_to_their_own_port_and_outside_the_limits_are_dropped() {
    let config = EthernetSwitchConfig { max_frame_bytes: Whole::of(1518), ..Default::default() };
    let streams = vec![
        stream(0, mac(0), 64, START_PS, 0, 1),
        stream(1, mac(0), 63, 0, 0, 1),
        stream(2, mac(0), 1519, 0, 0, 1),
    ];
    let mut network = station_and(switch(config), &ports(3), &ports(3), streams, 0);
    network.run_until(SECOND_PS).unwrap();
    let ports = &network.truth().nodes["dut"].ports;
    assert_eq!(ports[&1].drops["same_port"], 1);
    assert_eq!(ports[&2].drops["undersize"], 1);
    assert_eq!(ports[&3].drops["oversize"], 1);
}

#[test]
fn a_fast_clock_delivers_more() {
    // +100 ppm on the sender and on both sides of the path: 1,488,095.238 * 1.0001 frames/s.
    let fast: Vec<_> = (1..=2).map(|id| port_with(id, GIGABIT, 100_000, STANDARD_GAP_BITS, 64)).collect();
    let streams = vec![learning_frame(), stream(0, mac(1), 64, START_PS, 600_000, 100_000)];
    let mut network = station_and(switch(Default::default()), &fast, &fast, streams, 0);
    network.run_until(START_PS + SECOND_PS / 20).unwrap();
    let received = network.device::<Station>(0).unwrap().received[1];
    assert_eq!(received, 74_412 - 1, "floor(74404.76 * 1.0001), less one that is in the switch");
}

#[test]
fn a_reset_empties_queues_and_table() {
    let streams = vec![
        stream(2, [0xff; 6], 64, 0, 0, 1),
        stream(0, mac(2), 64, START_PS, SLOT_64_PS, 100),
        stream(1, mac(2), 64, START_PS, SLOT_64_PS, 100),
    ];
    let mut network = station_and(switch(Default::default()), &ports(3), &ports(3), streams, 0);
    network.run_until(START_PS + 40 * SLOT_64_PS).unwrap();
    network.reset_device("dut", 0).unwrap();
    assert_eq!(network.truth().nodes["dut"].ports[&3].queued_frames, 0);
    assert_eq!(network.device::<EthernetSwitch>(1).unwrap().addresses(0), 0);
    network.run_until(SECOND_PS).unwrap();
    let truth = network.truth();
    let dut = &truth.nodes["dut"];
    let lost: u64 = dut.ports.values().flat_map(|port| port.drops.values()).sum();
    let sent: u64 = dut.ports.values().map(|port| port.tx_frames).sum();
    let received: u64 = dut.ports.values().map(|port| port.rx_frames).sum();
    let copies = dut.counters["flooded_unknown"] + dut.counters["flooded_group"];
    assert_eq!(received + copies, sent + lost, "frames are conserved");
    assert_eq!(truth.in_flight_frames, 0);
}

#[test]
fn two_switches_in_a_row_add_their_delays() {
    let mut builder = NetworkBuilder::default();
    let mut station = Station::new(2, vec![learning_frame(), stream(0, mac(1), 128, START_PS, 0, 1)]);
    station.record = true;
    let station = builder.device("station", Box::new(station), &ports(2));
    let switch = || switch_with(cut_through(), Latency::from_ps(1_720_000));
    let first = builder.device("first", switch(), &ports(2));
    let second = builder.device("second", switch(), &ports(2));
    builder.link((station, 0), (first, 0), 0);
    builder.link((first, 1), (second, 0), 5_000);
    builder.link((second, 1), (station, 1), 0);
    let mut network = builder.build();
    network.run_until(SECOND_PS).unwrap();
    let received = log_of(&mut network, 1).pop().unwrap();
    let hop_ps = 122 * BYTE_PS + 1_720_000;
    assert_eq!(received.first_bit_ps - (START_PS + 8 * BYTE_PS), 2 * hop_ps + 5_000);
}

#[test]
fn the_same_network_gives_the_same_result() {
    let run = || {
        let config = EthernetSwitchConfig { loss_ppb: Whole::of(10_000_000), ..Default::default() };
        let streams = (0..4).map(|it| stream(it, mac((it + 1) % 4), 64, 0, SLOT_64_PS, 2_000)).collect();
        let mut network = station_and(switch(config), &ports(4), &ports(4), streams, 0);
        network.run_until(SECOND_PS).unwrap();
        let log = network.device::<Station>(0).unwrap().log.clone();
        (log, format!("{:?}", network.truth()))
    };
    let (log, truth) = run();
    assert!(truth.contains("random_loss"));
    assert_eq!((log, truth), run());
}
