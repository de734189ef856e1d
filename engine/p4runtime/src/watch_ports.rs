//! Watch ports: members of a group that are left out while the port that they watch is down (section 9.2.2).

use p4mesh_pipeline::{ProfileGroup, Switch};

use crate::profile_checks::unsigned;
use crate::proto::entity::WatchKind;
use crate::refusal::Outcome;
use crate::state::State;

/// The watch port of a member; `None` when it watches none.
pub fn watch_port(watch: &Option<WatchKind>) -> Option<u64> {
    match watch {
        None => None,
        Some(WatchKind::WatchPort(bytes)) if bytes.is_empty() => None,
        Some(WatchKind::WatchPort(bytes)) => Some(crate::value::to_u64(bytes).unwrap_or(u64::MAX)),
        Some(WatchKind::Watch(port)) => (*port > 0).then_some(*port as u64),
    }
}

impl State {
    /// The members of a group whose watch port is down (section 9.2.2). They keep their places, so
    /// that flows of the others stay where they are when the port comes back.
    pub fn absent<'a>(
        &self,
        members: &[(u32, i32)],
        watches: impl Iterator<Item = &'a Option<WatchKind>>,
    ) -> Vec<u32> {
        let down = |watch: &Option<WatchKind>| match watch_port(watch).map(u16::try_from) {
            Some(Ok(port)) => self.ports_down.contains(&port),
            _ => false,
        };
        let watched = members.iter().zip(watches);
        let absent = watched.filter(|(_, watch)| down(watch));
        absent.map(|((member, _), _)| *member).collect()
    }

    /// Notes that a port is up or down and sets every group with a member that watches it anew.
    pub fn set_port_status(&mut self, switch: &mut Switch, port: u16, up: bool) -> Outcome<()> {
        let changed = match up {
            true => self.ports_down.remove(&port),
            false => self.ports_down.insert(port),
        };
        if !changed {
            return Ok(());
        }
        let watched = Some(u64::from(port));
        let mut groups = Vec::new();
        for ((profile, id), extra) in &self.groups {
            let watches = || extra.members.iter().map(|member| &member.watch_kind);
            if watches().any(|watch| watch_port(watch) == watched) {
                let members = extra.members.iter();
                let members: Vec<(u32, i32)> = members.map(|one| (one.member_id, one.weight)).collect();
                let absent = self.absent(&members, watches());
                groups.push((*profile, *id, extra.max_size, members, absent));
            }
        }
        for ((profile, id), one_shot) in &self.one_shots {
            let actions = &one_shot.actions.action_profile_actions;
            let watches = || actions.iter().map(|action| &action.watch_kind);
            if watches().any(|watch| watch_port(watch) == watched) {
                let weights = actions.iter().map(|action| action.weight);
                let members: Vec<(u32, i32)> = one_shot.members.iter().copied().zip(weights).collect();
                let absent = self.absent(&members, watches());
                groups.push((*profile, *id, 0, members, absent));
            }
        }
        for (profile, group, max_size, members, absent) in groups {
            let group = ProfileGroup {
                group,
                max_size: max_size.max(0) as usize,
                members: unsigned(&members),
                absent,
            };
            switch.group_modify(&self.schema.profiles[profile].name, &group)?;
        }
        Ok(())
    }
}
