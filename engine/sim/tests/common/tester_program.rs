//! The tester program (`p4src/compiled/p4mesh.json`) on a simulated network, programmed as a
//! controller would do it, without P4Runtime.

#![allow(dead_code)]

use std::sync::Arc;

use p4mesh_pipeline::{ActionCall, EntryAction, Executable, KeyMatch, Program, Replica, Switch, TableEntry};
use p4mesh_sim::Network;

pub const LOOP_PORT: u16 = 509;
pub const CPU_PORT: u16 = 510;
const KIND_SEED: u8 = 1;
const KIND_START: u8 = 2;
const KIND_SEND: u8 = 4;
const RUN: u64 = 7;

/// The compiled program; loading it takes a moment, so share it.
pub fn executable() -> Arc<Executable> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../p4src/compiled/p4mesh.json");
    let text = std::fs::read_to_string(path).expect("the compiled tester is in the repository");
    let program = Program::from_json(&text).expect("the compiled tester loads");
    Arc::new(Executable::new(program))
}

/// A stream of plain Ethernet frames between stations, one station per port.
#[derive(Clone, Debug)]
pub struct StreamPlan {
    pub index: u8,
    /// Ports that send; each of them sends to the others in turn when `mesh`, else to the next.
    pub ports: Vec<u16>,
    pub mesh: bool,
    pub wire_bytes: usize,
    pub interval_ticks: u32,
    pub fraction_q32: u32,
    pub departures: u32,
    pub last_slot: u32,
    pub burst_slots: u32,
    pub start_offset_ticks: u32,
    pub seeds: u32,
    pub priority: u8,
    /// First transmitter number, which is also the first replication id.
    pub first_transmitter: u32,
    /// First place in the table of destinations, and first flow.
    pub first_destination: u32,
    pub first_flow: u32,
}

impl StreamPlan {
    /// Flows that the stream uses.
    pub fn flows(&self) -> u32 {
        let ports = self.ports.len() as u32;
        if self.mesh {
            ports * (ports - 1)
        } else {
            ports
        }
    }
}

pub fn mac(port: u16) -> [u8; 6] {
    let [high, low] = port.to_be_bytes();
    [0x02, 0, 0, 0, high, low]
}

fn number(value: u64) -> Vec<u8> {
    value.to_be_bytes().to_vec()
}

fn entry(key: Vec<KeyMatch>, priority: i32, action: &str, params: &[u64]) -> TableEntry {
    TableEntry { key, priority, action: EntryAction::Direct(call(action, params)), idle_timeout_ns: 0 }
}

fn call(action: &str, params: &[u64]) -> ActionCall {
    ActionCall { action: action.to_string(), params: params.iter().map(|&value| number(value)).collect() }
}

fn exact(value: u64) -> Vec<KeyMatch> {
    vec![KeyMatch::Exact(number(value))]
}

fn mac_number(port: u16) -> u64 {
    mac(port).iter().fold(0, |value, &byte| value << 8 | u64::from(byte))
}

