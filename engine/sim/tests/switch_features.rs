//! Parts of the switch model in a network, against closed-form answers and conservation.

mod common;

use common::{frame, mac, port, port_with, SECOND_PS};
use p4mesh_sim::config::{Latency, Place, Whole};
use p4mesh_sim::device::{
    EthernetSwitch, EthernetSwitchConfig, ImpairmentsConfig, InputQueueConfig, JitterConfig, LearningConfig,
    Received, SharedBufferConfig, SizePoint, SizeTable, Station, Stream, VlanConfig, VlanMode, VlanPort,
};
use p4mesh_sim::{DevicePort, Network, NodeTruth};

const GIGABIT: u64 = 1_000_000_000;
const SLOT_64_PS: u64 = 672_000;
const START_PS: u64 = 100_000_000;

fn gigabit_ports(count: u16, queue_frames: usize) -> Vec<DevicePort> {
    (1..=count).map(|id| port_with(id, GIGABIT, 0, 96, queue_frames)).collect()
}

/// Frames of 64 bytes at line rate.
fn flood_of_frames(from: usize, to: usize, count: u64) -> Stream {
    Stream {
        port: from,
        frame: frame(mac(to), mac(from), 64),
        start_ps: START_PS,
        interval_ps: SLOT_64_PS,
        count,
    }
}

/// A frame that teaches the switch where a station is, long before the others.
fn hello(station: usize) -> Stream {
    Stream { port: station, frame: frame([0xff; 6], mac(station), 64), start_ps: 0, interval_ps: 0, count: 1 }
}

fn run(config: EthernetSwitchConfig, queue_frames: usize, streams: Vec<Stream>) -> Network {
    run_with(config, Latency::default(), queue_frames, streams)
}

fn run_with(
    config: EthernetSwitchConfig,
    latency: Latency,
    queue_frames: usize,
    streams: Vec<Stream>,
) -> Network {
    let numbers: Vec<u16> = (1..=4).collect();
    config.check(&Place::default(), &numbers).unwrap();
    let device = EthernetSwitch::with_ports(config, latency, "dut", 7, &numbers);
    let ports = gigabit_ports(4, queue_frames);
    let mut network = common::station_and(Box::new(device), &gigabit_ports(4, 64), &ports, streams, 0);
    network.run_until(SECOND_PS).unwrap();
    assert_eq!(network.in_flight(), 0);
    network
}

fn dut(network: &Network) -> NodeTruth {
    network.truth().nodes["dut"].clone()
}

fn drops(network: &Network, cause: &str) -> u64 {
    let ports = dut(network).ports;
    ports.values().map(|port| port.drops.get(cause).copied().unwrap_or(0)).sum()
}

fn received(network: &mut Network, port: usize) -> Vec<Received> {
    let log = &network.device::<Station>(0).unwrap().log;
    log.iter().filter(|it| it.port == port).cloned().collect()
}

#[test]
fn jitter_is_within_its_bounds_and_keeps_the_order() {
    let config = EthernetSwitchConfig {
        jitter: Some(JitterConfig::Uniform { max_ns: Latency::from_ps(2_000_000) }),
        ..Default::default()
    };
    let mut slow = flood_of_frames(0, 1, 1_000);
    slow.interval_ps = 10_000_000;
    let latency = Latency::from_ps(1_000_000);
    let mut network = run_with(config, latency, 64, vec![slow, hello(1)]);
    let delays: Vec<u64> = received(&mut network, 1)
        .iter()
        .enumerate()
        .map(|(n, it)| it.first_bit_ps - START_PS - n as u64 * 10_000_000)
        .collect();
    // Preamble and frame are stored, then comes the latency.
    let least = 64_000 + 512_000 + 1_000_000;
    assert_eq!(delays.len(), 1_000);
    assert!(delays.iter().all(|it| (least..=least + 2_000_000).contains(it)));
    let mean = delays.iter().sum::<u64>() / 1_000;
    assert!(mean.abs_diff(least + 1_000_000) < 60_000, "{mean}");
}

#[test]
fn latency_grows_with_the_size_as_the_table_says() {
    let points = [(64, 0), (1_518, 1_454_000)];
    let point =
        |&(frame_bytes, ps)| SizePoint { frame_bytes: Whole::of(frame_bytes), time_ns: Latency::from_ps(ps) };
    let config = EthernetSwitchConfig {
        latency_by_size: SizeTable(points.iter().map(point).collect()),
        ..Default::default()
    };
    let mut long = flood_of_frames(0, 1, 1);
    long.frame = frame(mac(1), mac(0), 564);
    let mut network = run(config, 64, vec![long, hello(1)]);
    let first_bit_ps = received(&mut network, 1)[0].first_bit_ps;
    assert_eq!(first_bit_ps, START_PS + 64_000 + 564 * 8_000 + 500_000);
}

