//! Action profiles: members, groups and one-shot programming (section 9.2).

use p4mesh_pipeline::{ProfileGroup, ProfileMember, Switch};

use crate::actions;
use crate::cursor::{Cursor, Sink, Step, DONE};
use crate::profile_checks::{
    check_id, check_overrides, check_weights, checked_max_size, owner, places, unsigned,
};
use crate::proto::entity::{
    Action, ActionProfileActionSet, ActionProfileGroup, ActionProfileMember, EntityKind,
};
use crate::proto::service::UpdateType;
use crate::refusal::{Outcome, Refusal};
use crate::schema::{ProfileSchema, Schema, TableSchema};
use crate::state::{GroupExtra, OneShot, State, Writer, FIRST_HIDDEN_ID};

/// The call of a member: the action must be one of the tables that the profile implements.
fn member_call(
    schema: &Schema,
    profile: &ProfileSchema,
    action: &Action,
) -> Outcome<p4mesh_pipeline::ActionCall> {
    let (index, described) = schema
        .action(action.action_id)
        .map_err(|refusal| Refusal::invalid(format!("{}: {}", owner(profile), refusal.message)))?;
    let used = profile.tables.iter().any(|table| {
        let table: &TableSchema = &schema.tables[*table];
        table.actions.iter().any(|item| item.action == index && item.in_entries)
    });
    if !used {
        return Err(Refusal::invalid(format!(
            "{}: its tables do not have the action '{}'",
            owner(profile),
            described.name
        )));
    }
    actions::params_to_call(schema, index, action)
}

