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

/// Random entries for every table that takes any.
fn fill(target: &mut Target, random: &mut Random) {
    let executable = target.switch.executable().clone();
    let program = executable.program();
    for table in program.tables() {
        for _ in 0..4 {
            let key = table.key.iter().map(|field| {
                let bytes = (field.width_bits as usize).div_ceil(8);
                let mut value = vec![0; bytes];
                value[bytes - 1] = random.byte() & 0x0f;
                match field.kind {
                    MatchKind::Exact => KeyMatch::Exact(value),
                    MatchKind::Lpm => KeyMatch::Lpm { value: vec![0; bytes], prefix_bits: 0 },
                    MatchKind::Range => KeyMatch::Range { low: vec![0; bytes], high: value },
                    MatchKind::Valid => KeyMatch::Valid(true),
                    _ => KeyMatch::Ternary { mask: value.clone(), value },
                }
            });
            let key = key.collect();
            let actions = &table.actions;
            let action = &program.actions()[actions[random.next() as usize % actions.len()]];
            let params = action.params.iter().map(|_| vec![random.byte() & 1]).collect();
            let action = EntryAction::Direct(ActionCall { action: action.name.clone(), params });
            let priority = if table.needs_priority() { 1 + (random.next() % 9) as i32 } else { 0 };
            let entry = TableEntry { key, priority, action, idle_timeout_ns: 0 };
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
    for name in ["router", "copies", "arithmetic", "structures", "matching", "details"] {
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
            let (left, right) = (native.send(3, &frame), interpreted.send(3, &frame));
            assert_eq!(left, right, "{name}, frame {round}: {frame:02x?}");
            native.now_ps += 1_000_000;
            interpreted.now_ps += 1_000_000;
        }
        assert_eq!(native.drops, interpreted.drops, "{name}");
        assert_eq!(native.digests, interpreted.digests, "{name}");
        let program = native.switch.program();
        for register in program.registers() {
            let read = |target: &Target| {
                target.switch.register_read_u64(&register.name, 0, register.size).unwrap().to_vec()
            };
            assert_eq!(read(&native), read(&interpreted));
        }
        for counter in program.counters().iter().filter(|counter| counter.direct_table.is_none()) {
            let read = |target: &Target| target.switch.counter_cells(&counter.name).unwrap().to_vec();
            assert_eq!(read(&native), read(&interpreted));
        }
    }
}
