//! VLANs of IEEE 802.1Q: the VLAN of a frame, and the tag with which it leaves.

use std::collections::BTreeSet;

use p4mesh_pipeline::Frame;
use p4mesh_wire::vlan::{self, Tag};
use schemars::JsonSchema;
use serde::Deserialize;

use super::check_port;
use crate::config::{ConfigError, Place, PortNumber, Whole};

/// VLAN of ports that the configuration does not name, and of all ports without VLANs.
pub const DEFAULT_VID: u16 = 1;

type Vid = Whole<1, 4_094>;

/// `vlans` of an Ethernet switch.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VlanConfig {
    /// Ports; others are access ports of VLAN 1.
    #[schemars(length(min = 1))]
    pub ports: Vec<VlanPort>,
}

/// One port of a [`VlanConfig`].
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VlanPort {
    /// The port.
    #[schemars(with = "PortNumber")]
    pub port: u16,
    /// Access or trunk.
    pub mode: VlanMode,
}

/// Tagging of a port.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum VlanMode {
    // Frames with the tag of another VLAN are dropped.
    /// VLAN of frames without a tag.
    Access(Vid),
    /// Frames carry the tag of one of several VLANs.
    Trunk {
        /// These VLANs.
        #[schemars(length(min = 1))]
        vids: Vec<Vid>,
        /// VLAN whose frames have no tag.
        #[serde(default)]
        native: Option<Vid>,
    },
}

impl VlanConfig {
    pub fn check(&self, place: &Place, ports: &[u16]) -> Result<(), ConfigError> {
        let mut seen = BTreeSet::new();
        for (index, entry) in self.ports.iter().enumerate() {
            let place = place.key("ports").index(index).key("port");
            check_port(&place, entry.port, ports)?;
            if !seen.insert(entry.port) {
                let problem = format!("port {} is given twice", entry.port);
                return Err(place.invalid(problem, "each port once"));
            }
        }
        Ok(())
    }
}

/// VLAN configuration of one port.
#[derive(Clone, Debug)]
struct Membership {
    /// VLAN of frames without a tag.
    untagged: Option<u16>,
    tagged: BTreeSet<u16>,
}

/// The VLANs of a device, by local port.
#[derive(Clone, Debug)]
pub struct Vlans(Vec<Membership>);

impl Vlans {
    pub fn new(config: &VlanConfig, ports: &[u16]) -> Vlans {
        let number = |vid: &Vid| vid.get() as u16;
        let membership = |port: &u16| {
            let entry = config.ports.iter().find(|it| it.port == *port);
            match entry.map(|it| &it.mode) {
                None => Membership { untagged: Some(DEFAULT_VID), tagged: BTreeSet::new() },
                Some(VlanMode::Access(vid)) => {
                    Membership { untagged: Some(number(vid)), tagged: BTreeSet::new() }
                }
                Some(VlanMode::Trunk { vids, native }) => Membership {
                    untagged: native.as_ref().map(number),
                    tagged: vids.iter().filter(|&it| Some(*it) != *native).map(number).collect(),
                },
            }
        };
        Vlans(ports.iter().map(membership).collect())
    }

    /// The VLAN of a frame as a customer tag, and its priority; its own tag is taken off. `None` when the port does
    /// not admit the frame. A service tag is payload.
    pub fn admit(&self, port: usize, frame: &mut Frame) -> Option<Tag> {
        let own = vlan::parse(frame).filter(|tag| tag.tag_type == vlan::CUSTOMER);
        if own.is_some() {
            vlan::take(frame);
        }
        let (vid, priority) = own.map_or((0, 0), |tag| (tag.vid, tag.priority));
        // VLAN 0 is a priority tag: the frame belongs to the VLAN of untagged frames.
        let vid = if vid == 0 { self.0[port].untagged? } else { vid };
        self.carries(port, vid).then_some(Tag { tag_type: vlan::CUSTOMER, vid, priority })
    }

    /// True when frames of a VLAN may leave at a port.
    pub fn carries(&self, port: usize, vid: u16) -> bool {
        self.0[port].untagged == Some(vid) || self.0[port].tagged.contains(&vid)
    }

    /// Puts the tag on where the port asks for it.
    pub fn dress(&self, port: usize, tag: Tag, frame: &mut Frame) {
        if self.0[port].untagged != Some(tag.vid) {
            tag.emit(frame);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vlans() -> Vlans {
        let mode = |port, mode| VlanPort { port, mode };
        let trunk = VlanMode::Trunk { vids: vec![Vid::of(10), Vid::of(20)], native: Some(Vid::of(30)) };
        let config = VlanConfig { ports: vec![mode(1, VlanMode::Access(Vid::of(10))), mode(2, trunk)] };
        config.check(&Place::default(), &[1, 2, 3]).unwrap();
        Vlans::new(&config, &[1, 2, 3])
    }

    fn tagged(vid: u16) -> Frame {
        let mut frame = vec![0; 60];
        let tag = Tag { tag_type: vlan::CUSTOMER, vid, priority: 3 << 1 };
        tag.emit(&mut frame);
        frame
    }

    #[test]
    fn a_frame_belongs_to_the_vlan_of_its_tag_or_of_its_port() {
        let vlans = vlans();
        let vid = |port, mut frame: Frame| vlans.admit(port, &mut frame).map(|tag| tag.vid);
        assert_eq!(vid(0, vec![0; 60]), Some(10));
        assert_eq!(vid(0, tagged(20)), None, "an access port of VLAN 10");
        assert_eq!(vid(0, tagged(0)), Some(10), "a priority tag");
        assert_eq!(vid(1, tagged(20)), Some(20));
        assert_eq!(vid(1, tagged(40)), None);
        assert_eq!(vid(1, vec![0; 60]), Some(30), "the native VLAN");
        assert_eq!(vid(2, vec![0; 60]), Some(DEFAULT_VID));
    }

    #[test]
    fn a_trunk_puts_the_tag_on_and_an_access_port_takes_it_off() {
        let vlans = vlans();
        let mut frame = tagged(10);
        let original = frame.clone();
        let tag = vlans.admit(1, &mut frame).unwrap();
        assert_eq!(frame.len(), 60);
        assert!(vlans.carries(0, tag.vid) && !vlans.carries(2, tag.vid));
        vlans.dress(0, tag, &mut frame);
        assert_eq!(frame.len(), 60);
        vlans.dress(1, tag, &mut frame);
        assert_eq!(frame, original, "the priority is kept");
    }
}
