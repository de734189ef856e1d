//! Mutated network documents: a typed error or a network that runs, never a panic, a hang or memory
//! without bound.
//!
//! The corpus is `tests/corpus`. Runs for `P4MESH_FUZZ_SECONDS` (default 2) from `P4MESH_FUZZ_SEED`
//! (default 1).

#[path = "../../pipeline/tests/common/json.rs"]
mod json;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use json::Random;
use p4mesh_sim::Network;
use serde_json::Value;

/// Events of one network: some milliseconds of work.
const EVENTS: u64 = 5_000;

fn setting(name: &str, default: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn corpus() -> Vec<Value> {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(directory).expect("corpus").map(|entry| entry.expect("entry").path()).collect();
    paths.sort();
    let read = |path: &PathBuf| std::fs::read_to_string(path).expect("file");
    let parse = |path: &PathBuf| serde_json::from_str(&read(path)).expect("JSON");
    paths.iter().map(parse).collect()
}

/// Lets a host send a few frames into the network; false where a change has taken the host away.
fn exercise(network: &mut Network, random: &mut Random) -> bool {
    let mut sent = false;
    for _ in 0..20 {
        let mut frame = vec![0; [60, 60, 0, 1, 14, 1514, 20_000][random.below(7)]];
        for byte in frame.iter_mut().take(60) {
            *byte = random.next() as u8;
        }
        if frame.len() >= 14 {
            frame[..6].fill(if random.below(2) == 0 { 0xff } else { 0x02 });
            let ether_type = [0x0800u16, 0x86dd, 0x0806, 0x8100, 0x8808][random.below(5)];
            frame[12..14].copy_from_slice(&ether_type.to_be_bytes());
        }
        let port = 1 + random.below(2) as u16;
        sent |= network.host_send("host", port, &frame).is_ok();
        let _ = network.run_some(network.now_ps().saturating_add(10_000_000), EVENTS / 20);
    }
    let _ = network.set_link("dut", 1, false);
    let _ = network.run_some(network.now_ps().saturating_add(100_000_000_000), EVENTS);
    let _ = network.host_take("host");
    sent
}

#[test]
fn mutated_networks() {
    let seed = setting("P4MESH_FUZZ_SEED", 1);
    let end = Instant::now() + Duration::from_secs(setting("P4MESH_FUZZ_SECONDS", 2));
    let mut random = Random::new(seed);
    let corpus = corpus();
    for base in &corpus {
        let mut network = Network::from_json(&base.to_string()).expect("a seed is a network");
        assert!(exercise(&mut network, &mut random), "a seed has a host");
    }
    let (mut refused, mut ran) = (0u64, 0u64);
    while Instant::now() < end {
        let base = &corpus[random.below(corpus.len())];
        let text = json::mutated(base, &mut random).to_string();
        let guard = std::panic::AssertUnwindSafe(|| match Network::from_json(&text) {
            Ok(mut network) => {
                exercise(&mut network, &mut random);
                ran += 1;
            }
            Err(error) => {
                assert!(!error.to_string().is_empty());
                refused += 1;
            }
        });
        if let Err(panic) = std::panic::catch_unwind(guard) {
            eprintln!("P4MESH_FUZZ_SEED={seed}: {text}");
            std::panic::resume_unwind(panic);
        }
    }
    println!("{ran} networks ran, {refused} documents refused");
    assert!(ran > 0 && refused > 0);
}
