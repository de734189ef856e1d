//! Ports that a test drives itself: it puts frames in and takes frames out.

use std::any::Any;
use std::collections::{BTreeMap, VecDeque};

use p4mesh_pipeline::Frame;

use super::{Device, DevicePorts};
use crate::arrival::Arrival;
use crate::drops::DropCause;
use crate::fabric::ArrivalRule;

/// Frames that wait to be taken; further ones are dropped as `packet_in_overflow`.
const LIMIT: usize = 1 << 20;

/// A frame that came to a host, without FCS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostFrame {
    /// Index of the host's port.
    pub port: usize,
    pub first_bit_ps: u64,
    pub frame: Frame,
}

/// The model `host`.
#[derive(Default)]
pub struct Host {
    received: VecDeque<HostFrame>,
    received_total: u64,
}

impl Host {
    /// Takes the frames that have arrived, in order.
    pub fn take(&mut self) -> Vec<HostFrame> {
        self.received.drain(..).collect()
    }
}

impl Device for Host {
    fn arrival_rule(&self, _port: usize) -> ArrivalRule {
        ArrivalRule::default()
    }

    fn receive(&mut self, port: usize, arrival: &mut Arrival, ports: &mut DevicePorts) {
        let (frame, first_bit_ps) = (arrival.take_frame(), arrival.first_bit_ps);
        if self.received.len() >= LIMIT {
            return ports.drop(port, DropCause::PacketInOverflow, frame);
        }
        self.received_total += 1;
        self.received.push_back(HostFrame { port, first_bit_ps, frame });
    }

    fn reset(&mut self, _ports: &mut DevicePorts) {
        self.received.clear();
    }

    fn counters(&self) -> BTreeMap<&'static str, u64> {
        BTreeMap::from([("received", self.received_total)])
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}
