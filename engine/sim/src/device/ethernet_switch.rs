//! A learning Ethernet switch.

use std::collections::BTreeMap;

use p4mesh_pipeline::Frame;
use serde::Deserialize;

use super::broadcast::{Broadcast, BroadcastConfig};
use super::lookup::{Lookup, LookupConfig};
use super::mac_table::{Learned, MacTable, MacTableConfig};
use super::{Device, DevicePorts};
use crate::config::ConfigError;
use crate::drops::DropCause;
use crate::fabric::{Arrival, ArrivalRule};
use crate::line::wire_bytes;
use crate::rng::Rng;

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

/// `model` of a device `ethernet_switch`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EthernetSwitchConfig {
    pub forwarding: Forwarding,
    pub latency_ps: u64,
    pub mac_table: MacTableConfig,
    pub learning: bool,
    pub lookup: Option<LookupConfig>,
    pub broadcast: Option<BroadcastConfig>,
    /// Probability that a frame is lost, in parts per billion.
    pub loss_ppb: u32,
    /// Frames outside these lengths (with FCS) are dropped.
    pub min_frame_bytes: u32,
    pub max_frame_bytes: u32,
}

impl Default for EthernetSwitchConfig {
    fn default() -> EthernetSwitchConfig {
        EthernetSwitchConfig {
            forwarding: Forwarding::StoreAndForward,
            latency_ps: 0,
            mac_table: MacTableConfig::default(),
            learning: true,
            lookup: None,
            broadcast: None,
            loss_ppb: 0,
            min_frame_bytes: 64,
            max_frame_bytes: 16_384,
        }
    }
}

impl EthernetSwitchConfig {
    /// Checks what types cannot express.
    pub fn check(&self, path: &str) -> Result<(), ConfigError> {
        let invalid = |field: &str, problem: String, valid: &str| {
            Err(ConfigError::Invalid {
                at: format!("{path}.{field}"),
                problem,
                valid: valid.to_string(),
            })
        };
        if !(1..=1_048_576).contains(&self.mac_table.size) {
            return invalid(
                "mac_table.size",
                format!("is {}", self.mac_table.size),
                "1 to 1048576",
            );
        }
        if let Some(ways) = self.mac_table.ways {
            if ways == 0 || self.mac_table.size % ways != 0 {
                return invalid(
                    "mac_table.ways",
                    format!("is {ways}"),
                    "a divisor of mac_table.size",
                );
            }
        }
        if self.loss_ppb > 1_000_000_000 {
            return invalid(
                "loss_ppb",
                format!("is {}", self.loss_ppb),
                "0 to 1000000000",
            );
        }
        let broadcast = self.broadcast.as_ref();
        for (field, value) in [
            ("latency_ps", self.latency_ps),
            ("broadcast.min_ps", broadcast.map_or(0, |it| it.min_ps)),
            ("broadcast.base_ps", broadcast.map_or(0, |it| it.base_ps)),
            ("broadcast.byte_ps", broadcast.map_or(0, |it| it.byte_ps)),
        ] {
            if value > MAX_LATENCY_PS {
                return invalid(field, format!("is {value}"), "0 to 1000000000000");
            }
        }
        if let Some(lookup) = &self.lookup {
            if !(1..=1_000_000_000_000).contains(&lookup.rate_fps) {
                let problem = format!("is {}", lookup.rate_fps);
                return invalid("lookup.rate_fps", problem, "1 to 1000000000000");
            }
            if lookup.overload_pass_ppm > 1_000_000 {
                let problem = format!("is {}", lookup.overload_pass_ppm);
                return invalid("lookup.overload_pass_ppm", problem, "0 to 1000000");
            }
        }
        if let Forwarding::CutThrough {
            lookahead_bytes: 0..=13,
        } = self.forwarding
        {
            let problem = "is shorter than an Ethernet header".to_string();
            return invalid(
                "forwarding.cut_through.lookahead_bytes",
                problem,
                "14 or more",
            );
        }
        Ok(())
    }
}

#[derive(Default)]
struct Counters {
    learned: u64,
    moved: u64,
    not_learned: u64,
    unicast: u64,
    flooded_unknown: u64,
    flooded_group: u64,
}

/// The model.
pub struct EthernetSwitch {
    config: EthernetSwitchConfig,
    macs: MacTable,
    lookup: Option<Lookup>,
    broadcast: Option<Broadcast>,
    rng: Rng,
    counters: Counters,
}

impl EthernetSwitch {
    pub fn new(config: EthernetSwitchConfig, name: &str, seed: u64) -> EthernetSwitch {
        EthernetSwitch {
            macs: MacTable::new(&config.mac_table),
            lookup: config.lookup.as_ref().map(Lookup::new),
            broadcast: config.broadcast.as_ref().map(Broadcast::new),
            rng: Rng::for_part(seed, name),
            counters: Counters::default(),
            config,
        }
    }

    /// Addresses in the table that have not aged.
    pub fn addresses(&self, now_ps: u64) -> usize {
        self.macs.len(now_ps)
    }

