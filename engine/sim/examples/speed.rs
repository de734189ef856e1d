//! Prints the cost of an event, beside that of the standard library's heap, and the speed of the device model path.
//!
//! `cargo run --release -p p4mesh-sim --example speed`

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant;

use p4mesh_sim::config::{Latency, Whole};
use p4mesh_sim::device::{EthernetSwitch, EthernetSwitchConfig, Forwarding, Station, Stream};
use p4mesh_sim::{Arrival, DevicePort, EventQueue, Line, NetworkBuilder, Rng, Source, STANDARD_GAP_BITS};

const TURNS: u32 = 100;
const ROUNDS: u32 = 100_000;

fn main() {
    for pending in [64, 1_024, 16_384] {
        event_queue(pending);
    }
    for (ports, rate_bps) in [(18, 1_000_000_000), (256, 100_000_000_000)] {
        switch_path(ports, rate_bps, 4_000_000);
    }
}

/// Replaces the first of `pending` events again and again, in the event queue and in a binary heap
/// that keeps the order of equal times as the queue does, in turns.
fn event_queue(pending: u32) {
    let mut rng = Rng::new(1);
    let (mut queue, mut landed) = (EventQueue::default(), Arrival::default());
    let (mut heap, mut number) = (BinaryHeap::new(), 0_u64);
    for port in 0..pending {
        let time_ps = rng.below(700_000);
        queue.schedule(time_ps, Source::Flight(port));
        heap.push(Reverse((time_ps, number, port)));
        number += 1;
    }
    let (mut queue_ns, mut heap_ns) = (f64::MAX, f64::MAX);
    for _ in 0..TURNS {
        queue_ns = queue_ns.min(nanoseconds(|| {
            let (time_ps, _, source) =
                queue.pop_by(u64::MAX - 1, &mut landed).expect("the queue is never empty");
            queue.schedule(time_ps + 600_000 + rng.below(100_000), source);
        }));
        heap_ns = heap_ns.min(nanoseconds(|| {
            let Reverse((time_ps, _, port)) = heap.pop().expect("the heap is never empty");
            heap.push(Reverse((time_ps + 600_000 + rng.below(100_000), number, port)));
            number += 1;
        }));
    }
    println!("event queue, {pending} pending: {queue_ns:.1} ns per event, binary heap {heap_ns:.1} ns");
}

/// Mean of many rounds. The quickest of many turns counts, so that other work on the machine does not show.
fn nanoseconds(mut round: impl FnMut()) -> f64 {
    let start = Instant::now();
    for _ in 0..ROUNDS {
        round();
    }
    start.elapsed().as_nanos() as f64 / f64::from(ROUNDS)
}

/// Pairs of stations at full load through one cut-through switch.
fn switch_path(ports: usize, rate_bps: u64, frames: u64) {
    let slot_ps = 8 * 84 * 1_000_000_000_000 / rate_bps;
    let mac = |station: usize| [2, 0, 0, 0, (station >> 8) as u8, station as u8];
    let stream = |port: usize| {
        let mut frame = vec![0; 60];
        frame[..6].copy_from_slice(&mac((port + 1) % ports));
        frame[6..12].copy_from_slice(&mac(port));
        let start_ps = port as u64 * slot_ps / ports as u64;
        Stream { port, frame, start_ps, interval_ps: slot_ps, count: frames / ports as u64 }
    };
    let line = Line::new(rate_bps, 0, STANDARD_GAP_BITS);
    let port = |id: usize| DevicePort { id: id as u16, line: line.clone(), queue_frames: 64 };
    let ports: Vec<DevicePort> = (0..ports).map(port).collect();
    let config = EthernetSwitchConfig {
        forwarding: Forwarding::CutThrough,
        look_ahead_bytes: Some(Whole::of(122)),
        ..Default::default()
    };
    let mut builder = NetworkBuilder::default();
    let station = Station::new(ports.len(), (0..ports.len()).map(stream).collect());
    let station = builder.device("station", Box::new(station), &ports);
    let switch = builder.device(
        "switch",
        Box::new(EthernetSwitch::new(config, Latency::from_ps(1_720_000), "switch", 1)),
        &ports,
    );
    for index in 0..ports.len() {
        builder.link((station, index), (switch, index), 5_000);
    }
    let mut network = builder.build();
    let start = Instant::now();
    network.run_until(1_000_000_000_000).expect("time goes forward");
    let seconds = start.elapsed().as_secs_f64();
    let received: u64 = network.device::<Station>(0).expect("the station").received.iter().sum();
    let events = network.events_done();
    println!(
        "{} ports: {received} frames sent, switched, received: {:.2} million frames/s, {:.1} ns per frame, {:.1} ns per event",
        ports.len(),
        received as f64 / seconds / 1e6,
        seconds * 1e9 / received as f64,
        seconds * 1e9 / events as f64,
    );
}
