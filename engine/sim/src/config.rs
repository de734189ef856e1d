//! The JSON document that describes a network, and what can be wrong with it.
//!
//! All times are picoseconds, rates bits per second, clock offsets parts per billion, lengths bytes
//! with FCS. Unknown fields are errors.

use std::collections::BTreeMap;

use serde::Deserialize;
use thiserror::Error;

use crate::event::MAX_PORTS;
use crate::line::STANDARD_GAP_BITS;

/// Why a network was refused. `at` is a path into the document.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConfigError {
    #[error("{at}: {problem}")]
    Parse { at: String, problem: String },
    #[error("{at}: {problem}; valid: {valid}")]
    Invalid {
        at: String,
        problem: String,
        valid: String,
    },
}

/// A whole network.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkConfig {
    /// Of every random decision of the devices and of `random()` in the program.
    #[serde(default = "one")]
    pub seed: u64,
    pub tester: TesterConfig,
    #[serde(default)]
    pub devices: Vec<DeviceConfig>,
    #[serde(default)]
    pub links: Vec<LinkConfig>,
    /// Idle passes of the recirculation loop are computed instead of executed where that is proved
    /// to give the same. Off, the results are the same and take longer: for comparisons.
    #[serde(default = "yes")]
    pub skip_idle_loops: bool,
}

/// The node that runs the P4 program.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TesterConfig {
    #[serde(default = "tester_name")]
    pub name: String,
    pub ports: Vec<TesterPortConfig>,
    #[serde(rename = "loop")]
    pub recirculation: LoopConfig,
    #[serde(default = "cpu_port")]
    pub cpu_port: u16,
    /// `egress_spec` value that drops.
    #[serde(default = "drop_port")]
    pub drop_port: u16,
    /// Unit of the time stamps that the program sees.
    #[serde(default = "one")]
    pub timestamp_tick_ps: u64,
    /// From the last bit of a frame to its ingress pass.
    #[serde(default)]
    pub ingress_latency_ps: u64,
    /// From an egress pass to the start of the preamble.
    #[serde(default)]
    pub egress_latency_ps: u64,
    /// Larger frames are dropped.
    #[serde(default = "max_frame_bytes")]
    pub max_frame_bytes: u32,
    /// Packet-ins, and digests, that wait for the controller at most.
    #[serde(default = "packet_in_limit")]
    pub packet_in_limit: usize,
}

/// A port of the tester.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TesterPortConfig {
    pub id: u16,
    pub rate_bps: u64,
    #[serde(default = "gap")]
    pub inter_frame_gap_bits: u32,
    #[serde(default)]
    pub clock_ppb: i64,
    /// Frames per priority.
    #[serde(default = "queue_frames")]
    pub queue_frames: usize,
    /// Added to the time stamp of sent frames.
    #[serde(default)]
    pub tx_stamp_offset_ps: i64,
    /// Added to the time stamp of received frames.
    #[serde(default)]
    pub rx_stamp_offset_ps: i64,
    /// Short frames are padded with zeros to 64 bytes.
    #[serde(default = "yes")]
    pub pad_to_minimum: bool,
    /// PAUSE frames that arrive stop the port.
    #[serde(default)]
    pub honours_pause: bool,
}

/// The recirculation port.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoopConfig {
    pub port: u16,
    pub rate_bps: u64,
    /// From the last bit sent to the ingress pass.
    #[serde(default)]
    pub latency_ps: u64,
    /// Frames that wait at most, per priority.
    #[serde(default = "loop_queue_frames")]
    pub queue_frames: usize,
}

/// A device under test.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceConfig {
    pub name: String,
    /// The model, one of [`crate::device::MODELS`].
    pub device: String,
    pub ports: Vec<PortConfig>,
    /// What the model needs; its fields depend on `device`.
    #[serde(default = "empty_object")]
    pub model: serde_json::Value,
    /// How the device comes back from a reset.
    #[serde(default)]
    pub reset: ResetConfig,
}

/// What a reset of a device takes.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ResetConfig {
    /// From the reset until the device forwards again.
    pub time_ps: u64,
    /// Its links are down meanwhile.
    pub links_down: bool,
}

/// A port of a device.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PortConfig {
    pub id: u16,
    pub rate_bps: u64,
    #[serde(default = "gap")]
    pub inter_frame_gap_bits: u32,
    #[serde(default)]
    pub clock_ppb: i64,
    /// Frames that wait at most, not counting the one on the wire.
    #[serde(default = "queue_frames")]
    pub queue_frames: usize,
    /// PAUSE frames that arrive stop the port.
    #[serde(default)]
    pub honours_pause: bool,
    /// No frame takes less of the line than this, from preamble to the end of the gap.
    #[serde(default)]
    pub min_slot_bits: u64,
}

