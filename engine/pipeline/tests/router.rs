//! An IPv4 router: parsing, checksums, longest prefix match, counters, parser errors.

mod common;

use common::*;
use p4mesh_pipeline::*;

const ROUTES: &str = "In.routes";
const NEXT_HOPS: &str = "In.next_hops";

fn checksum(header: &[u8]) -> u16 {
    let mut sum: u32 = header.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

fn frame(ttl: u8, dst: [u8; 4], payload: usize) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
    let mut ip = vec![0x45, 0, 0, 20 + payload as u8, 0x12, 0x34, 0x40, 0, ttl, 17, 0, 0, 192, 168, 0, 1];
    ip.extend(dst);
    let sum = checksum(&ip).to_be_bytes();
    ip[10..12].copy_from_slice(&sum);
    frame.extend(ip);
    frame.extend((0..payload).map(|byte| byte as u8));
    frame
}

fn lpm(value: [u8; 4], prefix_bits: u32) -> Vec<KeyMatch> {
    vec![KeyMatch::Lpm { value: value.to_vec(), prefix_bits }]
}

fn router() -> Target {
    let mut target = load("router");
    target.insert(ROUTES, lpm([10, 0, 0, 0], 8), 0, call("In.set_next_hop", &[&[1]]));
    target.insert(ROUTES, lpm([10, 1, 0, 0], 16), 0, call("In.set_next_hop", &[&[2]]));
    target.insert(ROUTES, lpm([10, 1, 2, 3], 32), 0, call("In.drop", &[]));
    for (next_hop, port) in [(1u8, 5u8), (2, 6)] {
        target.insert(
            NEXT_HOPS,
            vec![exact(&[next_hop])],
            0,
            call("In.forward", &[&[port], &[0x0a, next_hop]]),
        );
    }
    target
}

#[test]
fn forwards_along_the_longest_prefix_with_a_new_checksum() {
    let mut target = router();
    for (dst, port) in [([10, 9, 9, 9], 5), ([10, 1, 9, 9], 6)] {
        let (sent_to, sent) = target.send_one(0, &frame(64, dst, 26));
        assert_eq!(sent_to, port);
        assert_eq!(sent[..12], [0, 0, 0, 0, 0x0a, port as u8 - 4, 2, 0, 0, 0, 0, 1]);
        assert_eq!(sent[22], 63);
        assert_eq!(checksum(&sent[14..34]), 0, "the checksum is right");
        assert_eq!(sent[34..], frame(64, dst, 26)[34..], "the payload is untouched");
    }
}

#[test]
fn drops_and_counts_what_it_must_not_forward() {
    let mut target = router();
    let mut damaged = frame(64, [10, 9, 9, 9], 26);
    damaged[30] ^= 1;
    let mut version = frame(64, [10, 9, 9, 9], 26);
    version[14] = 0x65;
    assert!(target.send(0, &damaged).is_empty());
    assert!(target.send(0, &version).is_empty());
    assert!(target.send(0, &frame(64, [10, 9, 9, 9], 26)[..30]).is_empty());
    assert_eq!(target.switch.counter_read("In.verdicts", 1).unwrap(), CounterCell { packets: 3, bytes: 150 });
    assert!(target.send(0, &frame(1, [10, 9, 9, 9], 26)).is_empty());
    assert!(target.send(0, &[0; 14]).is_empty());
    assert_eq!(target.switch.counter_read("In.verdicts", 2).unwrap(), CounterCell { packets: 2, bytes: 74 });
    assert!(target.send(0, &frame(64, [10, 1, 2, 3], 0)).is_empty());
    assert!(target.send(0, &frame(64, [11, 1, 2, 3], 0)).is_empty());
    assert_eq!(target.drops, vec![DropReason::Ingress; 7]);
}

#[test]
fn direct_counters_belong_to_entries_and_to_the_default_entry() {
    let mut target = router();
    let key = lpm([10, 1, 0, 0], 16);
    let entry = EntryRef::Key { key: &key, priority: 0 };
    target.send(0, &frame(64, [10, 1, 9, 9], 26));
    target.send(0, &frame(64, [10, 1, 9, 8], 6));
    assert_eq!(
        target.switch.direct_counter_read(ROUTES, entry).unwrap(),
        CounterCell { packets: 2, bytes: 100 }
    );
    target.switch.direct_counter_write(ROUTES, entry, CounterCell { packets: 1, bytes: 2 }).unwrap();
    let read = target.switch.table_read(ROUTES, &key, 0).unwrap();
    assert_eq!(read.counter, Some(CounterCell { packets: 1, bytes: 2 }));
    let missed = target.switch.direct_counter_read(ROUTES, EntryRef::Default).unwrap();
    assert_eq!(missed, CounterCell::default());
    target.send(0, &frame(64, [99, 1, 9, 8], 6));
    let missed = target.switch.direct_counter_read(ROUTES, EntryRef::Default).unwrap();
    assert_eq!(missed, CounterCell { packets: 1, bytes: 40 });
}

