//! A MAC address table with aging in virtual time: fully associative, or hashed into buckets.

use rustc_hash::FxHashMap;
use serde::Deserialize;

/// `mac_table` of an Ethernet switch.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MacTableConfig {
    /// Addresses that fit.
    pub size: usize,
    /// An address that has not been seen for longer is forgotten; 0 = never.
    pub aging_ps: u64,
    /// Entries per hash bucket; absent: any `size` addresses fit.
    pub ways: Option<usize>,
}

impl Default for MacTableConfig {
    fn default() -> MacTableConfig {
        MacTableConfig {
            size: 16_384,
            aging_ps: 300_000_000_000_000,
            ways: None,
        }
    }
}

#[derive(Clone, Copy)]
struct Entry {
    seen_ps: u64,
    port: u32,
}

enum Store {
    Associative(FxHashMap<u64, Entry>),
    /// `ways` slots per bucket, the oldest first.
    Hashed {
        ways: usize,
        slots: Vec<Option<(u64, Entry)>>,
    },
}

/// What became of a source address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Learned {
    Known,
    New,
    Moved,
    /// No room: the address is not learned.
    Full,
}

/// Addresses with the port behind which they are.
pub struct MacTable {
    store: Store,
    size: usize,
    aging_ps: u64,
    /// No entry of a full associative table expires before this.
    purge_after_ps: u64,
}

impl MacTable {
    pub fn new(config: &MacTableConfig) -> MacTable {
        let store = match config.ways {
            None => Store::Associative(FxHashMap::default()),
            Some(ways) => Store::Hashed {
                ways,
                slots: vec![None; config.size],
            },
        };
        let aging_ps = if config.aging_ps == 0 {
            u64::MAX
        } else {
            config.aging_ps
        };
        MacTable {
            store,
            size: config.size,
            aging_ps,
            purge_after_ps: 0,
        }
    }

    /// The port of an address.
    #[inline]
    pub fn lookup(&self, mac: u64, now_ps: u64) -> Option<usize> {
        let entry = match &self.store {
            Store::Associative(entries) => entries.get(&mac),
            Store::Hashed { ways, slots } => {
                let bucket = bucket(mac, slots.len() / ways) * ways;
                slots[bucket..bucket + ways]
                    .iter()
                    .flatten()
                    .find(|(key, _)| *key == mac)
                    .map(|(_, entry)| entry)
            }
        };
        entry
            .filter(|entry| now_ps - entry.seen_ps <= self.aging_ps)
            .map(|entry| entry.port as usize)
    }

    /// Learns or refreshes an address.
    #[inline]
    pub fn learn(&mut self, mac: u64, port: usize, now_ps: u64) -> Learned {
        let aging_ps = self.aging_ps;
        let fresh = Entry {
            seen_ps: now_ps,
            port: port as u32,
        };
        match &mut self.store {
            Store::Associative(entries) => {
                if let Some(entry) = entries.get_mut(&mac) {
                    let outcome = outcome(entry, &fresh, aging_ps);
                    *entry = fresh;
                    return outcome;
                }
                if entries.len() >= self.size && now_ps > self.purge_after_ps {
                    entries.retain(|_, entry| now_ps - entry.seen_ps <= aging_ps);
                    let oldest_ps = entries
                        .values()
                        .map(|entry| entry.seen_ps)
                        .min()
                        .unwrap_or(now_ps);
                    self.purge_after_ps = oldest_ps.saturating_add(aging_ps);
                }
                if entries.len() >= self.size {
                    return Learned::Full;
                }
                entries.insert(mac, fresh);
                Learned::New
            }
            Store::Hashed { ways, slots } => {
                let bucket = bucket(mac, slots.len() / *ways) * *ways;
                let slots = &mut slots[bucket..bucket + *ways];
                if let Some((_, entry)) = slots.iter_mut().flatten().find(|(key, _)| *key == mac) {
                    let outcome = outcome(entry, &fresh, aging_ps);
                    *entry = fresh;
                    return outcome;
                }
                let usable = |slot: &&mut Option<(u64, Entry)>| {
                    slot.as_ref()
                        .is_none_or(|(_, entry)| now_ps - entry.seen_ps > aging_ps)
                };
                match slots.iter_mut().find(usable) {
                    Some(slot) => {
                        *slot = Some((mac, fresh));
                        Learned::New
                    }
                    None => Learned::Full,
                }
            }
        }
    }

