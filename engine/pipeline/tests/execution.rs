//! Native code and the interpreter do the same: equal outputs and equal state, frame by frame.

mod common;

use common::*;
use p4mesh_pipeline::*;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Small values and extremes as often as any others.
    fn byte(&mut self) -> u8 {
        match self.next() % 4 {
            0 => (self.next() % 10) as u8,
            1 => [0, 1, 0x7f, 0x80, 0xff][(self.next() % 5) as usize],
            _ => self.next() as u8,
        }
    }
}

/// A random entry; there are few keys, so that entries meet each other and the packets.
fn random_entry(program: &Program, table: &TableInfo, random: &mut Random) -> TableEntry {
    let key = table.key.iter().map(|field| {
        let bytes = (field.width_bits as usize).div_ceil(8);
        let mut value = vec![0; bytes];
        value[bytes - 1] = random.byte() & 0x0f;
        match field.kind {
            MatchKind::Exact => {
                value[0] |= random.byte() & 1;
                KeyMatch::Exact(value)
            }
            MatchKind::Lpm => KeyMatch::Lpm { value: vec![0; bytes], prefix_bits: 0 },
            MatchKind::Range => KeyMatch::Range { low: vec![0; bytes], high: value },
            MatchKind::Valid => KeyMatch::Valid(true),
            _ => KeyMatch::Ternary { mask: value.clone(), value },
        }
    });
    let key = key.collect();
    let action = EntryAction::Direct(random_call(program, table, random));
    let priority = if table.needs_priority() { 1 + (random.next() % 9) as i32 } else { 0 };
    TableEntry { key, priority, action, idle_timeout_ns: 0 }
}

fn random_call(program: &Program, table: &TableInfo, random: &mut Random) -> ActionCall {
    let action = &program.actions()[table.actions[random.next() as usize % table.actions.len()]];
    let params = action.params.iter().map(|_| vec![random.byte() & 1]).collect();
    ActionCall { action: action.name.clone(), params }
}

/// A random write to every table.
fn change(target: &mut Target, random: &mut Random) {
    let executable = target.switch.executable().clone();
    let program = executable.program();
    for table in program.tables() {
        let entry = random_entry(program, table, random);
        // Writes that do not fit the entries are refused; that is not the point here.
        let _ = match random.next() % 8 {
            0..=2 => target.switch.table_insert(&table.name, &entry, 0),
            3..=4 => target.switch.table_modify(&table.name, &entry, 0),
            5..=6 => target.switch.table_delete(&table.name, &entry.key, entry.priority),
            _ => target
                .switch
                .table_set_default(&table.name, &EntryAction::Direct(random_call(program, table, random))),
        };
    }
}

/// Random entries for every table that takes any, and for the replication engine.
fn fill(target: &mut Target, random: &mut Random) {
    let executable = target.switch.executable().clone();
    let program = executable.program();
    for table in program.tables() {
        for _ in 0..4 {
            let entry = random_entry(program, table, random);
            // Duplicates and constant tables refuse; that is not the point here.
            let _ = target.switch.table_insert(&table.name, &entry, 0);
        }
    }
    fill_replication(target);
}

fn fill_replication(target: &mut Target) {
    for group in 1..8 {
        let replicas = [Replica { port: 5, instance: 1 }, Replica { port: 6, instance: 2 }];
        target.switch.multicast_insert(group, &replicas).unwrap();
        let session = CloneSession { replicas: replicas.to_vec(), ..CloneSession::default() };
        target.switch.clone_session_insert(group, &session).unwrap();
    }
}

#[test]
fn native_code_and_interpreter_agree() {
    for name in ["router", "copies", "arithmetic", "structures", "matching", "details", "wide", "repeated"] {
        let config = SwitchConfig { pass_limit: 4, ..SwitchConfig::default() };
        let mut native = load_with(name, config.clone());
        let mut interpreted = load_with(name, config);
        assert_eq!(interpreted.switch.set_execution(Execution::Interpreted), Execution::Interpreted);
        if cfg!(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))) {
            assert_eq!(native.switch.execution(), Execution::Native);
        }
        for target in [&mut native, &mut interpreted] {
            fill(target, &mut Random(0x5eed));
        }
        let mut random = Random(0xf00d);
        for round in 0..3_000 {
            let length = 1 + random.next() as usize % 60;
            let mut frame: Vec<u8> = (0..length).map(|_| random.byte()).collect();
            if name == "router" && length > 34 {
                frame[12..15].copy_from_slice(&[8, 0, 0x45]);
            }
            if name == "repeated" && length > 14 {
                frame[1] &= 0x1f;
                // Small numbers, whose differences are near those that the program looks for.
                frame.iter_mut().skip(2).take(12).enumerate().for_each(|(at, byte)| {
                    *byte = if at % 4 == 3 { *byte & 0x1f } else { *byte & 1 & (round >> 6) as u8 };
                });
            }
            if name == "wide" {
                frame.resize(20 + length % 3, 0);
                let starts = [
                    &[1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0][..],
                    &[2, 0, 0],
                    &[3, 0xff, 0, 0, 0, 0, 0, 0, 0, 0x0f],
                    &[3, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0x70],
                    &[3, 0, 1, 2, 3, 4, 5, 6, 7, 0, 0x10, 0, 0],
                    &[3, 1, 1, 2, 3, 4, 5, 6, 7, 0, 0, 0, 0x7f],
                    &[3],
                ];
                let start = starts[random.next() as usize % starts.len()];
                frame[..start.len()].copy_from_slice(start);
                frame.truncate(if random.next() % 8 == 0 { 9 } else { 22 });
            }
            let (left, right) = (native.send(3, &frame), interpreted.send(3, &frame));
            assert_eq!(left, right, "{name}, frame {round}: {frame:02x?}");
            for target in [&mut native, &mut interpreted] {
                target.now_ps += 1_000_000;
                if round % 16 == 15 {
                    change(target, &mut Random(0xbeef + round));
                }
            }
        }
        assert_same_state(name, &native, &interpreted);
    }
}

