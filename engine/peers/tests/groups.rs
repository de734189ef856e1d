//! Hosts that receive groups, and their querier, by the frames that they send and their times.

use std::net::IpAddr;

use p4mesh_peers::groups::messages::{
    read, write_joined, write_left, write_query, write_records, Change, Heard, Newer, Query, Sender,
};
use p4mesh_peers::groups::{Filter, GroupHosts, HostSettings, Protocol, Querier, QuerierSettings};
use p4mesh_peers::{Leaving, Nanoseconds, Port};
use p4mesh_wire::ipv6::link_local;
use p4mesh_wire::membership::Mode;

const SECOND: Nanoseconds = 1_000_000_000;
const VERSIONS: [Protocol; 4] = [Protocol::Igmpv2, Protocol::Igmpv3, Protocol::Mldv1, Protocol::Mldv2];
/// With the protocol that their older routers speak.
const NEWER: [(Protocol, Protocol); 2] =
    [(Protocol::Igmpv3, Protocol::Igmpv2), (Protocol::Mldv2, Protocol::Mldv1)];

/// Time, port, and the changes that a frame tells.
type Told = (Nanoseconds, Port, Vec<Change>);

fn sender(port: u8) -> Sender {
    let mac = [2, 0, 0, 0, 0, port];
    Sender { mac, ipv4: [198, 18, port, 2].into(), ipv6: link_local(mac) }
}

fn hosts(protocol: Protocol, robustness: u32, joins_per_s: u32) -> GroupHosts {
    let joins_per_s = joins_per_s.try_into().unwrap();
    let settings = HostSettings { protocol, joins_per_s, robustness, seed: 1 };
    GroupHosts::new((1..=3).map(|port| (port.into(), sender(port))), settings)
}

fn groups(protocol: Protocol, count: u16) -> Vec<IpAddr> {
    let group = |number: u16| match protocol {
        Protocol::Igmpv2 | Protocol::Igmpv3 => {
            let [high, low] = (0x0101 + number).to_be_bytes();
            IpAddr::from([225, 1, high, low])
        }
        Protocol::Mldv1 | Protocol::Mldv2 => IpAddr::from([0xff0e, 0, 0, 0, 0, 0, 1, 1 + number]),
    };
    (0..count).map(group).collect()
}

fn sources(protocol: Protocol, last: &[u8]) -> Vec<IpAddr> {
    let source = |&last: &u8| match protocol {
        Protocol::Igmpv2 | Protocol::Igmpv3 => IpAddr::from([10, 0, 0, last]),
        Protocol::Mldv1 | Protocol::Mldv2 => IpAddr::from([0x2001, 2, 0, 0, 0, 0, 0, last.into()]),
    };
    last.iter().map(source).collect()
}

fn join(hosts: &mut GroupHosts, port: Port, groups: &[IpAddr], now: Nanoseconds) {
    hosts.join(port, groups.to_vec(), Filter::any_sender(), now).unwrap();
}

fn leave(hosts: &mut GroupHosts, port: Port, groups: &[IpAddr], now: Nanoseconds) {
    hosts.leave(port, groups.to_vec(), now).unwrap();
}

/// All that is sent up to a time.
fn sent(hosts: &mut GroupHosts, until: Nanoseconds) -> Vec<(Nanoseconds, Leaving)> {
    let mut sent = Vec::new();
    while let Some(at) = hosts.next_event().filter(|&at| at <= until) {
        sent.extend(hosts.on_time(at).into_iter().map(|it| (at, it)));
        assert!(hosts.next_event().is_none_or(|later| later > at), "timers go on");
    }
    sent
}

fn run(hosts: &mut GroupHosts, until: Nanoseconds) -> Vec<Told> {
    let told = |(at, leaving): (Nanoseconds, Leaving)| match read(&leaving.frame) {
        Some(Heard::Report(changes)) => (at, leaving.port, changes),
        other => panic!("no report: {other:?}"),
    };
    sent(hosts, until).into_iter().map(told).collect()
}

