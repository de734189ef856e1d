//! Changes programs at random and runs those that still load: nothing may panic, and native code must do what the
//! interpreter does.

use std::sync::Arc;

use p4mesh_pipeline::*;
use serde_json::Value;

#[path = "json.rs"]
mod json;

pub use json::Random;

/// Mutates `base`; true if the result still is a program.
pub fn try_mutation(base: &Value, random: &mut Random) -> bool {
    let value = json::mutated(base, random);
    let text = value.to_string();
    let Ok(program) = Program::from_json(&text) else { return false };
    let cells = program.registers().iter().map(|array| array.size).sum::<usize>()
        + program.counters().iter().map(|array| array.size).sum::<usize>()
        + program.meters().iter().map(|array| array.size).sum::<usize>();
    if cells < 1 << 20 {
        let executable = Arc::new(Executable::new(program));
        let seed = random.next();
        let native = exercise(&executable, Execution::Native, &mut Random::new(seed));
        let interpreted = exercise(&executable, Execution::Interpreted, &mut Random::new(seed));
        assert!(native == interpreted, "native code and interpreter differ for {text}");
    }
    true
}

/// Fills tables, sends frames, and returns the outputs.
fn exercise(executable: &Arc<Executable>, execution: Execution, random: &mut Random) -> Vec<String> {
    let config = SwitchConfig { pass_limit: 3, ..SwitchConfig::default() };
    let program = executable.program();
    let mut switch = Switch::new(executable.clone(), config);
    switch.set_execution(execution);
    let replicas = [Replica { port: 1, instance: 1 }, Replica { port: 2, instance: 3 }];
    for id in 1..8 {
        let _ = switch.multicast_insert(id, &replicas);
        let session = CloneSession { replicas: replicas.to_vec(), ..CloneSession::default() };
        let _ = switch.clone_session_insert(id, &session);
    }
    for table in program.tables().iter().filter(|table| !table.actions.is_empty()) {
        let key = table.key.iter().map(|field| {
            let mut value = vec![0; (field.width_bits as usize).div_ceil(8)];
            if let Some(last) = value.last_mut() {
                *last = random.next() as u8 & 3;
            }
            match field.kind {
                MatchKind::Exact => KeyMatch::Exact(value),
                MatchKind::Lpm => KeyMatch::Lpm { value: vec![0], prefix_bits: 0 },
                MatchKind::Range => KeyMatch::Range { low: vec![0], high: value },
                MatchKind::Valid => KeyMatch::Valid(true),
                _ => KeyMatch::Ternary { value: vec![0], mask: value },
            }
        });
        let key = key.collect();
        let action = &program.actions()[table.actions[random.below(table.actions.len())]];
        let params = action.params.iter().map(|_| vec![random.next() as u8 & 1]).collect();
        let entry = TableEntry {
            key,
            priority: i32::from(table.needs_priority()),
            action: EntryAction::Direct(ActionCall { action: action.name.clone(), params }),
            idle_timeout_ns: 0,
        };
        let _ = switch.table_insert(&table.name, &entry, 0);
    }
    let mut out = Outputs::default();
    let mut seen = Vec::new();
    for _ in 0..20 {
        let length = random.below(80);
        let frame = (0..length).map(|_| random.next() as u8 & 0x1f).collect();
        let packet = IngressPacket {
            port: 1,
            frame,
            instance_type: InstanceType::Normal,
            preserved: Preserved::default(),
        };
        switch.ingress(packet, 0, 0, &mut out);
        for _ in 0..10 {
            for item in std::mem::take(&mut out.items) {
                match item {
                    Output::Enqueue(packet) => switch.egress(packet, &EgressTimes::default(), &mut out),
                    Output::Reenter(packet) => switch.ingress(packet, 0, 0, &mut out),
                    Output::Transmit { port, frame } => seen.push(format!("{port}: {frame:02x?}")),
                    Output::Digest { digest, fields } => seen.push(format!("{digest}: {fields:02x?}")),
                    Output::Drop(reason) => seen.push(format!("{reason:?}")),
                }
            }
        }
        out.items.clear();
    }
    for register in program.registers() {
        let cells = switch.register_read_u64(&register.name, 0, register.size.min(64));
        seen.push(format!("{cells:?}"));
    }
    seen
}
