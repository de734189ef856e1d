//! Action profiles: members, and groups of members among which a hash chooses.

use std::collections::{BTreeMap, BTreeSet};

use crate::state::table::Binding;
use crate::vocabulary::entries::{ActionCall, ProfileGroup, ProfileMember};

struct Member {
    call: ActionCall,
    binding: Binding,
    /// simple_switch orders the members of a group by the handles they got when they were created.
    /// A weight above 1 takes further handles, shared by all groups.
    handles: Vec<u32>,
    /// Handles that stay until the member goes, whatever the groups need.
    reserved: usize,
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
    /// Handles that were ever given.
    given_handles: u32,
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

    /// The lowest handle that is free.
    fn new_handle(&mut self) -> u32 {
        self.free_handles.pop_first().unwrap_or_else(|| {
            self.given_handles += 1;
            self.given_handles - 1
        })
    }

    /// Changes a member that exists.
    pub fn set_member(&mut self, member: &ProfileMember, binding: Binding) {
        if let Some(known) = self.members.get_mut(&member.member) {
            (known.call, known.binding) = (member.action.clone(), binding);
        }
    }

    /// A new member that has handles for `copies` from the start. The server of simple_switch makes
    /// all copies of an action of an action set before it comes to the next action; those of a
    /// member of its own follow when a group needs them.
    pub fn add_member(&mut self, member: &ProfileMember, binding: Binding, copies: usize) {
        let handles: Vec<u32> = (0..copies).map(|_| self.new_handle()).collect();
        let call = member.action.clone();
        self.members.insert(member.member, Member { call, binding, handles, reserved: copies });
    }

    pub fn remove_member(&mut self, member: u32) {
        if let Some(member) = self.members.remove(&member) {
            self.free_handles.extend(member.handles);
        }
    }

    /// Gives back the handles that no weight needs any more.
    fn trim(&mut self, members: impl Iterator<Item = u32>) {
        for id in members {
            if self.members.get(&id).is_none_or(|member| member.handles.len() <= member.reserved) {
                continue;
            }
            let weights = self.groups.values().flat_map(|group| &group.group.members);
            let needed = weights.filter(|&&(member, _)| member == id).map(|&(_, weight)| weight).max();
            if let Some(member) = self.members.get_mut(&id) {
                let kept = (needed.unwrap_or(0) as usize).max(member.reserved);
                self.free_handles.extend(member.handles.drain(kept.min(member.handles.len())..));
            }
        }
    }

    /// A group that contains the member.
    pub fn group_with(&self, member: u32) -> Option<u32> {
        let contains = |group: &Group| group.group.members.iter().any(|&(id, _)| id == member);
        self.groups.iter().find(|(_, group)| contains(group)).map(|(&id, _)| id)
    }

    pub fn set_group(&mut self, group: &ProfileGroup) {
        let mut wanted = group.members.clone();
        wanted.sort_unstable();
        let mut order = Vec::new();
        for &(id, weight) in &wanted {
            let missing =
                self.members.get(&id).map_or(0, |m| (weight as usize).saturating_sub(m.handles.len()));
            let fresh: Vec<u32> = (0..missing).map(|_| self.new_handle()).collect();
            if let Some(member) = self.members.get_mut(&id) {
                member.handles.extend(fresh);
                order.extend(member.handles.iter().take(weight as usize).map(|&handle| (handle, id)));
            }
        }
        order.sort_unstable();
        order.retain(|(_, id)| !group.absent.contains(id));
        let choices = order.into_iter().map(|(_, id)| id).collect();
        let before = self.groups.insert(group.group, Group { group: group.clone(), choices });
        let mut touched: BTreeSet<u32> = wanted.iter().map(|&(id, _)| id).collect();
        touched.extend(before.iter().flat_map(|group| &group.group.members).map(|&(id, _)| id));
        self.trim(touched.into_iter());
    }

    pub fn remove_group(&mut self, group: u32) {
        if let Some(group) = self.groups.remove(&group) {
            let members: BTreeSet<u32> = group.group.members.iter().map(|&(id, _)| id).collect();
            self.trim(members.into_iter());
        }
    }

    pub fn members_from(&self, first: u32) -> impl Iterator<Item = ProfileMember> + '_ {
        let members = self.members.range(first..);
        members.map(|(&member, state)| ProfileMember { member, action: state.call.clone() })
    }

    pub fn groups(&self) -> Vec<ProfileGroup> {
        self.groups.values().map(|group| group.group.clone()).collect()
    }
}
