//! A P4 program as a device under test: executed by the pipeline, with entries that do not change.
//!
//! Ingress and egress of a frame run in one event, `latency_ps` after its last bit; then each copy goes to the queue of
//! its port. A packet that the program recirculates takes another pass at once, up to a limit; a packet for the
//! controller ends here and is counted.

use std::any::Any;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use p4mesh_pipeline::{
    ActionCall, Dispatch, DropReason, EgressPacket, EntryAction, Executable, Frame, IngressPacket,
    InstanceType, KeyInfo, KeyMatch, MatchKind, Passes, Preserved, Program, QueueTimes, Replica, Switch,
    SwitchConfig, TableEntry,
};

use super::p4_config::{P4Config, P4Entry, P4Match, VALID_VALUE};
use super::{check_port, Device, DevicePorts};
use crate::config::{ConfigError, Latency, Place};
use crate::drops::DropCause;
use crate::fabric::{Arrival, ArrivalRule};
use crate::rng::Rng;

/// Passes that one frame may cause, its copies included.
const PASSES_PER_FRAME: u32 = 4_096;
/// The program's port number for "drop".
const DROP_PORT: u16 = 511;

/// The model.
pub struct P4Device {
    config: P4Config,
    /// From the last bit of a frame to the queue of its output.
    latency_ps: u64,
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
    /// Compiles the program and installs its entries.
    pub fn new(
        config: P4Config,
        latency: Latency,
        place: &Place,
        ports: &[u16],
        seed: u64,
    ) -> Result<P4Device, ConfigError> {
        if let Some(&id) = ports.iter().find(|&&id| id >= DROP_PORT) {
            let problem = format!("port {id} is beyond the ports of a program");
            return Err(place.key("ports").invalid(problem, "0 to 510"));
        }
        let program = Program::from_json(&config.program.to_string()).map_err(|error| {
            let place = place.key("program");
            place.invalid(error.to_string(), "BMv2 JSON of p4c-bm2-ss")
        })?;
        let switch_config =
            SwitchConfig { ps_per_tick: config.timestamp_tick_ps.get(), seed, ..Default::default() };
        let mut switch = Switch::new(Arc::new(Executable::new(program)), switch_config);
        install(&mut switch, &config, place, ports)?;
        Ok(P4Device {
            config,
            latency_ps: latency.ps(),
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
        let times = QueueTimes { enqueue_ps: now_ps, dequeue_ps: now_ps, ..Default::default() };
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
        ArrivalRule { lookahead_bytes: None, latency_ps: self.latency_ps }
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
        install(&mut self.switch, &self.config, &Place::default(), &self.ids)
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
fn install(switch: &mut Switch, config: &P4Config, place: &Place, ports: &[u16]) -> Result<(), ConfigError> {
    for (index, group) in config.groups.iter().enumerate() {
        let place = place.key("groups").index(index);
        for &port in &group.ports {
            check_port(&place.key("ports"), port, ports)?;
        }
        let replica = |(number, &port): (usize, &u16)| Replica { port, instance: number as u16 + 1 };
        let replicas: Vec<Replica> = group.ports.iter().enumerate().map(replica).collect();
        switch
            .multicast_insert(group.group.get() as u32, &replicas)
            .map_err(|error| place.invalid(error.to_string(), "a group once, with ports"))?;
    }
    for (index, entry) in config.entries.iter().enumerate() {
        let place = place.key("entries").index(index);
        let (table, resolved) = resolve(switch.program(), entry, &place)?;
        switch
            .table_insert(&table, &resolved, 0)
            .map_err(|error| place.invalid(error.to_string(), "an entry of the table"))?;
    }
    Ok(())
}

/// The entry with the full names of table and action: the last part of a name is enough.
fn resolve(program: &Program, entry: &P4Entry, place: &Place) -> Result<(String, TableEntry), ConfigError> {
    check_values(entry, place)?;
    // Tables without a key are the compiler's own.
    let tables = || program.tables().iter().filter(|it| !it.key.is_empty());
    let Some(table) = tables().find(|it| is_named(&it.name, &entry.table)) else {
        let names: Vec<&str> = tables().map(|it| short(&it.name)).collect();
        let problem = format!("no table '{}' in the program", entry.table);
        return Err(place.key("table").invalid(problem, names.join(", ")));
    };
    let actions: Vec<_> = table.actions.iter().map(|&it| &program.actions()[it]).collect();
    let Some(action) = actions.iter().find(|it| is_named(&it.name, &entry.action)) else {
        let names: Vec<&str> = actions.iter().map(|it| short(&it.name)).collect();
        let problem = format!("no action '{}' in table {}", entry.action, entry.table);
        return Err(place.key("action").invalid(problem, names.join(", ")));
    };
    let names: Vec<&str> = table.key.iter().map(|it| short(&it.name)).collect();
    if let Some(name) = entry.key.keys().find(|it| !names.contains(&it.as_str())) {
        let problem = format!("no key '{name}' in table {}", entry.table);
        return Err(place.key("key").invalid(problem, names.join(", ")));
    }
    let mut key = Vec::new();
    for info in &table.key {
        let matched = entry.key.get(short(&info.name));
        let Some(matched) = matched.and_then(|it| key_match(info, it)) else {
            let problem = format!("is not a match of kind {}", info.kind.name());
            let place = place.key("key").key(short(&info.name));
            return Err(place.invalid(problem, valid_match(info.kind)));
        };
        key.push(matched);
    }
    let params: Option<Vec<Vec<u8>>> = entry.params.iter().map(|it| it.bytes()).collect();
    let params = params.filter(|it| it.len() == action.params.len());
    let Some(params) = params else {
        let names: Vec<&str> = action.params.iter().map(|it| it.name.as_str()).collect();
        let problem = format!("do not fit action {}", entry.action);
        return Err(place.key("params").invalid(problem, names.join(", ")));
    };
    let action = ActionCall { action: action.name.clone(), params };
    let resolved = TableEntry {
        key,
        priority: entry.priority.get() as i32,
        action: EntryAction::Direct(action),
        idle_timeout_ns: 0,
    };
    Ok((table.name.clone(), resolved))
}

/// Refuses texts that are not values, before they are used.
fn check_values(entry: &P4Entry, place: &Place) -> Result<(), ConfigError> {
    let in_key = entry.key.iter().flat_map(|(name, matched)| {
        let place = place.key("key").key(name);
        let parts = matched.parts().into_iter();
        parts.map(move |(part, value)| (part.map_or(place.clone(), |it| place.key(it)), value))
    });
    let params = place.key("params");
    let in_params = entry.params.iter().enumerate();
    let in_params = in_params.map(|(index, value)| (params.index(index), value));
    for (place, value) in in_key.chain(in_params) {
        if value.bytes().is_none() {
            return Err(place.invalid(format!("'{value}' is not valid"), VALID_VALUE));
        }
    }
    Ok(())
}

fn key_match(info: &KeyInfo, matched: &P4Match) -> Option<KeyMatch> {
    match (info.kind, matched) {
        (MatchKind::Exact, P4Match::Exact(value)) => Some(KeyMatch::Exact(value.bytes()?)),
        (MatchKind::Optional, P4Match::Exact(value)) => Some(KeyMatch::Optional(Some(value.bytes()?))),
        (MatchKind::Lpm, P4Match::Lpm { value, prefix_bits }) => {
            Some(KeyMatch::Lpm { value: value.bytes()?, prefix_bits: prefix_bits.get() as u32 })
        }
        (MatchKind::Ternary, P4Match::Ternary { value, mask }) => {
            Some(KeyMatch::Ternary { value: value.bytes()?, mask: mask.bytes()? })
        }
        (MatchKind::Range, P4Match::Range { low, high }) => {
            Some(KeyMatch::Range { low: low.bytes()?, high: high.bytes()? })
        }
        _ => None,
    }
}

fn valid_match(kind: MatchKind) -> &'static str {
    match kind {
        MatchKind::Lpm => "value and prefix_bits",
        MatchKind::Ternary => "value and mask",
        MatchKind::Range => "low and high",
        _ => VALID_VALUE,
    }
}

fn short(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

fn is_named(full: &str, name: &str) -> bool {
    full == name || short(full) == name
}
