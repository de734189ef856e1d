//! Mutated requests against a device: no panic, no hang, and all-or-none batches that fail change
//! nothing.
//!
//! Runs for `P4MESH_FUZZ_SECONDS` (default 2) from `P4MESH_FUZZ_SEED` (default 1); the corpus is
//! `tests/corpus`. A failure prints the seed and the iteration.

mod support;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use bytes::Bytes;
use p4mesh_p4runtime::proto::entity::*;
use p4mesh_p4runtime::proto::service::{ForwardingPipelineConfig, PipelineAction, ReadRequest, WriteRequest};
use p4mesh_p4runtime::proto::stream::PacketOut;
use p4mesh_p4runtime::proto::Uint128;
use p4mesh_p4runtime::{verify, Device};
use prost::Message;
use support::{config, device, send, send_read, send_write, DEVICE_ID};

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn corpus(prefix: &str) -> Vec<Vec<u8>> {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(directory)
        .expect("corpus")
        .map(|entry| entry.expect("entry").path())
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix)))
        .collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).expect("file")).collect()
}

/// A copy of one of the seeds with up to 8 small changes.
fn mutated(random: &mut Random, seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = seeds[random.below(seeds.len())].clone();
    for _ in 0..random.below(9) {
        let place = random.below(bytes.len());
        match random.below(6) {
            0 if !bytes.is_empty() => bytes[place] ^= 1 << random.below(8),
            1 if !bytes.is_empty() => bytes[place] = random.next() as u8,
            2 if !bytes.is_empty() => drop(bytes.remove(place)),
            3 => bytes.insert(place, random.next() as u8),
            4 => {
                let other = &seeds[random.below(seeds.len())];
                let from = random.below(other.len());
                let count = random.below(other.len() - from + 1);
                bytes.splice(place..place, other[from..from + count].iter().copied());
            }
            _ => bytes.truncate(place.max(1)),
        }
    }
    bytes
}

/// All readable state, as bytes in a fixed order.
fn state(device: &mut Device) -> Vec<Vec<u8>> {
    let table = TableEntry::default();
    let defaults = TableEntry { is_default_action: true, ..TableEntry::default() };
    let pre = |kind| PacketReplicationEngineEntry { r#type: Some(kind) };
    let wanted = [
        EntityKind::TableEntry(table),
        EntityKind::TableEntry(defaults),
        EntityKind::ActionProfileMember(ActionProfileMember::default()),
        EntityKind::ActionProfileGroup(ActionProfileGroup::default()),
        EntityKind::MeterEntry(MeterEntry::default()),
        EntityKind::DirectMeterEntry(DirectMeterEntry {
            table_entry: Some(TableEntry::default()),
            ..DirectMeterEntry::default()
        }),
        EntityKind::DirectCounterEntry(DirectCounterEntry {
            table_entry: Some(TableEntry::default()),
            ..DirectCounterEntry::default()
        }),
        EntityKind::CounterEntry(CounterEntry::default()),
        EntityKind::RegisterEntry(RegisterEntry::default()),
        EntityKind::ValueSetEntry(ValueSetEntry::default()),
        EntityKind::DigestEntry(DigestEntry::default()),
        EntityKind::PacketReplicationEngineEntry(pre(PreType::MulticastGroupEntry(
            MulticastGroupEntry::default(),
        ))),
        EntityKind::PacketReplicationEngineEntry(pre(PreType::CloneSessionEntry(
            CloneSessionEntry::default(),
        ))),
    ];
    let request = ReadRequest {
        device_id: DEVICE_ID,
        entities: wanted.into_iter().map(|entity| Entity { entity: Some(entity) }).collect(),
        ..ReadRequest::default()
    };
    let (messages, status) = send_read(device, &request);
    assert!(status.is_none(), "{status:?}");
    let mut entities: Vec<Vec<u8>> = Vec::new();
    for message in messages {
        let response = p4mesh_p4runtime::proto::service::ReadResponse::decode(message).expect("response");
        entities.extend(response.entities.iter().map(Message::encode_to_vec));
    }
    // The order of entries may change when one is taken out and put back.
    entities.sort();
    entities
}

#[test]
fn mutated_requests() {
    let seed = setting("P4MESH_FUZZ_SEED", 1);
    let end = Instant::now() + Duration::from_secs(setting("P4MESH_FUZZ_SECONDS", 2));
    let mut random = Random(seed);
    let (writes, reads, packets) = (corpus("write-"), corpus("read-"), corpus("packet-out-"));
    let (mut device, target) = device();
    let (mut iteration, mut accepted, mut refused) = (0u64, 0u64, 0u64);
    while Instant::now() < end {
        iteration += 1;
        let guard = std::panic::AssertUnwindSafe(|| match random.below(8) {
            0 => {
                let bytes = Bytes::from(mutated(&mut random, &reads));
                if let Ok(mut request) = ReadRequest::decode(bytes) {
                    request.device_id = DEVICE_ID;
                    send_read(&mut device, &request);
                }
            }
            1 => {
                let bytes = Bytes::from(mutated(&mut random, &packets));
                if let Ok(packet) = PacketOut::decode(bytes) {
                    send(&mut device, &packet);
                    target.lock().expect("target").packet_outs.clear();
                }
            }
            _ => {
                let bytes = Bytes::from(mutated(&mut random, &writes));
                let Ok(mut request) = WriteRequest::decode(bytes) else {
                    return;
                };
                request.device_id = DEVICE_ID;
                request.election_id = Some(Uint128::from(1));
                request.role.clear();
                request.role_id = 0;
                request.atomicity = random.below(3) as i32;
                let all_or_none = request.atomicity > 0;
                let before = all_or_none.then(|| state(&mut device));
                match send_write(&mut device, &request) {
                    Ok(()) => accepted += 1,
                    Err(status) => {
                        refused += 1;
                        assert_ne!(status.code(), tonic::Code::Internal, "{status:?}");
                        if let Some(before) = before {
                            assert!(before == state(&mut device), "a failed batch changed state");
                        }
                    }
                }
            }
        });
        if let Err(panic) = std::panic::catch_unwind(guard) {
            eprintln!("P4MESH_FUZZ_SEED={seed}, iteration {iteration}");
            std::panic::resume_unwind(panic);
        }
    }
    println!("{iteration} iterations, {accepted} writes accepted, {refused} refused");
    assert!(accepted > 0 && refused > 0);
}

#[test]
fn mutated_configs() {
    let seed = setting("P4MESH_FUZZ_SEED", 1);
    let end = Instant::now() + Duration::from_secs(setting("P4MESH_FUZZ_SECONDS", 2));
    let mut random = Random(seed);
    let good = config();
    let info = vec![good.p4info.expect("P4Info").to_vec()];
    let program = vec![good.p4_device_config.to_vec()];
    let mut iteration = 0u64;
    while Instant::now() < end {
        iteration += 1;
        let (info, program) = match random.below(8) {
            0 => (info[0].clone(), mutated(&mut random, &program)),
            _ => (mutated(&mut random, &info), program[0].clone()),
        };
        let config = ForwardingPipelineConfig {
            p4info: Some(info.into()),
            p4_device_config: program.into(),
            cookie: None,
        };
        let guard = || drop(verify(PipelineAction::Verify as i32, Some(config)));
        if let Err(panic) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(guard)) {
            eprintln!("P4MESH_FUZZ_SEED={seed}, iteration {iteration}");
            std::panic::resume_unwind(panic);
        }
    }
    println!("{iteration} configs");
}
