//! A P4 program as a device under test: executed by the pipeline, with entries that do not change.
//!
//! Ingress and egress of a frame run in one event, `latency_ps` after its last bit; then each copy
//! goes to the queue of its port. A packet that the program recirculates takes another pass at
//! once, up to a limit; what it sends to the controller ends here and is counted.

use std::any::Any;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use p4mesh_pipeline::{
    ActionCall, Dispatch, DropReason, EgressPacket, EntryAction, Executable, Frame, IngressPacket,
    InstanceType, KeyInfo, KeyMatch, MatchKind, Passes, Preserved, Program, QueueTimes, Replica,
    Switch, SwitchConfig, TableEntry,
};
use serde::Deserialize;

use super::{check_port, check_range, invalid, Device, DevicePorts};
use crate::config::ConfigError;
use crate::drops::DropCause;
use crate::fabric::{Arrival, ArrivalRule};
use crate::rng::Rng;

const MAX_LATENCY_PS: u64 = 1_000_000_000_000;
/// Passes that one frame may cause, its copies included.
const PASSES_PER_FRAME: u32 = 4_096;
/// The program's port number for "drop".
const DROP_PORT: u16 = 511;

/// `model` of a device `p4`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct P4Config {
    /// BMv2 JSON, as p4c writes it.
    pub program: serde_json::Value,
    /// From the last bit of a frame to the queue of its output.
    #[serde(default)]
    pub latency_ps: u64,
    /// Unit of the time stamps that the program sees.
    #[serde(default = "default_tick_ps")]
    pub timestamp_tick_ps: u64,
    #[serde(default)]
    pub entries: Vec<P4Entry>,
    #[serde(default)]
    pub groups: Vec<P4Group>,
}

fn default_tick_ps() -> u64 {
    1_000
}

/// An entry of a table. Values are numbers or, where they do not fit, texts such as 0x02f4bc000001.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct P4Entry {
    pub table: String,
    /// By name of the key field.
    pub key: BTreeMap<String, P4Match>,
    #[serde(default)]
    pub priority: i32,
    pub action: String,
    /// In the order of the action's parameters.
    #[serde(default)]
    pub params: Vec<P4Value>,
}

/// A number.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum P4Value {
    Number(u64),
    /// Hexadecimal with 0x, or decimal up to 64 bits.
    Text(String),
}

/// What a key field must be.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum P4Match {
    Exact(P4Value),
    Lpm { value: P4Value, prefix_bits: u32 },
    Ternary { value: P4Value, mask: P4Value },
    Range { low: P4Value, high: P4Value },
}

/// A multicast group.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct P4Group {
    pub group: u32,
    pub ports: Vec<u16>,
}

impl P4Value {
    fn bytes(&self) -> Option<Vec<u8>> {
        let digits = match self {
            P4Value::Number(number) => return Some(number.to_be_bytes().to_vec()),
            P4Value::Text(text) => text,
        };
        let Some(hex) = digits.strip_prefix("0x") else {
            return Some(digits.parse::<u64>().ok()?.to_be_bytes().to_vec());
        };
        if hex.is_empty() || !hex.is_ascii() {
            return None;
        }
        let even = format!("{}{hex}", if hex.len() % 2 == 1 { "0" } else { "" });
        (0..even.len() / 2)
            .map(|at| u8::from_str_radix(&even[2 * at..2 * at + 2], 16).ok())
            .collect()
    }
}

/// The model.
pub struct P4Device {
    config: P4Config,
    ids: Vec<u16>,
    switch: Switch,
    counters: Counters,
}

#[derive(Default)]
struct Counters {
    to_controller: u64,
    digests: u64,
    passes: u64,
}

impl P4Device {
    /// Compiles the program and installs its entries; errors name the path in the document.
    pub fn new(
        config: P4Config,
        path: &str,
        ports: &[u16],
        seed: u64,
    ) -> Result<P4Device, ConfigError> {
        check_range(path, "latency_ps", config.latency_ps, 0, MAX_LATENCY_PS)?;
        let tick_ps = config.timestamp_tick_ps;
        check_range(path, "timestamp_tick_ps", tick_ps, 1, MAX_LATENCY_PS)?;
        if let Some(&id) = ports.iter().find(|&&id| id >= DROP_PORT) {
            let problem = format!("port {id} is beyond the ports of a program");
            return invalid(path, "ports", problem, "0 to 510");
        }
        let program = Program::from_json(&config.program.to_string()).or_else(|error| {
            invalid(
                path,
                "program",
                error.to_string(),
                "BMv2 JSON of p4c-bm2-ss",
            )
        })?;
        let switch_config = SwitchConfig {
            ps_per_tick: tick_ps,
            seed,
            ..Default::default()
        };
        let mut switch = Switch::new(Arc::new(Executable::new(program)), switch_config);
        install(&mut switch, &config, path, ports)?;
        Ok(P4Device {
            config,
            ids: ports.to_vec(),
            switch,
            counters: Counters::default(),
        })
    }
}

