//! Tests of malformed UPDATEs in a session that is up (RFC 7606).

use std::net::{IpAddr, Ipv4Addr};

use ipnet::IpNet;

use super::session::Output;
use super::{Families, Session, SessionSettings};

const UPDATE: u8 = 2;
const ORIGIN: &[u8] = &[0x40, 1, 1, 0];
const AS_PATH: &[u8] = &[0x40, 2, 6, 2, 1, 0, 0, 0xfc, 1];
const NEXT_HOP: &[u8] = &[0x40, 3, 4, 192, 0, 2, 1];
/// 20.0.0.0/24, which the neighbour has announced before.
const NETWORK: &[u8] = &[24, 20, 0, 0];
/// 2001:db8:1::/48, by way of 2001:db8::1.
const MP_REACH: &[u8] = &[
    0x80, 14, 28, 0, 2, 1, 16, 0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 48, 0x20, 1, 0xd,
    0xb8, 0, 1,
];

fn settings(number: u8, own_as: u32) -> SessionSettings {
    SessionSettings {
        own_as,
        router_id: Ipv4Addr::new(10, 0, 0, number),
        neighbour_as: None,
        hold_time_s: 90,
        families: Families { ipv4: true, ipv6: true },
        restart: None,
        next_hops: vec![IpAddr::from([192, 0, 2, number])],
    }
}

/// Hands what one session sends to the other one; returns what that one sends.
fn exchange(to: &mut Session, outputs: Vec<Output>) -> Vec<Output> {
    outputs.into_iter().fold(Vec::new(), |mut answers, output| {
        if let Output::Send(bytes) = output {
            answers.extend(to.on_bytes(&bytes, 0));
        }
        answers
    })
}

/// A session that is up with a neighbour of this AS, which has announced 20.0.0.0/24 and 20.0.1.0/24 by way of AS 65000.
fn session_with(neighbour_as: u32) -> Session {
    let mut own = Session::new(settings(2, 64_514));
    let mut neighbour = Session::new(settings(1, neighbour_as));
    let mut to_own = neighbour.connected(0);
    let to_neighbour = own.connected(0);
    to_own.extend(exchange(&mut neighbour, to_neighbour));
    let to_neighbour = exchange(&mut own, to_own);
    let to_own = exchange(&mut neighbour, to_neighbour);
    exchange(&mut own, to_own);
    assert!(own.is_up() && neighbour.is_up());
    let announced = update(
        &[],
        &[ORIGIN, &[0x40, 2, 6, 2, 1, 0, 0, 0xfd, 0xe8], NEXT_HOP],
        &[24, 20, 0, 0, 24, 20, 0, 1],
    );
    assert!(own.on_bytes(&announced, 0).is_empty());
    assert_eq!(own.learned().len(), 2);
    own
}

fn update(withdrawn: &[u8], attributes: &[&[u8]], networks: &[u8]) -> Vec<u8> {
    let attributes = attributes.concat();
    let mut message = [u8::MAX; 16].to_vec();
    message.extend(((23 + withdrawn.len() + attributes.len() + networks.len()) as u16).to_be_bytes());
    message.push(UPDATE);
    message.extend((withdrawn.len() as u16).to_be_bytes());
    message.extend(withdrawn);
    message.extend((attributes.len() as u16).to_be_bytes());
    message.extend(attributes);
    message.extend(networks);
    message
}

fn in_use(session: &Session, network: IpNet) -> bool {
    session.learned().in_use().any(|it| it == network)
}

/// State of the session, and of 20.0.0.0/24, behind the UPDATE.
#[derive(Debug, PartialEq, Eq)]
enum Effect {
    Announced,
    Withdrawn,
    /// The session is over: error code and subcode of the NOTIFICATION.
    Ended(u8, u8),
}

fn effect_on(mut session: Session, message: &[u8]) -> Effect {
    let outputs = session.on_bytes(message, 0);
    if let [Output::Send(notification), Output::Down(reason)] = outputs.as_slice() {
        assert!(reason.starts_with("a message of the neighbour is malformed: "), "{reason}");
        assert!(session.learned().len() == 0 && !session.is_up());
        return Effect::Ended(notification[19], notification[20]);
    }
    assert!(outputs.is_empty() && session.is_up(), "{outputs:?}");
    let network: IpNet = "20.0.0.0/24".parse().unwrap();
    let other: IpNet = "20.0.1.0/24".parse().unwrap();
    assert!(in_use(&session, other), "a route of another message is as it was");
    if in_use(&session, network) {
        let change = session.take_changes().pop().unwrap();
        assert_eq!(change.network, network);
        assert!(change.attributes.unwrap().path().eq([64_513]), "the route is that of the new message");
        return Effect::Announced;
    }
    Effect::Withdrawn
}