impl Writer<'_> {
    /// Handles an ActionProfileMember.
    pub fn write_member(&mut self, kind: UpdateType, entry: &ActionProfileMember) -> Outcome<()> {
        let schema = self.state.schema.clone();
        let (index, profile) = schema.profile(entry.action_profile_id)?;
        check_id(profile, "member", entry.member_id)?;
        let name = &profile.name;
        let id = entry.member_id;
        if kind == UpdateType::Delete {
            let old = self.old_member(name, id);
            self.switch.member_delete(name, id)?;
            self.state.member_counts[index] = self.state.member_counts[index].saturating_sub(1);
            let name = name.clone();
            self.on_undo(|| {
                Box::new(move |writer| {
                    if let Some(old) = old {
                        writer.switch.member_insert(&name, &old)?;
                        writer.state.member_counts[index] += 1;
                    }
                    Ok(())
                })
            });
            return Ok(());
        }
        let Some(action) = &entry.action else {
            return Err(Refusal::invalid(format!("{}: member {id} has no action", owner(profile))));
        };
        let member = ProfileMember { member: id, action: member_call(&schema, profile, action)? };
        if kind == UpdateType::Insert {
            self.refuse_mixed_style(index, profile, false)?;
            self.switch.member_insert(name, &member)?;
            self.state.member_counts[index] += 1;
            let name = name.clone();
            self.on_undo(|| {
                Box::new(move |writer| {
                    writer.switch.member_delete(&name, id)?;
                    writer.state.member_counts[index] -= 1;
                    Ok(())
                })
            });
        } else {
            let old = self.old_member(name, id);
            self.switch.member_modify(name, &member)?;
            let name = name.clone();
            self.on_undo(|| {
                Box::new(move |writer| match old {
                    Some(old) => Ok(writer.switch.member_modify(&name, &old)?),
                    None => Ok(()),
                })
            });
        }
        Ok(())
    }

    fn old_member(&self, profile: &str, id: u32) -> Option<ProfileMember> {
        if !self.keeps_undo() {
            return None;
        }
        let members = self.switch.members(profile).ok()?;
        members.into_iter().find(|member| member.member == id)
    }

    fn old_group(&self, profile: &str, id: u32) -> Option<ProfileGroup> {
        if !self.keeps_undo() {
            return None;
        }
        let groups = self.switch.groups(profile).ok()?;
        groups.into_iter().find(|group| group.group == id)
    }

    /// One profile is programmed by one-shots or by members and groups, not both.
    fn refuse_mixed_style(&self, index: usize, profile: &ProfileSchema, one_shot: bool) -> Outcome<()> {
        let mixed = match one_shot {
            true => self.state.member_counts[index] > 0,
            false => self.state.uses_one_shots(index),
        };
        if mixed {
            return Err(Refusal::invalid(format!(
                "{}: one-shot entries cannot be mixed with members and groups",
                owner(profile)
            )));
        }
        Ok(())
    }

    /// Handles an ActionProfileGroup.
    pub fn write_group(&mut self, kind: UpdateType, entry: &ActionProfileGroup) -> Outcome<()> {
        let schema = self.state.schema.clone();
        let (index, profile) = schema.profile(entry.action_profile_id)?;
        check_id(profile, "group", entry.group_id)?;
        if !profile.with_selector {
            return Err(Refusal::invalid(format!(
                "{}: it has no selector, so it has no groups",
                owner(profile)
            )));
        }
        let (name, id) = (profile.name.clone(), entry.group_id);
        let place = (index, id);
        let old = self.old_group(&name, id);
        let old_extra = self.state.groups.get(&place).cloned();
        if kind == UpdateType::Delete {
            self.switch.group_delete(&name, id)?;
            self.state.groups.remove(&place);
            self.on_undo(|| {
                Box::new(move |writer| {
                    if let Some(old) = old {
                        writer.switch.group_insert(&name, &old)?;
                    }
                    if let Some(extra) = old_extra {
                        writer.state.groups.insert(place, extra);
                    }
                    Ok(())
                })
            });
            return Ok(());
        }
        let max_size = match kind {
            UpdateType::Insert => checked_max_size(profile, entry.max_size)?,
            _ => {
                let extra = old_extra
                    .as_ref()
                    .ok_or_else(|| Refusal::not_found(format!("{}: no group {id}", owner(profile))))?;
                if entry.max_size != extra.max_size {
                    return Err(Refusal::invalid(format!(
                        "{}: group {id} was made with max_size {}, it cannot become {}",
                        owner(profile),
                        extra.max_size,
                        entry.max_size
                    )));
                }
                entry.max_size
            }
        };
        let members: Vec<(u32, i32)> =
            entry.members.iter().map(|member| (member.member_id, member.weight)).collect();
        check_weights(profile, &members, max_size, true)?;
        let watches = entry.members.iter().map(|member| &member.watch_kind);
        let group = ProfileGroup {
            group: id,
            max_size: max_size.max(0) as usize,
            absent: self.state.absent(&members, watches),
            members: unsigned(&members),
        };
        if kind == UpdateType::Insert {
            self.refuse_mixed_style(index, profile, false)?;
            self.switch.group_insert(&name, &group)?;
        } else {
            self.switch.group_modify(&name, &group)?;
        }
        self.state
            .groups
            .insert(place, GroupExtra { max_size: entry.max_size, members: entry.members.clone() });
        self.on_undo(|| {
            Box::new(move |writer| {
                match (old, old_extra) {
                    (Some(old), Some(extra)) => {
                        writer.switch.group_modify(&name, &old)?;
                        writer.state.groups.insert(place, extra);
                    }
                    _ => {
                        writer.switch.group_delete(&name, id)?;
                        writer.state.groups.remove(&place);
                    }
                }
                Ok(())
            })
        });
        Ok(())
    }

    /// Makes the hidden group of a one-shot entry and returns its id.
    pub fn make_one_shot(&mut self, table: &TableSchema, set: &ActionProfileActionSet) -> Outcome<u32> {
        let schema = self.state.schema.clone();
        let index = table.profile.ok_or_else(|| {
            Refusal::invalid(format!(
                "table '{}': an action set needs an action selector, and the table has no selector",
                table.name
            ))
        })?;
        let profile = &schema.profiles[index];
        check_overrides(table, profile, set)?;
        self.refuse_mixed_style(index, profile, true)?;
        let first = self.state.next_hidden_id;
        let count = set.action_profile_actions.len();
        let weights: Vec<(u32, i32)> = set
            .action_profile_actions
            .iter()
            .enumerate()
            .map(|(offset, action)| (first.wrapping_add(1 + offset as u32), action.weight))
            .collect();
        check_weights(profile, &weights, 0, false)?;
        let mut calls = Vec::with_capacity(count);
        for item in &set.action_profile_actions {
            let action = item.action.as_ref().ok_or_else(|| {
                Refusal::invalid(format!("table '{}': an action of the set is not set", table.name))
            })?;
            calls.push(actions::to_call(&schema, table, action, actions::Place::Entry)?);
        }
        let mut members = Vec::with_capacity(count);
        for (call, (id, weight)) in calls.into_iter().zip(&weights) {
            let member = ProfileMember { member: *id, action: call };
            let copies = places(*weight) as usize;
            let inserted = self.switch.member_insert_copies(&profile.name, &member, copies);
            if let Err(error) = inserted {
                self.drop_members(&profile.name, &members);
                return Err(error.into());
            }
            members.push(*id);
        }
        let actions = &set.action_profile_actions;
        let watches = actions.iter().map(|action| &action.watch_kind);
        let group = ProfileGroup {
            group: first,
            max_size: 0,
            absent: self.state.absent(&weights, watches),
            members: unsigned(&weights),
        };
        if let Err(error) = self.switch.group_insert(&profile.name, &group) {
            self.drop_members(&profile.name, &members);
            return Err(error.into());
        }
        self.state.next_hidden_id = match first.checked_add(1 + count as u32) {
            Some(next) => next,
            None => FIRST_HIDDEN_ID,
        };
        self.state.one_shots.insert((index, first), OneShot { actions: set.clone(), members });
        Ok(first)
    }

    /// Removes the hidden group of a one-shot entry that no entry uses any more.
    pub fn drop_one_shot(&mut self, profile: usize, group: u32) -> Option<OneShot> {
        let one_shot = self.state.one_shots.remove(&(profile, group))?;
        let name = self.state.schema.profiles[profile].name.clone();
        // The entry is gone, so nothing refers to the group or its members.
        let _ = self.switch.group_delete(&name, group);
        self.drop_members(&name, &one_shot.members);
        Some(one_shot)
    }

    fn drop_members(&mut self, profile: &str, members: &[u32]) {
        for member in members {
            let _ = self.switch.member_delete(profile, *member);
        }
    }
}