/// Each change by itself.
fn single(told: &[Told]) -> Vec<(Nanoseconds, Port, Mode, IpAddr)> {
    let changes = |(at, port, changes): &Told| {
        let (at, port) = (*at, *port);
        changes.iter().map(move |it| (at, port, it.mode, it.group)).collect::<Vec<_>>()
    };
    told.iter().flat_map(changes).collect()
}

/// Mode of a join, and of a leave, as the protocol tells them.
fn modes(protocol: Protocol) -> (Mode, Mode) {
    (if protocol.has_records() { Mode::ToExclude } else { Mode::IsExclude }, Mode::ToInclude)
}

fn query(protocol: Protocol, group: IpAddr, sources: Vec<IpAddr>, response_ns: Nanoseconds) -> Query {
    let newer = Newer { suppress: false, robustness: 2, interval_s: 120 };
    Query { group, sources, response_ns, newer: protocol.has_records().then_some(newer) }
}

fn asked(protocol: Protocol, group: Option<IpAddr>, sources: Vec<IpAddr>, response_s: u64) -> Vec<u8> {
    let mut frame = Vec::new();
    let group = group.unwrap_or(protocol.any_group());
    write_query(&mut frame, &sender(1), &query(protocol, group, sources, response_s * SECOND));
    frame
}

#[test]
fn joins_of_all_ports_together_keep_the_pace() {
    for protocol in VERSIONS {
        let mut it = hosts(protocol, 1, 3_000);
        for port in 1..=3 {
            join(&mut it, port, &groups(protocol, 40), 7);
        }
        assert_eq!(it.pending_changes(), 120);
        let told = run(&mut it, 10 * SECOND);
        let mut before = 0;
        for (at, _, changes) in told {
            // Neither faster than the pace nor slower by more than a nanosecond.
            let exact = before * SECOND;
            assert!((0..6_000).contains(&(((at - 7) * 3_000) as i64 - exact as i64)), "{at}");
            before += changes.len() as u64;
        }
        assert_eq!((before, it.pending_changes(), it.repeats()), (120, 0, false));
    }
}

#[test]
fn hosts_that_have_joined_the_same_groups_leave_them_by_themselves() {
    for protocol in VERSIONS {
        let mut it = hosts(protocol, 1, 1_000);
        let all = groups(protocol, 3);
        (1..=3).for_each(|port| join(&mut it, port, &all, 0));
        leave(&mut it, 2, &all[..1], 0);
        leave(&mut it, 3, &all[..1], 0);
        join(&mut it, 2, &all, 0);
        assert_eq!(it.memberships(1), all);
        assert_eq!(it.memberships(2), [all[1], all[2], all[0]]);
        assert_eq!(it.memberships(3), all[1..]);
        let (joined, left) = modes(protocol);
        let mut expected: Vec<(Port, Mode, IpAddr)> =
            (1..=3).flat_map(|port| all.iter().map(move |&group| (port, joined, group))).collect();
        if protocol.has_records() {
            // Without records a host that has joined again by then does not leave.
            expected.push((2, left, all[0]));
        }
        expected.extend([(3, left, all[0]), (2, joined, all[0])]);
        let told: Vec<_> = single(&run(&mut it, SECOND)).into_iter().map(|it| (it.1, it.2, it.3)).collect();
        assert_eq!(told, expected);
    }
}

#[test]
fn changes_are_repeated_within_the_interval_unless_they_are_no_longer_true() {
    for protocol in VERSIONS {
        let mut it = hosts(protocol, 2, 1_000);
        let all = groups(protocol, 2);
        let (joined, left) = modes(protocol);
        join(&mut it, 1, &all, 0);
        let begun = sent(&mut it, SECOND / 100);
        assert!(begun.iter().all(|(_, leaving)| leaving.stamped), "the first time");
        leave(&mut it, 1, &all[1..], SECOND / 100);
        let told = single(&run(&mut it, 30 * SECOND));
        let limit = if protocol.has_records() { SECOND } else { 10 * SECOND };
        let joins: Vec<_> = told.iter().filter(|it| it.2 == joined).collect();
        let [&(at, _, _, group)] = joins[..] else {
            panic!("the join of the group that was left is not repeated: {joins:?}");
        };
        assert_eq!(group, all[0]);
        assert!((1..=limit + SECOND / 100).contains(&at));
        let leaves = told.iter().filter(|it| it.2 == left).count();
        assert_eq!(
            leaves,
            if protocol.has_records() { 2 } else { 1 },
            "without records a leave is sent once"
        );
    }
}

