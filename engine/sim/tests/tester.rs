//! The tester node with a small P4 program (`programs/stamps.p4`): time stamps, queues, the loop.

use std::sync::Arc;

use p4mesh_pipeline::{Executable, Program};
use p4mesh_sim::{Network, Settling};

const GIGABIT_BYTE_PS: u64 = 8_000;
const SEND: u8 = 0;
const LOOP: u8 = 1;
const RESUBMIT: u8 = 2;
const CIRCLE: u8 = 3;
const DELAY_PS: u64 = 12_345;
const LOOP_LATENCY_PS: u64 = 500_000;

/// Ports 1 and 2 on a wire; 3 and 4 on a switch; 5 without a link.
const DOCUMENT: &str = r#"{
    "tester": {
        "clock_tick_ps": 1,
        "ports": [
            {"number": 1, "rate_bps": 1000000000, "queue_frames": 16},
            {"number": 2, "rate_bps": 1000000000},
            {"number": 3, "rate_bps": 1000000000},
            {"number": 4, "rate_bps": 1000000000, "rx_stamp_offset_ns": -580},
            {"number": 5, "rate_bps": 1000000000}
        ],
        "loop": {"port": 509, "rate_bps": 100000000000, "latency_ns": 500, "queue_frames": 32}
    },
    "nodes": [{
        "name": "dut", "device": "ethernet_switch",
        "ports": [{"number": 1, "rate_bps": 1000000000}, {"number": 2, "rate_bps": 1000000000}],
        "forwarding": "cut_through", "look_ahead_bytes": 122, "latency_ns": 1720
    }],
    "links": [
        {"from": {"node": "tester", "port": 1}, "to": {"node": "tester", "port": 2}, "latency_ns": 12.345},
        {"from": {"node": "tester", "port": 3}, "to": {"node": "dut", "port": 1}},
        {"from": {"node": "tester", "port": 4}, "to": {"node": "dut", "port": 2}}
    ]
}"#;

fn network() -> Network {
    let mut network = Network::from_json(DOCUMENT).unwrap();
    let program = Program::from_json(include_str!("programs/stamps.json")).unwrap();
    network.set_program(Arc::new(Executable::new(program)));
    network
}

/// An order for the program, `wire_bytes` long with FCS.
fn order(kind: u8, passes: u16, port: u16, priority: u8, wire_bytes: usize) -> Vec<u8> {
    let mut frame = vec![0xff; 6];
    frame.extend_from_slice(&[2, 0, 0, 0, 0, 1, 0x88, 0xb5, kind, priority]);
    frame.extend_from_slice(&passes.to_be_bytes());
    frame.extend_from_slice(&port.to_be_bytes());
    frame.resize(wire_bytes - 4, 0);
    frame
}

/// Content of a packet-in: times of sending and receiving, depth of the queue.
#[derive(Debug, PartialEq, Eq)]
struct Report {
    sent_ps: u64,
    received_ps: u64,
    depth: u32,
    priority: u8,
}

fn reports(network: &mut Network) -> Vec<Report> {
    let number = |bytes: &[u8]| bytes.iter().fold(0u64, |value, byte| value << 8 | u64::from(*byte));
    let parse = |frame: Vec<u8>| Report {
        sent_ps: number(&frame[20..26]),
        received_ps: number(&frame[26..32]),
        depth: number(&frame[38..42]) as u32,
        priority: frame[15],
    };
    std::iter::from_fn(|| network.take_packet_in()).map(parse).collect()
}

fn settle(network: &mut Network) {
    let limit_ps = network.now_ps() + 1_000_000_000_000;
    assert_eq!(network.settle_some(limit_ps, u64::MAX), Settling::Quiet);
}

#[test]
fn over_a_wire_the_difference_of_the_stamps_is_its_delay() {
    for wire_bytes in [64, 65, 1_518, 9_216] {
        let mut network = network();
        network.run_until(777).unwrap();
        network.packet_out(order(SEND, 0, 1, 0, wire_bytes));
        assert_eq!(network.in_flight(), 1);
        settle(&mut network);
        let sent_ps = 777 + 8 * GIGABIT_BYTE_PS;
        let expected = Report { sent_ps, received_ps: sent_ps + DELAY_PS, depth: 0, priority: 0 };
        assert_eq!(reports(&mut network), [expected]);
        let arrival_ps = sent_ps + DELAY_PS + wire_bytes as u64 * GIGABIT_BYTE_PS;
        assert_eq!(network.now_ps(), arrival_ps, "ingress runs when the last bit is there");
    }
}

#[test]
fn through_a_switch_the_difference_is_its_first_bit_latency() {
    for wire_bytes in [64, 122, 1_518] {
        let mut network = network();
        network.packet_out(order(SEND, 0, 3, 0, wire_bytes));
        settle(&mut network);
        let report = reports(&mut network).pop().unwrap();
        let latency_ps = 1_720_000 + wire_bytes.min(122) as u64 * GIGABIT_BYTE_PS;
        assert_eq!(
            report.received_ps - report.sent_ps,
            latency_ps - 580_000,
            "less the stamp offset of port 4"
        );
    }
}

