//! A packet that a program ends is counted under the reason for which it ended, on the tester and
//! on a P4 device (`handwritten/endings.json` of the pipeline's tests).

use std::collections::BTreeMap;
use std::sync::Arc;

use p4mesh_pipeline::{Executable, Program};
use p4mesh_sim::Network;

const ENDINGS: &str = include_str!("../../pipeline/tests/handwritten/endings.json");
const MILLISECOND_PS: u64 = 1_000_000_000;

fn frame(kind: u8) -> Vec<u8> {
    let mut frame = vec![0; 60];
    frame[0] = kind;
    frame
}

fn counts(expected: &[(&'static str, u64)]) -> BTreeMap<&'static str, u64> {
    expected.iter().copied().collect()
}

/// One frame in a loop of the parser, two that fail an assertion, three for an unknown queue.
const KINDS: [u8; 6] = [1, 2, 2, 3, 3, 3];
const REASONS: [(&str, u64); 3] = [("assertion_failed", 2), ("loop_limit", 1), ("unknown_queue", 3)];

#[test]
fn the_tester_counts_every_reason_of_its_program() {
    let mut network =
        Network::from_json(r#"{"tester": {"ports": [], "loop": {"port": 509, "rate_bps": 100000000000}}}"#)
            .unwrap();
    let program = Program::from_json(ENDINGS).unwrap();
    network.set_program(Arc::new(Executable::new(program)));
    for kind in KINDS {
        network.packet_out(frame(kind));
    }
    let drops = &network.truth().nodes["tester"].drops;
    assert_eq!(*drops, counts(&REASONS));
    // A reason that does not occur is not named.
    network.packet_out(frame(0));
    let drops = &network.truth().nodes["tester"].drops;
    assert_eq!(drops["unknown_port"], 1, "port 1 is not there");
    assert_eq!(drops.len(), REASONS.len() + 1);
}

#[test]
fn a_p4_device_counts_every_reason_of_its_program_at_the_input() {
    let ports = r#"[{"number": 1, "rate_bps": 1000000000}]"#;
    let mut network = Network::from_json(&format!(
        r#"{{"tester": {{"ports": [], "loop": {{"port": 509, "rate_bps": 100000000000}}}},
            "nodes": [{{"name": "h", "device": "host", "ports": {ports}}},
                        {{"name": "dut", "device": "p4", "ports": {ports}, "program": {ENDINGS}}}],
            "links": [{{"from": {{"node": "h", "port": 1}}, "to": {{"node": "dut", "port": 1}}}}]}}"#,
    ))
    .unwrap();
    for kind in KINDS {
        network.host_send("h", 1, &frame(kind)).unwrap();
    }
    network.host_send("h", 1, &frame(0)).unwrap();
    network.run_until(MILLISECOND_PS).unwrap();
    let truth = network.truth();
    assert_eq!(truth.nodes["dut"].ports[&1].drops, counts(&REASONS));
    // Six frames of one pass, and one that also had its egress and came back.
    assert_eq!(truth.nodes["dut"].counters["passes"], 8);
    assert_eq!(network.host_take("h").unwrap().len(), 1);
}