/// A cable.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkConfig {
    pub a: EndConfig,
    pub b: EndConfig,
    #[serde(default)]
    pub delay_ps: u64,
    /// Bits that change among 10^15, in either direction: 1000 is a bit error rate of 1e-12.
    #[serde(default)]
    pub bit_errors_per_1e15: u64,
    /// When the link is down.
    #[serde(default)]
    pub outages: Vec<OutageConfig>,
}

/// A loss of link.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutageConfig {
    pub at_ps: u64,
    /// Absent: the link stays down.
    pub duration_ps: Option<u64>,
}

/// One end of a cable.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(deny_unknown_fields)]
pub struct EndConfig {
    pub node: String,
    pub port: u16,
}

fn one() -> u64 {
    1
}
fn yes() -> bool {
    true
}
fn tester_name() -> String {
    "tester".to_string()
}
fn cpu_port() -> u16 {
    510
}
fn drop_port() -> u16 {
    511
}
fn max_frame_bytes() -> u32 {
    16_384
}
fn packet_in_limit() -> usize {
    1 << 20
}
fn gap() -> u32 {
    STANDARD_GAP_BITS
}
fn queue_frames() -> usize {
    1_024
}
fn loop_queue_frames() -> usize {
    16_384
}
fn empty_object() -> serde_json::Value {
    serde_json::Value::Object(serde_json::Map::new())
}

const MIN_RATE_BPS: u64 = 1_000_000;
const MAX_RATE_BPS: u64 = 1_600_000_000_000;
const MAX_GAP_BITS: u32 = 1_000_000;
const MAX_CLOCK_PPB: i64 = 1_000_000;
const MAX_DELAY_PS: u64 = 1_000_000_000_000;
const MAX_SLOT_BITS: u64 = 1_000_000;
/// A bit error rate of 0.1 %.
const MAX_BIT_ERRORS_PER_1E15: u64 = 1_000_000_000_000;
/// 11 days.
const MAX_OUTAGE_PS: u64 = 1_000_000_000_000_000_000;
const MAX_QUEUE_FRAMES: usize = 1_048_576;

impl NetworkConfig {
    /// Reads and checks a document.
    pub fn from_json(text: &str) -> Result<NetworkConfig, ConfigError> {
        let mut reader = serde_json::Deserializer::from_str(text);
        let config: NetworkConfig =
            serde_path_to_error::deserialize(&mut reader).map_err(|error| ConfigError::Parse {
                at: error.path().to_string(),
                problem: error.inner().to_string(),
            })?;
        reader.end().map_err(|error| ConfigError::Parse {
            at: ".".to_string(),
            problem: error.to_string(),
        })?;
        config.check()?;
        Ok(config)
    }

    fn check(&self) -> Result<(), ConfigError> {
        let mut rates = BTreeMap::new();
        self.check_tester(&mut rates)?;
        for (index, device) in self.devices.iter().enumerate() {
            let at = format!("devices[{index}]");
            let known = self.tester.name == device.name
                || self.devices[..index]
                    .iter()
                    .any(|it| it.name == device.name);
            if known || device.name.is_empty() {
                let problem = format!("the name '{}' is empty or in use", device.name);
                return invalid(format!("{at}.name"), problem, "a name of its own");
            }
            let reset = format!("{at}.reset");
            check_range(&reset, "time_ps", device.reset.time_ps, 0, MAX_OUTAGE_PS)?;
            for (number, port) in device.ports.iter().enumerate() {
                let at = format!("{at}.ports[{number}]");
                let (gap_bits, clock_ppb) = (port.inter_frame_gap_bits, port.clock_ppb);
                check_line(&at, port.rate_bps, gap_bits, clock_ppb)?;
                check_queue(&at, port.queue_frames, 0)?;
                let min_slot_bits = port.min_slot_bits;
                check_range(&at, "min_slot_bits", min_slot_bits, 0, MAX_SLOT_BITS)?;
                add_port(&mut rates, &at, &device.name, port.id, port.rate_bps)?;
            }
        }
        // The loop has a port, and the last number is that of no port.
        if rates.len() + 1 >= MAX_PORTS {
            return invalid(
                "devices".to_string(),
                format!("{} ports in all", rates.len()),
                "fewer than 262143",
            );
        }
        self.check_links(&rates)
    }

