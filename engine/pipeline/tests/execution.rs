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
    for group in 1..8 {
        let replicas = [Replica { port: 5, instance: 1 }, Replica { port: 6, instance: 2 }];
        target.switch.multicast_insert(group, &replicas).unwrap();
        let session = CloneSession { replicas: replicas.to_vec(), ..CloneSession::default() };
        target.switch.clone_session_insert(group, &session).unwrap();
    }
}

#[test]
fn native_code_and_interpreter_agree() {
    for name in ["router", "copies", "arithmetic", "structures", "matching", "details", "wide"] {
        let config = SwitchConfig { pass_limit: 4, ..SwitchConfig::default() };
        let mut native = load_with(name, config.clone());
        let mut interpreted = load_with(name, config);
        assert_eq!(interpreted.switch.set_execution(Execution::Interpreted), Execution::Interpreted);
        if cfg!(all(target_arch = "x86_64", target_os = "linux")) {
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
        assert_eq!(native.drops, interpreted.drops, "{name}");
        assert_eq!(native.digests, interpreted.digests, "{name}");
        let program = native.switch.program();
        for register in program.registers() {
            let read =
                |target: &Target| target.switch.register_read_u64(&register.name, 0, register.size).unwrap();
            assert_eq!(read(&native), read(&interpreted));
        }
        for counter in program.counters().iter().filter(|counter| counter.direct_table.is_none()) {
            let read = |target: &Target| target.switch.counter_cells(&counter.name).unwrap().to_vec();
            assert_eq!(read(&native), read(&interpreted));
        }
    }
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
