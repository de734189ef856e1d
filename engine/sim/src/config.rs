//! The JSON document that describes a network, and its validation.
//!
//! Its keys are those of topologies, with units in their names; ranges, units and defaults of values
//! are in their types. Unknown keys are errors.

mod place;
mod units;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::event::MAX_PORTS;
use crate::line::STANDARD_GAP_BITS;

pub use place::{ConfigError, Place, Step};
pub use units::{
    Latency, LoopRateBps, Nanoseconds, OffsetNanoseconds, PortNumber, PositiveSeconds, Ppb, Ppm, QueueFrames,
    RateBps, RateFps, Seconds, Whole,
};

/// Number of a port. That of a tester may be any that its program can say.
type AnyPort = u16;
/// Bits between frames.
type GapBits = Whole<0, 1_000_000, { STANDARD_GAP_BITS as u64 }>;
type ClockOffsetPpm = Ppm<1_000>;
/// Number of the loop port of the first of several switches; those of the others are below it.
const LAST_LOOP: u16 = u16::MAX - 1;
/// 11 days.
const LONGEST_S: u64 = 1_000_000;

/// A whole network.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NetworkConfig {
    // And of `random()` in the program.
    /// Of all random decisions of the devices.
    #[serde(default)]
    pub seed: Whole<0, { u64::MAX }>,
    /// The node that runs the P4 program.
    pub tester: TesterConfig,
    /// Devices under test.
    #[serde(default)]
    pub nodes: Vec<DeviceConfig>,
    /// Cables.
    #[serde(default)]
    pub links: Vec<LinkConfig>,
    /// Idle passes of the recirculation loop are computed instead of executed where that is proved
    /// to give the same. Off, the results are the same and take longer: for comparisons.
    #[serde(default = "yes")]
    pub skip_idle_loops: bool,
}

/// The node that runs the P4 program.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TesterConfig {
    /// Name for links.
    #[serde(default = "tester_name")]
    pub name: String,
    /// Switches that it is made of, each with the program, a loop and an equal run of the ports, whose numbers in the
    /// program count from 1.
    #[serde(default)]
    pub switches: Whole<1, 64, 1>,
    /// Its ports.
    pub ports: Vec<TesterPortConfig>,
    /// The recirculation port.
    #[serde(rename = "loop")]
    pub recirculation: LoopConfig,
    /// Port of the controller.
    #[serde(default = "cpu_port")]
    pub cpu_port: AnyPort,
    /// `egress_spec` value that drops.
    #[serde(default = "drop_port")]
    pub drop_port: AnyPort,
    /// Length of a tick of its time stamps.
    #[serde(default)]
    pub clock_tick_ps: Whole<1, 1_000_000, 1_000>,
    /// From the last bit of a frame to its ingress pass.
    #[serde(default)]
    pub ingress_latency_ns: Latency,
    /// From an egress pass to the start of the preamble.
    #[serde(default)]
    pub egress_latency_ns: Latency,
    /// Longer frames are dropped.
    #[serde(default)]
    pub max_frame_bytes: Whole<64, 65_535, 16_384>,
    /// Packet-ins, and digests, that wait for the controller at most.
    #[serde(default)]
    pub packet_in_limit: Whole<1, 16_777_216, 1_048_576>,
}

/// A port of the tester.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TesterPortConfig {
    /// Its number for links; with one switch, in the program too.
    pub number: AnyPort,
    /// Line rate.
    pub rate_bps: RateBps,
    /// Shortest inter-frame gap.
    #[serde(default)]
    pub ifg_bits: GapBits,
    /// Error of the line clock; 100 % of a load is what this clock sends.
    #[serde(default)]
    pub clock_offset_ppm: ClockOffsetPpm,
    /// Frames that wait at most, per priority.
    #[serde(default)]
    pub queue_frames: Whole<1, 1_048_576, 1_024>,
    /// Added to time stamps of sent frames (clock of the module).
    #[serde(default)]
    pub tx_stamp_offset_ns: OffsetNanoseconds<1_000_000_000>,
    /// Added to time stamps of received frames.
    #[serde(default)]
    pub rx_stamp_offset_ns: OffsetNanoseconds<1_000_000_000>,
    /// Frames below 64 bytes are padded.
    #[serde(default = "yes")]
    pub pad_to_minimum: bool,
    /// PAUSE frames stop the port.
    #[serde(default)]
    pub honours_pause: bool,
}

