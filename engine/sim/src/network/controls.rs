//! Changes to a network between its events: to the program and the ports of the tester, to
//! hosts, to random numbers.

use std::sync::Arc;

use p4mesh_pipeline::{Executable, Switch};
use p4mesh_wire::payload::CountedPayload;

use crate::device::{Host, HostFrame, RefusedRoutes};
use crate::drops::DropCause;
use crate::fabric::BadFcsRule;
use crate::rng::Rng;
use crate::tester::{Digest, Tester};

use super::{cable_part, DeviceNode, Network, NetworkError};

impl Network {
    /// Installs a program with fresh state on the chosen switch. Packets in its queues and in its loop
    /// are dropped.
    pub fn set_program(&mut self, executable: Arc<Executable>) {
        if let Some(tester) = self.testers.get_mut(self.chosen) {
            let switch = Switch::new(executable, tester.switch_config().clone());
            tester.install(switch, &mut self.fabric);
        }
    }

    /// Gives the program a frame on the CPU port, now.
    pub fn packet_out(&mut self, frame: Vec<u8>) {
        if let Some(tester) = self.testers.get_mut(self.chosen) {
            tester.packet_out(frame, &mut self.fabric);
        }
    }

    /// The oldest frame that the program sent to the CPU port.
    pub fn take_packet_in(&mut self) -> Option<Vec<u8>> {
        self.tester().and_then(Tester::take_packet_in)
    }

    /// Frames that the programs of all switches sent to the CPU port since the beginning.
    pub fn packet_ins_total(&self) -> u64 {
        self.testers.iter().map(Tester::packet_ins_total).sum()
    }

    /// The oldest digest of the program.
    pub fn take_digest(&mut self) -> Option<Digest> {
        self.tester().and_then(Tester::take_digest)
    }

    /// Port numbers and rates of the tester, in ascending order of their numbers.
    pub fn tester_ports(&self) -> Vec<(u16, u64)> {
        let indices = self.testers.iter().flat_map(Tester::fabric_ports);
        let ports = indices.map(|index| &self.fabric.ports[index]);
        let mut list: Vec<(u16, u64)> = ports.map(|port| (port.id, port.line.rate_bps())).collect();
        list.sort_unstable();
        list
    }

    /// True for a port that the program can send to: links, the CPU port, the loop port.
    pub fn has_port(&self, port: u16) -> bool {
        self.testers.get(self.chosen).is_some_and(|tester| tester.has_port(port))
    }

    /// Starts all random numbers of devices, cables and programs anew. Those of number 0 are the ones of the beginning;
    /// the numbers drawn for a number do not depend on earlier draws. Also resets the state that stands for chance in a
    /// device, such as the spacing of frames that pass under overload.
    pub fn reseed(&mut self, number: u64) {
        let seed = match number {
            0 => self.seed,
            _ => Rng::for_part(self.seed, &format!("number {number}")).next(),
        };
        for index in 0..self.fabric.ports.len() {
            let entry = &self.fabric.ports[index];
            let part = cable_part(self.node_name(entry.node), entry.id);
            self.fabric.reseed_bit_errors(index, seed, &part);
        }
        for node in &mut self.devices {
            node.device.reseed(seed, &node.name);
        }
        for switch in self.testers.iter_mut().filter_map(Tester::switch) {
            switch.reseed(seed);
        }
    }

    /// Changes the gap that a port of the tester or of a device keeps after each frame.
    pub fn set_gap_bits(&mut self, node: &str, port: u16, gap_bits: u32) -> Result<(), NetworkError> {
        let index = self.port_index(node, port)?;
        self.fabric.ports[index].line.set_gap_bits(gap_bits);
        Ok(())
    }

    /// Chooses the frames that leave a port of the tester with an FCS that does not fit, from now on, as its MAC can be
    /// told to damage them. Without rules, no frame is damaged.
    pub fn set_bad_fcs(&mut self, port: u16, rules: Vec<BadFcsRule>) -> Result<(), NetworkError> {
        let index = self.port_index(&self.tester_name, port)?;
        self.fabric.set_bad_fcs_rules(index, rules);
        Ok(())
    }

    /// Frames with an FCS that does not fit which the MACs of the tester have counted since the
    /// beginning: port, sent, received.
    pub fn bad_fcs_counts(&self) -> Vec<(u16, u64, u64)> {
        let counts = |(port, _): (u16, u64)| {
            let counters = &self.fabric.ports[self.find(&self.tester_name, port)?].counters;
            Some((port, counters.tx_bad_fcs_frames, counters.rx_bad_fcs_frames))
        };
        self.tester_ports().into_iter().filter_map(counts).collect()
    }

    /// Chooses the payload that marked frames must have which come to a port of the tester, from now on: others are
    /// counted and dropped. Without one, payloads are not looked at.
    pub fn set_payload(&mut self, port: u16, payload: Option<CountedPayload>) -> Result<(), NetworkError> {
        let index = self.port_index(&self.tester_name, port)?;
        self.fabric.set_payload(index, payload);
        Ok(())
    }

    /// Frames with a damaged payload that have come to the ports of the tester since the beginning: port, frames.
    pub fn damaged_payloads(&self) -> Vec<(u16, u64)> {
        let count = |(port, _): (u16, u64)| {
            let counters = &self.fabric.ports[self.find(&self.tester_name, port)?].counters;
            Some((port, counters.drops.get(DropCause::DamagedPayload)))
        };
        self.tester_ports().into_iter().filter_map(count).collect()
    }

    /// Routes that devices had no room for since the last call, each with the name of its device.
    pub fn take_refused_routes(&mut self) -> Vec<(String, RefusedRoutes)> {
        let of = |node: &mut DeviceNode| {
            let refused = node.device.take_refused_routes();
            refused.into_iter().map(|it| (node.name.clone(), it)).collect::<Vec<_>>()
        };
        self.devices.iter_mut().flat_map(of).collect()
    }

    /// Sends a frame (without FCS) from a port of a device `host`, as soon as its line is free.
    pub fn host_send(&mut self, name: &str, port: u16, frame: &[u8]) -> Result<(), NetworkError> {
        let index = self.host_index(name)?;
        let local = self.fabric.ports[self.port_index(name, port)?].local as usize;
        self.with_device(index, |_, ports| {
            let frame = ports.copy(frame);
            ports.send_now(local, frame);
        });
        Ok(())
    }

    /// Takes the frames that have come to a device `host`: port, time of the first bit, bytes.
    pub fn host_take(&mut self, name: &str) -> Result<Vec<(u16, u64, Vec<u8>)>, NetworkError> {
        let index = self.host_index(name)?;
        let base = self.devices[index].base;
        let frames = self.device::<Host>(index).map(Host::take).unwrap_or_default();
        let with_id = |it: HostFrame| (self.fabric.ports[base + it.port].id, it.first_bit_ps, it.frame);
        Ok(frames.into_iter().map(with_id).collect())
    }

    fn host_index(&mut self, name: &str) -> Result<usize, NetworkError> {
        let mut valid = Vec::new();
        for (index, node) in self.devices.iter_mut().enumerate() {
            if node.device.as_any().is::<Host>() {
                if node.name == name {
                    return Ok(index);
                }
                valid.push(node.name.clone());
            }
        }
        Err(NetworkError::NotAHost { name: name.to_string(), valid: valid.join(", ") })
    }
}
