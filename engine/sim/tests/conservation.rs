//! No frame is lost without being counted, in random networks at random loads.

mod common;

use common::{frame, mac, port_with};
use p4mesh_sim::config::{Latency, PositiveSeconds, Whole};
use p4mesh_sim::device::{
    EthernetSwitch, EthernetSwitchConfig, Forwarding, LookupConfig, MacTableConfig, Station, Stream,
};
use p4mesh_sim::{NetworkBuilder, Rng, Truth};

const GIGABIT: u64 = 1_000_000_000;

/// A switch with random limits.
fn random_switch(rng: &mut Rng, name: &str) -> Box<EthernetSwitch> {
    let (forwarding, look_ahead_bytes) = match rng.below(2) {
        0 => (Forwarding::StoreAndForward, None),
        _ => {
            let look_ahead_bytes = Whole::of(14 + rng.below(200));
            (Forwarding::CutThrough, Some(look_ahead_bytes))
        }
    };
    let ways = (rng.below(2) == 0).then_some(Whole::of(2));
    let latency = Latency::from_ps(rng.below(5_000_000));
    let config = EthernetSwitchConfig {
        forwarding,
        look_ahead_bytes,
        mac_table: MacTableConfig {
            entries: Whole::of(2 + 2 * rng.below(8)),
            aging_s: PositiveSeconds::from_ps(rng.below(1_000_000_000)),
            ways,
            ..Default::default()
        },
        lookup: (rng.below(2) == 0).then_some(LookupConfig {
            capacity_fps: Whole::of(100_000 + rng.below(2_000_000)),
            overload_pass_ppm: Whole::of(rng.below(500_000)),
            burst_frames: Whole::of(1 + rng.below(64)),
        }),
        loss_ppb: Whole::of(rng.below(100_000_000)),
        max_frame_bytes: Whole::of(200 + rng.below(2_000)),
        ..Default::default()
    };
    Box::new(EthernetSwitch::new(config, latency, name, rng.next()))
}

/// Each frame that a switch took in went out, was copied or was counted.
fn check(truth: &Truth, name: &str) {
    let node = &truth.nodes[name];
    let sum = |of: &dyn Fn(&p4mesh_sim::PortTruth) -> u64| node.ports.values().map(of).sum::<u64>();
    let received = sum(&|port| port.rx_frames);
    let sent = sum(&|port| port.tx_frames);
    let floods = node.counters["flooded_unknown"] + node.counters["flooded_group"];
    let at_input = |port: &p4mesh_sim::PortTruth| -> u64 {
        let input = ["undersize", "oversize", "same_port", "lookup_overload", "random_loss"];
        input.iter().filter_map(|cause| port.drops.get(cause)).sum()
    };
    let queue_full = sum(&|port| port.drops.get("queue_full").copied().unwrap_or(0));
    assert_eq!(received, sum(&at_input) + node.counters["unicast"] + floods, "{name}: {node:?}");
    let ports = node.ports.len() as u64;
    assert_eq!(node.counters["unicast"] + floods * (ports - 1), sent + queue_full, "{name}: {node:?}");
}

#[test]
fn every_frame_is_accounted_for() {
    for seed in 0..40 {
        let mut rng = Rng::new(seed);
        let stations = 2 + rng.below(6) as usize;
        let stream = |it: usize, rng: &mut Rng| {
            let wire_bytes = 60 + rng.below(1_500) as usize;
            let target = rng.below(stations as u64 + 1) as usize;
            Stream {
                port: it,
                frame: frame(mac(target), mac(it), wire_bytes),
                start_ps: rng.below(10_000_000),
                interval_ps: 8_000 * (20 + wire_bytes as u64) * (100 + rng.below(300)) / 100,
                count: 1 + rng.below(500),
            }
        };
        let streams = (0..stations).map(|it| stream(it, &mut rng)).collect();
        let ports = |first: usize, count: usize, rng: &mut Rng| -> Vec<_> {
            let gap_bits = 80 + 8 * rng.below(8) as u32;
            let clock_ppb = rng.below(200_000) as i64 - 100_000;
            (first..first + count)
                .map(|id| port_with(id as u16, GIGABIT, clock_ppb, gap_bits, rng.below(20) as usize))
                .collect()
        };
        // Two switches with a trunk; half of the stations on each.
        let near = stations / 2;
        let mut builder = NetworkBuilder::default();
        let station_ports = ports(0, stations, &mut rng);
        let station = builder.device("station", Box::new(Station::new(stations, streams)), &station_ports);
        let left_ports = ports(0, near + 1, &mut rng);
        let left = builder.device("left", random_switch(&mut rng, "left"), &left_ports);
        let right_ports = ports(0, stations - near + 1, &mut rng);
        let right = builder.device("right", random_switch(&mut rng, "right"), &right_ports);
        for it in 0..stations {
            let end = if it < near { (left, it) } else { (right, it - near) };
            builder.link((station, it), end, rng.below(1_000_000));
        }
        builder.link((left, near), (right, stations - near), rng.below(1_000_000));
        let mut network = builder.build();
        network.run_until(1_000_000_000_000).unwrap();
        let truth = network.truth();
        assert_eq!(truth.in_flight_frames, 0);
        check(&truth, "left");
        check(&truth, "right");
        let sum = |of: fn(&p4mesh_sim::PortTruth) -> u64| -> u64 {
            truth.nodes.values().flat_map(|node| node.ports.values()).map(of).sum()
        };
        assert_eq!(sum(|port| port.tx_frames), sum(|port| port.rx_frames), "links lose nothing");
    }
}