/// The recirculation port.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoopConfig {
    /// Its number in the program.
    pub port: AnyPort,
    /// Rate of the loop.
    pub rate_bps: LoopRateBps,
    /// From the last bit sent to the ingress pass.
    #[serde(default)]
    pub latency_ns: Latency,
    /// Frames that wait at most, per priority.
    #[serde(default)]
    pub queue_frames: Whole<1, 1_048_576, 16_384>,
}

/// A device under test.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct DeviceConfig {
    /// Name for links.
    pub name: String,
    /// The model.
    pub device: String,
    /// Its ports.
    pub ports: Vec<PortConfig>,
    /// Reset of the device.
    #[serde(default)]
    pub reset: Option<ResetConfig>,
    /// From the last bit (store and forward) or the look-ahead to the first bit out.
    #[serde(default)]
    pub latency_ns: Latency,
    /// Keys of the model, which reads them.
    #[serde(flatten)]
    #[schemars(skip)]
    pub model: Map<String, Value>,
}

/// Reset of a device.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResetConfig {
    /// Time without forwarding; tables are empty afterwards.
    pub time_s: PositiveSeconds<LONGEST_S>,
    /// Its links are down meanwhile.
    #[serde(default)]
    pub links_down: bool,
}

/// A port of a device.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PortConfig {
    /// Its number.
    pub number: AnyPort,
    /// Line rate.
    pub rate_bps: RateBps,
    /// Inter-frame gap that the port keeps.
    #[serde(default)]
    pub ifg_bits: GapBits,
    /// Frames that wait for the port at most, tail drop.
    #[serde(default)]
    pub queue_frames: QueueFrames<1_024>,
    /// Error of the line clock.
    #[serde(default)]
    pub clock_offset_ppm: ClockOffsetPpm,
    /// PAUSE frames stop the port.
    #[serde(default)]
    pub honours_pause: bool,
    /// Fabric slot: no frame takes less of the line, gap included.
    #[serde(default)]
    pub min_slot_bits: Whole<0, 1_000_000>,
}

/// A cable.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkConfig {
    /// One end.
    pub from: EndConfig,
    /// The other end.
    pub to: EndConfig,
    /// Delay of the cable.
    #[serde(default)]
    pub latency_ns: Latency,
    /// Bits that change, among 10^15.
    #[serde(default)]
    pub bit_errors_per_1e15: Whole<0, 1_000_000_000_000>,
    /// Times at which the link is down.
    #[serde(default)]
    pub outages: Vec<OutageConfig>,
}

/// A loss of link.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub struct OutageConfig {
    /// Begin, after the start.
    pub at_s: Seconds<LONGEST_S>,
    /// How long; without it for ever.
    pub duration_s: Option<PositiveSeconds<LONGEST_S>>,
}

/// One end of a cable.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Eq, PartialOrd, Ord)]
#[serde(deny_unknown_fields)]
pub struct EndConfig {
    pub node: String,
    pub port: AnyPort,
}

pub(crate) fn yes() -> bool {
    true
}
fn tester_name() -> String {
    "tester".to_string()
}
fn cpu_port() -> AnyPort {
    510
}
fn drop_port() -> AnyPort {
    511
}

impl TesterConfig {
    fn ports_of_a_switch(&self) -> usize {
        self.ports.len().div_ceil(self.switches.get() as usize).max(1)
    }

    /// Switch of the port in this place of the list.
    pub(crate) fn switch_of(&self, place: usize) -> u32 {
        (place / self.ports_of_a_switch()) as u32
    }