fn effect(attributes: &[&[u8]]) -> Effect {
    effect_on(session_with(64_513), &update(&[], attributes, NETWORK))
}

/// The well-formed attributes of a route, and one more.
fn with(attribute: &[u8]) -> Effect {
    effect(&[ORIGIN, AS_PATH, NEXT_HOP, attribute])
}

#[test]
fn a_good_message_is_as_good_as_it_was() {
    assert_eq!(effect(&[ORIGIN, AS_PATH, NEXT_HOP]), Effect::Announced);
    // Metric, communities, an aggregate, something unknown that goes on; lengths of one byte or two.
    assert_eq!(with(&[0x80, 4, 4, 0, 0, 0, 9]), Effect::Announced);
    assert_eq!(with(&[0xd0, 8, 0, 4, 0, 1, 0, 2]), Effect::Announced);
    assert_eq!(with(&[0x40, 6, 0]), Effect::Announced);
    assert_eq!(with(&[0xe0, 200, 3, 1, 2, 3]), Effect::Announced);
}

#[test]
fn routes_with_malformed_attributes_are_withdrawn_and_the_session_stays() {
    for (what, attributes) in [
        ("an origin of two bytes", vec![&[0x40, 1, 2, 0, 0][..], AS_PATH, NEXT_HOP]),
        ("an origin that there is not", vec![&[0x40, 1, 1, 3], AS_PATH, NEXT_HOP]),
        ("an origin of no bytes", vec![&[0x40, 1, 0], AS_PATH, NEXT_HOP]),
        ("a segment of a kind that there is not", vec![ORIGIN, &[0x40, 2, 6, 9, 1, 0, 0, 0xfc, 1], NEXT_HOP]),
        ("a segment of no numbers", vec![ORIGIN, &[0x40, 2, 2, 2, 0], NEXT_HOP]),
        (
            "a segment that is longer than its path",
            vec![ORIGIN, &[0x40, 2, 6, 2, 2, 0, 0, 0xfc, 1], NEXT_HOP],
        ),
        ("a byte behind the last segment", vec![ORIGIN, &[0x40, 2, 7, 2, 1, 0, 0, 0xfc, 1, 2], NEXT_HOP]),
        ("a next hop of five bytes", vec![ORIGIN, AS_PATH, &[0x40, 3, 5, 192, 0, 2, 1, 0]]),
        ("a next hop that is no host", vec![ORIGIN, AS_PATH, &[0x40, 3, 4, 224, 0, 0, 5]]),
        ("flags of an optional attribute", vec![&[0xc0, 1, 1, 0], AS_PATH, NEXT_HOP]),
        ("no origin", vec![AS_PATH, NEXT_HOP]),
        ("no path", vec![ORIGIN, NEXT_HOP]),
        ("no next hop", vec![ORIGIN, AS_PATH]),
        ("an attribute that ends behind the list", vec![ORIGIN, AS_PATH, NEXT_HOP, &[0x80, 4, 40, 0]]),
        ("two bytes behind the last attribute", vec![ORIGIN, AS_PATH, NEXT_HOP, &[0x80, 4]]),
        ("no room for a length of two bytes", vec![ORIGIN, AS_PATH, NEXT_HOP, &[0x90, 4, 0]]),
    ] {
        assert_eq!(effect(&attributes), Effect::Withdrawn, "{what}");
    }
    for (what, attribute) in [
        ("a metric of three bytes", &[0x80, 4, 3, 0, 0, 1][..]),
        ("communities of five bytes", &[0xc0, 8, 5, 0, 1, 0, 2, 3]),
        ("no communities", &[0xc0, 8, 0]),
        ("extended communities of four bytes", &[0xc0, 16, 4, 0, 2, 0, 1]),
        ("large communities of eight bytes", &[0xc0, 32, 8, 0, 0, 0, 1, 0, 0, 0, 2]),
        ("only to customer with two bytes", &[0xc0, 35, 2, 0, 1]),
    ] {
        assert_eq!(with(attribute), Effect::Withdrawn, "{what}");
    }
}

