//! The true counts: every counter of every node, for tests of the tester.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Network;

/// Counts of one port, for truth checks.
#[derive(Clone, Debug, Serialize)]
pub struct PortTruth {
    pub tx_frames: u64,
    pub tx_bytes: u64,
    pub rx_frames: u64,
    pub rx_bytes: u64,
    /// Frames in the queue now.
    pub queued_frames: u64,
    /// Frames now between this port and the decision of the node at the other end.
    pub in_flight_frames: u64,
    /// Frames sent, and received, with an FCS that does not fit.
    pub tx_bad_fcs_frames: u64,
    pub rx_bad_fcs_frames: u64,
    pub drops: BTreeMap<&'static str, u64>,
}

/// Counts of one node.
#[derive(Clone, Debug, Serialize)]
pub struct NodeTruth {
    pub ports: BTreeMap<u16, PortTruth>,
    /// Drops that belong to no port.
    pub drops: BTreeMap<&'static str, u64>,
    /// Counters of the device model.
    pub counters: BTreeMap<&'static str, u64>,
}

/// Counts of all nodes: for tests of the tester, which must not read them when it measures.
#[derive(Clone, Debug, Serialize)]
pub struct Truth {
    pub now_ps: u64,
    pub events: u64,
    pub in_flight_frames: u64,
    pub circulating_frames: u64,
    pub nodes: BTreeMap<String, NodeTruth>,
}

impl Network {
    /// All counters.
    pub fn truth(&self) -> Truth {
        let mut nodes = BTreeMap::new();
        if !self.testers.is_empty() {
            let mut drops = BTreeMap::new();
            for (cause, count) in self.testers.iter().flat_map(|tester| tester.drops().nonzero()) {
                *drops.entry(cause).or_default() += count;
            }
            nodes.insert(
                self.tester_name.clone(),
                NodeTruth { ports: BTreeMap::new(), drops, counters: BTreeMap::new() },
            );
        }
        for node in &self.devices {
            let counters = node.device.counters();
            nodes.insert(
                node.name.clone(),
                NodeTruth { ports: BTreeMap::new(), drops: BTreeMap::new(), counters },
            );
        }
        let flights = self.fabric.flights();
        for (index, port) in self.fabric.ports.iter().enumerate() {
            let counters = &port.counters;
            let mut drops = counters.drops.nonzero();
            let mut queued_frames = self.fabric.waiting(index) as u64;
            if let Some(tester) = self.testers.get(port.node as usize) {
                drops.extend(tester.port_drops(port.local as usize).nonzero());
                queued_frames += tester.depth(port.local as usize) as u64;
            }
            let truth = PortTruth {
                tx_frames: counters.tx_frames,
                tx_bytes: counters.tx_bytes,
                rx_frames: counters.rx_frames,
                rx_bytes: counters.rx_bytes,
                queued_frames,
                in_flight_frames: flights[index],
                tx_bad_fcs_frames: counters.tx_bad_fcs_frames,
                rx_bad_fcs_frames: counters.rx_bad_fcs_frames,
                drops,
            };
            let node = nodes.get_mut(self.node_name(port.node)).expect("every port has a node");
            node.ports.insert(port.id, truth);
        }
        Truth {
            now_ps: self.now_ps(),
            events: self.events_done(),
            in_flight_frames: self.in_flight(),
            circulating_frames: self.testers.iter().map(|tester| tester.circulating() as u64).sum(),
            nodes,
        }
    }
}
