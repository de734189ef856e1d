//! A MAC address table with aging in virtual time: fully associative, or hashed into buckets.

use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::{yes, ConfigError, Place, PositiveSeconds, Whole};
use crate::rng::Rng;

/// `mac_table` of an Ethernet switch.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MacTableConfig {
    /// Addresses that it holds.
    pub entries: Whole<1, 1_048_576, 16_384>,
    /// Places per bucket; without it any entry fits anywhere.
    pub ways: Option<Whole<1, 16_777_216>>,
    /// An address is forgotten after this time without a frame.
    #[serde(default)]
    pub aging_s: PositiveSeconds<1_000_000, 300>,
    /// Broken: old entries are not used, and keep their place until a reset.
    #[serde(default)]
    pub aging: Aging,
    /// Hash that chooses the bucket of an address.
    #[serde(default)]
    pub hash: Hash,
    /// An address follows its station to another port.
    #[serde(default = "yes")]
    pub station_move: bool,
}

/// The hash of a table with `ways`.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Hash {
    /// CRC-16/CCITT of VLAN and address.
    #[default]
    Crc16,
    /// The low bits of the address: consecutive addresses fill the table evenly.
    LowBits,
    /// A mixing function: addresses spread at random, whatever their order.
    Mixed,
}

/// Whether aging works.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Aging {
    #[default]
    Works,
    /// Addresses whose time is over are not used any more, but they keep their place and cannot be
    /// learned again before a reset.
    Broken,
}

impl Default for MacTableConfig {
    fn default() -> MacTableConfig {
        MacTableConfig {
            entries: Whole::default(),
            ways: None,
            aging_s: PositiveSeconds::default(),
            aging: Aging::default(),
            hash: Hash::default(),
            station_move: yes(),
        }
    }
}

impl MacTableConfig {
    pub fn check(&self, place: &Place) -> Result<(), ConfigError> {
        match self.ways.map(Whole::get) {
            Some(ways) if self.entries.get() % ways != 0 => {
                let valid = "a divisor of mac_table.entries";
                Err(place.key("ways").invalid(format!("is {ways}"), valid))
            }
            _ => Ok(()),
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
        hash: Hash,
        slots: Vec<Option<(u64, Entry)>>,
    },
}

/// Result of learning a source address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Learned {
    Known,
    New,
    Moved,
    /// No room: the address is not learned.
    Full,
    /// At another port than before, or an entry that aging left behind: nothing changes.
    Refused,
}

/// Addresses with the port behind which they are.
pub struct MacTable {
    store: Store,
    size: usize,
    aging_ps: u64,
    aging: Aging,
    station_move: bool,
    /// No entry of a full associative table expires before this.
    purge_after_ps: u64,
}

impl MacTable {
    pub fn new(config: &MacTableConfig) -> MacTable {
        let entries = config.entries.get() as usize;
        let store = match config.ways {
            None => Store::Associative(FxHashMap::default()),
            Some(ways) => {
                Store::Hashed { ways: ways.get() as usize, hash: config.hash, slots: vec![None; entries] }
            }
        };
        MacTable {
            store,
            size: entries,
            aging_ps: config.aging_s.ps(),
            aging: config.aging,
            station_move: config.station_move,
            purge_after_ps: 0,
        }
    }

    /// The port of an address.
    #[inline(always)]
    pub fn lookup(&self, mac: u64, now_ps: u64) -> Option<usize> {
        let entry = match &self.store {
            Store::Associative(entries) => entries.get(&mac),
            Store::Hashed { ways, hash, slots } => {
                let bucket = bucket(*hash, mac, slots.len() / ways) * ways;
                slots[bucket..bucket + ways]
                    .iter()
                    .flatten()
                    .find(|(key, _)| *key == mac)
                    .map(|(_, entry)| entry)
            }
        };
        entry.filter(|entry| now_ps - entry.seen_ps <= self.aging_ps).map(|entry| entry.port as usize)
    }

