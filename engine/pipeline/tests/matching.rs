//! Match kinds and priorities, action profiles and selectors, meters, hashes, random numbers.

mod common;

use common::*;
use p4mesh_pipeline::*;

fn request(which: u8, a: u8, b: u16, c: u32) -> Vec<u8> {
    let mut frame = vec![which, a];
    frame.extend(b.to_be_bytes());
    frame.extend(c.to_be_bytes());
    frame
}

/// (value, colour, hash) of the result.
fn ask(target: &mut Target, which: u8, a: u8, b: u16, c: u32) -> (u16, u8, u32) {
    let (_, sent) = target.send_one(0, &request(which, a, b, c));
    (
        u16::from_be_bytes([sent[0], sent[1]]),
        sent[2],
        u32::from_be_bytes([sent[3], sent[4], sent[5], sent[6]]),
    )
}

fn set(value: u16) -> EntryAction {
    call("In.set", &[&value.to_be_bytes()])
}

#[test]
fn ternary_entries_go_by_priority() {
    let mut target = load("matching");
    let table = "In.ternary_table";
    target.insert(table, vec![ternary(&[0x10], &[0xf0]), exact(&[7])], 10, set(100));
    target.insert(table, vec![ternary(&[0x12], &[0xff]), exact(&[7])], 20, set(200));
    target.insert(table, vec![ternary(&[0], &[0]), exact(&[7])], 5, call("In.stop", &[]));
    assert_eq!(ask(&mut target, 0, 0x12, 7, 0), (200, 9, 0));
    assert_eq!(ask(&mut target, 0, 0x13, 7, 0), (100, 9, 0));
    assert_eq!(ask(&mut target, 0, 0x23, 7, 0), (0xdead, 0, 0), "exit ends the control");
    assert_eq!(ask(&mut target, 0, 0x12, 8, 0), (1, 9, 0));
    target.switch.table_delete(table, &[ternary(&[0x12], &[0xff]), exact(&[7])], 20).unwrap();
    assert_eq!(ask(&mut target, 0, 0x12, 7, 0).0, 100);
    let entry = TableEntry {
        key: vec![ternary(&[0], &[0]), exact(&[9])],
        priority: 0,
        action: set(1),
        idle_timeout_ns: 0,
    };
    let error = target.switch.table_insert(table, &entry, 0).unwrap_err();
    assert_eq!(
        error.to_string(),
        "table 'In.ternary_table': an entry with ternary, range or optional fields needs a priority greater than 0"
    );
}

#[test]
fn ranges_and_optional_fields() {
    let mut target = load("matching");
    let table = "In.range_table";
    let range = |low: u8, high: u8| KeyMatch::Range { low: vec![low], high: vec![high] };
    target.insert(table, vec![range(10, 20), KeyMatch::Optional(None)], 1, set(500));
    target.insert(table, vec![range(15, 30), KeyMatch::Optional(Some(vec![0xff]))], 2, set(600));
    assert_eq!(ask(&mut target, 1, 10, 0, 0).0, 500);
    assert_eq!(ask(&mut target, 1, 20, 0, 0xff).0, 600);
    assert_eq!(ask(&mut target, 1, 20, 0, 0xfe).0, 500);
    assert_eq!(ask(&mut target, 1, 25, 0, 0xfe).0, 2);
    assert_eq!(ask(&mut target, 1, 30, 0, 0xff).0, 600);
    assert_eq!(ask(&mut target, 1, 31, 0, 0xff).0, 2);
}

#[test]
fn entries_of_the_program_are_there_with_room_for_more() {
    let mut target = load("matching");
    assert_eq!(ask(&mut target, 2, 0x15, 0, 0).0, 30);
    assert_eq!(ask(&mut target, 2, 0x11, 0, 0).0, 30, "the first entry has the better priority");
    assert_eq!(ask(&mut target, 2, 0x99, 0, 0).0, 32);
    // The program does not say that they are const, nor how large the table is; P4Info does.
    target.insert("In.const_table", vec![ternary(&[1], &[1])], 9, set(1));
    assert_eq!(ask(&mut target, 2, 0x15, 0, 0).0, 1);
    assert_eq!(target.switch.table_len("In.const_table").unwrap(), 4);
}

#[test]
fn members_of_a_profile_are_shared_by_entries() {
    let mut target = load("matching");
    let member = |member: u32, value: u16| ProfileMember {
        member,
        action: action_call("In.set", &[&value.to_be_bytes()]),
    };
    target.switch.member_insert("In.profile", &member(3, 300)).unwrap();
    target.insert("In.profile_table", vec![exact(&[1])], 0, EntryAction::Member(3));
    target.insert("In.profile_table", vec![exact(&[2])], 0, EntryAction::Member(3));
    assert_eq!((ask(&mut target, 3, 1, 0, 0).0, ask(&mut target, 3, 2, 0, 0).0), (300, 300));
    target.switch.member_modify("In.profile", &member(3, 301)).unwrap();
    assert_eq!((ask(&mut target, 3, 1, 0, 0).0, ask(&mut target, 3, 2, 0, 0).0), (301, 301));
    let error = target.switch.member_delete("In.profile", 3).unwrap_err();
    assert_eq!(
        error.to_string(),
        "action profile 'In.profile', member 3: an entry of table 'In.profile_table' uses it"
    );
    assert_eq!(error.kind(), ControlErrorKind::FailedPrecondition);
    assert_eq!(ask(&mut target, 3, 9, 0, 0).0, 0, "no default action");
}

