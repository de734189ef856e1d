//! Keys of a device `ethernet_switch`, and their validation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::broadcast::BroadcastConfig;
use super::buffer::SharedBufferConfig;
use super::chassis::ChassisConfig;
use super::flood_limit::FloodLimitConfig;
use super::impairments::ImpairmentsConfig;
use super::input_pacing::InputPacingConfig;
use super::input_queue::InputQueueConfig;
use super::jitter::JitterConfig;
use super::learning::LearningConfig;
use super::lookup::LookupConfig;
use super::mac_table::MacTableConfig;
use super::pause_sender::PauseSenderConfig;
use super::simultaneous::SimultaneousConfig;
use super::size_table::SizeTable;
use super::snooping::SnoopingConfig;
use super::switching_fabric::FabricConfig;
use super::vlan::VlanConfig;
use crate::config::{ConfigError, Place, Ppb, Whole};

/// Moment at which the switch chooses the outputs of a frame.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Forwarding {
    /// After the last bit: first bit out - last bit in = latency.
    #[default]
    StoreAndForward,
    /// After min(length, `look_ahead_bytes`): first bit out - first bit in = that time + latency. Frames to a faster
    /// port are stored.
    CutThrough,
}

/// The configuration of an Ethernet switch. Every part may be left out.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EthernetSwitchConfig {
    /// When a frame goes on.
    pub forwarding: Forwarding,
    /// Bytes that cut-through waits for; frames to faster ports are stored.
    pub look_ahead_bytes: Option<Whole<14, 16_384>>,
    /// The address table.
    pub mac_table: MacTableConfig,
    /// Source addresses are learned.
    pub learning: bool,
    /// Capacity of the look-up, all ports together; without it unlimited.
    pub lookup: Option<LookupConfig>,
    /// Server for frames to groups, to all ports or to members; without it unlimited.
    pub broadcast: Option<BroadcastConfig>,
    /// Frames that are lost at random.
    pub loss_ppb: Ppb,
    /// Shorter frames are dropped.
    pub min_frame_bytes: Whole<14, 16_384, 64>,
    /// Longer frames are dropped.
    pub max_frame_bytes: Whole<64, 16_384, 16_384>,
    /// Further latency by length, interpolated.
    pub latency_by_size: SizeTable,
    /// Modules of ports, and the fabric between them; without it every port is as near as any other.
    pub chassis: Option<ChassisConfig>,
    /// Further latency from a seeded distribution, one of four.
    pub jitter: Option<JitterConfig>,
    /// Learning in software; without it addresses are learned at once.
    pub learning_path: Option<LearningConfig>,
    /// Storm control; without it unlimited.
    pub flood_limit: Option<FloodLimitConfig>,
    /// Frames of an input that go on a little slower than they come, until they are late by a limit; without it none.
    pub input_pacing: Option<InputPacingConfig>,
    /// One queue per input, so that a frame blocks those behind it; of those whose first frames wait for one output,
    /// the oldest goes first; without it virtual output queues.
    pub input_queue: Option<InputQueueConfig>,
    /// The fabric between inputs and outputs, which the inputs that have frames share evenly, with a queue for each input;
    /// without it there is room for all lines.
    pub fabric: Option<FabricConfig>,
    /// One buffer for all ports, beside their queues; without it unlimited.
    pub shared_buffer: Option<SharedBufferConfig>,
    /// PAUSE frames to inputs whose frames fill the device; without it none.
    pub pause: Option<PauseSenderConfig>,
    /// IEEE 802.1Q; without it tags are payload.
    pub vlans: Option<VlanConfig>,
    /// IGMP and MLD snooping; without it multicast is flooded.
    pub snooping: Option<SnoopingConfig>,
    /// Frames of different ports at one moment, of which one may be lost.
    pub simultaneous_arrivals: Option<SimultaneousConfig>,
    /// Random faults.
    pub impairments: Option<ImpairmentsConfig>,
    /// Frames whose FCS does not fit are dropped, else they leave as they came.
    pub filter_bad_fcs: bool,
}

impl Default for EthernetSwitchConfig {
    fn default() -> EthernetSwitchConfig {
        EthernetSwitchConfig {
            forwarding: Forwarding::default(),
            look_ahead_bytes: None,
            mac_table: MacTableConfig::default(),
            learning: true,
            lookup: None,
            broadcast: None,
            loss_ppb: Ppb::default(),
            min_frame_bytes: Whole::default(),
            max_frame_bytes: Whole::default(),
            latency_by_size: SizeTable::default(),
            chassis: None,
            jitter: None,
            learning_path: None,
            flood_limit: None,
            input_pacing: None,
            input_queue: None,
            fabric: None,
            shared_buffer: None,
            pause: None,
            vlans: None,
            snooping: None,
            simultaneous_arrivals: None,
            impairments: None,
            filter_bad_fcs: true,
        }
    }
}

impl EthernetSwitchConfig {
    /// Checks what types cannot express; `ports` are the port numbers of the device.
    pub fn check(&self, place: &Place, ports: &[u16]) -> Result<(), ConfigError> {
        let cut_through = self.forwarding == Forwarding::CutThrough;
        if cut_through != self.look_ahead_bytes.is_some() {
            let problem = "look_ahead_bytes and forwarding do not fit together";
            let valid = "look_ahead_bytes with cut_through, and only then";
            return Err(place.key("forwarding").invalid(problem, valid));
        }
        self.mac_table.check(&place.key("mac_table"))?;
        self.latency_by_size.check(&place.key("latency_by_size"))?;
        if let Some(chassis) = &self.chassis {
            chassis.check(&place.key("chassis"), ports.len())?;
        }
        if let Some(broadcast) = &self.broadcast {
            broadcast.check(&place.key("broadcast"))?;
        }
        if let Some(pause) = &self.pause {
            pause.check(&place.key("pause"))?;
        }
        if let Some(simultaneous) = &self.simultaneous_arrivals {
            simultaneous.check(&place.key("simultaneous_arrivals"))?;
        }
        if let Some(vlans) = &self.vlans {
            vlans.check(&place.key("vlans"), ports)?;
        }
        if let Some(snooping) = &self.snooping {
            snooping.check(&place.key("snooping"), ports)?;
        }
        Ok(())
    }
}
