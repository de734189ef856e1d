//! Changes JSON documents at random, from a seed.

use serde_json::Value;

/// A small generator, so that a failure can be repeated.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, limit: usize) -> usize {
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
fn change(value: &mut Value, at: &mut usize, random: &mut Random, pool: &[Value]) -> bool {
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
        Value::Array(items) => items.iter_mut().all(|item| change(item, at, random, pool)),
        Value::Object(members) => {
            let mut values = members.values_mut();
            values.all(|value| change(value, at, random, pool))
        }
        _ => true,
    }
}

/// A copy of a document with one to three changes.
pub fn mutated(base: &Value, random: &mut Random) -> Value {
    let mut pool = Vec::new();
    pieces(base, &mut pool);
    let mut value = base.clone();
    for _ in 0..=random.below(2) {
        let mut at = random.below(size(&value));
        change(&mut value, &mut at, random, &pool);
    }
    value
}