/// A packet that waits for its next pass.
enum Waiting {
    Ingress(IngressPacket),
    Egress(EgressPacket),
}

/// All passes that one frame causes, in the order in which they were asked for.
struct Flow<'a, 'p> {
    device: &'a mut P4Device,
    ports: &'a mut DevicePorts<'p>,
    /// Index of the port on which the frame came in.
    input: usize,
    waiting: VecDeque<Waiting>,
    passes_left: u32,
}

impl Flow<'_, '_> {
    fn run(&mut self, frame: Frame, first_bit_ps: u64) {
        let now_ps = self.ports.now_ps();
        let times = QueueTimes {
            enqueue_ps: now_ps,
            dequeue_ps: now_ps,
            ..Default::default()
        };
        self.waiting.push_back(Waiting::Ingress(IngressPacket {
            port: self.device.ids[self.input],
            frame,
            instance_type: InstanceType::Normal,
            preserved: Preserved::default(),
        }));
        while let Some(packet) = self.waiting.pop_front() {
            match packet {
                Waiting::Ingress(packet) => {
                    let resubmitted = self.ingress(packet, first_bit_ps, now_ps);
                    self.waiting.extend(resubmitted.map(Waiting::Ingress));
                }
                Waiting::Egress(packet) => self.egress(packet, times, now_ps, now_ps),
            }
        }
        self.device.counters.passes += u64::from(PASSES_PER_FRAME - self.passes_left);
    }

    fn end(&mut self, cause: DropCause, frame: Frame) {
        self.ports.drop(self.input, cause, frame);
    }
}

impl Dispatch for Flow<'_, '_> {
    fn passes(&mut self) -> Option<Passes<'_>> {
        Some(Passes {
            switch: &mut self.device.switch,
            out: &mut self.ports.fabric.out,
            left: &mut self.passes_left,
        })
    }

    fn enqueue(&mut self, packet: EgressPacket) {
        self.waiting.push_back(Waiting::Egress(packet));
    }

    fn transmit(&mut self, port: u16, frame: Frame) {
        match self.device.ids.iter().position(|&id| id == port) {
            Some(output) => {
                let now_ps = self.ports.now_ps();
                self.ports.enqueue(output, frame, now_ps);
            }
            None => {
                self.device.counters.to_controller += 1;
                self.end(DropCause::UnknownPort, frame);
            }
        }
    }

    fn recirculate(&mut self, packet: IngressPacket) {
        self.waiting.push_back(Waiting::Ingress(packet));
    }

    fn digest(&mut self, _digest: u32, _fields: Vec<Vec<u8>>) {
        self.device.counters.digests += 1;
    }

    fn drop(&mut self, reason: DropReason) {
        self.end(reason.into(), Frame::new());
    }

    fn exhausted(&mut self) {
        self.end(DropCause::PassLimit, Frame::new());
    }
}

impl Device for P4Device {
    fn arrival_rule(&self, _port: usize) -> ArrivalRule {
        ArrivalRule {
            lookahead_bytes: None,
            latency_ps: self.config.latency_ps,
        }
    }

    fn receive(&mut self, port: usize, arrival: Arrival, ports: &mut DevicePorts) {
        if arrival.bad_fcs {
            return ports.drop(port, DropCause::BadFcs, arrival.frame);
        }
        let mut flow = Flow {
            device: self,
            ports,
            input: port,
            waiting: VecDeque::new(),
            passes_left: PASSES_PER_FRAME,
        };
        flow.run(arrival.frame, arrival.first_bit_ps);
    }

    fn reseed(&mut self, seed: u64, name: &str) {
        self.switch.reseed(Rng::for_part(seed, name).next());
    }

    fn reset(&mut self, _ports: &mut DevicePorts) {
        let executable = self.switch.executable().clone();
        self.switch = Switch::new(executable, self.switch.config().clone());
        install(&mut self.switch, &self.config, "model", &self.ids)
            .expect("the entries were installed before");
    }