#[test]
fn repetitions_are_not_stamped() {
    let mut it = hosts(Protocol::Igmpv3, 3, 1_000);
    join(&mut it, 1, &groups(Protocol::Igmpv3, 1), 0);
    let stamped: Vec<bool> = sent(&mut it, 10 * SECOND).iter().map(|(_, leaving)| leaving.stamped).collect();
    assert_eq!(stamped, [true, false, false]);
}

#[test]
fn a_general_query_is_answered_for_every_group_within_its_time() {
    for protocol in VERSIONS {
        let mut it = hosts(protocol, 1, 1_000);
        let all = groups(protocol, 40);
        join(&mut it, 3, &all, 0);
        run(&mut it, SECOND);
        it.on_frame(3, &asked(protocol, None, vec![], 10), SECOND);
        it.on_frame(1, &asked(protocol, None, vec![], 10), SECOND);
        it.on_frame(9, &asked(protocol, None, vec![], 10), SECOND);
        let told = single(&run(&mut it, 60 * SECOND));
        assert!(told.iter().all(|&(at, port, mode, _)| {
            SECOND < at && at <= 11 * SECOND && (port, mode) == (3, Mode::IsExclude)
        }));
        let mut told_of: Vec<IpAddr> = told.iter().map(|it| it.3).collect();
        told_of.sort();
        assert_eq!(told_of, all);
        let times: std::collections::BTreeSet<_> = told.iter().map(|it| it.0).collect();
        assert!(protocol.has_records() || times.len() > 30, "each group has a random time of its own");
    }
}

#[test]
fn a_query_of_a_group_is_answered_by_its_receivers_alone() {
    for protocol in VERSIONS {
        let mut it = hosts(protocol, 1, 1_000);
        let all = groups(protocol, 2);
        join(&mut it, 1, &all, 0);
        join(&mut it, 2, &all[..1], 0);
        run(&mut it, SECOND);
        (1..=3).for_each(|port| it.on_frame(port, &asked(protocol, Some(all[1]), vec![], 1), 2 * SECOND));
        let told = single(&run(&mut it, 60 * SECOND));
        let [(at, 1, Mode::IsExclude, group)] = told[..] else {
            panic!("one answer: {told:?}");
        };
        assert_eq!(group, all[1]);
        assert!(2 * SECOND < at && at <= 3 * SECOND);
    }
}

#[test]
fn a_report_of_another_host_suppresses_the_own_one_without_records() {
    for protocol in VERSIONS {
        let mut it = hosts(protocol, 1, 1_000);
        let all = groups(protocol, 2);
        join(&mut it, 1, &all, 0);
        run(&mut it, SECOND);
        all.iter().for_each(|&group| it.on_frame(1, &asked(protocol, Some(group), vec![], 10), SECOND));
        let mut report = Vec::new();
        write_joined(&mut report, &sender(9), all[0]);
        it.on_frame(1, &report, SECOND + 1);
        let mut told: Vec<IpAddr> = single(&run(&mut it, 60 * SECOND)).iter().map(|it| it.3).collect();
        told.sort();
        assert_eq!(told, all[usize::from(!protocol.has_records())..]);
    }
}