/// Installs all entries that the streams need. Stations and their receivers are those of `ports`.
pub fn configure(switch: &mut Switch, ports: &[u16], streams: &[StreamPlan]) {
    let insert = |switch: &mut Switch, table: &str, entry: TableEntry| {
        switch.table_insert(table, &entry, 0).unwrap_or_else(|error| panic!("{table}: {error}"));
    };
    for (table, action) in [
        ("TesterIngress.reception.receive_run", "TesterIngress.reception.set_receive_run"),
        ("TesterEgress.transmission.transmit_run", "TesterEgress.transmission.set_transmit_run"),
    ] {
        let action = EntryAction::Direct(call(action, &[RUN]));
        switch.table_set_default(table, &action).unwrap();
    }
    for &port in ports {
        let key = vec![
            KeyMatch::Exact(number(u64::from(port))),
            KeyMatch::Ternary { value: number(mac_number(port)), mask: number(0xffff_ffff_ffff) },
        ];
        let action = "TesterIngress.reception.expected";
        insert(switch, "TesterIngress.reception.receiver", entry(key, 48, action, &[0, u64::from(port)]));
    }
    for stream in streams {
        let count = stream.ports.len() as u32;
        let mut replicas = vec![Replica { port: LOOP_PORT, instance: 0 }];
        for (place, &port) in stream.ports.iter().enumerate() {
            let transmitter = stream.first_transmitter + place as u32;
            replicas.push(Replica { port, instance: transmitter as u16 });
            let (first, positions) = match stream.mesh {
                true => (place as u32 + 1, count - 1),
                false => (place as u32 + 1, 1),
            };
            let params = [
                u64::from(first % count),
                u64::from(positions - 1),
                u64::from(count),
                u64::from(stream.first_destination),
                u64::from(stream.first_flow + place as u32 * positions),
                0,
                u64::from(u32::MAX),
                0,
                mac_number(port),
            ];
            insert(
                switch,
                "TesterEgress.transmission.transmitter",
                entry(exact(u64::from(transmitter)), 0, "TesterEgress.transmission.source_ethernet", &params),
            );
            insert(
                switch,
                "TesterEgress.transmission.destination",
                entry(
                    exact(u64::from(stream.first_destination) + place as u64),
                    0,
                    "TesterEgress.transmission.station_ethernet",
                    &[mac_number(port), u64::from(port)],
                ),
            );
        }
        switch.multicast_insert(group_of(stream), &replicas).unwrap();
        insert(switch, STREAM_TABLE, stream_entry(stream));
    }
}

/// Table with the rate of each stream.
pub const STREAM_TABLE: &str = "TesterIngress.streams.stream";

/// The entry of a stream in it.
pub fn stream_entry(stream: &StreamPlan) -> TableEntry {
    let params = [
        stream.interval_ticks,
        stream.fraction_q32,
        stream.departures,
        stream.start_offset_ticks,
        stream.last_slot,
        stream.burst_slots,
        group_of(stream),
        u32::from(stream.priority),
    ];
    let params = params.map(u64::from);
    entry(exact(u64::from(stream.index)), 0, "TesterIngress.streams.set_stream", &params)
}

fn group_of(stream: &StreamPlan) -> u32 {
    16 + u32::from(stream.index)
}

/// Installs the tester program and the streams.
pub fn install(network: &mut Network, executable: &Arc<Executable>, ports: &[u16], streams: &[StreamPlan]) {
    network.set_program(Arc::clone(executable));
    let switch = network.switch().expect("the network has a tester");
    configure(switch, ports, streams);
}

/// A packet-out of the tester program.
fn request(kind: u8, stream: u8, port: u16, value: u32, count: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![kind, 0, stream, 0];
    frame.extend_from_slice(&port.to_be_bytes());
    frame.extend_from_slice(&value.to_be_bytes());
    frame.extend_from_slice(&count.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}

/// Puts one seed of a stream into the loop.
pub fn seed(stream: &StreamPlan, place: u32) -> Vec<u8> {
    // Ethernet header, and a payload that leaves room for the signature.
    let mut payload = vec![0; 14];
    payload[12..].copy_from_slice(&[0xff, 0xff]);
    payload.extend((0..stream.wire_bytes - 4 - 18 - 14).map(|index| index as u8));
    let fraction = (u64::from(place) << 32) / u64::from(stream.seeds);
    request(KIND_SEED, stream.index, 0, fraction as u32, 0, &payload)
}

/// Starts streams 0 to `streams` - 1, `lead_ticks` after the request's first pass.
pub fn start(streams: u32, lead_ticks: u32) -> Vec<u8> {
    request(KIND_START, 0, 0, lead_ticks, streams, &[])
}

/// Sends a frame of the controller out of a port.
pub fn send(port: u16, frame: &[u8]) -> Vec<u8> {
    request(KIND_SEND, 0, port, 0, 0, frame)
}

/// A broadcast frame from which a bridge learns where a station is.
pub fn learning_frame(port: u16) -> Vec<u8> {
    let mut frame = vec![0xff; 6];
    frame.extend_from_slice(&mac(port));
    frame.extend_from_slice(&[0xff, 0xff]);
    frame.resize(60, 0);
    frame
}
