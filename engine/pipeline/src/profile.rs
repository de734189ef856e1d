//! Action profiles: members, and groups of members among which a hash chooses.

use std::collections::{BTreeMap, BTreeSet};

use crate::control::{ActionCall, ProfileGroup, ProfileMember};
use crate::table::Binding;

struct Member {
    call: ActionCall,
    binding: Binding,
    /// simple_switch orders the members of a group by the handle they got when they were created.
    handle: u32,
}

struct Group {
    group: ProfileGroup,
    /// Members by rising handle, each as often as its weight says.
    choices: Vec<u32>,
}

#[derive(Default)]
pub(crate) struct ProfileState {
    members: BTreeMap<u32, Member>,
    groups: BTreeMap<u32, Group>,
    free_handles: BTreeSet<u32>,
}

impl ProfileState {
    /// The action of a member.
    #[inline]
    pub fn member(&self, member: u32) -> Option<&Binding> {
        self.members.get(&member).map(|member| &member.binding)
    }

    /// The member that a hash selects, `None` for an unknown or empty group.
    #[inline]
    pub fn choose(&self, group: u32, hash: u64) -> Option<u32> {
        let choices = &self.groups.get(&group)?.choices;
        let index = hash.checked_rem(choices.len() as u64)?;
        choices.get(index as usize).copied()
    }

    pub fn has_member(&self, member: u32) -> bool {
        self.members.contains_key(&member)
    }

    pub fn has_group(&self, group: u32) -> bool {
        self.groups.contains_key(&group)
    }

    pub fn len(&self) -> usize {
        self.members.len()
    }

    pub fn set_member(&mut self, member: &ProfileMember, binding: Binding) {
        let handle = match self.members.get(&member.member) {
            Some(known) => known.handle,
            None => self.free_handles.pop_first().unwrap_or(self.members.len() as u32),
        };
        self.members.insert(member.member, Member { call: member.action.clone(), binding, handle });
    }

    pub fn remove_member(&mut self, member: u32) {
        if let Some(member) = self.members.remove(&member) {
            self.free_handles.insert(member.handle);
        }
    }

    /// A group that contains the member.
    pub fn group_with(&self, member: u32) -> Option<u32> {
        let contains = |group: &Group| group.group.members.iter().any(|&(id, _)| id == member);
        self.groups.iter().find(|(_, group)| contains(group)).map(|(&id, _)| id)
    }

    pub fn set_group(&mut self, group: &ProfileGroup) {
        let mut order: Vec<(u32, u32, u32)> = group
            .members
            .iter()
            .filter_map(|&(id, weight)| self.members.get(&id).map(|member| (member.handle, id, weight)))
            .collect();
        order.sort_unstable();
        let choices =
            order.iter().flat_map(|&(_, id, weight)| std::iter::repeat_n(id, weight as usize)).collect();
        self.groups.insert(group.group, Group { group: group.clone(), choices });
    }

    pub fn remove_group(&mut self, group: u32) {
        self.groups.remove(&group);
    }

    pub fn members(&self) -> Vec<ProfileMember> {
        self.members
            .iter()
            .map(|(&member, state)| ProfileMember { member, action: state.call.clone() })
            .collect()
    }

    pub fn groups(&self) -> Vec<ProfileGroup> {
        self.groups.values().map(|group| group.group.clone()).collect()
    }
}