    /// Why a frame ends at the input, if it does.
    #[inline]
    fn refuse(&mut self, frame: &Frame, now_ps: u64) -> Option<DropCause> {
        let length = wire_bytes(frame);
        if length < self.config.min_frame_bytes || frame.len() < 14 {
            return Some(DropCause::Undersize);
        }
        if length > self.config.max_frame_bytes {
            return Some(DropCause::Oversize);
        }
        if self
            .lookup
            .as_mut()
            .is_some_and(|lookup| !lookup.admit(now_ps))
        {
            return Some(DropCause::LookupOverload);
        }
        self.rng
            .chance_ppb(self.config.loss_ppb)
            .then_some(DropCause::RandomLoss)
    }

    #[inline]
    fn learn(&mut self, mac: u64, port: usize, now_ps: u64) {
        match self.macs.learn(mac, port, now_ps) {
            Learned::Known => {}
            Learned::New => self.counters.learned += 1,
            Learned::Moved => self.counters.moved += 1,
            Learned::Full => self.counters.not_learned += 1,
        }
    }

    /// To all ports with a link but the one it came from.
    fn flood(&mut self, port: usize, arrival: Arrival, delay_ps: u64, ports: &mut DevicePorts) {
        for output in 0..ports.count() {
            if output != port && ports.link_up(output) {
                let copy = ports.copy(&arrival.frame);
                let ready_ps = self.ready_ps(port, output, arrival.last_bit_ps, ports) + delay_ps;
                ports.enqueue(output, copy, ready_ps);
            }
        }
        ports.give(arrival.frame);
    }

    /// When the first bit may leave: now, or after storing when the output is faster than the input.
    #[inline]
    fn ready_ps(&self, input: usize, output: usize, last_bit_ps: u64, ports: &DevicePorts) -> u64 {
        match self.config.forwarding {
            Forwarding::CutThrough { .. } if ports.rate_bps(output) > ports.rate_bps(input) => {
                last_bit_ps + self.config.latency_ps
            }
            _ => ports.now_ps(),
        }
    }
}

impl Device for EthernetSwitch {
    fn arrival_rule(&self, _port: usize) -> ArrivalRule {
        let lookahead_bytes = match self.config.forwarding {
            Forwarding::StoreAndForward => None,
            Forwarding::CutThrough { lookahead_bytes } => Some(lookahead_bytes),
        };
        ArrivalRule {
            lookahead_bytes,
            latency_ps: self.config.latency_ps,
        }
    }

    fn receive(&mut self, port: usize, arrival: Arrival, ports: &mut DevicePorts) {
        let now_ps = ports.now_ps();
        if let Some(cause) = self.refuse(&arrival.frame, now_ps) {
            ports.drop(port, cause, arrival.frame);
            return;
        }
        let destination = mac_at(&arrival.frame, 0);
        let source = mac_at(&arrival.frame, 6);
        if self.config.learning && !is_group(source) {
            self.learn(source, port, now_ps);
        }
        let group = is_group(destination);
        let output = if group {
            None
        } else {
            self.macs.lookup(destination, now_ps)
        };
        match output {
            Some(output) if output == port => ports.drop(port, DropCause::SamePort, arrival.frame),
            Some(output) => {
                self.counters.unicast += 1;
                let ready_ps = self.ready_ps(port, output, arrival.last_bit_ps, ports);
                ports.enqueue(output, arrival.frame, ready_ps);
            }
            None => {
                let mut delay_ps = 0;
                if let Some(server) = self
                    .broadcast
                    .as_mut()
                    .filter(|it| group || it.serves_unknown_unicast())
                {
                    match server.admit(now_ps, wire_bytes(&arrival.frame)) {
                        Some(wait_ps) => delay_ps = wait_ps,
                        None => {
                            return ports.drop(port, DropCause::BroadcastOverload, arrival.frame)
                        }
                    }
                }
                *(if group {
                    &mut self.counters.flooded_group
                } else {
                    &mut self.counters.flooded_unknown
                }) += 1;
                self.flood(port, arrival, delay_ps, ports);
            }
        }
    }

    fn reset(&mut self) {
        self.macs.clear();
        if let Some(lookup) = &mut self.lookup {
            lookup.reset();
        }
        if let Some(broadcast) = &mut self.broadcast {
            broadcast.reset();
        }
    }

    fn counters(&self) -> BTreeMap<&'static str, u64> {
        BTreeMap::from([
            ("learned", self.counters.learned),
            ("moved", self.counters.moved),
            ("not_learned", self.counters.not_learned),
            ("unicast", self.counters.unicast),
            ("flooded_unknown", self.counters.flooded_unknown),
            ("flooded_group", self.counters.flooded_group),
        ])
    }

    fn as_any(&mut self) -> &mut dyn std::any::Any {
        self
    }
}

#[inline]
fn mac_at(frame: &[u8], at: usize) -> u64 {
    let bytes = &frame[at..at + 6];
    u64::from_be_bytes([
        0, 0, bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5],
    ])
}

/// The group bit is the lowest of the first byte.
#[inline]
fn is_group(mac: u64) -> bool {
    mac >> 40 & 1 == 1
}
