//! In steady state a frame costs no allocation.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

use common::{frame, mac, port, station_and};
use p4mesh_pipeline::{Executable, Program};
use p4mesh_sim::config::Latency;
use p4mesh_sim::device::{EthernetSwitch, EthernetSwitchConfig, Station, Stream};
use p4mesh_sim::Network;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// The system allocator, counting per thread.
struct Counting;

// SAFETY: everything is passed on to the system allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: as promised by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as promised by the caller.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: as promised by the caller.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations while the network runs to `until_ps`.
fn allocations(network: &mut Network, until_ps: u64) -> u64 {
    let before = ALLOCATIONS.with(Cell::get);
    network.run_until(until_ps).unwrap();
    ALLOCATIONS.with(Cell::get) - before
}

#[test]
fn frames_through_a_switch_allocate_nothing() {
    let stream = |it: usize| Stream {
        port: it,
        frame: frame(mac((it + 1) % 4), mac(it), 512),
        start_ps: 0,
        interval_ps: 532 * 8_000,
        count: 10_000,
    };
    let ports: Vec<_> = (1..=4).map(|id| port(id, 1_000_000_000)).collect();
    let switch = Box::new(EthernetSwitch::new(EthernetSwitchConfig::default(), Latency::default(), "dut", 1));
    let mut network = station_and(switch, &ports, &ports, (0..4).map(stream).collect(), 5_000);
    network.device::<Station>(0).unwrap().record = false;
    network.run_until(1_000_000_000).unwrap();
    let before = network.device::<Station>(0).unwrap().received[0];
    assert_eq!(allocations(&mut network, 20_000_000_000), 0);
    assert!(network.device::<Station>(0).unwrap().received[0] > before + 4_000);
}

#[test]
fn seeds_in_the_loop_allocate_nothing() {
    let document = r#"{"skip_idle_loops": false, "tester": {
        "ports": [{"number": 1, "rate_bps": 1000000000}],
        "loop": {"port": 509, "rate_bps": 100000000000, "latency_ns": 500}
    }}"#;
    let mut network = Network::from_json(document).unwrap();
    let program = Program::from_json(include_str!("programs/stamps.json")).unwrap();
    network.set_program(Arc::new(Executable::new(program)));
    for _ in 0..16 {
        let mut seed = frame(mac(2), mac(1), 64);
        // Kind 3: round the loop for ever.
        seed[14] = 3;
        network.packet_out(seed);
    }
    network.run_until(100_000_000).unwrap();
    assert_eq!(allocations(&mut network, 200_000_000), 0);
    assert_eq!(network.truth().circulating_frames, 16);
}