    fn check_tester(&self, rates: &mut BTreeMap<EndConfig, u64>) -> Result<(), ConfigError> {
        let tester = &self.tester;
        if tester.name.is_empty() {
            return invalid("tester.name".to_string(), "is empty".to_string(), "a name");
        }
        let special = [tester.cpu_port, tester.drop_port, tester.recirculation.port];
        for (number, port) in tester.ports.iter().enumerate() {
            let at = format!("tester.ports[{number}]");
            let (gap_bits, clock_ppb) = (port.inter_frame_gap_bits, port.clock_ppb);
            check_line(&at, port.rate_bps, gap_bits, clock_ppb)?;
            check_queue(&at, port.queue_frames, 1)?;
            check_range(&at, "id", u64::from(port.id), 0, 65_534)?;
            if special.contains(&port.id) {
                let problem = format!("{} is the CPU, drop or loop port", port.id);
                return invalid(format!("{at}.id"), problem, "a number of its own");
            }
            add_port(rates, &at, &tester.name, port.id, port.rate_bps)?;
        }
        if special[0] == special[1] || special[1] == special[2] || special[0] == special[2] {
            let problem = format!("cpu_port, drop_port and loop.port are {special:?}");
            return invalid("tester".to_string(), problem, "three different numbers");
        }
        let recirculation = &tester.recirculation;
        check_line("tester.loop", recirculation.rate_bps, 0, 0)?;
        check_queue("tester.loop", recirculation.queue_frames, 1)?;
        let latency_ps = recirculation.latency_ps;
        check_range("tester.loop", "latency_ps", latency_ps, 0, MAX_DELAY_PS)?;
        let (frame_bytes, packet_ins) = (tester.max_frame_bytes, tester.packet_in_limit);
        for (field, value, low, high) in [
            (
                "timestamp_tick_ps",
                tester.timestamp_tick_ps,
                1,
                MAX_DELAY_PS,
            ),
            (
                "ingress_latency_ps",
                tester.ingress_latency_ps,
                0,
                MAX_DELAY_PS,
            ),
            (
                "egress_latency_ps",
                tester.egress_latency_ps,
                0,
                MAX_DELAY_PS,
            ),
            ("max_frame_bytes", u64::from(frame_bytes), 64, 65_535),
            ("packet_in_limit", packet_ins as u64, 1, 1 << 24),
        ] {
            check_range("tester", field, value, low, high)?;
        }
        Ok(())
    }

    fn check_links(&self, rates: &BTreeMap<EndConfig, u64>) -> Result<(), ConfigError> {
        let mut used = BTreeMap::new();
        for (index, link) in self.links.iter().enumerate() {
            for (side, end) in [("a", &link.a), ("b", &link.b)] {
                let at = format!("links[{index}].{side}");
                if !rates.contains_key(end) {
                    return Err(self.no_such_end(at, end, rates));
                }
                if let Some(other) = used.insert(end, index) {
                    let problem = format!(
                        "{} port {} is already in links[{other}]",
                        end.node, end.port
                    );
                    return invalid(at, problem, "one link per port");
                }
            }
            let (at, errors) = (format!("links[{index}]"), link.bit_errors_per_1e15);
            check_range(&at, "delay_ps", link.delay_ps, 0, MAX_DELAY_PS)?;
            check_range(
                &at,
                "bit_errors_per_1e15",
                errors,
                0,
                MAX_BIT_ERRORS_PER_1E15,
            )?;
            for (number, outage) in link.outages.iter().enumerate() {
                let at = format!("links[{index}].outages[{number}]");
                check_range(&at, "at_ps", outage.at_ps, 0, MAX_OUTAGE_PS)?;
                let duration_ps = outage.duration_ps.unwrap_or(1);
                check_range(&at, "duration_ps", duration_ps, 1, MAX_OUTAGE_PS)?;
            }
            let (rate_a, rate_b) = (rates[&link.a], rates[&link.b]);
            if rate_a != rate_b {
                let problem = format!("connects {rate_a} b/s with {rate_b} b/s");
                return invalid(format!("links[{index}]"), problem, "two ports of one rate");
            }
        }
        Ok(())
    }