#[test]
fn a_queue_serves_in_order_at_line_rate_and_drops_what_is_too_much() {
    let mut network = network();
    for _ in 0..20 {
        network.packet_out(order(SEND, 0, 1, 0, 64));
    }
    assert_eq!(network.in_flight(), 17, "one on the wire, 16 in the queue");
    settle(&mut network);
    let sent: Vec<u64> = reports(&mut network).iter().map(|report| report.sent_ps).collect();
    let expected: Vec<u64> = (0..17).map(|slot| (8 + 84 * slot) * GIGABIT_BYTE_PS).collect();
    assert_eq!(sent, expected);
    assert_eq!(network.truth().nodes["tester"].ports[&1].drops["queue_full"], 3);
}

#[test]
fn the_higher_priority_goes_first() {
    let mut network = network();
    for priority in [0, 1, 7, 3, 7] {
        network.packet_out(order(SEND, 0, 1, priority, 64));
    }
    settle(&mut network);
    let priorities: Vec<u8> = reports(&mut network).iter().map(|report| report.priority).collect();
    assert_eq!(priorities, [0, 7, 7, 3, 1], "the first found the port idle");
}

#[test]
fn a_round_of_the_loop_takes_wire_time_and_latency() {
    let mut network = network();
    network.packet_out(order(LOOP, 10, 1, 0, 64));
    assert_eq!(network.in_flight(), 0, "the loop does not count");
    assert_eq!(network.truth().circulating_frames, 1);
    network.run_until(1_000_000_000).unwrap();
    let round_ps = LOOP_LATENCY_PS + 72 * 80;
    assert_eq!(reports(&mut network)[0].sent_ps, 10 * round_ps + 8 * GIGABIT_BYTE_PS);
}

#[test]
fn the_loop_is_bounded() {
    let mut network = network();
    for _ in 0..100 {
        network.packet_out(order(CIRCLE, 0, 0, 0, 64));
    }
    network.run_until(10_000_000).unwrap();
    let truth = network.truth();
    let dropped = truth.nodes["tester"].ports[&509].drops["loop_full"];
    assert_eq!((truth.circulating_frames, dropped), (33, 67), "one on the wire, 32 in the queue");
}

#[test]
fn endless_resubmission_ends() {
    let mut network = network();
    network.packet_out(order(RESUBMIT, 0, 0, 0, 64));
    assert_eq!(network.truth().nodes["tester"].drops["pass_limit"], 1);
}

#[test]
fn short_frames_are_padded_and_lost_frames_are_counted() {
    let mut network = network();
    network.packet_out(order(SEND, 0, 1, 0, 50));
    network.packet_out(order(SEND, 0, 5, 0, 64));
    network.packet_out(order(SEND, 0, 9, 0, 64));
    network.packet_out(vec![0; 3]);
    settle(&mut network);
    let truth = network.truth();
    let tester = &truth.nodes["tester"];
    assert_eq!((tester.ports[&2].rx_frames, tester.ports[&2].rx_bytes), (1, 64));
    assert_eq!(tester.ports[&5].drops["unconnected"], 1);
    assert_eq!((tester.drops["unknown_port"], tester.drops["program_ingress"]), (1, 1));
}

#[test]
fn without_a_program_frames_are_counted_and_a_new_program_starts_afresh() {
    let mut network = Network::from_json(DOCUMENT).unwrap();
    network.packet_out(order(SEND, 0, 1, 0, 64));
    assert_eq!(network.truth().nodes["tester"].drops["no_program"], 1);
    let program = Program::from_json(include_str!("programs/stamps.json")).unwrap();
    let executable = Arc::new(Executable::new(program));
    network.set_program(executable.clone());
    network.packet_out(order(CIRCLE, 0, 0, 0, 64));
    network.packet_out(order(SEND, 0, 1, 0, 64));
    network.packet_out(order(SEND, 0, 1, 0, 64));
    network.set_program(executable);
    let truth = network.truth();
    assert_eq!(
        (truth.circulating_frames, truth.in_flight_frames),
        (0, 1),
        "only what is on the wire is left"
    );
    settle(&mut network);
    assert_eq!(network.packet_ins_total(), 1);
}

#[test]
fn a_run_to_the_next_packet_in_ends_when_the_frame_is_there() {
    let mut network = network();
    network.packet_out(order(SEND, 0, 1, 0, 64));
    network.packet_out(order(SEND, 0, 1, 0, 64));
    let arrival_ps = 8 * GIGABIT_BYTE_PS + DELAY_PS + 64 * GIGABIT_BYTE_PS;
    let limit_ps = 1_000_000_000;
    // The limit of events does not hide a packet-in that the last of them brings.
    while !network.run_some_to_packet_in(limit_ps, 1).unwrap() {}
    assert_eq!((network.now_ps(), network.packet_ins_total()), (arrival_ps, 1));
    assert!(network.run_some_to_packet_in(limit_ps, u64::MAX).unwrap());
    assert_eq!((network.now_ps(), network.packet_ins_total()), (arrival_ps + 84 * GIGABIT_BYTE_PS, 2));
    assert!(network.run_some_to_packet_in(limit_ps, u64::MAX).unwrap());
    assert_eq!(
        (network.now_ps(), network.packet_ins_total()),
        (limit_ps, 2),
        "without a frame it is the limit of time"
    );
}

#[test]
fn the_same_calls_give_the_same_result() {
    let run = || {
        let mut network = network();
        for passes in 0..50 {
            network.packet_out(order(
                LOOP,
                passes,
                1 + passes % 4,
                passes as u8 % 8,
                64 + usize::from(passes),
            ));
            network.run_until(network.now_ps() + 100_000).unwrap();
        }
        network.run_until(1_000_000_000).unwrap();
        (reports(&mut network), format!("{:?}", network.truth()))
    };
    assert_eq!(run(), run());
}
