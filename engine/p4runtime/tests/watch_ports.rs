//! Members of a group that watch a port take part only while its link is up (section 9.2.2).

mod support;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use p4mesh_p4runtime::proto::entity::*;
use p4mesh_p4runtime::proto::info::P4Info;
use p4mesh_p4runtime::proto::service::{Update, UpdateType};
use p4mesh_p4runtime::{Device, Event, Target};
use prost::Message;
use support::{device, file, send_write, write, LocalTarget};

const PROFILE: &str = "EverythingIngress.next_hops";

/// Ids of P4Info by name.
fn id(name: &str) -> u32 {
    let info = P4Info::decode(&file("programs/everything.p4info.bin")[..]).expect("P4Info");
    let preambles = (info.tables.iter().map(|item| &item.preamble))
        .chain(info.actions.iter().map(|item| &item.preamble))
        .chain(info.action_profiles.iter().map(|item| &item.preamble));
    let mut found = preambles.flatten().filter(|preamble| preamble.name == name);
    found.next().expect("a name of P4Info").id
}

fn forward_to(port: u8) -> Action {
    Action {
        action_id: id("EverythingIngress.forward_to"),
        params: vec![Param { param_id: 1, value: Bytes::copy_from_slice(&[port]) }],
    }
}

fn insert(device: &mut Device, entity: EntityKind) -> Result<(), String> {
    let update = Update { r#type: UpdateType::Insert as i32, entity: Some(Entity { entity: Some(entity) }) };
    let result = send_write(device, &write(vec![update]));
    result.map_err(|status| status.message().to_string())
}

fn watching(port: u8) -> Option<WatchKind> {
    Some(WatchKind::WatchPort(Bytes::copy_from_slice(&[port])))
}

fn link(device: &mut Device, port: u16, up: bool) {
    let mut events = VecDeque::from([Event::PortStatus { port, up }]);
    device.dispatch(&mut events, 16);
}

/// Members of the first group that frames can be sent to.
fn members(target: &Arc<Mutex<LocalTarget>>) -> Vec<(u32, u32)> {
    let mut target = target.lock().expect("target");
    let switch = target.switch().expect("a program");
    let mut group = switch.groups(PROFILE).expect("groups")[0].clone();
    group.members.retain(|(id, _)| !group.absent.contains(id));
    group.members
}

#[test]
fn a_member_leaves_with_its_port_and_comes_back() {
    let (mut device, target) = device();
    link(&mut device, 3, false);
    for member in [1, 2] {
        let entry = ActionProfileMember {
            action_profile_id: id(PROFILE),
            member_id: member,
            action: Some(forward_to(member as u8)),
        };
        insert(&mut device, EntityKind::ActionProfileMember(entry)).expect("member");
    }
    let member = |member_id, port| GroupMember { member_id, weight: 2, watch_kind: watching(port) };
    let group = ActionProfileGroup {
        action_profile_id: id(PROFILE),
        group_id: 1,
        members: vec![member(1, 2), member(2, 3)],
        max_size: 8,
    };
    insert(&mut device, EntityKind::ActionProfileGroup(group)).expect("group");
    assert_eq!(members(&target), [(1, 2)], "port 3 was down before the group was made");
    link(&mut device, 3, true);
    assert_eq!(members(&target), [(1, 2), (2, 2)]);
    link(&mut device, 2, false);
    assert_eq!(members(&target), [(2, 2)]);
    link(&mut device, 3, false);
    assert_eq!(members(&target), []);
}

#[test]
fn actions_of_a_one_shot_entry_watch_ports_too() {
    let (mut device, target) = device();
    let action =
        |port| ActionProfileAction { action: Some(forward_to(port)), weight: 1, watch_kind: watching(port) };
    let set = ActionProfileActionSet {
        action_profile_actions: vec![action(1), action(2)],
        ..ActionProfileActionSet::default()
    };
    let entry = TableEntry {
        table_id: id("EverythingIngress.ecmp"),
        action: Some(TableAction { r#type: Some(TableActionType::ActionProfileActionSet(set)) }),
        ..TableEntry::default()
    };
    insert(&mut device, EntityKind::TableEntry(entry)).expect("entry");
    assert_eq!(members(&target).len(), 2);
    link(&mut device, 1, false);
    assert_eq!(members(&target).len(), 1);
    link(&mut device, 1, true);
    assert_eq!(members(&target).len(), 2);
}

#[test]
fn a_watch_port_must_exist() {
    let (mut device, _) = device();
    let group = ActionProfileGroup {
        action_profile_id: id(PROFILE),
        group_id: 1,
        members: vec![GroupMember { member_id: 1, weight: 1, watch_kind: watching(9) }],
        max_size: 8,
    };
    let refused = insert(&mut device, EntityKind::ActionProfileGroup(group));
    assert_eq!(
        refused,
        Err("1 of 1 updates failed; first: number 0: a member's watch port 9 does not exist on this device"
            .to_string())
    );
}
