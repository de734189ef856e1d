//! The control plane of a [`Switch`]: tables and action profiles, by name.

use crate::control::switch::Switch;
use crate::numbers::words::bit_length;
use crate::state::meter::check_meter;
use crate::state::table::{bind, Target};
use crate::vocabulary::entries::{
    ActionCall, CounterCell, EntryAction, EntryRead, EntryRef, KeyMatch, MeterConfig, ProfileGroup,
    ProfileMember, TableEntry,
};
use crate::vocabulary::error::ControlError;

type Result<T> = std::result::Result<T, ControlError>;

/// Tables.
impl Switch {
    pub(crate) fn table_index(&self, table: &str) -> Result<usize> {
        self.executable
            .program
            .names
            .tables
            .get(table)
            .copied()
            .ok_or_else(|| ControlError::Unknown { kind: "table", name: table.to_string() })
    }

    /// The action of that name among `actions`, with its data checked.
    fn action_of(&self, owner: &str, actions: &[usize], call: &ActionCall) -> Result<usize> {
        let infos = &self.executable.program.actions;
        let Some(&action) = actions.iter().find(|&&action| infos[action].name == call.action) else {
            let names: Vec<&str> = actions.iter().map(|&action| infos[action].name.as_str()).collect();
            return Err(ControlError::UnknownAction {
                owner: owner.to_string(),
                action: call.action.clone(),
                valid: names.join(", "),
            });
        };
        let params = &infos[action].params;
        if params.len() != call.params.len() {
            return Err(ControlError::ParamCount {
                owner: owner.to_string(),
                action: call.action.clone(),
                expected: params.len(),
                found: call.params.len(),
            });
        }
        for (param, value) in params.iter().zip(&call.params) {
            if bit_length(value) > param.width_bits {
                return Err(ControlError::ValueTooWide {
                    owner: owner.to_string(),
                    what: format!("parameter '{}' of action '{}'", param.name, call.action),
                    width_bits: param.width_bits,
                });
            }
        }
        Ok(action)
    }

    fn target(&self, table: usize, action: &EntryAction, hit: bool) -> Result<Target> {
        let info = &self.executable.program.tables[table];
        let plan = &self.executable.program.code.tables[table];
        let owner = || format!("table '{}'", info.name);
        match (action, plan.profile) {
            (EntryAction::Direct(call), None) => {
                let action = self.action_of(&owner(), &plan.actions, call)?;
                Ok(Target::Direct(bind(&self.executable.program.code, plan, action, &call.params, hit)))
            }
            (EntryAction::Direct(_), Some(_)) => Err(ControlError::Invalid {
                owner: owner(),
                problem: "its entries name a member or group of its action profile, not an action".into(),
            }),
            (_, None) => Err(ControlError::Invalid {
                owner: owner(),
                problem: "its entries name an action; it has no action profile".into(),
            }),
            (EntryAction::Member(member), Some(profile)) => {
                if !self.engine.state.profiles[profile as usize].has_member(*member) {
                    let owner = self.profile_owner(profile as usize);
                    return Err(ControlError::NotFound { owner: format!("{owner}, member {member}") });
                }
                Ok(Target::Member(*member))
            }
            (EntryAction::Group(group), Some(profile)) => {
                if !self.engine.state.profiles[profile as usize].has_group(*group) {
                    let owner = self.profile_owner(profile as usize);
                    return Err(ControlError::NotFound { owner: format!("{owner}, group {group}") });
                }
                Ok(Target::Group(*group))
            }
        }
    }

    pub fn table_insert(&mut self, table: &str, entry: &TableEntry, now_ps: u64) -> Result<()> {
        let index = self.table_index(table)?;
        let target = self.target(index, &entry.action, true)?;
        let program = &self.executable.program;
        let id = self.engine.state.tables[index].insert(
            &program.tables[index],
            &program.code.tables[index],
            entry,
            target,
            now_ps,
        )?;
        self.engine.table_changed(&self.executable, index, Some(id));
        Ok(())
    }

    fn entry_id(&self, index: usize, key: &[KeyMatch], priority: i32) -> Result<u32> {
        let program = &self.executable.program;
        self.engine.state.tables[index].find_entry(
            &program.tables[index],
            &program.code.tables[index],
            key,
            priority,
        )
    }

