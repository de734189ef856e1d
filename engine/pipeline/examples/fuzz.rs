//! Mutates programs for a while: `fuzz SECONDS SEED PROGRAM.json...`.
//!
//! Nothing may panic, and native code must do what the interpreter does. A failure repeats with the
//! seed that is printed at the start.

use std::time::{Duration, Instant};

use serde_json::Value;

#[path = "../tests/common/mutate.rs"]
mod mutate;

fn main() -> Result<(), String> {
    let usage = || "usage: fuzz SECONDS SEED PROGRAM.json...".to_string();
    let mut args = std::env::args().skip(1);
    let mut number = || args.next().and_then(|text| text.parse::<u64>().ok()).ok_or_else(usage);
    let (seconds, seed) = (number()?, number()?);
    let mut programs = Vec::new();
    for path in args {
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
        let value: Value = serde_json::from_str(&text).map_err(|error| format!("{path}: {error}"))?;
        programs.push(value);
    }
    if programs.is_empty() {
        return Err(usage());
    }
    println!("seed {seed}, {} programs, {seconds} s", programs.len());
    let mut random = mutate::Random::new(seed);
    let (mut tried, mut loaded) = (0u64, 0u64);
    let end = Instant::now() + Duration::from_secs(seconds);
    while Instant::now() < end {
        let base = &programs[random.below(programs.len())];
        tried += 1;
        loaded += u64::from(mutate::try_mutation(base, &mut random));
    }
    println!("{tried} mutations, {loaded} of them still programs");
    Ok(())
}
