//! The control side of a program: the entities that P4Runtime writes and reads, by name. Values are big-endian byte
//! strings of any length that fits the field (leading zeros optional), as P4Runtime has them.

/// One component of a table key, in the order of the JSON table's `key` list.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum KeyMatch {
    Exact(Vec<u8>),
    Lpm {
        value: Vec<u8>,
        prefix_bits: u32,
    },
    Ternary {
        value: Vec<u8>,
        mask: Vec<u8>,
    },
    Range {
        low: Vec<u8>,
        high: Vec<u8>,
    },
    /// Optional, `None` is "any".
    Optional(Option<Vec<u8>>),
    Valid(bool),
}

impl KeyMatch {
    /// The match with its value cut to its mask.
    pub(crate) fn masked(&self) -> KeyMatch {
        match self {
            KeyMatch::Ternary { value, mask } => {
                let value = value.iter().zip(mask).map(|(value, mask)| value & mask).collect();
                KeyMatch::Ternary { value, mask: mask.clone() }
            }
            KeyMatch::Lpm { value, prefix_bits } => {
                let mut value = value.clone();
                let clear = (value.len() * 8).saturating_sub(*prefix_bits as usize);
                for (index, byte) in value.iter_mut().rev().enumerate() {
                    let bits = clear.saturating_sub(index * 8).min(8);
                    *byte &= (0xffu16 << bits) as u8;
                }
                KeyMatch::Lpm { value, prefix_bits: *prefix_bits }
            }
            other => other.clone(),
        }
    }
}

/// An action with its parameters in declaration order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ActionCall {
    pub action: String,
    pub params: Vec<Vec<u8>>,
}

/// Action or group that a table entry selects.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum EntryAction {
    Direct(ActionCall),
    Member(u32),
    Group(u32),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableEntry {
    pub key: Vec<KeyMatch>,
    /// P4Runtime priority: larger wins. 0 for tables without ternary, range or optional keys.
    pub priority: i32,
    pub action: EntryAction,
    /// 0 = never.
    pub idle_timeout_ns: u64,
}

/// Replica of a multicast group or clone session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Replica {
    pub port: u16,
    pub instance: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct CloneSession {
    pub replicas: Vec<Replica>,
    pub class_of_service: u8,
    /// 0 = whole packet.
    pub packet_length_bytes: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct CounterCell {
    pub packets: u64,
    pub bytes: u64,
}

/// An entry as it is read back, with its direct resources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryRead {
    pub entry: TableEntry,
    /// Present when the table has a direct counter.
    pub counter: Option<CounterCell>,
    /// Present when the table has a direct meter that was configured.
    pub meter: Option<MeterConfig>,
    /// Packets and bytes that the direct meter has marked green, yellow and red, where the table has one.
    pub marked: Option<[CounterCell; 3]>,
    /// Pipeline time of the last hit, or of the insertion or modification if later.
    pub last_hit_ps: u64,
}

/// Configuration of one trTCM meter cell, in units (packets or bytes) per second and units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct MeterConfig {
    pub committed_rate_per_s: u64,
    pub committed_burst: u64,
    pub peak_rate_per_s: u64,
    pub peak_burst: u64,
}

/// A member of an action profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileMember {
    pub member: u32,
    pub action: ActionCall,
}

/// A group of an action selector: (member, weight) pairs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileGroup {
    pub group: u32,
    /// 0 = limited by the profile only.
    pub max_size: usize,
    pub members: Vec<(u32, u32)>,
    /// Members that keep their place and are not chosen.
    pub absent: Vec<u32>,
}

/// One member of a parser value set: a match per field.
pub type ValueSetMember = Vec<KeyMatch>;

/// Names one entry of a table or its default entry.
#[derive(Clone, Copy, Debug)]
pub enum EntryRef<'a> {
    Key { key: &'a [KeyMatch], priority: i32 },
    Default,
}