    /// Replaces action and idle timeout of the entry with this key and priority.
    pub fn table_modify(&mut self, table: &str, entry: &TableEntry, now_ps: u64) -> Result<()> {
        let index = self.table_index(table)?;
        let id = self.entry_id(index, &entry.key, entry.priority)?;
        let target = self.target(index, &entry.action, true)?;
        self.engine.state.tables[index].modify(id, entry, target, now_ps);
        self.engine.table_changed(&self.executable, index, Some(id));
        Ok(())
    }

    pub fn table_delete(&mut self, table: &str, key: &[KeyMatch], priority: i32) -> Result<()> {
        let index = self.table_index(table)?;
        let id = self.entry_id(index, key, priority)?;
        self.engine.state.tables[index].remove(id);
        self.engine.table_changed(&self.executable, index, None);
        Ok(())
    }

    pub fn table_read(&self, table: &str, key: &[KeyMatch], priority: i32) -> Result<EntryRead> {
        let index = self.table_index(table)?;
        let id = self.entry_id(index, key, priority)?;
        self.engine.state.tables[index]
            .read(id)
            .ok_or_else(|| ControlError::NotFound { owner: format!("table '{table}'") })
    }

    /// Number of entries.
    pub fn table_len(&self, table: &str) -> Result<usize> {
        Ok(self.engine.state.tables[self.table_index(table)?].len())
    }

    /// Calls `visit` for every entry, in an order that depends on the sequence of writes only.
    pub fn table_for_each(&self, table: &str, visit: &mut dyn FnMut(EntryRead)) -> Result<()> {
        let state = &self.engine.state.tables[self.table_index(table)?];
        state.ids().filter_map(|id| state.read(id)).for_each(visit);
        Ok(())
    }

    /// Every entry from an id on, with its id. An entry keeps its id while it is there.
    pub fn table_entries(
        &self,
        table: &str,
        first: u64,
    ) -> Result<impl Iterator<Item = (u64, EntryRead)> + '_> {
        let state = &self.engine.state.tables[self.table_index(table)?];
        let ids = state.ids_from(u32::try_from(first).unwrap_or(u32::MAX));
        Ok(ids.filter_map(|id| state.read(id).map(|read| (u64::from(id), read))))
    }

    /// Entries whose idle timeout has passed at `now_ps` without a hit.
    pub fn table_expired(&self, table: &str, now_ps: u64) -> Result<Vec<TableEntry>> {
        Ok(self.engine.state.tables[self.table_index(table)?].expired(now_ps))
    }

    /// `None` where the table has no default action.
    pub fn table_default(&self, table: &str) -> Result<Option<EntryAction>> {
        Ok(self.engine.state.tables[self.table_index(table)?].default_action.clone())
    }

    fn default_writable(&self, table: &str) -> Result<usize> {
        let index = self.table_index(table)?;
        if self.executable.program.tables[index].const_default_action {
            return Err(ControlError::ConstDefault { table: table.to_string() });
        }
        Ok(index)
    }

    pub fn table_set_default(&mut self, table: &str, action: &EntryAction) -> Result<()> {
        let index = self.default_writable(table)?;
        let target = self.target(index, action, false)?;
        let state = &mut self.engine.state.tables[index];
        state.default = Some(target);
        state.default_action = Some(action.clone());
        self.engine.table_changed(&self.executable, index, None);
        Ok(())
    }

    /// Back to the default action of the program.
    pub fn table_reset_default(&mut self, table: &str) -> Result<()> {
        let index = self.default_writable(table)?;
        self.restore_default(index);
        Ok(())
    }

    /// Table index and entry (`None`: default) of a direct resource.
    fn direct(
        &self,
        table: &str,
        entry: EntryRef,
        resource: &str,
        present: bool,
    ) -> Result<(usize, Option<u32>)> {
        let index = self.table_index(table)?;
        let owner = format!("table '{table}'");
        if !present {
            return Err(ControlError::Invalid { owner, problem: format!("it has no direct {resource}") });
        }
        match entry {
            EntryRef::Key { key, priority } => Ok((index, Some(self.entry_id(index, key, priority)?))),
            EntryRef::Default => Ok((index, None)),
        }
    }

    fn direct_meter(&self, table: &str, entry: EntryRef) -> Result<(usize, Option<u32>)> {
        let present = self.executable.program.code.tables[self.table_index(table)?].meter.is_some();
        self.direct(table, entry, "meter", present)
    }

    pub fn direct_counter_read(&self, table: &str, entry: EntryRef) -> Result<CounterCell> {
        let present = self.executable.program.code.tables[self.table_index(table)?].counted;
        let (table, id) = self.direct(table, entry, "counter", present)?;
        Ok(self.engine.state.tables[table].counter(id))
    }

    pub fn direct_counter_write(&mut self, table: &str, entry: EntryRef, cell: CounterCell) -> Result<()> {
        let present = self.executable.program.code.tables[self.table_index(table)?].counted;
        let (table, id) = self.direct(table, entry, "counter", present)?;
        *self.engine.state.tables[table].counter_mut(id) = cell;
        Ok(())
    }

    /// `None`: not configured, every packet is green.
    pub fn direct_meter_read(&self, table: &str, entry: EntryRef) -> Result<Option<MeterConfig>> {
        let (table, id) = self.direct_meter(table, entry)?;
        Ok(self.engine.state.tables[table].meter(id).config())
    }

    /// Packets and bytes that the direct meter of an entry has marked green, yellow and red.
    pub fn direct_meter_marked(&self, table: &str, entry: EntryRef) -> Result<[CounterCell; 3]> {
        let (table, id) = self.direct_meter(table, entry)?;
        Ok(self.engine.state.tables[table].meter(id).marked)
    }

    pub fn direct_meter_set_marked(
        &mut self,
        table: &str,
        entry: EntryRef,
        marked: [CounterCell; 3],
    ) -> Result<()> {
        let (table, id) = self.direct_meter(table, entry)?;
        self.engine.state.tables[table].meter_mut(id).marked = marked;
        Ok(())
    }

    pub fn direct_meter_write(
        &mut self,
        table: &str,
        entry: EntryRef,
        config: Option<MeterConfig>,
        now_ps: u64,
    ) -> Result<()> {
        let owner = format!("table '{table}'");
        let (table, id) = self.direct_meter(table, entry)?;
        check_meter(&owner, config)?;
        self.engine.state.tables[table].meter_mut(id).configure(config, now_ps);
        Ok(())
    }
}

