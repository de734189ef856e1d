//! Mutated frames through the parsers, controls and deparsers of all programs of the differential
//! harness: nothing may panic, hang or grow, and native code must do what the interpreter does.
//!
//! The corpus is the recorded frames of each program (`engine/differential/expectations`). Runs for
//! `P4MESH_FUZZ_SECONDS` (default 2) from `P4MESH_FUZZ_SEED` (default 1).

// Only the generator of it.
#[allow(dead_code)]
#[path = "common/json.rs"]
mod json;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use json::Random;
use p4mesh_pipeline::*;
use serde_json::Value;

/// Longest frame; Linux interfaces and simulated lines carry less.
const MAX_FRAME_BYTES: usize = 16_384;
/// Passes that follow from one frame at most; a program may go on for ever.
const MAX_PASSES: usize = 200;

struct Seeds {
    name: String,
    executable: Arc<Executable>,
    frames: Vec<Vec<u8>>,
}

fn setting(name: &str, default: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn json(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap()
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits = (0..hex.len()).step_by(2);
    digits.map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

/// The programs with the frames that were recorded of them.
fn corpus() -> Vec<Seeds> {
    let harness = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../differential");
    let files = std::fs::read_dir(harness.join("compiled")).expect("compiled programs");
    let mut programs: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    programs
        .retain(|path| path.extension().is_some_and(|end| end == "json") && !path.ends_with("manifest.json"));
    programs.sort();
    let mut seeds = Vec::new();
    for path in programs {
        let name = path.file_stem().unwrap().to_str().unwrap().to_string();
        let recorded = json(&harness.join(format!("expectations/{name}.json")));
        let scenarios = recorded["scenarios"].as_array().expect("scenarios");
        let steps = scenarios.iter().flat_map(|scenario| scenario["steps"].as_array().expect("steps"));
        // A step is [["frame", PORT, DATA], OUTCOME].
        let frames = steps.filter(|step| step[0][0] == "frame");
        let frames: Vec<Vec<u8>> = frames.map(|step| bytes(step[0][2].as_str().expect("data"))).collect();
        let program = Program::from_json(&json(&path).to_string()).expect("a program");
        seeds.push(Seeds { name, executable: Arc::new(Executable::new(program)), frames });
    }
    seeds
}

fn mutated(frames: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut frame = match frames.is_empty() {
        true => Vec::new(),
        false => frames[random.below(frames.len())].clone(),
    };
    for _ in 0..random.below(6) {
        let at = random.below(frame.len() + 1);
        match random.below(7) {
            0 | 1 if at < frame.len() => frame[at] ^= 1 << random.below(8),
            2 if at < frame.len() => frame[at] = [0, 0xff, 0x7f, 0x80][random.below(4)],
            3 => frame.truncate(at),
            4 => frame.insert(at, random.next() as u8),
            5 => frame.extend_from_within(at..),
            6 if random.below(20) == 0 => frame.resize(random.below(MAX_FRAME_BYTES), random.next() as u8),
            _ => {}
        }
    }
    frame.truncate(MAX_FRAME_BYTES);
    frame
}

/// All outputs that follow from a frame, as text.
fn run(switch: &mut Switch, frame: Vec<u8>, port: u16, out: &mut Outputs) -> Vec<String> {
    let mut seen = Vec::new();
    let packet =
        IngressPacket { port, frame, instance_type: InstanceType::Normal, preserved: Preserved::default() };
    switch.ingress(packet, 0, 0, out);
    let mut passes = 0;
    while !out.items.is_empty() {
        for item in std::mem::take(&mut out.items) {
            passes += 1;
            match item {
                Output::Enqueue(packet) if passes > MAX_PASSES => switch.discard(packet, out),
                Output::Reenter(_) if passes > MAX_PASSES => {}
                Output::Enqueue(packet) => switch.egress(packet, &EgressTimes::default(), out),
                Output::Reenter(packet) => switch.ingress(packet, 0, 0, out),
                Output::Transmit { port, frame } => seen.push(format!("{port}: {frame:02x?}")),
                Output::Digest { digest, fields } => seen.push(format!("{digest}: {fields:02x?}")),
                Output::Drop(reason) => seen.push(format!("{reason:?}")),
            }
        }
    }
    seen
}

fn switch(executable: &Arc<Executable>, execution: Execution) -> Switch {
    let mut switch =
        Switch::new(executable.clone(), SwitchConfig { pass_limit: 3, ..SwitchConfig::default() });
    switch.set_execution(execution);
    let replicas = [Replica { port: 1, instance: 1 }, Replica { port: 2, instance: 3 }];
    for id in 1..8 {
        switch.multicast_insert(id, &replicas).expect("a group");
        let session = CloneSession { replicas: replicas.to_vec(), ..CloneSession::default() };
        switch.clone_session_insert(id, &session).expect("a session");
    }
    switch
}

#[test]
fn mutated_frames() {
    let seed = setting("P4MESH_FUZZ_SEED", 1);
    let mut random = Random::new(seed);
    let corpus = corpus();
    // Loading the corpus takes a while on a busy machine.
    let end = Instant::now() + Duration::from_secs(setting("P4MESH_FUZZ_SECONDS", 2));
    assert!(corpus.len() > 50 && corpus.iter().all(|seeds| seeds.frames.len() > 50));
    let (mut frames, mut sent) = (0u64, 0usize);
    while Instant::now() < end {
        let seeds = &corpus[random.below(corpus.len())];
        let mut native = (switch(&seeds.executable, Execution::Native), Outputs::default());
        let mut interpreted = (switch(&seeds.executable, Execution::Interpreted), Outputs::default());
        for _ in 0..40 {
            frames += 1;
            let (frame, port) = (mutated(&seeds.frames, &mut random), random.below(6) as u16);
            let one = run(&mut native.0, frame.clone(), port, &mut native.1);
            let other = run(&mut interpreted.0, frame.clone(), port, &mut interpreted.1);
            assert!(
                one == other,
                "P4MESH_FUZZ_SEED={seed}: native code and interpreter differ: program {}, port {port}, frame {frame:02x?}",
                seeds.name
            );
            sent += one.len();
        }
    }
    println!("{frames} frames, {sent} outputs");
    assert!(frames > 0 && sent > 0);
}