/// Members that controllers made, of one profile or (0) of all. An id that is not there is a filter
/// that nothing passes, as on simple_switch_grpc.
pub fn read_members(
    state: &State,
    switch: &Switch,
    wanted: &ActionProfileMember,
    cursor: &mut Cursor,
    answers: &mut dyn Sink,
) -> Step {
    let schema = &state.schema;
    for index in selected(schema, wanted.action_profile_id)?.skip(cursor.object) {
        let profile = &schema.profiles[index];
        for member in switch.members_from(&profile.name, cursor.element as u32)? {
            let id = member.member;
            if id >= FIRST_HIDDEN_ID {
                break;
            }
            if wanted.member_id == 0 || wanted.member_id == id {
                answers.push(EntityKind::ActionProfileMember(ActionProfileMember {
                    action_profile_id: profile.id,
                    member_id: id,
                    action: actions::from_call(schema, &member.action),
                }));
            }
            if cursor.after(u64::from(id), answers).is_none() {
                return Ok(None);
            }
        }
        cursor.leave_object();
    }
    DONE
}

/// Groups that controllers made, of one profile or (0) of all.
pub fn read_groups(
    state: &State,
    wanted: &ActionProfileGroup,
    cursor: &mut Cursor,
    answers: &mut dyn Sink,
) -> Step {
    let schema = &state.schema;
    for index in selected(schema, wanted.action_profile_id)?.skip(cursor.object) {
        let first = (index, cursor.element as u32);
        for ((_, id), extra) in state.groups.range(first..(index + 1, 0)) {
            if wanted.group_id == 0 || wanted.group_id == *id {
                answers.push(EntityKind::ActionProfileGroup(ActionProfileGroup {
                    action_profile_id: schema.profiles[index].id,
                    group_id: *id,
                    members: extra.members.clone(),
                    max_size: extra.max_size,
                }));
            }
            if cursor.after(u64::from(*id), answers).is_none() {
                return Ok(None);
            }
        }
        cursor.leave_object();
    }
    DONE
}

/// Positions of the profile with an id, or of all profiles for id 0.
fn selected(schema: &Schema, profile_id: u32) -> Outcome<std::ops::Range<usize>> {
    match profile_id {
        0 => Ok(0..schema.profiles.len()),
        id => {
            let (index, _) = schema.profile(id)?;
            Ok(index..index + 1)
        }
    }
}