/// Source 1 alternates between 3 and 4, source 2 sends to 4 only: RFC 2889 5.5.
fn congestion(config: EthernetSwitchConfig) -> (u64, u64, Network) {
    let count = 4_000;
    let mut builder = p4mesh_sim::NetworkBuilder::default();
    let device = EthernetSwitch::with_ports(config, Latency::default(), "dut", 7, &[1, 2, 3, 4]);
    // A station has one stream per port, so source 1 is two of them.
    let mut streams: Vec<Stream> = Vec::new();
    let split = |to: usize, offset_ps| {
        let mut stream = flood_of_frames(0, to, count / 2);
        stream.start_ps += offset_ps;
        stream.interval_ps = 2 * SLOT_64_PS;
        stream
    };
    let (to_u, to_c) = (split(2, 0), split(3, SLOT_64_PS));
    streams.push(flood_of_frames(1, 3, count));
    streams.push(hello(2));
    streams.push(hello(3));
    let mut merged = Station::new(2, vec![to_u, Stream { port: 1, ..to_c }]);
    merged.record = false;
    let feeder = builder.device("feeder", Box::new(merged), &gigabit_ports(2, 64));
    let mut station = Station::new(4, streams);
    station.record = true;
    let station = builder.device("station", Box::new(station), &gigabit_ports(4, 64));
    // A second switch merges the two halves of source 1 onto one cable.
    let joiner = EthernetSwitch::new(EthernetSwitchConfig::default(), Latency::default(), "joiner", 1);
    let joiner = builder.device("joiner", Box::new(joiner), &gigabit_ports(3, 64));
    let dut = builder.device("dut", Box::new(device), &gigabit_ports(4, 64));
    builder.link((feeder, 0), (joiner, 0), 0);
    builder.link((feeder, 1), (joiner, 1), 0);
    builder.link((joiner, 2), (dut, 0), 0);
    builder.link((station, 1), (dut, 1), 0);
    builder.link((station, 2), (dut, 2), 0);
    builder.link((station, 3), (dut, 3), 0);
    let mut network = builder.build();
    network.run_until(SECOND_PS).unwrap();
    assert_eq!(network.in_flight(), 0);
    let log = &network.device::<Station>(station).unwrap().log;
    // Without the first frames of the stations, which are flooded.
    let at = |port| {
        let late = log.iter().filter(|it| it.first_bit_ps > START_PS);
        late.filter(|it| it.port == port).count() as u64
    };
    (at(2), at(3), network)
}

#[test]
fn without_input_queues_congestion_does_not_touch_the_other_output() {
    let (uncongested, congested, _) = congestion(EthernetSwitchConfig::default());
    assert_eq!(uncongested, 2_000);
    assert!(congested.abs_diff(4_000 + 64) <= 2, "{congested}");
}

#[test]
fn input_queues_block_the_head_of_the_line() {
    let config = EthernetSwitchConfig {
        input_queue: Some(InputQueueConfig { frames: Whole::of(64) }),
        ..Default::default()
    };
    let (uncongested, congested, network) = congestion(config);
    // The congested output takes the oldest of the first frames, so that an input of 64 frames loses a
    // third of what comes, more of the frames whose turn it is to find the queue full.
    assert!(drops(&network, "queue_full") == 0);
    assert!(uncongested < 1_333 + 64, "{uncongested}");
    assert!((4_000..=4_000 + 64 + 128).contains(&congested), "{congested}");
    let lost = drops(&network, "input_queue_full");
    assert_eq!(uncongested + congested + lost, 8_000);
}

#[test]
fn a_shared_buffer_limits_what_all_outputs_keep() {
    let config = |bytes| EthernetSwitchConfig {
        shared_buffer: Some(SharedBufferConfig { bytes: Whole::of(bytes), cell_bytes: Whole::of(64) }),
        ..Default::default()
    };
    // Two inputs into one output: half of the frames wait, 1,000 in the end.
    let streams = || vec![flood_of_frames(0, 3, 1_000), flood_of_frames(1, 3, 1_000), hello(3)];
    let network = run(config(64 * 100), 100_000, streams());
    let lost = drops(&network, "buffer_full");
    assert!(lost.abs_diff(1_000 - 100) <= 2, "{lost}");
    let network = run(config(64 * 2_000), 100_000, streams());
    assert_eq!(drops(&network, "buffer_full"), 0);
}