#[test]
fn entries_are_read_modified_and_deleted() {
    let mut target = router();
    let key = lpm([10, 0, 0, 0], 8);
    let entry = TableEntry {
        key: key.clone(),
        priority: 0,
        action: call("In.set_next_hop", &[&[2]]),
        idle_timeout_ns: 0,
    };
    target.switch.table_modify(ROUTES, &entry, 0).unwrap();
    assert_eq!(target.send_one(0, &frame(9, [10, 9, 9, 9], 26)).0, 6);
    assert_eq!(target.switch.table_read(ROUTES, &key, 0).unwrap().entry, entry);
    target.switch.table_delete(ROUTES, &key, 0).unwrap();
    assert!(target.send(0, &frame(9, [10, 9, 9, 9], 26)).is_empty());
    let mut seen = 0;
    target.switch.table_for_each(ROUTES, &mut |_| seen += 1).unwrap();
    assert_eq!((seen, target.switch.table_len(ROUTES).unwrap()), (2, 2));
}

#[test]
fn default_actions_are_set_and_reset() {
    let mut target = router();
    let before = target.switch.table_default(ROUTES).unwrap();
    target.switch.table_set_default(ROUTES, &call("In.set_next_hop", &[&[1]])).unwrap();
    // A miss stays a miss with any default action.
    assert!(target.send(0, &frame(9, [1, 2, 3, 4], 26))[0].1[22] == 8);
    target.switch.table_reset_default(ROUTES).unwrap();
    assert_eq!(target.switch.table_default(ROUTES).unwrap(), before);
    let error = target.switch.table_set_default(NEXT_HOPS, &call("In.drop", &[])).unwrap_err();
    assert_eq!(error.kind(), ControlErrorKind::PermissionDenied);
}

/// Every refusal of a table write, with its class and its whole text.
#[test]
fn refusals_say_what_is_wrong() {
    let mut target = router();
    let good =
        |key: Vec<KeyMatch>, action: EntryAction| TableEntry { key, priority: 0, action, idle_timeout_ns: 0 };
    let hop = || call("In.set_next_hop", &[&[1]]);
    let cases = [
        ("nowhere", good(lpm([0; 4], 0), hop()), "no table named 'nowhere' in this program"),
        (ROUTES, good(lpm([10, 0, 0, 0], 8), hop()), "table 'In.routes': the entry exists already"),
        (ROUTES, good(vec![], hop()), "table 'In.routes': the key has 1 field(s), got 0"),
        (
            ROUTES,
            good(vec![exact(&[1])], hop()),
            "table 'In.routes': key field 'hdr.ipv4.dst' is matched as lpm, got exact",
        ),
        (
            ROUTES,
            good(lpm([1, 2, 3, 4], 33), hop()),
            "table 'In.routes': key field 'hdr.ipv4.dst': prefix length 33; valid: 0 to 32",
        ),
        (
            ROUTES,
            good(lpm([1, 2, 3, 4], 31), hop()),
            "",
        ),
        (
            ROUTES,
            good(lpm([1, 2, 3, 5], 31), hop()),
            "table 'In.routes': key field 'hdr.ipv4.dst': the value has bits outside of its mask",
        ),
        (
            ROUTES,
            good(vec![KeyMatch::Lpm { value: vec![1, 0, 0, 0, 0], prefix_bits: 0 }], hop()),
            "table 'In.routes': the value of key field 'hdr.ipv4.dst' needs more than its 32 bits",
        ),
        (
            ROUTES,
            TableEntry { priority: 7, ..good(lpm([9, 0, 0, 0], 8), hop()) },
            "table 'In.routes': an entry without ternary, range or optional fields has priority 0, got 7",
        ),
        (
            ROUTES,
            good(lpm([9, 0, 0, 0], 8), call("In.forward", &[])),
            "table 'In.routes': no action 'In.forward'; valid: In.set_next_hop, In.drop",
        ),
        (
            ROUTES,
            good(lpm([9, 0, 0, 0], 8), call("In.set_next_hop", &[])),
            "table 'In.routes': action 'In.set_next_hop' takes 1 parameter(s), got 0",
        ),
        (
            ROUTES,
            good(lpm([9, 0, 0, 0], 8), call("In.set_next_hop", &[&[1, 0, 0]])),
            "table 'In.routes': the value of parameter 'next_hop' of action 'In.set_next_hop' needs more than its 16 bits",
        ),
        (
            ROUTES,
            good(lpm([9, 0, 0, 0], 8), EntryAction::Member(1)),
            "table 'In.routes': its entries name an action; it has no action profile",
        ),
    ];
    for (table, entry, expected) in cases {
        let text = target.switch.table_insert(table, &entry, 0).err().map(|error| error.to_string());
        assert_eq!(text.as_deref().unwrap_or(""), expected);
    }
    for next_hop in 3..5 {
        target.insert(NEXT_HOPS, vec![exact(&[next_hop])], 0, call("In.drop", &[]));
    }
    let error =
        target.switch.table_insert(NEXT_HOPS, &good(vec![exact(&[9])], call("In.drop", &[])), 0).unwrap_err();
    assert_eq!(error.to_string(), "table 'In.next_hops': full, its size is 4");
    assert_eq!(error.kind(), ControlErrorKind::ResourceExhausted);
    let error = target.switch.counter_read("In.verdicts", 8).unwrap_err();
    assert_eq!(error.to_string(), "counter 'In.verdicts': index 8 is out of range; valid: 0 to 7");
}