    fn no_such_end(
        &self,
        at: String,
        end: &EndConfig,
        rates: &BTreeMap<EndConfig, u64>,
    ) -> ConfigError {
        let ports: Vec<String> = rates
            .keys()
            .filter(|it| it.node == end.node)
            .map(|it| it.port.to_string())
            .collect();
        let names: Vec<&str> = std::iter::once(self.tester.name.as_str())
            .chain(self.devices.iter().map(|device| device.name.as_str()))
            .collect();
        if names.contains(&end.node.as_str()) {
            let problem = format!("no port {} on {}", end.port, end.node);
            ConfigError::Invalid {
                at: format!("{at}.port"),
                problem,
                valid: ports.join(", "),
            }
        } else {
            let problem = format!("no node named '{}'", end.node);
            ConfigError::Invalid {
                at: format!("{at}.node"),
                problem,
                valid: names.join(", "),
            }
        }
    }
}

fn add_port(
    rates: &mut BTreeMap<EndConfig, u64>,
    at: &str,
    node: &str,
    port: u16,
    rate_bps: u64,
) -> Result<(), ConfigError> {
    match rates.insert(
        EndConfig {
            node: node.to_string(),
            port,
        },
        rate_bps,
    ) {
        None => Ok(()),
        Some(_) => invalid(
            format!("{at}.id"),
            format!("{port} is in use"),
            "one id per port",
        ),
    }
}

fn check_line(at: &str, rate_bps: u64, gap_bits: u32, clock_ppb: i64) -> Result<(), ConfigError> {
    check_range(at, "rate_bps", rate_bps, MIN_RATE_BPS, MAX_RATE_BPS)?;
    check_range(
        at,
        "inter_frame_gap_bits",
        u64::from(gap_bits),
        0,
        u64::from(MAX_GAP_BITS),
    )?;
    if clock_ppb.abs() > MAX_CLOCK_PPB {
        return invalid(
            format!("{at}.clock_ppb"),
            format!("is {clock_ppb}"),
            "-1000000 to 1000000",
        );
    }
    Ok(())
}

fn check_queue(at: &str, queue_frames: usize, least: u64) -> Result<(), ConfigError> {
    let most = MAX_QUEUE_FRAMES as u64;
    check_range(at, "queue_frames", queue_frames as u64, least, most)
}

fn check_range(at: &str, field: &str, value: u64, low: u64, high: u64) -> Result<(), ConfigError> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    invalid(
        format!("{at}.{field}"),
        format!("is {value}"),
        &format!("{low} to {high}"),
    )
}

fn invalid<T>(at: String, problem: String, valid: &str) -> Result<T, ConfigError> {
    Err(ConfigError::Invalid {
        at,
        problem,
        valid: valid.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"{
        "tester": {
            "ports": [{"id": 1, "rate_bps": 1000000000}, {"id": 2, "rate_bps": 1000000000}],
            "loop": {"port": 509, "rate_bps": 100000000000, "latency_ps": 500000}
        },
        "links": [{"a": {"node": "tester", "port": 1}, "b": {"node": "tester", "port": 2}}]
    }"#;

    fn error_of(from: &str, to: &str) -> String {
        assert!(GOOD.contains(from), "{from}");
        NetworkConfig::from_json(&GOOD.replacen(from, to, 1))
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn a_complete_document_is_accepted() {
        NetworkConfig::from_json(GOOD).unwrap();
    }

    #[test]
    fn errors_say_where_what_and_what_is_valid() {
        for (from, to, message) in [
            ("\"port\": 2}", "\"port\": 3}", "links[0].b.port: no port 3 on tester; valid: 1, 2"),
            ("\"node\": \"tester\"", "\"node\": \"dut\"", "links[0].a.node: no node named 'dut'; valid: tester"),
            ("\"id\": 2, \"rate_bps\": 1000000000", "\"id\": 2, \"rate_bps\": 10000000000",
             "links[0]: connects 1000000000 b/s with 10000000000 b/s; valid: two ports of one rate"),
            ("\"id\": 2", "\"id\": 1", "tester.ports[1].id: 1 is in use; valid: one id per port"),
            ("\"id\": 2", "\"id\": 511",
             "tester.ports[1].id: 511 is the CPU, drop or loop port; valid: a number of its own"),
            ("1000000000", "5", "tester.ports[0].rate_bps: is 5; valid: 1000000 to 1600000000000"),
            ("\"port\": 2}", "\"port\": 1}", "links[0].b: tester port 1 is already in links[0]; valid: one link per port"),
        ] {
            assert_eq!(error_of(from, to), message);
        }
    }

    #[test]
    fn unknown_fields_are_named_with_their_path() {
        let message = error_of("\"latency_ps\"", "\"latency_ns\"");
        assert!(
            message
                .starts_with("tester.loop.latency_ns: unknown field `latency_ns`, expected one of"),
            "{message}"
        );
    }
}