    /// Addresses that have not aged.
    pub fn len(&self, now_ps: u64) -> usize {
        let live = |entry: &&Entry| now_ps - entry.seen_ps <= self.aging_ps;
        match &self.store {
            Store::Associative(entries) => entries.values().filter(live).count(),
            Store::Hashed { slots, .. } => slots
                .iter()
                .flatten()
                .map(|(_, entry)| entry)
                .filter(live)
                .count(),
        }
    }

    pub fn clear(&mut self) {
        self.purge_after_ps = 0;
        match &mut self.store {
            Store::Associative(entries) => entries.clear(),
            Store::Hashed { slots, .. } => slots.fill(None),
        }
    }
}

fn outcome(old: &Entry, fresh: &Entry, aging_ps: u64) -> Learned {
    if fresh.seen_ps - old.seen_ps > aging_ps {
        Learned::New
    } else if old.port != fresh.port {
        Learned::Moved
    } else {
        Learned::Known
    }
}

/// CRC-16/CCITT of the address, modulo the number of buckets.
fn bucket(mac: u64, buckets: usize) -> usize {
    let mut crc = 0xffffu16;
    for byte in &mac.to_be_bytes()[2..] {
        crc ^= u16::from(*byte) << 8;
        for _ in 0..8 {
            crc = if crc & 0x8000 == 0 {
                crc << 1
            } else {
                crc << 1 ^ 0x1021
            };
        }
    }
    usize::from(crc) % buckets
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(size: usize, aging_ps: u64, ways: Option<usize>) -> MacTable {
        MacTable::new(&MacTableConfig {
            size,
            aging_ps,
            ways,
        })
    }

    #[test]
    fn an_address_ages_exactly_after_its_time() {
        for ways in [None, Some(4)] {
            let mut table = table(8, 1_000, ways);
            assert_eq!(table.learn(5, 2, 100), Learned::New);
            assert_eq!(table.lookup(5, 1_100), Some(2));
            assert_eq!(table.lookup(5, 1_101), None);
            assert_eq!(table.learn(5, 2, 500), Learned::Known);
            assert_eq!(table.lookup(5, 1_500), Some(2));
        }
    }

    #[test]
    fn a_station_moves() {
        let mut table = table(8, 0, None);
        table.learn(5, 2, 0);
        assert_eq!(table.learn(5, 3, 1), Learned::Moved);
        assert_eq!(table.lookup(5, 1), Some(3));
    }

    #[test]
    fn an_associative_table_holds_its_size_and_reuses_what_aged() {
        let mut table = table(4, 1_000, None);
        for mac in 0..4 {
            assert_eq!(table.learn(mac, 0, mac * 10), Learned::New);
        }
        assert_eq!(table.learn(9, 0, 500), Learned::Full);
        assert_eq!(table.learn(9, 0, 1_000), Learned::Full);
        assert_eq!(table.learn(9, 0, 1_001), Learned::New);
        assert_eq!(table.learn(10, 0, 1_001), Learned::Full);
        assert_eq!(table.len(1_001), 4);
    }

    #[test]
    fn a_hashed_table_fills_bucket_by_bucket() {
        let mut table = table(2_048, 0, Some(4));
        let learned = (0..2_048u64)
            .filter(|mac| table.learn(mac * 7, 0, 0) == Learned::New)
            .count();
        assert!(learned > 1_400 && learned < 2_048, "{learned}");
        assert_eq!(table.len(0), learned);
        table.clear();
        assert_eq!(table.len(0), 0);
    }
}