#[test]
fn hosts_ask_for_single_senders_and_answer_for_them() {
    for (protocol, _) in NEWER {
        let mut it = hosts(protocol, 1, 1_000);
        let [group] = groups(protocol, 1)[..] else { unreachable!() };
        for (exclude, last) in [(false, &[1, 2][..]), (false, &[2, 3]), (true, &[1]), (true, &[3])] {
            let senders = Filter { sources: sources(protocol, last).into_iter().collect(), exclude };
            it.join(1, vec![group], senders, 0).unwrap();
        }
        let told = |told: Vec<Told>| -> Vec<Vec<(Mode, Vec<IpAddr>)>> {
            let records =
                |(_, _, changes): Told| changes.into_iter().map(|it| (it.mode, it.sources)).collect();
            told.into_iter().map(records).collect()
        };
        let of = |last: &[u8]| sources(protocol, last);
        let expected = [
            vec![(Mode::Allow, of(&[1, 2]))],
            vec![(Mode::Allow, of(&[3])), (Mode::Block, of(&[1]))],
            vec![(Mode::ToExclude, of(&[1]))],
            vec![(Mode::Allow, of(&[1])), (Mode::Block, of(&[3]))],
        ];
        assert_eq!(told(run(&mut it, SECOND)), expected);
        it.on_frame(1, &asked(protocol, Some(group), of(&[1, 3]), 10), SECOND);
        it.on_frame(1, &asked(protocol, Some(group), of(&[2, 3]), 10), SECOND);
        assert_eq!(told(run(&mut it, 60 * SECOND)), [[(Mode::IsInclude, of(&[1, 2]))]], "both at once");
        it.on_frame(1, &asked(protocol, Some(group), of(&[3]), 10), 60 * SECOND);
        assert_eq!(run(&mut it, 99 * SECOND), [], "none of the sources asked for is received");
        it.on_frame(1, &asked(protocol, Some(group), of(&[1]), 10), 100 * SECOND);
        it.on_frame(1, &asked(protocol, Some(group), vec![], 10), 100 * SECOND);
        assert_eq!(told(run(&mut it, 120 * SECOND)), [[(Mode::IsExclude, of(&[3]))]], "all of the group");
    }
}

#[test]
fn an_older_router_gets_older_reports_until_it_is_forgotten() {
    for (protocol, older) in NEWER {
        let mut it = hosts(protocol, 1, 1_000);
        let all = groups(protocol, 3);
        it.on_frame(1, &asked(older, None, vec![], 10), 0);
        join(&mut it, 1, &all[..1], SECOND);
        join(&mut it, 2, &all[1..2], SECOND);
        let mut told = run(&mut it, 2 * SECOND);
        leave(&mut it, 1, &all[..1], 2 * SECOND);
        told.extend(run(&mut it, 261 * SECOND));
        join(&mut it, 1, &all[2..], 261 * SECOND);
        told.extend(run(&mut it, 300 * SECOND));
        let found: Vec<_> = told.iter().map(|(_, port, it)| (*port, it[0].mode, it[0].group)).collect();
        let expected = [
            (1, Mode::IsExclude, all[0]),
            (2, Mode::ToExclude, all[1]),
            (1, Mode::ToInclude, all[0]),
            (1, Mode::ToExclude, all[2]),
        ];
        assert_eq!(found, expected);
        let records: Vec<bool> = told.iter().map(|(_, _, it)| it[0].records).collect();
        assert_eq!(records, [false, true, false, true]);
    }
}

#[test]
fn queries_of_the_other_family_and_ports_without_hosts_are_nothing() {
    let mut it = hosts(Protocol::Igmpv3, 1, 1_000);
    join(&mut it, 1, &groups(Protocol::Igmpv3, 1), 0);
    run(&mut it, SECOND);
    it.on_frame(1, &asked(Protocol::Mldv1, None, vec![], 10), SECOND);
    assert_eq!((run(&mut it, 60 * SECOND), it.next_event()), (vec![], None));
    assert!(it.memberships(9).is_empty());
    let refused = it.join(9, groups(Protocol::Igmpv3, 1), Filter::any_sender(), 0).unwrap_err();
    assert_eq!(refused.to_string(), "port 9 has no host");
}

fn querier(protocol: Protocol) -> Querier {
    let settings = QuerierSettings { protocol, interval_ns: 120 * SECOND, robustness: 2 };
    Querier::new(4, sender(4), settings, 0)
}

