//! Replication, clones, resubmit, recirculation, truncation and digests, as simple_switch does them.

mod common;

use common::*;
use p4mesh_pipeline::*;

const TAIL: [u8; 4] = [0xde, 0xad, 0xbe, 0xef];

fn frame(op: u8, argument: u8) -> Vec<u8> {
    let mut frame = vec![op, argument, 0, 0, 0, 0, 0, 0, 0];
    frame.extend(TAIL);
    frame
}

/// The record of a frame: instance type, ingress port, egress port, rid, passes.
fn record(frame: &[u8]) -> [u8; 5] {
    assert_eq!(&frame[frame.len() - 4..], TAIL);
    assert_eq!(frame[7..9], [0, 13], "packet_length");
    [frame[2], frame[3], frame[4], frame[5], frame[6]]
}

#[test]
fn unicast_keeps_metadata_within_a_pass() {
    let mut target = load("copies");
    let (port, sent) = target.send_one(3, &frame(0, 0));
    assert_eq!((port, record(&sent)), (1, [0, 3, 1, 0, 0]));
}

#[test]
fn multicast_makes_a_copy_per_replica() {
    let mut target = load("copies");
    let replica = |port, instance| Replica { port, instance };
    target.switch.multicast_insert(4, &[replica(7, 2), replica(5, 2), replica(6, 1)]).unwrap();
    let sent = target.send(3, &frame(1, 4));
    let seen: Vec<(u16, [u8; 5])> = sent.iter().map(|(port, frame)| (*port, record(frame))).collect();
    assert_eq!(seen, [(6, [5, 3, 6, 1, 0]), (5, [5, 3, 5, 2, 0]), (7, [5, 3, 7, 2, 0])]);
    assert!(target.send(3, &frame(1, 5)).is_empty());
    assert_eq!(target.drops, [DropReason::EmptyMulticastGroup]);
}

/// The first copy goes on with the slots that its ingress has left, all others with those that were put aside.
#[test]
fn copies_are_the_same_whatever_runs_between_them() {
    let mut target = load("copies");
    let replicas: Vec<Replica> = [(7, 2), (5, 3)].map(|(port, instance)| Replica { port, instance }).into();
    target.switch.multicast_insert(4, &replicas).unwrap();
    let session = CloneSession { replicas: vec![replicas[0]], ..CloneSession::default() };
    target.switch.clone_session_insert(6, &session).unwrap();
    let send = |target: &mut Target, between: &[Vec<u8>]| -> Vec<(u16, [u8; 5])> {
        let packet = |frame: Vec<u8>| IngressPacket {
            port: 3,
            frame,
            instance_type: InstanceType::Normal,
            preserved: Preserved::default(),
        };
        target.switch.ingress(packet(frame(1, 4)), 0, 0, &mut target.out);
        let copies: Vec<Output> = target.out.items.drain(..).collect();
        let mut sent = Vec::new();
        for copy in copies {
            for other in between {
                target.switch.ingress(packet(other.clone()), 0, 0, &mut target.out);
                target.out.items.clear();
            }
            let Output::Enqueue(copy) = copy else { panic!() };
            target.switch.egress(copy, &EgressTimes::default(), &mut target.out);
            let Some(Output::Transmit { port, frame }) = target.out.items.pop() else { panic!() };
            sent.push((port, record(&frame)));
        }
        sent
    };
    let expected = send(&mut target, &[]);
    let mut in_order = expected.clone();
    in_order.sort();
    assert_eq!(in_order, [(5, [5, 3, 5, 3, 0]), (7, [5, 3, 7, 2, 0])]);
    assert_eq!(send(&mut target, &[frame(0, 9)]), expected);
    assert_eq!(send(&mut target, &[frame(2, 6), frame(1, 4)]), expected);
}

#[test]
fn ingress_clone_is_the_original_frame_with_the_field_list() {
    let mut target = load("copies");
    let session =
        CloneSession { replicas: vec![Replica { port: 8, instance: 3 }], ..CloneSession::default() };
    target.switch.clone_session_insert(6, &session).unwrap();
    let sent = target.send(3, &frame(2, 6));
    // The clone comes first; its headers are those of the frame as it arrived (port field 0),
    // its metadata that of the field list as ingress left it.
    assert_eq!((sent[0].0, record(&sent[0].1)), (8, [1, 0, 8, 3, 9]));
    assert_eq!((sent[1].0, record(&sent[1].1)), (1, [0, 3, 1, 0, 0]));
    assert_eq!(target.send(3, &frame(2, 7)).len(), 1);
    assert_eq!(target.drops, [DropReason::UnknownCloneSession]);
}

