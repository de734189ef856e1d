//! The control plane of a [`Switch`], by name.

use crate::*;

type Result<T> = std::result::Result<T, ControlError>;

fn unknown<T>(kind: &'static str, name: &str) -> Result<T> {
    Err(ControlError::Unknown { kind, name: name.to_string() })
}

/// Tables.
impl Switch {
    pub fn table_insert(&mut self, table: &str, entry: &TableEntry, now_ps: u64) -> Result<()> {
        let _ = (entry, now_ps);
        unknown("table", table)
    }

    /// Replaces action and idle timeout of the entry with this key and priority.
    pub fn table_modify(&mut self, table: &str, entry: &TableEntry, now_ps: u64) -> Result<()> {
        let _ = (entry, now_ps);
        unknown("table", table)
    }

    pub fn table_delete(&mut self, table: &str, key: &[KeyMatch], priority: i32) -> Result<()> {
        let _ = (key, priority);
        unknown("table", table)
    }

    pub fn table_read(&self, table: &str, key: &[KeyMatch], priority: i32) -> Result<EntryRead> {
        let _ = (key, priority);
        unknown("table", table)
    }

    /// Number of entries.
    pub fn table_len(&self, table: &str) -> Result<usize> {
        unknown("table", table)
    }

    /// Calls `visit` for every entry, in an order that depends on the sequence of writes only.
    pub fn table_for_each(&self, table: &str, visit: &mut dyn FnMut(EntryRead)) -> Result<()> {
        let _ = visit;
        unknown("table", table)
    }

    /// Entries whose idle timeout has passed at `now_ps` without a hit.
    pub fn table_expired(&self, table: &str, now_ps: u64) -> Result<Vec<TableEntry>> {
        let _ = now_ps;
        unknown("table", table)
    }

    /// `None` where the table has no default action.
    pub fn table_default(&self, table: &str) -> Result<Option<EntryAction>> {
        unknown("table", table)
    }

    pub fn table_set_default(&mut self, table: &str, action: &EntryAction) -> Result<()> {
        let _ = action;
        unknown("table", table)
    }

    /// Back to what the program says.
    pub fn table_reset_default(&mut self, table: &str) -> Result<()> {
        unknown("table", table)
    }

    pub fn direct_counter_read(&self, table: &str, entry: EntryRef) -> Result<CounterCell> {
        let _ = entry;
        unknown("table", table)
    }

    pub fn direct_counter_write(&mut self, table: &str, entry: EntryRef, cell: CounterCell) -> Result<()> {
        let _ = (entry, cell);
        unknown("table", table)
    }

    /// `None`: not configured, every packet is green.
    pub fn direct_meter_read(&self, table: &str, entry: EntryRef) -> Result<Option<MeterConfig>> {
        let _ = entry;
        unknown("table", table)
    }

    pub fn direct_meter_write(
        &mut self,
        table: &str,
        entry: EntryRef,
        config: Option<MeterConfig>,
        now_ps: u64,
    ) -> Result<()> {
        let _ = (entry, config, now_ps);
        unknown("table", table)
    }
}

/// Action profiles and selectors.
impl Switch {
    pub fn member_insert(&mut self, profile: &str, member: &ProfileMember) -> Result<()> {
        let _ = member;
        unknown("action profile", profile)
    }

    pub fn member_modify(&mut self, profile: &str, member: &ProfileMember) -> Result<()> {
        let _ = member;
        unknown("action profile", profile)
    }

    pub fn member_delete(&mut self, profile: &str, member: u32) -> Result<()> {
        let _ = member;
        unknown("action profile", profile)
    }

    /// All members, ascending by id.
    pub fn members(&self, profile: &str) -> Result<Vec<ProfileMember>> {
        unknown("action profile", profile)
    }

    pub fn group_insert(&mut self, profile: &str, group: &ProfileGroup) -> Result<()> {
        let _ = group;
        unknown("action profile", profile)
    }

    /// Replaces the members of a group.
    pub fn group_modify(&mut self, profile: &str, group: &ProfileGroup) -> Result<()> {
        let _ = group;
        unknown("action profile", profile)
    }

