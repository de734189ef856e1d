//! A traffic source and sink with closed-form behaviour, for tests and benches of the network
//! itself. It is not part of the configuration document: testers are P4 programs.

use std::any::Any;

use super::{Device, DevicePorts};
use crate::arrival::Arrival;
use crate::fabric::ArrivalRule;

/// Frames that a station sends: `count` copies of `frame` from port `port`, one every
/// `interval_ps` from `start_ps` on (start of the preamble).
#[derive(Clone, Debug)]
pub struct Stream {
    pub port: usize,
    /// Without FCS.
    pub frame: Vec<u8>,
    pub start_ps: u64,
    pub interval_ps: u64,
    pub count: u64,
}

/// A frame that arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    pub port: usize,
    pub wire_bytes: u32,
    pub first_bit_ps: u64,
    pub last_bit_ps: u64,
}

/// A node with any number of ports, at most one stream on each.
pub struct Station {
    streams: Vec<Option<Stream>>,
    sent: Vec<u64>,
    /// Frames received per port.
    pub received: Vec<u64>,
    /// Every frame, when `record` is on.
    pub log: Vec<Received>,
    pub record: bool,
}

impl Station {
    pub fn new(ports: usize, streams: Vec<Stream>) -> Station {
        let mut by_port = vec![None; ports];
        for stream in streams {
            let port = stream.port;
            by_port[port] = Some(stream);
        }
        Station {
            streams: by_port,
            sent: vec![0; ports],
            received: vec![0; ports],
            log: Vec::new(),
            record: false,
        }
    }
}

impl Device for Station {
    fn arrival_rule(&self, _port: usize) -> ArrivalRule {
        ArrivalRule::default()
    }

    fn start(&mut self, ports: &mut DevicePorts) {
        for (port, stream) in self.streams.iter().enumerate() {
            if let Some(stream) = stream.as_ref().filter(|stream| stream.count > 0) {
                ports.set_timer(port, stream.start_ps);
            }
        }
    }

    fn timer(&mut self, port: usize, ports: &mut DevicePorts) {
        let Some(stream) = &self.streams[port] else {
            return;
        };
        let frame = ports.copy(&stream.frame);
        ports.send_now(port, frame);
        self.sent[port] += 1;
        if self.sent[port] < stream.count {
            ports.set_timer(port, stream.start_ps + self.sent[port] * stream.interval_ps);
        }
    }

    fn receive(&mut self, port: usize, arrival: &mut Arrival, ports: &mut DevicePorts) {
        self.received[port] += 1;
        if self.record {
            let Arrival { first_bit_ps, last_bit_ps, .. } = *arrival;
            let wire_bytes = crate::line::wire_bytes(&arrival.frame);
            self.log.push(Received { port, wire_bytes, first_bit_ps, last_bit_ps });
        }
        ports.give(arrival.take_frame());
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}