#[test]
fn attributes_that_no_route_is_chosen_by_are_discarded() {
    for (what, attribute) in [
        ("an atomic aggregate of one byte", &[0x40, 6, 1, 0][..]),
        ("an aggregator of two-octet numbers", &[0xc0, 7, 6, 0xfc, 0, 10, 0, 0, 1]),
        ("a path of four-octet numbers that is malformed", &[0xc0, 17, 3, 2, 1, 0]),
        ("a segment identifier that is malformed", &[0xc0, 40, 3, 1, 0, 9]),
        ("a local preference from another AS", &[0x40, 5, 4, 0, 0, 0, 100]),
        ("a malformed one", &[0x40, 5, 2, 0, 100]),
        ("an originator from another AS", &[0x80, 9, 3, 1, 2, 3]),
        ("clusters from another AS", &[0x80, 10, 5, 1, 2, 3, 4, 5]),
        ("a second origin, which is malformed", &[0x40, 1, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        ("routes of a family that nobody asked for", &[0x80, 14, 5, 0, 25, 70, 0, 0]),
    ] {
        assert_eq!(with(attribute), Effect::Announced, "{what}");
    }
}

#[test]
fn within_an_as_preference_and_reflection_count() {
    let within = |attribute| {
        effect_on(session_with(64_514), &update(&[], &[ORIGIN, &[0x40, 2, 0], NEXT_HOP, attribute], NETWORK))
    };
    for attribute in [&[0x40, 5, 2, 0, 100][..], &[0x80, 9, 5, 1, 2, 3, 4, 5], &[0x80, 10, 3, 1, 2, 3]] {
        assert_eq!(within(attribute), Effect::Withdrawn);
    }
}

#[test]
fn what_cannot_be_read_ends_the_session() {
    const LIST: Effect = Effect::Ended(3, 1);
    for (what, attribute, expected) in [
        ("a second list of networks", [MP_REACH, MP_REACH].concat(), LIST),
        ("networks that end behind the list", [0x80, 14, 200, 0, 2, 1].to_vec(), LIST),
        (
            "a next hop of a length that there is not",
            [0x80, 14, 7, 0, 2, 1, 2, 1, 2, 0].to_vec(),
            Effect::Ended(3, 9),
        ),
        ("a family of one byte", [0x80, 15, 1, 0].to_vec(), Effect::Ended(3, 9)),
        ("a prefix of 129 bits", [0x80, 15, 4, 0, 2, 1, 129].to_vec(), Effect::Ended(3, 9)),
        ("an unknown attribute that everybody must know", [0x40, 200, 1, 0].to_vec(), Effect::Ended(3, 2)),
    ] {
        assert_eq!(with(&attribute), expected, "{what}");
    }
    let session = || session_with(64_513);
    let good: &[&[u8]] = &[ORIGIN, AS_PATH, NEXT_HOP];
    assert_eq!(effect_on(session(), &update(&[], good, &[33, 20, 0, 0, 0, 0])), Effect::Ended(3, 10));
    // Nothing in the message says whose attributes these are (section 5.2).
    assert_eq!(effect_on(session(), &update(&[], &[&[0x40, 1, 2, 0, 0], AS_PATH], &[])), LIST);
    // Lengths that contradict that of the message (section 3 b).
    let mut longer = update(&[], good, NETWORK);
    longer[21] = 1;
    assert_eq!(effect_on(session(), &longer), LIST);
    longer[21] = 0;
    longer[19] = 1;
    assert_eq!(effect_on(session(), &longer), LIST);
}

#[test]
fn networks_of_both_kinds_are_withdrawn_with_a_malformed_message() {
    let mut session = session_with(64_513);
    let good = update(&[], &[MP_REACH, ORIGIN, AS_PATH], &[]);
    assert!(session.on_bytes(&good, 0).is_empty());
    assert_eq!(session.learned().len(), 3);
    let bad = update(&[24, 20, 0, 1], &[&[0x40, 1, 2, 0, 0], AS_PATH, MP_REACH], NETWORK);
    assert!(session.on_bytes(&bad, 0).is_empty());
    assert!(session.learned().len() == 0 && session.is_up());
    // Its networks can be read, though its flags say that everybody must know it.
    assert!(session.on_bytes(&good, 0).is_empty());
    let flags = [&[0x40], &MP_REACH[1..]].concat();
    assert!(session.on_bytes(&update(&[], &[&flags, ORIGIN, AS_PATH], &[]), 0).is_empty());
    assert!(session.learned().len() == 0 && session.is_up());
}

#[test]
fn messages_with_any_byte_changed_are_read_or_end_the_session() {
    let good =
        update(&[24, 20, 0, 2], &[MP_REACH, ORIGIN, AS_PATH, NEXT_HOP, &[0xc0, 8, 4, 0, 1, 0, 2]], NETWORK);
    for place in 19..good.len() {
        for value in 0..=u8::MAX {
            let mut message = good.clone();
            message[place] = value;
            let mut session = session_with(64_513);
            let outputs = session.on_bytes(&message, 0);
            assert_eq!(session.is_up(), outputs.is_empty(), "byte {place} is {value}: {outputs:?}");
        }
    }
}