    /// Learns or refreshes an address.
    #[inline(always)]
    pub fn learn(&mut self, mac: u64, port: usize, now_ps: u64) -> Learned {
        let (aging_ps, aging, moves) = (self.aging_ps, self.aging, self.station_move);
        let fresh = Entry { seen_ps: now_ps, port: port as u32 };
        match &mut self.store {
            Store::Associative(entries) => {
                if let Some(entry) = entries.get_mut(&mac) {
                    return renew(entry, fresh, aging_ps, aging, moves);
                }
                let purges = aging == Aging::Works && now_ps > self.purge_after_ps;
                if entries.len() >= self.size && purges {
                    entries.retain(|_, entry| now_ps - entry.seen_ps <= aging_ps);
                    let oldest_ps = entries.values().map(|entry| entry.seen_ps).min().unwrap_or(now_ps);
                    self.purge_after_ps = oldest_ps.saturating_add(aging_ps);
                }
                if entries.len() >= self.size {
                    return Learned::Full;
                }
                entries.insert(mac, fresh);
                Learned::New
            }
            Store::Hashed { ways, hash, slots } => {
                let bucket = bucket(*hash, mac, slots.len() / *ways) * *ways;
                let slots = &mut slots[bucket..bucket + *ways];
                if let Some((_, entry)) = slots.iter_mut().flatten().find(|(key, _)| *key == mac) {
                    return renew(entry, fresh, aging_ps, aging, moves);
                }
                let usable = |slot: &&mut Option<(u64, Entry)>| {
                    slot.as_ref()
                        .is_none_or(|(_, entry)| aging == Aging::Works && now_ps - entry.seen_ps > aging_ps)
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
            Store::Hashed { slots, .. } => {
                slots.iter().flatten().map(|(_, entry)| entry).filter(live).count()
            }
        }
    }

    /// Forgets the addresses behind a port.
    pub fn forget_port(&mut self, port: usize) {
        let elsewhere = |entry: &Entry| entry.port as usize != port;
        match &mut self.store {
            Store::Associative(entries) => entries.retain(|_, entry| elsewhere(entry)),
            Store::Hashed { slots, .. } => {
                for slot in slots.iter_mut() {
                    *slot = slot.take().filter(|(_, entry)| elsewhere(entry));
                }
            }
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

/// An address that the table has already is seen again.
fn renew(entry: &mut Entry, fresh: Entry, aging_ps: u64, aging: Aging, moves: bool) -> Learned {
    let aged = fresh.seen_ps.saturating_sub(entry.seen_ps) > aging_ps;
    let outcome = if aged {
        Learned::New
    } else if entry.port != fresh.port {
        Learned::Moved
    } else {
        Learned::Known
    };
    if (aged && aging == Aging::Broken) || (outcome == Learned::Moved && !moves) {
        return Learned::Refused;
    }
    *entry = fresh;
    outcome
}

/// The bucket of a key: VLAN in the upper 16 bits, address below.
fn bucket(hash: Hash, key: u64, buckets: usize) -> usize {
    match hash {
        Hash::Crc16 => usize::from(crc16(key)) % buckets,
        Hash::LowBits => (key % buckets as u64) as usize,
        Hash::Mixed => {
            let mixed = Rng::new(key).next();
            ((u128::from(mixed) * buckets as u128) >> 64) as usize
        }
    }
}

/// CRC-16/CCITT; a VLAN of 0 leaves the CRC of the six bytes of the address.
fn crc16(key: u64) -> u16 {
    // It begins with ones, which is as if the first two bytes were inverted.
    let first_two = if key >> 48 == 0 { 0xffff << 32 } else { 0xffff << 48 };
    let bytes = (key ^ first_two).to_le_bytes();
    bytes.iter().zip(&CRC16_OF_BYTE).fold(0, |crc, (&byte, table)| crc ^ table[usize::from(byte)])
}

/// The part of each byte in the CRC, by the number of bytes behind it.
static CRC16_OF_BYTE: [[u16; 256]; 8] = {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = (byte as u16) << 8;
        let mut behind = 0;
        while behind < 8 {
            let mut bit = 0;
            while bit < 8 {
                crc = if crc & 0x8000 == 0 { crc << 1 } else { crc << 1 ^ 0x1021 };
                bit += 1;
            }
            tables[behind][byte] = crc;
            behind += 1;
        }
        byte += 1;
    }
    tables
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_of_an_address_is_its_crc() {
        let bit_by_bit = |bytes: &[u8]| {
            bytes.iter().fold(0xffff_u16, |crc, &byte| {
                (0..8).fold(crc ^ u16::from(byte) << 8, |crc, _| {
                    if crc & 0x8000 == 0 {
                        crc << 1
                    } else {
                        crc << 1 ^ 0x1021
                    }
                })
            })
        };
        for key in [0, 1, 0xffff_ffff_ffff, 0x0204_f4bc_0001, 0x8000_1234_5678_9abc_u64] {
            let bytes = key.to_be_bytes();
            let whole = key >> 48 != 0;
            assert_eq!(crc16(key), bit_by_bit(if whole { &bytes } else { &bytes[2..] }), "{key:x}");
        }
    }

    const NEVER: PositiveSeconds<1_000_000, 300> = PositiveSeconds::from_ps(u64::MAX);

    fn table(size: u64, aging_ps: u64, ways: Option<u64>) -> MacTable {
        MacTable::new(&MacTableConfig {
            entries: Whole::of(size),
            aging_s: PositiveSeconds::from_ps(aging_ps),
            ways: ways.map(Whole::of),
            ..Default::default()
        })
    }

    #[test]
    fn broken_aging_leaves_entries_that_nobody_can_use() {
        for ways in [None, Some(Whole::of(2))] {
            let mut table = MacTable::new(&MacTableConfig {
                entries: Whole::of(2),
                aging_s: PositiveSeconds::from_ps(1_000),
                ways,
                aging: Aging::Broken,
                ..Default::default()
            });
            assert_eq!(table.learn(5, 2, 0), Learned::New);
            assert_eq!(table.learn(6, 2, 0), Learned::New);
            assert_eq!(table.lookup(5, 1_001), None);
            assert_eq!(table.learn(5, 2, 1_001), Learned::Refused);
            assert_eq!(table.learn(7, 2, 5_000), Learned::Full);
            table.clear();
            assert_eq!(table.learn(7, 2, 5_000), Learned::New);
        }
    }

    #[test]
    fn a_table_may_refuse_moves() {
        let mut table = MacTable::new(&MacTableConfig { station_move: false, ..Default::default() });
        table.learn(5, 2, 0);
        assert_eq!(table.learn(5, 3, 1), Learned::Refused);
        assert_eq!(table.lookup(5, 1), Some(2));
    }

    #[test]
    fn the_hash_decides_how_many_addresses_fit() {
        let capacity = |hash| {
            let mut table = MacTable::new(&MacTableConfig {
                entries: Whole::of(2_048),
                aging_s: NEVER,
                ways: Some(Whole::of(4)),
                hash,
                ..Default::default()
            });
            (0..).take_while(|&mac| table.learn(0x02f4_bc00_0000 + mac, 0, 0) == Learned::New).count()
        };
        assert_eq!(capacity(Hash::LowBits), 2_048);
        assert!((200..900).contains(&capacity(Hash::Mixed)), "{}", capacity(Hash::Mixed));
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
    fn a_port_is_forgotten_with_all_its_addresses() {
        for ways in [None, Some(4)] {
            let mut table = table(8, NEVER.ps(), ways);
            for mac in 0..4 {
                table.learn(mac, mac as usize % 2, 0);
            }
            table.forget_port(1);
            let known: Vec<bool> = (0..4).map(|mac| table.lookup(mac, 1).is_some()).collect();
            assert_eq!(known, [true, false, true, false]);
        }
    }

    #[test]
    fn a_station_moves() {
        let mut table = table(8, NEVER.ps(), None);
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
        let mut table = table(2_048, NEVER.ps(), Some(4));
        let learned = (0..2_048u64).filter(|mac| table.learn(mac * 7, 0, 0) == Learned::New).count();
        assert!(learned > 1_400 && learned < 2_048, "{learned}");
        assert_eq!(table.len(0), learned);
        table.clear();
        assert_eq!(table.len(0), 0);
    }
}