#[test]
fn selectors_choose_by_hash() {
    let mut target = load("matching");
    for member in 0..4u32 {
        let action = action_call("In.set", &[&(400 + member as u16).to_be_bytes()]);
        target.switch.member_insert("In.selector", &ProfileMember { member, action }).unwrap();
    }
    let group = ProfileGroup { group: 1, max_size: 8, members: vec![(0, 1), (1, 1), (3, 2)], absent: vec![] };
    target.switch.group_insert("In.selector", &group).unwrap();
    target.insert("In.selector_table", vec![exact(&[1])], 0, EntryAction::Group(1));
    let mut hits = [0; 4];
    for flow in 0..400u32 {
        let c = flow.wrapping_mul(0x9e37_79b9);
        let value = ask(&mut target, 4, 1, 0, c).0;
        hits[usize::from(value - 400)] += 1;
        assert_eq!(ask(&mut target, 4, 1, 0, c).0, value, "one flow, one member");
    }
    assert_eq!(hits[2], 0);
    assert!(hits[0] > 60 && hits[1] > 60 && hits[3] > 140, "{hits:?}");
    assert!(target.switch.member_delete("In.selector", 3).is_err());
    assert_eq!(target.switch.groups("In.selector").unwrap(), [group]);
}

#[test]
fn direct_meters_colour_by_rate() {
    let mut target = load("matching");
    let key = [exact(&[1])];
    target.insert("In.metered_table", key.to_vec(), 0, call("In.metered", &[&[1]]));
    assert_eq!(ask(&mut target, 5, 1, 0, 0), (1, 0, 0), "green until configured");
    let config =
        MeterConfig { committed_rate_per_s: 1, committed_burst: 1, peak_rate_per_s: 2, peak_burst: 2 };
    let entry = EntryRef::Key { key: &key, priority: 0 };
    target.switch.direct_meter_write("In.metered_table", entry, Some(config), 0).unwrap();
    let colours: Vec<u8> = (0..3).map(|_| ask(&mut target, 5, 1, 0, 0).1).collect();
    assert_eq!(colours, [0, 1, 2]);
    target.now_ps = 2_000_000_000_000;
    assert_eq!(ask(&mut target, 5, 1, 0, 0).1, 0);
    assert_eq!(target.switch.direct_meter_read("In.metered_table", entry).unwrap(), Some(config));
}

#[test]
fn indirect_meters_count_bytes() {
    let mut target = load("matching");
    let config =
        MeterConfig { committed_rate_per_s: 8, committed_burst: 8, peak_rate_per_s: 16, peak_burst: 16 };
    target.switch.meter_write("In.volume", 2, Some(config), 0).unwrap();
    let colours: Vec<u8> = (0..3).map(|_| ask(&mut target, 6, 2, 0, 0).1).collect();
    assert_eq!(colours, [0, 1, 2]);
    assert_eq!(ask(&mut target, 6, 200, 0, 0).1, 0, "an index out of range changes nothing");
    let wrong = MeterConfig { committed_rate_per_s: 2, peak_rate_per_s: 1, ..config };
    let error = target.switch.meter_write("In.volume", 2, Some(wrong), 0).unwrap_err();
    assert_eq!(error.to_string(), "meter 'In.volume': the committed rate is above the peak rate");
}

#[test]
fn idle_entries_expire() {
    let mut target = load("matching");
    let entry = TableEntry {
        key: vec![exact(&[1])],
        priority: 0,
        action: call("In.metered", &[&[1]]),
        idle_timeout_ns: 1_000,
    };
    target.switch.table_insert("In.metered_table", &entry, 0).unwrap();
    target.now_ps = 900_000;
    ask(&mut target, 5, 1, 0, 0);
    assert!(target.switch.table_expired("In.metered_table", 1_800_000).unwrap().is_empty());
    assert_eq!(target.switch.table_expired("In.metered_table", 1_900_000).unwrap(), [entry]);
}

#[test]
fn hashes_and_random_numbers() {
    let mut target = load("matching");
    // CRC-32 of the bytes 01 0002 00000003.
    let bytes = [1u8, 0, 2, 0, 0, 0, 3];
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
        }
    }
    assert_eq!(ask(&mut target, 7, 1, 2, 3).2, !crc);
    for c in 0..50 {
        assert!((100..110).contains(&ask(&mut target, 8, 0, 0, c).2));
    }
    let draw = |seed| -> Vec<u32> {
        let mut target = load_with("matching", SwitchConfig { seed, ..SwitchConfig::default() });
        (0..50).map(|_| ask(&mut target, 9, 0, 0, 0).2).collect()
    };
    assert!(draw(1).iter().all(|value| (5..=9).contains(value)));
    assert_eq!(draw(1), draw(1));
    assert_ne!(draw(1), draw(2));
}
