//! Every way in which a pass ends a packet has a reason of its own (`handwritten/endings.json` has constructs that no
//! compiler writes).

use std::sync::Arc;

use p4mesh_pipeline::{
    Dispatch, DropReason, EgressPacket, EgressTimes, Executable, Execution, Frame, IngressPacket,
    InstanceType, Outputs, Passes, Preserved, Program, Switch, SwitchConfig,
};

/// A target that notes the outputs that it is handed; queues hold nothing, a packet has its egress at once.
struct Notes {
    switch: Switch,
    out: Outputs,
    passes_left: u32,
    seen: Vec<String>,
}

impl Notes {
    fn new(passes: u32) -> Notes {
        let program = Program::from_json(include_str!("handwritten/endings.json")).expect("a program");
        let switch = Switch::new(Arc::new(Executable::new(program)), SwitchConfig::default());
        Notes { switch, out: Outputs::default(), passes_left: passes, seen: Vec::new() }
    }

    fn send(&mut self, frame: &[u8]) -> Vec<String> {
        let packet = IngressPacket {
            port: 1,
            frame: frame.to_vec(),
            instance_type: InstanceType::Normal,
            preserved: Preserved::default(),
        };
        assert!(self.ingress(packet, 0, 0).is_none(), "nothing is resubmitted");
        std::mem::take(&mut self.seen)
    }
}

impl Dispatch for Notes {
    fn passes(&mut self) -> Option<Passes<'_>> {
        Some(Passes { switch: &mut self.switch, out: &mut self.out, left: &mut self.passes_left })
    }

    fn enqueue(&mut self, packet: EgressPacket) {
        self.seen.push(format!("enqueue {}", packet.egress_port));
        self.egress(packet, &EgressTimes::default());
    }

    fn begin_egress(&mut self, port: u16) -> Option<EgressTimes> {
        self.seen.push(format!("egress {port}"));
        Some(EgressTimes::default())
    }

    fn transmit(&mut self, port: u16, frame: Frame) {
        self.seen.push(format!("transmit {port} {frame:?}"));
    }

    fn recirculate(&mut self, _: IngressPacket) {
        self.seen.push("recirculate".to_string());
    }

    fn digest(&mut self, digest: u32, _: Vec<Vec<u8>>) {
        self.seen.push(format!("digest {digest}"));
    }

    fn drop(&mut self, reason: DropReason) {
        self.seen.push(format!("drop {reason:?}"));
    }

    fn exhausted(&mut self) {
        self.seen.push("exhausted".to_string());
    }
}

#[test]
fn every_ending_has_a_reason_of_its_own() {
    for execution in [Execution::Native, Execution::Interpreted] {
        let mut target = Notes::new(1_000);
        target.switch.set_execution(execution);
        assert_eq!(target.send(&[1, 9]), ["drop LoopLimit"]);
        assert_eq!(target.send(&[2, 9]), ["drop AssertionFailed"]);
        assert_eq!(target.send(&[3, 9]), ["drop UnknownQueue"]);
        assert_eq!(target.send(&[0, 9]), ["egress 1", "transmit 1 [0, 9]"]);
        assert_eq!(target.send(&[0; 70_000]), ["drop Oversize"]);
    }
}

#[test]
fn a_packet_without_a_pass_left_ends() {
    let mut target = Notes::new(3);
    assert_eq!(target.send(&[0]), ["egress 1", "transmit 1 [0]"]);
    assert_eq!(target.send(&[0]), ["egress 1", "exhausted"], "before egress");
    assert_eq!(target.send(&[0]), ["exhausted"], "before ingress");
}