    fn counters(&self) -> BTreeMap<&'static str, u64> {
        BTreeMap::from([
            ("to_controller", self.counters.to_controller),
            ("digests", self.counters.digests),
            ("passes", self.counters.passes),
        ])
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

/// Installs groups and entries on a fresh switch.
fn install(
    switch: &mut Switch,
    config: &P4Config,
    path: &str,
    ports: &[u16],
) -> Result<(), ConfigError> {
    for (index, group) in config.groups.iter().enumerate() {
        let field = format!("groups[{index}]");
        for &port in &group.ports {
            check_port(path, &format!("{field}.ports"), port, ports)?;
        }
        let replica = |(number, &port): (usize, &u16)| Replica {
            port,
            instance: number as u16 + 1,
        };
        let replicas: Vec<Replica> = group.ports.iter().enumerate().map(replica).collect();
        switch
            .multicast_insert(group.group, &replicas)
            .or_else(|error| {
                invalid(path, &field, error.to_string(), "a group once, with ports")
            })?;
    }
    for (index, entry) in config.entries.iter().enumerate() {
        let field = format!("entries[{index}]");
        let (table, resolved) = resolve(switch.program(), entry, path, &field)?;
        switch
            .table_insert(&table, &resolved, 0)
            .or_else(|error| invalid(path, &field, error.to_string(), "an entry of the table"))?;
    }
    Ok(())
}

/// The entry with the full names of table and action: the last part of a name is enough.
fn resolve(
    program: &Program,
    entry: &P4Entry,
    path: &str,
    field: &str,
) -> Result<(String, TableEntry), ConfigError> {
    // Tables without a key are the compiler's own.
    let tables = || program.tables().iter().filter(|it| !it.key.is_empty());
    let Some(table) = tables().find(|it| is_named(&it.name, &entry.table)) else {
        let names: Vec<&str> = tables().map(|it| short(&it.name)).collect();
        let problem = format!("no table '{}' in the program", entry.table);
        return invalid(path, &format!("{field}.table"), problem, &names.join(", "));
    };
    let actions: Vec<_> = table
        .actions
        .iter()
        .map(|&it| &program.actions()[it])
        .collect();
    let Some(action) = actions.iter().find(|it| is_named(&it.name, &entry.action)) else {
        let names: Vec<&str> = actions.iter().map(|it| short(&it.name)).collect();
        let problem = format!("no action '{}' in table {}", entry.action, entry.table);
        return invalid(path, &format!("{field}.action"), problem, &names.join(", "));
    };
    let names: Vec<&str> = table.key.iter().map(|it| short(&it.name)).collect();
    if let Some(name) = entry.key.keys().find(|it| !names.contains(&it.as_str())) {
        let problem = format!("no key '{name}' in table {}", entry.table);
        return invalid(path, &format!("{field}.key"), problem, &names.join(", "));
    }
    let mut key = Vec::new();
    for info in &table.key {
        let field = format!("{field}.key.{}", short(&info.name));
        let matched = entry.key.get(short(&info.name));
        let Some(matched) = matched.and_then(|it| key_match(info, it)) else {
            let problem = format!("is no {} match", info.kind.name());
            return invalid(path, &field, problem, valid_match(info.kind));
        };
        key.push(matched);
    }
    let params: Option<Vec<Vec<u8>>> = entry.params.iter().map(P4Value::bytes).collect();
    let params = params.filter(|it| it.len() == action.params.len());
    let Some(params) = params else {
        let names: Vec<&str> = action.params.iter().map(|it| it.name.as_str()).collect();
        let problem = format!("do not fit action {}", entry.action);
        return invalid(path, &format!("{field}.params"), problem, &names.join(", "));
    };
    let action = ActionCall {
        action: action.name.clone(),
        params,
    };
    let resolved = TableEntry {
        key,
        priority: entry.priority,
        action: EntryAction::Direct(action),
        idle_timeout_ns: 0,
    };
    Ok((table.name.clone(), resolved))
}

fn key_match(info: &KeyInfo, matched: &P4Match) -> Option<KeyMatch> {
    match (info.kind, matched) {
        (MatchKind::Exact, P4Match::Exact(value)) => Some(KeyMatch::Exact(value.bytes()?)),
        (MatchKind::Optional, P4Match::Exact(value)) => {
            Some(KeyMatch::Optional(Some(value.bytes()?)))
        }
        (MatchKind::Lpm, P4Match::Lpm { value, prefix_bits }) => Some(KeyMatch::Lpm {
            value: value.bytes()?,
            prefix_bits: *prefix_bits,
        }),
        (MatchKind::Ternary, P4Match::Ternary { value, mask }) => Some(KeyMatch::Ternary {
            value: value.bytes()?,
            mask: mask.bytes()?,
        }),
        (MatchKind::Range, P4Match::Range { low, high }) => Some(KeyMatch::Range {
            low: low.bytes()?,
            high: high.bytes()?,
        }),
        _ => None,
    }
}

fn valid_match(kind: MatchKind) -> &'static str {
    match kind {
        MatchKind::Lpm => "value and prefix_bits",
        MatchKind::Ternary => "value and mask",
        MatchKind::Range => "low and high",
        _ => "a number, or a text such as 0x02f4bc000001",
    }
}

fn short(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

fn is_named(full: &str, name: &str) -> bool {
    full == name || short(full) == name
}