#[test]
fn pause_frames_stop_a_sender_that_honours_them() {
    let document = |honours: bool| {
        format!(
            r#"{{"tester": {{"ports": [], "loop": {{"port": 509, "rate_bps": 100000000000}}}},
            "nodes": [
              {{"name": "a", "device": "host",
                "ports": [{{"number": 1, "rate_bps": 1000000000, "honours_pause": {honours}}}]}},
              {{"name": "b", "device": "host",
                "ports": [{{"number": 1, "rate_bps": 1000000000, "honours_pause": {honours}}}]}},
              {{"name": "c", "device": "host", "ports": [{{"number": 1, "rate_bps": 1000000000}}]}},
              {{"name": "dut", "device": "ethernet_switch",
                "ports": [{{"number": 1, "rate_bps": 1000000000, "queue_frames": 100}},
                          {{"number": 2, "rate_bps": 1000000000, "queue_frames": 100}},
                          {{"number": 3, "rate_bps": 1000000000, "queue_frames": 100}}],
                "pause": {{"xoff_frames": 20, "xon_frames": 10}}}}],
            "links": [
              {{"from": {{"node": "a", "port": 1}}, "to": {{"node": "dut", "port": 1}}}},
              {{"from": {{"node": "b", "port": 1}}, "to": {{"node": "dut", "port": 2}}}},
              {{"from": {{"node": "c", "port": 1}}, "to": {{"node": "dut", "port": 3}}}}]}}"#
        )
    };
    for honours in [true, false] {
        let mut network = Network::from_json(&document(honours)).unwrap();
        network.host_send("c", 1, &frame([0xff; 6], mac(3), 64)).unwrap();
        network.run_until(START_PS).unwrap();
        for _ in 0..1_000 {
            for (name, source) in [("a", 1), ("b", 2)] {
                let bytes = frame(mac(3), mac(source), 64);
                network.host_send(name, 1, &bytes).unwrap();
            }
        }
        network.run_until(SECOND_PS).unwrap();
        assert_eq!(network.in_flight(), 0);
        let arrived = network.host_take("c").unwrap().len() as u64;
        let lost = drops(&network, "queue_full");
        assert_eq!(arrived + lost, 2_000);
        assert!(dut(&network).counters["pause_sent"] > 1);
        if honours {
            assert_eq!(lost, 0, "the senders waited");
        } else {
            assert!(lost.abs_diff(1_000 - 100) <= 2, "{lost}");
        }
    }
}

#[test]
fn impairments_conserve_frames() {
    let config = EthernetSwitchConfig {
        impairments: Some(ImpairmentsConfig {
            duplicate_ppb: Whole::of(50_000_000),
            reorder_ppb: Whole::of(100_000_000),
            reorder_delay_ns: Latency::from_ps(5_000_000),
            corrupt_ppb: Whole::of(0),
        }),
        ..Default::default()
    };
    let mut network = run(config, 4_096, vec![flood_of_frames(0, 1, 5_000), hello(1)]);
    let counters = dut(&network).counters;
    let arrived = received(&mut network, 1).len() as u64;
    // The frame that says hello may be duplicated too, towards other ports.
    assert!(arrived.abs_diff(5_000 + counters["duplicated"]) <= 1);
    assert!(counters["duplicated"].abs_diff(250) < 60);
    assert!(counters["reordered"].abs_diff(500) < 90);
}

#[test]
fn frames_before_their_address_is_learned_are_flooded() {
    let config = EthernetSwitchConfig {
        learning_path: Some(LearningConfig {
            delay_ns: Latency::from_ps(START_PS + 100 * SLOT_64_PS),
            rate_fps: Whole::of(0),
            queue_frames: Whole::of(16),
        }),
        ..Default::default()
    };
    let network = run(config, 4_096, vec![flood_of_frames(0, 1, 1_000), hello(1)]);
    let counters = dut(&network).counters;
    assert!(counters["flooded_unknown"].abs_diff(100) <= 2, "{counters:?}");
    assert_eq!(counters["not_asked"], 0, "each station asks once");
}

#[test]
fn a_vlan_ends_at_its_ports() {
    let mode = |port, vid| VlanPort { port, mode: VlanMode::Access(Whole::of(vid)) };
    let config = EthernetSwitchConfig {
        vlans: Some(VlanConfig { ports: vec![mode(1, 10), mode(2, 10), mode(3, 20), mode(4, 20)] }),
        ..Default::default()
    };
    let streams = vec![hello(0), hello(2)];
    let mut network = run(config, 64, streams);
    let counts: Vec<usize> = (0..4).map(|port| received(&mut network, port).len()).collect();
    assert_eq!(counts, [0, 1, 0, 1], "a broadcast reaches the other port of its VLAN");
}

