//! A wire between two ports carries line rate, exactly, at every rate and frame size.

mod common;

use common::{frame, mac, port};
use p4mesh_sim::device::{Station, Stream};
use p4mesh_sim::{Network, NetworkBuilder};

const SIZES: [usize; 10] = [64, 86, 90, 128, 256, 512, 1024, 1518, 4096, 9216];

fn wire(rate_bps: u64, wire_bytes: usize, interval_ps: u64, count: u64, delay_ps: u64) -> Network {
    let mut builder = NetworkBuilder::default();
    let stream =
        Stream { port: 0, frame: frame(mac(2), mac(1), wire_bytes), start_ps: 0, interval_ps, count };
    let a = builder.device("a", Box::new(Station::new(1, vec![stream])), &[port(1, rate_bps)]);
    let mut sink = Station::new(1, Vec::new());
    sink.record = true;
    let b = builder.device("b", Box::new(sink), &[port(1, rate_bps)]);
    builder.link((a, 0), (b, 0), delay_ps);
    builder.build()
}

#[test]
fn full_load_delivers_what_the_formula_says() {
    // Goal: floor(T * R / (8 (L + 20))) frames in T, to one frame. Method: offer 10 % more than the
    // line takes (all frames at once, sent back to back) and count what has arrived at T.
    for rate_gbps in [1, 10, 25, 40, 100, 400] {
        let rate_bps = rate_gbps * 1_000_000_000;
        let trial_ps = 2_000_000_000 / rate_gbps;
        for size in SIZES {
            let slot_bits = 8 * (size as u64 + 20);
            let expected =
                (u128::from(trial_ps) * u128::from(rate_bps) / 1_000_000_000_000) as u64 / slot_bits;
            let mut network = wire(rate_bps, size, 0, expected + expected / 10 + 10, 0);
            network.run_until(trial_ps).unwrap();
            let received = network.device::<Station>(1).unwrap().received[0];
            assert!(
                received.abs_diff(expected) <= 1,
                "{rate_gbps}G {size} B: {received}, expected {expected}"
            );
        }
    }
}

#[test]
fn latency_is_the_delay_of_the_link_and_the_time_of_the_bits() {
    for (rate_bps, byte_ps) in [(1_000_000_000, 8_000), (25_000_000_000, 320), (400_000_000_000, 20)] {
        let mut network = wire(rate_bps, 64, 10_000_000, 3, 12_345);
        network.run_until(40_000_000).unwrap();
        for (index, received) in network.device::<Station>(1).unwrap().log.iter().enumerate() {
            let first_bit_ps = index as u64 * 10_000_000 + 8 * byte_ps + 12_345;
            assert_eq!(received.first_bit_ps, first_bit_ps);
            assert_eq!(received.last_bit_ps, first_bit_ps + 64 * byte_ps);
        }
    }
}

#[test]
fn a_link_that_is_down_loses_and_counts_frames() {
    let mut network = wire(1_000_000_000, 64, 1_000_000, 10, 0);
    network.run_until(3_900_000).unwrap();
    network.set_link("a", 1, false).unwrap();
    network.run_until(6_500_000).unwrap();
    network.set_link("b", 1, true).unwrap();
    network.run_until(20_000_000).unwrap();
    assert_eq!(network.device::<Station>(1).unwrap().received[0], 7);
    let truth = network.truth();
    assert_eq!(truth.nodes["a"].ports[&1].drops["link_down"], 3);
    assert_eq!(truth.in_flight_frames, 0);
}

#[test]
fn time_does_not_run_backwards() {
    let mut network = wire(1_000_000_000, 64, 1_000_000, 1, 0);
    network.run_until(10).unwrap();
    let message = network.run_until(9).unwrap_err().to_string();
    assert_eq!(message, "cannot run to 9 ps: the clock is at 10 ps");
}
