//! Behaviour of simple_switch that P4 leaves open: results of limits, keys of invalid headers,
//! digests of several calls, variable fields of 2^31 bits and more, the order of members.

mod common;

use common::*;
use p4mesh_pipeline::*;

const TAIL: [u8; 12] = [0x10, 0x21, 0x32, 0x43, 0x54, 0x65, 0x76, 0x87, 0x98, 0xa9, 0xba, 0xcb];

fn frame(op: u8, argument: u8) -> Vec<u8> {
    [&[op, argument, 0, 0, 0, 0, 0], &TAIL[..]].concat()
}

/// `packet_length` as egress saw it.
fn length(frame: &[u8]) -> u16 {
    u16::from_be_bytes([frame[3], frame[4]])
}

#[test]
fn clones_of_cut_frames_are_whole() {
    let mut target = load("details");
    let session =
        CloneSession { replicas: vec![Replica { port: 9, instance: 0 }], ..CloneSession::default() };
    target.switch.clone_session_insert(6, &session).unwrap();
    let sent = target.send(3, &frame(0, 8));
    let seen: Vec<(u16, usize, u16)> =
        sent.iter().map(|(port, frame)| (*port, frame.len(), length(frame))).collect();
    assert_eq!(seen, [(1, 8, 19), (9, 19, 19)]);
}

#[test]
fn frames_that_make_another_pass_and_replicas_are_whole() {
    let mut target = load("details");
    let (_, recirculated) = target.send_one(3, &frame(1, 8));
    assert_eq!((recirculated.len(), length(&recirculated)), (19, 19));
    // The second pass cuts again, and that pass sends.
    let (_, resubmitted) = target.send_one(3, &frame(6, 8));
    assert_eq!((resubmitted.len(), length(&resubmitted)), (8, 19));
    target.switch.multicast_insert(1, &[Replica { port: 4, instance: 0 }]).unwrap();
    let (port, replica) = target.send_one(3, &frame(7, 8));
    assert_eq!((port, replica.len(), length(&replica)), (4, 19, 19));
}

#[test]
fn checksums_cover_the_payload_up_to_the_limit() {
    let mut target = load("details");
    for limit in [7usize, 8, 9, 12, 200] {
        let (_, sent) = target.send_one(3, &frame(4, limit as u8));
        assert_eq!(sent.len(), limit.min(19));
        let mut covered = [&[4, limit as u8], &TAIL[..limit.min(TAIL.len())]].concat();
        covered.resize(covered.len().next_multiple_of(2), 0);
        let words = covered.chunks(2).map(|word| u64::from(word[0]) << 8 | u64::from(word[1]));
        let sum = words.sum::<u64>();
        let folded = (sum & 0xffff) + (sum >> 16);
        assert_eq!(u64::from(sent[5]) << 8 | u64::from(sent[6]), !folded & 0xffff, "limit {limit}");
    }
}

#[test]
fn keys_of_invalid_headers_are_zero() {
    let mut target = load("details");
    let table = "In.by_argument";
    target.insert(table, vec![exact(&[0])], 0, call("In.set", &[&[10]]));
    target.insert(table, vec![exact(&[7])], 0, call("In.set", &[&[17]]));
    let (_, sent) = target.send_one(3, &frame(2, 7));
    assert_eq!((sent.len(), sent[0]), (17, 10));
}

#[test]
fn digest_calls_of_one_type_are_one_digest() {
    let mut target = load("details");
    let digests = target.switch.program().digests().to_vec();
    assert_eq!(digests.len(), 1);
    target.send_one(3, &frame(3, 9));
    target.send_one(3, &frame(3, 10));
    let id = digests[0].id;
    assert_eq!(target.digests, [(id, vec![vec![9]]), (id, vec![vec![0]])]);
}

#[test]
fn variable_lengths_saturate_at_31_bits() {
    let mut target = load("details");
    let mut verdict = |length: u32| {
        let bytes = [&[5, 0, 0, 0, 0, 0, 0], &length.to_be_bytes()[..], &TAIL[..]].concat();
        target.send_one(3, &bytes).1[2]
    };
    let (fits, too_short, no_multiple_of_8) = (0, 1, 2);
    assert_eq!(verdict(64), fits);
    assert_eq!(verdict(63), no_multiple_of_8);
    assert_eq!(verdict(0x7fff_fff8), too_short);
    assert_eq!(verdict(0x8000_0000), no_multiple_of_8);
    assert_eq!(verdict(0xffff_fff8), no_multiple_of_8);
}

/// A hash of `c` that leaves each member of a group of `size` once, in the order of the group.
fn order(target: &mut Target, size: usize) -> Vec<u8> {
    let mut found = vec![None; size];
    for c in 0..4_000u32 {
        let request = [&[4, 1, 0, 0], &c.to_be_bytes()[..]].concat();
        let (_, sent) = target.send_one(0, &request);
        found[usize::from(crc16(&c.to_be_bytes())) % size] = Some(sent[1]);
    }
    found.into_iter().map(Option::unwrap).collect()
}

fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, &byte| {
        (0..8).fold(crc ^ u16::from(byte), |crc, _| crc >> 1 ^ if crc & 1 == 1 { 0xa001 } else { 0 })
    })
}

/// Copies for weights of a group come after all members that were there before; copies of an action
/// set are made with the action.
#[test]
fn members_of_a_group_go_by_the_age_of_their_copies() {
    let profile = "In.selector";
    let member = |member: u32| ProfileMember {
        member,
        action: action_call("In.set", &[&(member as u16).to_be_bytes()]),
    };
    let group = ProfileGroup { group: 1, max_size: 8, members: vec![(1, 2), (2, 1), (3, 3)], absent: vec![] };
    let mut target = load("matching");
    for id in 1..4 {
        target.switch.member_insert(profile, &member(id)).unwrap();
    }
    target.switch.group_insert(profile, &group).unwrap();
    target.insert("In.selector_table", vec![exact(&[1])], 0, EntryAction::Group(1));
    assert_eq!(order(&mut target, 6), [1, 2, 3, 1, 3, 3]);

    let mut target = load("matching");
    for (id, copies) in [(1, 2), (2, 1), (3, 3)] {
        target.switch.member_insert_copies(profile, &member(id), copies).unwrap();
    }
    target.switch.group_insert(profile, &group).unwrap();
    target.insert("In.selector_table", vec![exact(&[1])], 0, EntryAction::Group(1));
    assert_eq!(order(&mut target, 6), [1, 1, 2, 3, 3, 3]);
    let error = target.switch.member_insert_copies(profile, &member(4), 17).unwrap_err();
    assert_eq!(error.kind(), ControlErrorKind::ResourceExhausted);
}
