//! In steady state a pass allocates nothing, whatever the packet does.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use common::*;
use p4mesh_pipeline::*;

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Sends a frame and runs all passes that it causes with existing buffers.
fn round(target: &mut Target, queue: &mut Vec<Output>, frame: &[u8]) -> usize {
    let packet = IngressPacket {
        port: 3,
        frame: target.out.pool.copy_of(frame),
        instance_type: InstanceType::Normal,
        preserved: Preserved::default(),
    };
    let mut events = 0;
    target.switch.ingress(packet, 0, 0, &mut target.out);
    while !target.out.items.is_empty() {
        std::mem::swap(queue, &mut target.out.items);
        for item in queue.drain(..) {
            events += 1;
            match item {
                Output::Enqueue(packet) => {
                    target.switch.egress(packet, &EgressTimes::default(), &mut target.out);
                }
                Output::Reenter(packet) => target.switch.ingress(packet, 0, 0, &mut target.out),
                Output::Transmit { frame, .. } => target.out.pool.give(frame),
                Output::Digest { .. } | Output::Drop(_) => {}
            }
        }
    }
    events
}

#[test]
fn passes_allocate_nothing_in_steady_state() {
    for execution in [Execution::Native, Execution::Interpreted] {
        let mut copies = load("copies");
        copies.switch.set_execution(execution);
        let replicas: Vec<Replica> = (0..4).map(|port| Replica { port, instance: port }).collect();
        copies.switch.multicast_insert(4, &replicas).unwrap();
        let session = CloneSession { replicas, ..CloneSession::default() };
        copies.switch.clone_session_insert(4, &session).unwrap();
        let mut arithmetic = load("arithmetic");
        arithmetic.switch.set_execution(execution);
        let mut queue = Vec::new();
        // Unicast, multicast, clone, resubmit, recirculation, egress clone, truncation.
        let frames: Vec<Vec<u8>> =
            [0, 1, 2, 3, 4, 5, 7].iter().map(|&op| [&[op, 4], &[0; 60][..]].concat()).collect();
        let mut warm = 0;
        for turn in 0..100 {
            if turn == 50 {
                warm = ALLOCATIONS.with(Cell::get);
            }
            for frame in &frames {
                assert!(round(&mut copies, &mut queue, frame) >= 2);
            }
            assert_eq!(round(&mut arithmetic, &mut queue, &[turn; 60]), 2);
        }
        assert_eq!(ALLOCATIONS.with(Cell::get) - warm, 0, "{execution:?}");
    }
}
