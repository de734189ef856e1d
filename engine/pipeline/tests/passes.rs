//! A packet has the same egress whether it comes at once or after passes of other packets.

mod common;

use std::collections::VecDeque;

use common::*;
use p4mesh_pipeline::*;

/// A target whose packets wait in a queue, unless they pass on at once.
struct Waiting {
    target: Target,
    at_once: bool,
    passes_left: u32,
    queue: VecDeque<EgressPacket>,
    sent: Vec<(u16, Vec<u8>)>,
}

impl Waiting {
    fn egress_of_all(&mut self) {
        while let Some(packet) = self.queue.pop_front() {
            self.egress(packet, &EgressTimes::default());
        }
    }
}

impl Dispatch for Waiting {
    fn passes(&mut self) -> Option<Passes<'_>> {
        let Target { switch, out, .. } = &mut self.target;
        Some(Passes { switch, out, left: &mut self.passes_left })
    }

    fn enqueue(&mut self, packet: EgressPacket) {
        if self.at_once {
            self.egress(packet, &EgressTimes::default());
        } else {
            self.queue.push_back(packet);
        }
    }

    fn begin_egress(&mut self, _: u16) -> Option<EgressTimes> {
        self.at_once.then(EgressTimes::default)
    }

    fn transmit(&mut self, port: u16, frame: Frame) {
        self.sent.push((port, frame));
    }

    fn recirculate(&mut self, packet: IngressPacket) {
        self.ingress(packet, 0, 0);
    }

    fn digest(&mut self, _: u32, _: Vec<Vec<u8>>) {}

    fn drop(&mut self, _: DropReason) {}

    fn exhausted(&mut self) {}
}

#[test]
fn a_packet_that_waits_leaves_as_one_that_does_not() {
    let mut sent = Vec::new();
    for at_once in [true, false] {
        let mut target = load("copies");
        for group in 1..8 {
            let replicas = [Replica { port: 5, instance: 1 }, Replica { port: 6, instance: 2 }];
            target.switch.multicast_insert(group, &replicas).unwrap();
            let session = CloneSession { replicas: replicas.to_vec(), ..CloneSession::default() };
            target.switch.clone_session_insert(group, &session).unwrap();
        }
        let mut waiting =
            Waiting { target, at_once, passes_left: 10_000, queue: VecDeque::new(), sent: Vec::new() };
        for first in 0..=255u8 {
            // Another packet has its ingress before the egress of this one, unless that comes at once.
            for second in [first, first.wrapping_add(1)] {
                let packet = IngressPacket {
                    port: 3,
                    frame: vec![second, first, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
                    instance_type: InstanceType::Normal,
                    preserved: Preserved::default(),
                };
                let again = waiting.ingress(packet, 0, 0);
                if let Some(packet) = again {
                    waiting.ingress(packet, 0, 0);
                }
            }
            waiting.egress_of_all();
        }
        waiting.sent.sort();
        sent.push(waiting.sent);
    }
    assert!(sent[0].len() > 256, "{}", sent[0].len());
    assert_eq!(sent[0], sent[1]);
}