    /// Number that the program has for a port in this place of the list.
    pub(crate) fn program_number(&self, place: usize, port: &TesterPortConfig) -> u16 {
        match self.switches.get() {
            1 => port.number,
            _ => (place % self.ports_of_a_switch()) as u16 + 1,
        }
    }

    /// Number of the loop port of a switch among the ports of the tester; of several switches, none has that of a port.
    pub(crate) fn loop_number(&self, switch: u32) -> u16 {
        match self.switches.get() {
            1 => self.recirculation.port,
            _ => LAST_LOOP - switch as u16,
        }
    }
}

impl NetworkConfig {
    /// Reads and checks a document.
    pub fn from_json(text: &str) -> Result<NetworkConfig, ConfigError> {
        let mut reader = serde_json::Deserializer::from_str(text);
        let config: NetworkConfig = Place::default().read(&mut reader)?;
        reader.end().map_err(|error| ConfigError {
            place: Place::default(),
            problem: error.to_string(),
            valid: None,
        })?;
        config.check()?;
        Ok(config)
    }

    fn check(&self) -> Result<(), ConfigError> {
        let mut rates = BTreeMap::new();
        self.check_tester(&mut rates)?;
        let nodes = Place::default().key("nodes");
        for (index, device) in self.nodes.iter().enumerate() {
            let place = nodes.index(index);
            let known = self.tester.name == device.name
                || self.nodes[..index].iter().any(|it| it.name == device.name);
            if known || device.name.is_empty() {
                let problem = format!("the name '{}' is empty or in use", device.name);
                return Err(place.key("name").invalid(problem, "a name of its own"));
            }
            for (number, port) in device.ports.iter().enumerate() {
                let place = place.key("ports").index(number);
                add_port(&mut rates, &place, &device.name, port.number, port.rate_bps)?;
            }
        }
        // The loop has a port, and the last number is that of no port.
        if rates.len() + 1 >= MAX_PORTS {
            let problem = format!("{} ports in all", rates.len());
            return Err(nodes.invalid(problem, "fewer than 262143"));
        }
        self.check_links(&rates)
    }

    fn check_tester(&self, rates: &mut BTreeMap<EndConfig, u64>) -> Result<(), ConfigError> {
        let (tester, place) = (&self.tester, Place::default().key("tester"));
        if tester.name.is_empty() {
            return Err(place.key("name").invalid("is empty", "a name"));
        }
        let special = [tester.cpu_port, tester.drop_port, tester.recirculation.port];
        for (index, port) in tester.ports.iter().enumerate() {
            let place = place.key("ports").index(index);
            let (number, in_program) = (port.number, tester.program_number(index, port));
            if special.contains(&in_program) {
                let problem = format!("{in_program} is the CPU, drop or loop port");
                let place = place.key("number");
                return Err(place.invalid(problem, "a number of its own"));
            }
            let highest = if tester.switches.get() == 1 { u16::MAX - 1 } else { LAST_LOOP - 64 };
            if number > highest {
                let valid = format!("0 to {highest}");
                return Err(place.key("number").invalid(format!("is {number}"), valid));
            }
            add_port(rates, &place, &tester.name, number, port.rate_bps)?;
        }
        if special[0] == special[1] || special[1] == special[2] || special[0] == special[2] {
            let problem = format!("cpu_port, drop_port and loop.port are {special:?}");
            return Err(place.invalid(problem, "three different numbers"));
        }
        Ok(())
    }

    fn check_links(&self, rates: &BTreeMap<EndConfig, u64>) -> Result<(), ConfigError> {
        let mut used = BTreeMap::new();
        for (index, link) in self.links.iter().enumerate() {
            let place = Place::default().key("links").index(index);
            for (side, end) in [("from", &link.from), ("to", &link.to)] {
                let place = place.key(side);
                if !rates.contains_key(end) {
                    return Err(self.no_such_end(&place, end, rates));
                }
                if let Some(other) = used.insert(end, index) {
                    let problem = format!("{} port {} is already in links[{other}]", end.node, end.port);
                    return Err(place.invalid(problem, "one link per port"));
                }
            }
            let (near, far) = (rates[&link.from], rates[&link.to]);
            if near != far {
                let problem = format!("connects {near} b/s with {far} b/s");
                return Err(place.invalid(problem, "two ports of one rate"));
            }
        }
        Ok(())
    }