/// Time and content of all that a querier sends up to a time.
fn asks(querier: &mut Querier, until: Nanoseconds) -> Vec<(Nanoseconds, Query)> {
    let mut asked = Vec::new();
    while querier.next_event() <= until {
        let at = querier.next_event();
        for leaving in querier.on_time(at) {
            match read(&leaving.frame) {
                Some(Heard::Query(_, query)) if leaving.port == 4 => asked.push((at, query)),
                other => panic!("no query: {other:?}"),
            }
        }
        assert!(querier.next_event() > at, "timers go on");
    }
    asked
}

/// The frames of a host that tells a change.
fn told(protocol: Protocol, group: IpAddr, mode: Mode, sources: Vec<IpAddr>) -> Vec<u8> {
    let mut frame = Vec::new();
    let records = [Change { group, mode, sources, records: true }];
    match mode {
        _ if protocol.has_records() => write_records(&mut frame, &sender(2), &records),
        Mode::ToInclude => write_left(&mut frame, &sender(2), group),
        _ => write_joined(&mut frame, &sender(2), group),
    }
    frame
}

#[test]
fn general_queries_come_quickly_at_the_start_and_then_at_the_interval() {
    for protocol in VERSIONS {
        let general = query(protocol, protocol.any_group(), vec![], 10 * SECOND);
        let expected = [0, 30, 150, 270].map(|at| (at * SECOND, general.clone()));
        assert_eq!(asks(&mut querier(protocol), 300 * SECOND), expected);
    }
}

#[test]
fn a_leave_is_followed_by_two_questions_about_the_group_and_a_join_by_none() {
    for protocol in VERSIONS {
        let mut it = querier(protocol);
        let [group, other] = groups(protocol, 2)[..] else { unreachable!() };
        asks(&mut it, SECOND);
        let left = told(protocol, group, Mode::ToInclude, vec![]);
        (3..=4).for_each(|port| it.on_frame(port, &left, SECOND));
        it.on_frame(4, &left, SECOND);
        it.on_frame(4, &told(protocol, other, Mode::ToExclude, vec![]), SECOND);
        let asked = query(protocol, group, vec![], SECOND);
        assert_eq!(asks(&mut it, 20 * SECOND), [(SECOND, asked.clone()), (2 * SECOND, asked)]);
    }
}

#[test]
fn blocked_senders_are_asked_for() {
    for (protocol, _) in NEWER {
        let mut it = querier(protocol);
        let (group, source) = (groups(protocol, 1)[0], sources(protocol, &[1]));
        asks(&mut it, SECOND);
        for mode in [Mode::Allow, Mode::Block] {
            it.on_frame(4, &told(protocol, group, mode, source.clone()), SECOND);
        }
        let asked = query(protocol, group, source, SECOND);
        assert_eq!(asks(&mut it, 20 * SECOND), [(SECOND, asked.clone()), (2 * SECOND, asked)]);
    }
}

#[test]
fn a_querier_with_a_lower_address_silences_this_one_until_it_is_gone() {
    for protocol in VERSIONS {
        // The other one is silent 2 intervals and half a response time later; one with a higher address is nothing.
        for (port, next_s) in [(1, 5 + 2 * 120 + 5), (9, 30)] {
            let mut it = querier(protocol);
            let group = groups(protocol, 1)[0];
            asks(&mut it, SECOND);
            it.on_frame(4, &told(protocol, group, Mode::ToInclude, vec![]), 5 * SECOND);
            let mut frame = Vec::new();
            let general = query(protocol, protocol.any_group(), vec![], 10 * SECOND);
            write_query(&mut frame, &sender(port), &general);
            it.on_frame(4, &frame, 5 * SECOND);
            let questions: Vec<_> = asks(&mut it, 260 * SECOND);
            let first = questions.iter().find(|(_, it)| it.group.is_unspecified()).unwrap();
            assert_eq!(first.0, next_s * SECOND);
            assert_eq!(questions.iter().any(|(_, it)| it.group == group), port == 9, "its questions end");
        }
    }
}