/// Action profiles and selectors.
impl Switch {
    fn profile_index(&self, profile: &str) -> Result<usize> {
        self.executable
            .program
            .names
            .profiles
            .get(profile)
            .copied()
            .ok_or_else(|| ControlError::Unknown { kind: "action profile", name: profile.to_string() })
    }

    fn profile_owner(&self, profile: usize) -> String {
        format!("action profile '{}'", self.executable.program.action_profiles[profile].name)
    }

    fn member_binding(&self, index: usize, member: &ProfileMember) -> Result<crate::state::table::Binding> {
        let code = &self.executable.program.code;
        let owner = self.profile_owner(index);
        let action = self.action_of(&owner, &code.profiles[index].actions, &member.action)?;
        let words = crate::state::table::param_words(code, action, &member.action.params);
        // The next node of the control depends on the table, so the binding leaves it open.
        Ok(crate::state::table::Binding { entry: code.actions[action].entry, next: 0, action, words })
    }

    pub fn member_insert(&mut self, profile: &str, member: &ProfileMember) -> Result<()> {
        self.member_insert_copies(profile, member, 1)
    }

    /// Inserts a member that is going to have weight `copies` in the group of an action set. When
    /// the copies are made decides which member a hash chooses.
    pub fn member_insert_copies(
        &mut self,
        profile: &str,
        member: &ProfileMember,
        copies: usize,
    ) -> Result<()> {
        let index = self.profile_index(profile)?;
        let state = &self.engine.state.profiles[index];
        if state.has_member(member.member) {
            let owner = format!("{}, member {}", self.profile_owner(index), member.member);
            return Err(ControlError::Exists { owner });
        }
        let size = self.executable.program.action_profiles[index].max_size;
        if state.len() >= size || copies > size {
            return Err(ControlError::Full { owner: self.profile_owner(index), size });
        }
        let binding = self.member_binding(index, member)?;
        self.engine.state.profiles[index].add_member(member, binding, copies.max(1));
        Ok(())
    }

    pub fn member_modify(&mut self, profile: &str, member: &ProfileMember) -> Result<()> {
        let index = self.profile_index(profile)?;
        self.check_member(index, member.member)?;
        let binding = self.member_binding(index, member)?;
        self.engine.state.profiles[index].set_member(member, binding);
        Ok(())
    }

    fn check_member(&self, index: usize, member: u32) -> Result<()> {
        if self.engine.state.profiles[index].has_member(member) {
            return Ok(());
        }
        Err(ControlError::NotFound { owner: format!("{}, member {member}", self.profile_owner(index)) })
    }