    fn no_such_end(&self, place: &Place, end: &EndConfig, rates: &BTreeMap<EndConfig, u64>) -> ConfigError {
        let ports: Vec<String> =
            rates.keys().filter(|it| it.node == end.node).map(|it| it.port.to_string()).collect();
        let names: Vec<&str> = std::iter::once(self.tester.name.as_str())
            .chain(self.nodes.iter().map(|device| device.name.as_str()))
            .collect();
        if names.contains(&end.node.as_str()) {
            let problem = format!("no port {} on {}", end.port, end.node);
            place.key("port").invalid(problem, ports.join(", "))
        } else {
            let problem = format!("no node named '{}'", end.node);
            place.key("node").invalid(problem, names.join(", "))
        }
    }
}

fn add_port(
    rates: &mut BTreeMap<EndConfig, u64>,
    place: &Place,
    node: &str,
    port: AnyPort,
    rate_bps: RateBps,
) -> Result<(), ConfigError> {
    let node = node.to_string();
    match rates.insert(EndConfig { node, port }, rate_bps.get()) {
        None => Ok(()),
        Some(_) => {
            let problem = format!("{port} is in use");
            Err(place.key("number").invalid(problem, "one number per port"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"{
        "tester": {
            "ports": [{"number": 1, "rate_bps": 1000000000}, {"number": 2, "rate_bps": 1000000000}],
            "loop": {"port": 509, "rate_bps": 100000000000, "latency_ns": 500}
        },
        "links": [{"from": {"node": "tester", "port": 1}, "to": {"node": "tester", "port": 2}}]
    }"#;

    fn error_of(from: &str, to: &str) -> String {
        assert!(GOOD.contains(from), "{from}");
        NetworkConfig::from_json(&GOOD.replacen(from, to, 1)).unwrap_err().to_string()
    }

    #[test]
    fn a_complete_document_is_accepted() {
        NetworkConfig::from_json(GOOD).unwrap();
    }

    #[test]
    fn errors_say_where_what_and_what_is_valid() {
        for (from, to, message) in [
            ("\"port\": 2}", "\"port\": 3}", "links[0].to.port: no port 3 on tester; valid: 1, 2"),
            ("\"node\": \"tester\"", "\"node\": \"dut\"", "links[0].from.node: no node named 'dut'; valid: tester"),
            ("\"number\": 2, \"rate_bps\": 1000000000", "\"number\": 2, \"rate_bps\": 10000000000",
             "links[0]: connects 1000000000 b/s with 10000000000 b/s; valid: two ports of one rate"),
            ("\"number\": 2", "\"number\": 1", "tester.ports[1].number: 1 is in use; valid: one number per port"),
            ("\"number\": 2", "\"number\": 511",
             "tester.ports[1].number: 511 is the CPU, drop or loop port; valid: a number of its own"),
            ("1000000000", "5", "tester.ports[0].rate_bps: invalid value: integer `5`, expected an integer from 10000000 to 800000000000 at line 3 column 50"),
            ("\"port\": 2}", "\"port\": 1}", "links[0].to: tester port 1 is already in links[0]; valid: one link per port"),
        ] {
            assert_eq!(error_of(from, to), message);
        }
    }

    #[test]
    fn unknown_fields_are_named_with_their_path() {
        let message = error_of("\"latency_ns\"", "\"latency_ps\"");
        assert!(
            message.starts_with("tester.loop.latency_ps: unknown field `latency_ps`, expected one of"),
            "{message}"
        );
    }
}
