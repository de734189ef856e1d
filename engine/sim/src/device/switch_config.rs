//! `model` of a device `ethernet_switch`, and what can be wrong with it.

use serde::Deserialize;

use super::broadcast::BroadcastConfig;
use super::buffer::SharedBufferConfig;
use super::flood_limit::FloodLimitConfig;
use super::impairments::ImpairmentsConfig;
use super::input_queue::InputQueueConfig;
use super::jitter::JitterConfig;
use super::learning::LearningConfig;
use super::lookup::LookupConfig;
use super::mac_table::MacTableConfig;
use super::pause_sender::PauseSenderConfig;
use super::simultaneous::SimultaneousConfig;
use super::size_table::SizeTable;
use super::snooping::SnoopingConfig;
use super::vlan::VlanConfig;
use super::{check_range, invalid};
use crate::config::ConfigError;

/// One second.
const MAX_LATENCY_PS: u64 = 1_000_000_000_000;

/// When the switch decides where a frame goes.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Forwarding {
    /// After the last bit: first bit out - last bit in = `latency_ps`.
    StoreAndForward,
    /// After min(length, `lookahead_bytes`): first bit out - first bit in = that time +
    /// `latency_ps`. Frames to a faster port are stored.
    CutThrough { lookahead_bytes: u32 },
}

/// The configuration of an Ethernet switch. Every part may be left out.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EthernetSwitchConfig {
    pub forwarding: Forwarding,
    pub latency_ps: u64,
    /// Further latency at some frame lengths.
    pub latency_by_size: SizeTable,
    pub jitter: Option<JitterConfig>,
    pub mac_table: MacTableConfig,
    pub learning: bool,
    pub learning_path: Option<LearningConfig>,
    pub lookup: Option<LookupConfig>,
    pub broadcast: Option<BroadcastConfig>,
    pub flood_limit: Option<FloodLimitConfig>,
    pub input_queue: Option<InputQueueConfig>,
    pub shared_buffer: Option<SharedBufferConfig>,
    pub pause: Option<PauseSenderConfig>,
    pub vlans: Option<VlanConfig>,
    pub snooping: Option<SnoopingConfig>,
    /// Probability that a frame is lost, in parts per billion.
    pub loss_ppb: u32,
    pub simultaneous_arrivals: Option<SimultaneousConfig>,
    pub impairments: Option<ImpairmentsConfig>,
    /// Frames outside these lengths (with FCS) are dropped.
    pub min_frame_bytes: u32,
    pub max_frame_bytes: u32,
    /// Frames whose FCS does not fit are dropped; else they leave with an FCS that does not fit.
    pub filter_bad_fcs: bool,
}

impl Default for EthernetSwitchConfig {
    fn default() -> EthernetSwitchConfig {
        EthernetSwitchConfig {
            forwarding: Forwarding::StoreAndForward,
            latency_ps: 0,
            latency_by_size: SizeTable::default(),
            jitter: None,
            mac_table: MacTableConfig::default(),
            learning: true,
            learning_path: None,
            lookup: None,
            broadcast: None,
            flood_limit: None,
            input_queue: None,
            shared_buffer: None,
            pause: None,
            vlans: None,
            snooping: None,
            loss_ppb: 0,
            simultaneous_arrivals: None,
            impairments: None,
            min_frame_bytes: 64,
            max_frame_bytes: 16_384,
            filter_bad_fcs: true,
        }
    }
}

impl EthernetSwitchConfig {
    /// Checks what types cannot express; `ports` are the port numbers of the device.
    pub fn check(&self, path: &str, ports: &[u16]) -> Result<(), ConfigError> {
        let size = self.mac_table.size;
        check_range(path, "mac_table.size", size as u64, 1, 1_048_576)?;
        if let Some(ways) = self.mac_table.ways {
            if ways == 0 || size % ways != 0 {
                let valid = "a divisor of mac_table.size";
                return invalid(path, "mac_table.ways", format!("is {ways}"), valid);
            }
        }
        let loss_ppb = u64::from(self.loss_ppb);
        check_range(path, "loss_ppb", loss_ppb, 0, 1_000_000_000)?;
        check_range(path, "latency_ps", self.latency_ps, 0, MAX_LATENCY_PS)?;
        self.latency_by_size.check(path, "latency_by_size")?;
        if let Forwarding::CutThrough {
            lookahead_bytes: 0..=13,
        } = self.forwarding
        {
            let problem = "is shorter than an Ethernet header".to_string();
            let field = "forwarding.cut_through.lookahead_bytes";
            return invalid(path, field, problem, "14 or more");
        }
        if let Some(lookup) = &self.lookup {
            lookup.check(path)?;
        }
        if let Some(broadcast) = &self.broadcast {
            broadcast.check(path)?;
        }
        if let Some(jitter) = &self.jitter {
            jitter.check(path, "jitter")?;
        }
        if let Some(learning) = &self.learning_path {
            learning.check(path)?;
        }
        if let Some(limit) = &self.flood_limit {
            limit.check(path)?;
        }
        if let Some(queue) = &self.input_queue {
            queue.check(path)?;
        }
        if let Some(buffer) = &self.shared_buffer {
            buffer.check(path)?;
        }
        if let Some(pause) = &self.pause {
            pause.check(path)?;
        }
        if let Some(simultaneous) = &self.simultaneous_arrivals {
            simultaneous.check(path)?;
        }
        if let Some(impairments) = &self.impairments {
            impairments.check(path)?;
        }
        if let Some(vlans) = &self.vlans {
            vlans.check(path, ports)?;
        }
        if let Some(snooping) = &self.snooping {
            snooping.check(path, ports)?;
        }
        Ok(())
    }
}