    pub fn group_delete(&mut self, profile: &str, group: u32) -> Result<()> {
        let _ = group;
        unknown("action profile", profile)
    }

    /// All groups, ascending by id.
    pub fn groups(&self, profile: &str) -> Result<Vec<ProfileGroup>> {
        unknown("action profile", profile)
    }
}

/// Counters, meters, registers (the indirect ones).
impl Switch {
    pub fn counter_read(&self, counter: &str, index: usize) -> Result<CounterCell> {
        let _ = index;
        unknown("counter", counter)
    }

    pub fn counter_write(&mut self, counter: &str, index: usize, cell: CounterCell) -> Result<()> {
        let _ = (index, cell);
        unknown("counter", counter)
    }

    /// All cells, for bulk reads without copies.
    pub fn counter_cells(&self, counter: &str) -> Result<&[CounterCell]> {
        unknown("counter", counter)
    }

    pub fn meter_read(&self, meter: &str, index: usize) -> Result<Option<MeterConfig>> {
        let _ = index;
        unknown("meter", meter)
    }

    pub fn meter_write(
        &mut self,
        meter: &str,
        index: usize,
        config: Option<MeterConfig>,
        now_ps: u64,
    ) -> Result<()> {
        let _ = (index, config, now_ps);
        unknown("meter", meter)
    }

    /// Big-endian value, as many bytes as the cell's width needs.
    pub fn register_read(&self, register: &str, index: usize) -> Result<Vec<u8>> {
        let _ = index;
        unknown("register", register)
    }

    /// Cells `first..first+count` of a register of at most 64 bits.
    pub fn register_read_u64(&self, register: &str, first: usize, count: usize) -> Result<&[u64]> {
        let _ = (first, count);
        unknown("register", register)
    }

    pub fn register_write(&mut self, register: &str, index: usize, value: &[u8]) -> Result<()> {
        let _ = (index, value);
        unknown("register", register)
    }

    /// Writes one value to all cells.
    pub fn register_fill(&mut self, register: &str, value: &[u8]) -> Result<()> {
        let _ = value;
        unknown("register", register)
    }
}

/// Parser value sets, multicast groups, clone sessions.
impl Switch {
    /// Replaces all members.
    pub fn value_set_write(&mut self, value_set: &str, members: &[ValueSetMember]) -> Result<()> {
        let _ = members;
        unknown("value set", value_set)
    }

    pub fn value_set_read(&self, value_set: &str) -> Result<Vec<ValueSetMember>> {
        unknown("value set", value_set)
    }

    /// Group ids are 1 to 32767.
    pub fn multicast_insert(&mut self, group: u32, replicas: &[Replica]) -> Result<()> {
        let _ = replicas;
        unknown("multicast group", &group.to_string())
    }

    pub fn multicast_modify(&mut self, group: u32, replicas: &[Replica]) -> Result<()> {
        let _ = replicas;
        unknown("multicast group", &group.to_string())
    }

    pub fn multicast_delete(&mut self, group: u32) -> Result<()> {
        unknown("multicast group", &group.to_string())
    }

    /// The replicas as they were written.
    pub fn multicast_read(&self, group: u32) -> Result<Vec<Replica>> {
        unknown("multicast group", &group.to_string())
    }

    /// Ids of all groups, ascending.
    pub fn multicast_groups(&self) -> Vec<u32> {
        Vec::new()
    }

    /// Session ids are 0 to 32767.
    pub fn clone_session_insert(&mut self, session: u32, config: &CloneSession) -> Result<()> {
        let _ = config;
        unknown("clone session", &session.to_string())
    }

    pub fn clone_session_modify(&mut self, session: u32, config: &CloneSession) -> Result<()> {
        let _ = config;
        unknown("clone session", &session.to_string())
    }

    pub fn clone_session_delete(&mut self, session: u32) -> Result<()> {
        unknown("clone session", &session.to_string())
    }

    pub fn clone_session_read(&self, session: u32) -> Result<CloneSession> {
        unknown("clone session", &session.to_string())
    }

    /// Ids of all sessions, ascending.
    pub fn clone_sessions(&self) -> Vec<u32> {
        Vec::new()
    }
}
