//! Documents that are not programs: a typed error that names the construct and the place, never a
//! panic. The mutations start from programs of this directory.

mod common;

use std::sync::Arc;

use common::*;
use p4mesh_pipeline::*;
use serde_json::Value;

fn refusal(change: impl FnOnce(&mut Value)) -> String {
    let mut value: Value = serde_json::from_str(&program_text("router")).unwrap();
    change(&mut value);
    match Program::from_json(&value.to_string()) {
        Ok(_) => "accepted".to_string(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn refusals_name_construct_and_place() {
    assert!(refusal(|_| {}) == "accepted");
    assert_eq!(
        Program::from_json("{").err().map(|error| error.to_string()).unwrap(),
        "not valid JSON: EOF while parsing an object at line 1 column 1"
    );
    assert_eq!(Program::from_json("[]").err().unwrap().to_string(), "document: expected an object");
    assert_eq!(
        refusal(|value| value["__meta__"]["version"] = serde_json::json!([3, 1])),
        "BMv2 JSON version 3.1 is not supported; valid: 2.x"
    );
    assert_eq!(
        refusal(|value| value["extern_instances"] = serde_json::json!([{"name": "x", "type": "Cipher"}])),
        "extern_instances[0]: extern 'Cipher' is not supported"
    );
    assert_eq!(
        refusal(|value| value["calculations"][0]["algo"] = "md5".into()),
        "calculations[0].algo: hash algorithm 'md5' is not supported"
    );
    assert_eq!(
        refusal(|value| value["actions"][1]["primitives"][0]["op"] = "encrypt".into()),
        "actions[1].primitives[0]: primitive 'encrypt' is not supported"
    );
    assert_eq!(
        refusal(|value| value["pipelines"][0]["tables"][0]["key"] = 5.into()),
        "pipelines[0].tables[0].key: expected an array"
    );
    assert_eq!(
        refusal(|value| value["counter_arrays"][0]["size"] = serde_json::json!(1u64 << 40)),
        "counter_arrays[0]: size of all arrays in 64-bit words is 2199023255552, the limit is 134217728"
    );
    assert_eq!(
        refusal(|value| value["parsers"] = serde_json::json!([])),
        "document: no parser named 'parser' in this program"
    );
}

/// A small generator, so that a failure can be repeated.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

fn size(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(members) => members.values().map(size).sum(),
        _ => 0,
    }
}

fn pieces(value: &Value, found: &mut Vec<Value>) {
    if size(value) < 40 {
        found.push(value.clone());
    }
    match value {
        Value::Array(items) => items.iter().for_each(|item| pieces(item, found)),
        Value::Object(members) => members.values().for_each(|member| pieces(member, found)),
        _ => {}
    }
}

/// Changes the value with number `at` in document order; false once it has been reached.
fn mutate(value: &mut Value, at: &mut usize, random: &mut Random, pool: &[Value]) -> bool {
    if *at == 0 {
        *value = match random.below(6) {
            0 => Value::Null,
            1 => Value::from(random.next() >> random.below(64)),
            2 => Value::from(format!("0x{:x}", random.next() >> random.below(64))),
            3 => Value::Array(Vec::new()),
            _ => pool[random.below(pool.len())].clone(),
        };
        return false;
    }
    *at -= 1;
    match value {
        Value::Array(items) => items.iter_mut().all(|item| mutate(item, at, random, pool)),
        Value::Object(members) => members.values_mut().all(|member| mutate(member, at, random, pool)),
        _ => true,
    }
}

#[test]
fn mutated_programs_and_random_frames_never_panic() {
    for (seed, name) in ["router", "copies", "structures", "matching"].iter().enumerate() {
        let base: Value = serde_json::from_str(&program_text(name)).unwrap();
        let mut pool = Vec::new();
        pieces(&base, &mut pool);
        let mut random = Random(0x9e37_79b9 + seed as u64);
        for _ in 0..150 {
            let mut value = base.clone();
            for _ in 0..=random.below(2) {
                let mut at = random.below(size(&value));
                mutate(&mut value, &mut at, &mut random, &pool);
            }
            let Ok(program) = Program::from_json(&value.to_string()) else { continue };
            if program.registers().iter().any(|register| register.size > 1 << 20) {
                continue;
            }
            let config = SwitchConfig { pass_limit: 3, ..SwitchConfig::default() };
            let mut switch = Switch::new(Arc::new(program), config);
            let mut out = Outputs::default();
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
                            Output::Enqueue(packet) => {
                                switch.egress(packet, QueueTimes::default(), 0, 0, &mut out);
                            }
                            Output::Reenter(packet) => switch.ingress(packet, 0, 0, &mut out),
                            _ => {}
                        }
                    }
                }
                out.items.clear();
            }
        }
    }
}