#[test]
fn bit_errors_of_a_cable_end_in_the_fcs_filter() {
    let text = r#"{"seed": 5,
        "tester": {"ports": [], "loop": {"port": 509, "rate_bps": 100000000000}},
        "nodes": [
          {"name": "a", "device": "host", "ports": [{"number": 1, "rate_bps": 1000000000}]},
          {"name": "b", "device": "host", "ports": [{"number": 1, "rate_bps": 1000000000}]},
          {"name": "dut", "device": "ethernet_switch",
           "ports": [{"number": 1, "rate_bps": 1000000000}, {"number": 2, "rate_bps": 1000000000}],
           "filter_bad_fcs": true}],
        "links": [
          {"from": {"node": "a", "port": 1}, "to": {"node": "dut", "port": 1},
           "bit_errors_per_1e15": 100000000000},
          {"from": {"node": "dut", "port": 2}, "to": {"node": "b", "port": 1}}]}"#;
    let run = |text: &str| {
        let mut network = Network::from_json(text).unwrap();
        for _ in 0..1_000 {
            let bytes = frame([0xff; 6], mac(0), 64);
            network.host_send("a", 1, &bytes).unwrap();
        }
        network.run_until(SECOND_PS).unwrap();
        let lost = drops(&network, "bad_fcs");
        (network.host_take("b").unwrap().len() as u64, lost)
    };
    // 512 bits at 1e-4: 1 - (1 - 1e-4)^512 = 5 % of the frames.
    let (arrived, lost) = run(text);
    assert_eq!(arrived + lost, 1_000);
    assert!((30..75).contains(&lost), "{lost}");
    assert_eq!(run(text), (arrived, lost), "the same seed gives the same errors");
    let forwarding = text.replace("\"filter_bad_fcs\": true", "\"filter_bad_fcs\": false");
    assert_eq!(run(&forwarding), (1_000, 0));
}

#[test]
fn a_tap_copies_a_direction_and_adds_its_delay_only() {
    let text = r#"{
        "tester": {"ports": [], "loop": {"port": 509, "rate_bps": 100000000000}},
        "nodes": [
          {"name": "hosts", "device": "host", "ports": [
            {"number": 1, "rate_bps": 1000000000}, {"number": 2, "rate_bps": 1000000000},
            {"number": 3, "rate_bps": 1000000000}]},
          {"name": "tap", "device": "tap",
           "ports": [{"number": 1, "rate_bps": 1000000000}, {"number": 2, "rate_bps": 1000000000},
                     {"number": 3, "rate_bps": 1000000000}],
           "latency_ns": 7, "monitor_first": 3}],
        "links": [
          {"from": {"node": "hosts", "port": 1}, "to": {"node": "tap", "port": 1}},
          {"from": {"node": "hosts", "port": 2}, "to": {"node": "tap", "port": 2}},
          {"from": {"node": "hosts", "port": 3}, "to": {"node": "tap", "port": 3}}]}"#;
    let mut network = Network::from_json(text).unwrap();
    for _ in 0..3 {
        network.host_send("hosts", 1, &[1; 60]).unwrap();
    }
    network.host_send("hosts", 2, &[2; 60]).unwrap();
    network.run_until(SECOND_PS).unwrap();
    let mut seen: Vec<(u16, u64)> =
        network.host_take("hosts").unwrap().into_iter().map(|(port, at_ps, _)| (port, at_ps)).collect();
    seen.sort_unstable();
    let time = |n: u64| 64_000 + 7_000 + n * SLOT_64_PS;
    let expected =
        [(1, time(0)), (2, time(0)), (2, time(1)), (2, time(2)), (3, time(0)), (3, time(1)), (3, time(2))];
    assert_eq!(seen, expected);
}

#[test]
fn a_fabric_slot_limits_short_frames_of_a_port() {
    // A slot of 120.545 bytes of the line: 69.6875 % for 64 bytes, all of it from 128 on.
    let slot = |wire_bytes: usize| {
        let mut ports = gigabit_ports(2, 64);
        for port in &mut ports {
            port.line.set_min_slot_bits(964);
        }
        let mut stream = flood_of_frames(0, 1, 20_000);
        stream.frame = frame(mac(1), mac(0), wire_bytes);
        stream.interval_ps = (wire_bytes as u64 + 20) * 8_000;
        let device = EthernetSwitch::new(EthernetSwitchConfig::default(), Latency::default(), "dut", 1);
        let stations = [port(1, GIGABIT), port(2, GIGABIT)];
        let streams = vec![stream, hello(1)];
        let mut network = common::station_and(Box::new(device), &stations, &ports, streams, 0);
        network.run_until(SECOND_PS).unwrap();
        received(&mut network, 1).len() as u64
    };
    assert!(slot(64).abs_diff(20_000 * 672 / 964 + 64) <= 2, "{}", slot(64));
    assert_eq!(slot(128), 20_000);
}