fn assert_same_state(name: &str, native: &Target, interpreted: &Target) {
    assert_eq!(native.drops, interpreted.drops, "{name}");
    assert_eq!(native.digests, interpreted.digests, "{name}");
    let program = native.switch.program();
    for register in program.registers() {
        let read =
            |target: &Target| target.switch.register_read_u64(&register.name, 0, register.size).unwrap();
        assert_eq!(read(native), read(interpreted));
    }
    for counter in program.counters().iter().filter(|counter| counter.direct_table.is_none()) {
        let read = |target: &Target| target.switch.counter_cells(&counter.name).unwrap().to_vec();
        assert_eq!(read(native), read(interpreted));
    }
}

/// Bytes of headers that the tester's parser knows, in any order; each names the next one.
fn random_headers(random: &mut Random) -> Vec<u8> {
    let mut bytes = vec![random.byte(), 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
    // The place and the width of the name of what follows.
    let mut name = (bytes.len(), 2);
    bytes.extend([0xff, 0xff]);
    for _ in 0..random.next() % 7 {
        let (number, header, next) = match (name.1, random.next() % 5) {
            (2, 0) => (0x8100, vec![0, 5, 0xff, 0xff], (2, 2)),
            (2, 1) => (0x8847, vec![0, 1, random.byte() & 1, 9, 0, 0, 2, 9], (0, 0)),
            (2, 2) => (0x6558, vec![0; 14], (12, 2)),
            (2, 3) => {
                let words = 5 + random.next() % 5;
                let mut header = vec![0; 4 * words as usize];
                header[0] = 0x40 | words as u8;
                (0x0800, header, (9, 1))
            }
            (2, _) => (0x86dd, [vec![0x60], vec![0; 39]].concat(), (6, 1)),
            (_, 0) => (4, [vec![0x45], vec![0; 19]].concat(), (9, 1)),
            (_, 1) => (41, [vec![0x60], vec![0; 39]].concat(), (6, 1)),
            (_, 2) => (47, vec![0x20, 0, 0xff, 0xff, 1, 2, 3, 4], (2, 2)),
            (_, 3) => {
                let units = (random.next() % 4) as u8;
                (60, [vec![17, units], vec![0; 6 + 8 * units as usize]].concat(), (0, 1))
            }
            (_, _) => {
                let port = [4789, 6635, 2152, 53][(random.next() % 4) as usize];
                (
                    17,
                    [0, 9, (port >> 8) as u8, port as u8, 0, 0, 0, 7, 8, 0, 0, 0, 0, 0, 1, 0].to_vec(),
                    (0, 0),
                )
            }
        };
        match name.1 {
            1 => bytes[name.0] = number as u8,
            _ => bytes[name.0..][..2].copy_from_slice(&(number as u16).to_be_bytes()),
        }
        name = (bytes.len() + next.0, next.1);
        bytes.extend(header);
        if name.1 == 0 {
            break;
        }
    }
    bytes.extend((0..4 * (random.next() % 8)).map(|_| random.byte()));
    bytes
}

/// Two transmitters for each of four streams, whose departures are always due, and captures of all that is not expected.
fn configure_tester(target: &mut Target) {
    let mut set = |table: &str, key: &[u64], action: &str, params: &[u64]| {
        let number = |value: &u64| value.to_be_bytes().to_vec();
        let key: Vec<KeyMatch> = key.iter().map(|value| exact(&number(value))).collect();
        let params: Vec<Vec<u8>> = params.iter().map(number).collect();
        let params: Vec<&[u8]> = params.iter().map(Vec::as_slice).collect();
        target.insert(table, key, 0, call(action, &params));
    };
    for stream in 0..4 {
        let params = [1, 0, 1 << 30, 0, 0, 1, 1 + stream % 2, 0];
        set("TesterIngress.streams.stream", &[stream], "TesterIngress.streams.set_stream", &params);
    }
    for transmitter in 1..3 {
        let params = [0, 1, 2, 2 * transmitter, 7 * transmitter, 0, 1 << 40, 3, 7, 9];
        let action = "TesterEgress.transmission.source_ipv4";
        set("TesterEgress.transmission.transmitter", &[transmitter], action, &params);
        for place in 0..2 {
            let entry = 2 * transmitter + place;
            let action = "TesterEgress.transmission.station_ipv4";
            set("TesterEgress.transmission.destination", &[entry], action, &[entry, 5, 9]);
        }
    }
    for reason in 1..9 {
        let params = [reason % 8, 1, 1 << 30];
        set("TesterIngress.capture.capture", &[reason, 0], "TesterIngress.capture.capture_first", &params);
    }
}

/// Headers are those of the frame in work, whatever stacks the frames before it had, also in copies that follow each other.
#[test]
fn stacks_of_the_tester_are_those_of_the_frame_in_work() {
    const FRAMES: u32 = 20_000;
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../p4src/compiled/p4mesh.json");
    let text = std::fs::read_to_string(path).unwrap();
    let config = SwitchConfig { pass_limit: 4, ..SwitchConfig::default() };
    let mut native = load_text(&text, config.clone());
    let mut interpreted = load_text(&text, config);
    interpreted.switch.set_execution(Execution::Interpreted);
    for target in [&mut native, &mut interpreted] {
        fill_replication(target);
        configure_tester(target);
        for stream in 0..4 {
            let start = [2, 4, stream, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 4];
            target.pass(InstanceType::Recirculated, 3, &start, false);
        }
    }
    let mut random = Random(0xf00d);
    let (mut sent, mut seeds) = (0, 0);
    for round in 0..FRAMES {
        let mut headers = random_headers(&mut random);
        if random.next() % 2 == 0 {
            headers.extend([0x50, 0x4d, 0, 0, 0, random.byte() & 7, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0]);
        }
        headers.truncate(if random.next() % 8 == 0 { 20 + random.next() as usize % 60 } else { 400 });
        headers.resize(headers.len().max(30), 0);
        let is_seed = random.next() % 2 == 0;
        let instance_type = if is_seed { InstanceType::Recirculated } else { InstanceType::Normal };
        if is_seed {
            let flags = [0, 0x40, 0x43, 5, 2][(random.next() % 5) as usize];
            let mut seed = vec![
                1,
                flags,
                random.byte() & 3,
                0,
                0,
                1,
                (round >> 8) as u8,
                round as u8,
                0,
                1,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                1,
            ];
            seed.append(&mut headers);
            headers = seed;
        }
        let (left, right) = (
            native.pass(instance_type, 3, &headers, false),
            interpreted.pass(instance_type, 3, &headers, false),
        );
        assert_eq!(left, right, "frame {round}: {headers:02x?}");
        sent += left.len();
        seeds += usize::from(is_seed);
        for target in [&mut native, &mut interpreted] {
            target.now_ps += 1_000_000;
        }
    }
    assert_eq!(sent, FRAMES as usize + seeds, "a capture of each frame, two copies of each seed");
    assert_same_state("tester", &native, &interpreted);
}

#[test]
fn a_table_leads_where_its_entries_and_its_default_action_say() {
    let frame = [1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0];
    let mut seen = Vec::new();
    for execution in [Execution::Native, Execution::Interpreted] {
        let mut target = load("wide");
        target.switch.set_execution(execution);
        let mut passed = vec![target.send_one(3, &frame).1[1]];
        target.switch.table_set_default("In.first", &call("In.set", &[&[5]])).unwrap();
        passed.push(target.send_one(3, &frame).1[1]);
        target.switch.table_set_default("In.first", &call("In.note", &[])).unwrap();
        passed.push(target.send_one(3, &frame).1[1]);
        target.switch.table_set_default("In.first", &call("In.leave", &[])).unwrap();
        passed.push(target.send_one(3, &frame).1[1]);
        target.switch.table_reset_default("In.first").unwrap();
        target.insert("In.second", vec![exact(&[1])], 0, call("In.set", &[&[9]]));
        passed.push(target.send_one(3, &frame).1[1]);
        target.insert("In.without_default", vec![exact(&[1])], 0, call("In.note", &[]));
        passed.push(target.send_one(3, &frame).1[1]);
        target.switch.table_delete("In.second", &[exact(&[1])], 0).unwrap();
        passed.push(target.send_one(3, &frame).1[1]);
        target.switch.table_delete("In.without_default", &[exact(&[1])], 0).unwrap();
        passed.push(target.send_one(3, &frame).1[1]);
        seen.push(passed);
    }
    assert_eq!(seen[0], [0x21, 0x26, 0x22, 0xee, 9, 10, 0x22, 0x21]);
    assert_eq!(seen[0], seen[1]);
}