    /// True if a table that the profile implements has an entry with this member or group.
    fn in_use(&self, index: usize, what: &EntryAction) -> Option<&str> {
        let tables = self
            .executable
            .program
            .code
            .tables
            .iter()
            .zip(&self.engine.state.tables)
            .zip(&self.executable.program.tables);
        tables
            .filter(|((plan, _), _)| plan.profile == Some(index as u16))
            .find(|((_, state), _)| state.uses(what))
            .map(|(_, info)| info.name.as_str())
    }

    pub fn member_delete(&mut self, profile: &str, member: u32) -> Result<()> {
        let index = self.profile_index(profile)?;
        self.check_member(index, member)?;
        let owner = format!("{}, member {member}", self.profile_owner(index));
        if let Some(group) = self.engine.state.profiles[index].group_with(member) {
            return Err(ControlError::InUse { owner, problem: format!("it is in group {group}") });
        }
        if let Some(table) = self.in_use(index, &EntryAction::Member(member)) {
            return Err(ControlError::InUse {
                owner,
                problem: format!("an entry of table '{table}' uses it"),
            });
        }
        self.engine.state.profiles[index].remove_member(member);
        Ok(())
    }

    /// All members, ascending by id.
    pub fn members(&self, profile: &str) -> Result<Vec<ProfileMember>> {
        Ok(self.members_from(profile, 0)?.collect())
    }

    /// The members from an id on, ascending.
    pub fn members_from(
        &self,
        profile: &str,
        first: u32,
    ) -> Result<impl Iterator<Item = ProfileMember> + '_> {
        Ok(self.engine.state.profiles[self.profile_index(profile)?].members_from(first))
    }

    fn check_group(&self, index: usize, group: &ProfileGroup) -> Result<()> {
        let owner = format!("{}, group {}", self.profile_owner(index), group.group);
        if !self.executable.program.action_profiles[index].has_selector {
            return Err(ControlError::Invalid { owner, problem: "the profile has no selector".into() });
        }
        let mut seen = Vec::new();
        let mut total = 0u64;
        for &(member, weight) in &group.members {
            self.check_member(index, member)?;
            if weight == 0 {
                let problem = format!("member {member} has weight 0; valid: 1 or more");
                return Err(ControlError::Invalid { owner, problem });
            }
            if seen.contains(&member) {
                return Err(ControlError::Invalid {
                    owner,
                    problem: format!("member {member} is listed twice"),
                });
            }
            seen.push(member);
            total += u64::from(weight);
        }
        let limit = if group.max_size == 0 {
            self.executable.program.action_profiles[index].max_size
        } else {
            group.max_size
        };
        if total > limit as u64 {
            return Err(ControlError::Full { owner, size: limit });
        }
        Ok(())
    }

    pub fn group_insert(&mut self, profile: &str, group: &ProfileGroup) -> Result<()> {
        let index = self.profile_index(profile)?;
        if self.engine.state.profiles[index].has_group(group.group) {
            let owner = format!("{}, group {}", self.profile_owner(index), group.group);
            return Err(ControlError::Exists { owner });
        }
        self.check_group(index, group)?;
        self.engine.state.profiles[index].set_group(group);
        Ok(())
    }

    /// Replaces the members of a group.
    pub fn group_modify(&mut self, profile: &str, group: &ProfileGroup) -> Result<()> {
        let index = self.profile_index(profile)?;
        self.existing_group(index, group.group)?;
        self.check_group(index, group)?;
        self.engine.state.profiles[index].set_group(group);
        Ok(())
    }

    fn existing_group(&self, index: usize, group: u32) -> Result<()> {
        if self.engine.state.profiles[index].has_group(group) {
            return Ok(());
        }
        Err(ControlError::NotFound { owner: format!("{}, group {group}", self.profile_owner(index)) })
    }

    pub fn group_delete(&mut self, profile: &str, group: u32) -> Result<()> {
        let index = self.profile_index(profile)?;
        self.existing_group(index, group)?;
        if let Some(table) = self.in_use(index, &EntryAction::Group(group)) {
            let owner = format!("{}, group {group}", self.profile_owner(index));
            return Err(ControlError::InUse {
                owner,
                problem: format!("an entry of table '{table}' uses it"),
            });
        }
        self.engine.state.profiles[index].remove_group(group);
        Ok(())
    }

    /// All groups, ascending by id.
    pub fn groups(&self, profile: &str) -> Result<Vec<ProfileGroup>> {
        Ok(self.engine.state.profiles[self.profile_index(profile)?].groups())
    }
}
