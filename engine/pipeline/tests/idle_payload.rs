//! A proof applies to packets with another payload, unless the pass looks at the payload.

use std::sync::Arc;

use p4mesh_pipeline::{
    Executable, IdleProbe, IngressPacket, InstanceType, LoopPass, Preserved, Program, Switch, SwitchConfig,
};

/// A frame whose first two bytes are the checksum of the others.
const SUMMED: [u8; 6] = [0xfb, 0xf9, 1, 2, 3, 4];

fn switch(program: &str) -> Switch {
    let program = Program::from_json(program).expect("a program");
    Switch::new(Arc::new(Executable::new(program)), SwitchConfig::default())
}

/// Whether the pass of one frame is idle by the proof of another one.
fn is_like(switch: &Switch, proved: &[u8], other: &[u8]) -> bool {
    let packet = |frame: &[u8]| IngressPacket {
        port: 5,
        frame: frame.to_vec(),
        instance_type: InstanceType::Recirculated,
        preserved: Preserved::default(),
    };
    let (first, second) = (packet(proved), packet(other));
    let pass = |packet| LoopPass { packet, last_stamp_ps: 1_000_000, stamp_ps: 2_000_000, former: None };
    let proof = switch.probe_idle(&mut IdleProbe::default(), &pass(&first)).expect("the pass is idle");
    switch.is_like(&proof, &pass(&second))
}

#[test]
fn a_pass_that_sums_the_payload_is_idle_with_this_payload_alone() {
    let switch = switch(include_str!("handwritten/payload_sum.json"));
    assert!(is_like(&switch, &SUMMED, &SUMMED));
    assert!(!is_like(&switch, &SUMMED, &[0xfb, 0xf9, 1, 2, 3, 5]));
}

#[test]
fn a_pass_that_leaves_the_payload_alone_is_idle_with_any_of_that_length() {
    let text = include_str!("handwritten/payload_sum.json").replace("\"update\": true", "\"update\": false");
    let switch = switch(&text);
    assert!(is_like(&switch, &SUMMED, &[0xfb, 0xf9, 1, 2, 3, 5]));
    assert!(!is_like(&switch, &SUMMED, &[0xfb, 0xf9, 1, 2, 3, 4, 5]));
}