#[test]
fn clones_are_cut_to_the_session_length_and_class() {
    let mut target = load("copies");
    let session = CloneSession {
        replicas: vec![Replica { port: 8, instance: 0 }],
        class_of_service: 5,
        packet_length_bytes: 9,
    };
    target.switch.clone_session_insert(6, &session).unwrap();
    let sent = target.send(3, &frame(2, 6));
    assert_eq!((sent[0].1.len(), sent[1].1.len()), (9, 13));
    assert_eq!(target.switch.clone_session_read(6).unwrap(), session);
}

#[test]
fn egress_clone_takes_the_headers_of_that_moment() {
    let mut target = load("copies");
    let session =
        CloneSession { replicas: vec![Replica { port: 9, instance: 0 }], ..CloneSession::default() };
    target.switch.clone_session_insert(6, &session).unwrap();
    let sent = target.send(3, &frame(5, 6));
    assert_eq!((sent[0].0, record(&sent[0].1)), (1, [0, 3, 1, 0, 77]));
    assert_eq!((sent[1].0, record(&sent[1].1)), (9, [2, 3, 9, 0, 4]));
}

#[test]
fn resubmit_starts_over_with_the_field_list() {
    let mut target = load("copies");
    let (_, sent) = target.send_one(3, &frame(3, 0));
    // Metadata outside of the list is lost, the ingress port too; two resubmits, three passes.
    assert_eq!(record(&sent), [0, 0, 1, 0, 2]);
    assert_eq!(target.switch.register_read("In.seen", 0).unwrap(), [0, 0, 0, 3]);
}

#[test]
fn endless_resubmit_is_a_counted_drop() {
    let mut target = load_with("copies", SwitchConfig { pass_limit: 10, ..SwitchConfig::default() });
    assert!(target.send(3, &frame(8, 0)).is_empty());
    assert_eq!(target.drops, [DropReason::PassLimit]);
    assert_eq!(target.switch.register_read_u64("In.seen", 0, 1).unwrap(), [11]);
}

#[test]
fn recirculation_carries_changed_headers() {
    let mut target = load("copies");
    let (_, sent) = target.send_one(3, &frame(4, 3));
    assert_eq!(sent[1], 2);
    assert_eq!(record(&sent), [0, 0, 1, 0, 5]);
}

#[test]
fn truncation_counts_from_the_first_byte() {
    let mut target = load("copies");
    let (_, sent) = target.send_one(3, &frame(7, 11));
    assert_eq!((sent.len(), &sent[9..]), (11, &TAIL[..2]));
}

#[test]
fn digests_carry_their_fields() {
    let mut target = load("copies");
    assert!(target.send(3, &frame(6, 0)).is_empty());
    assert_eq!(target.drops, [DropReason::Ingress]);
    let id = target.switch.program().digests()[0].id;
    assert_eq!(target.digests, [(id, vec![vec![6], vec![0, 3]])]);
}

#[test]
fn oversize_and_short_frames_do_no_harm() {
    let mut target = load_with("copies", SwitchConfig { max_frame_bytes: 20, ..SwitchConfig::default() });
    assert!(target.send(3, &[0; 21]).is_empty());
    assert_eq!(target.drops, [DropReason::Oversize]);
    for length in 0..9 {
        let bytes = frame(0, 0);
        let (_, sent) = target.send_one(3, &bytes[..length]);
        assert_eq!(sent.len(), length, "an unparsed frame is payload");
    }
}

/// In steady state buffers go round: a thousand frames leave the pool as large as ten do.
#[test]
fn buffers_are_reused() {
    let mut target = load("copies");
    let mut frames = Vec::new();
    for _ in 0..1_000 {
        let mut buffer = target.out.pool.take();
        frames.push(buffer.capacity() > 0);
        buffer.extend(frame(0, 0));
        let packet = IngressPacket {
            port: 3,
            frame: buffer,
            instance_type: InstanceType::Normal,
            preserved: Preserved::default(),
        };
        target.switch.ingress(packet, 0, 0, &mut target.out);
        let Some(Output::Enqueue(packet)) = target.out.items.pop() else { panic!() };
        target.switch.egress(packet, &EgressTimes::default(), &mut target.out);
        let Some(Output::Transmit { frame, .. }) = target.out.items.pop() else { panic!() };
        target.out.pool.give(frame);
    }
    assert!(frames[1..].iter().all(|&reused| reused));
}
