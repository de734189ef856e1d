//! From a document, or from devices and links, to a network.

use crate::bit_errors::BitErrors;
use crate::config::{ConfigError, EndConfig, NetworkConfig, Place, PortConfig};
use crate::device::{self, Device};
use crate::fabric::Fabric;
use crate::idle::Patience;
use crate::line::Line;
use crate::rng::Rng;
use crate::tester::Tester;
use crate::upsets::Restart;

use super::{cable_part, DeviceNode, Network};

/// A port of a device, for [`NetworkBuilder`].
#[derive(Clone, Debug)]
pub struct DevicePort {
    pub id: u16,
    pub line: Line,
    pub queue_frames: usize,
}

/// Builds a network out of devices, without a tester; [`Network::from_json`] is the usual way.
#[derive(Default)]
pub struct NetworkBuilder {
    fabric: Fabric,
    testers: Vec<Tester>,
    devices: Vec<DeviceNode>,
}

impl NetworkBuilder {
    /// Adds a device and returns its index.
    pub fn device(&mut self, name: &str, device: Box<dyn Device>, ports: &[DevicePort]) -> usize {
        let node = (self.testers.len().max(1) + self.devices.len()) as u32;
        let base = self.fabric.ports.len();
        for (local, port) in ports.iter().enumerate() {
            self.fabric.add_port(node, local as u32, port.id, port.line.clone(), port.queue_frames);
        }
        self.devices.push(DeviceNode {
            name: name.to_string(),
            device,
            base,
            count: ports.len(),
            restart: Restart::default(),
        });
        self.devices.len() - 1
    }

    /// Connects port `a.1` of device `a.0` with port `b.1` of device `b.0`, counted from 0.
    pub fn link(&mut self, a: (usize, usize), b: (usize, usize), delay_ps: u64) {
        let index = |end: (usize, usize)| self.devices[end.0].base + end.1;
        let rule = |end: (usize, usize)| self.devices[end.0].device.arrival_rule(end.1);
        let (rules, a, b) = ([rule(a), rule(b)], index(a), index(b));
        self.fabric.connect(a, b, delay_ps, rules);
    }

    pub fn build(self) -> Network {
        Network::new(self.fabric, self.testers, String::new(), self.devices)
    }
}

impl Network {
    /// Builds the network of a JSON document (see the crate documentation).
    pub fn from_json(text: &str) -> Result<Network, ConfigError> {
        Network::from_config(&NetworkConfig::from_json(text)?)
    }

    fn from_config(config: &NetworkConfig) -> Result<Network, ConfigError> {
        let seed = config.seed.get();
        let mut builder = NetworkBuilder::default();
        let switches = config.tester.switches.get() as u32;
        builder.fabric.switches = switches;
        for switch in 0..switches {
            let fabric = &mut builder.fabric;
            builder.testers.push(Tester::new(&config.tester, config.skip_idle_loops, seed, switch, fabric));
        }
        for (index, entry) in config.nodes.iter().enumerate() {
            let place = Place::default().key("nodes").index(index);
            let device = device::build(&place, entry, seed)?;
            let port = |port: &PortConfig| {
                let mut line =
                    Line::new(port.rate_bps.get(), port.clock_offset_ppm.ppb(), port.ifg_bits.get() as u32);
                line.set_min_slot_bits(port.min_slot_bits.get());
                DevicePort { id: port.number, line, queue_frames: port.queue_frames.get() as usize }
            };
            let ports: Vec<DevicePort> = entry.ports.iter().map(port).collect();
            let base = builder.fabric.ports.len();
            let node = builder.device(&entry.name, device, &ports);
            builder.devices[node].restart = Restart::new(entry.reset);
            for (local, port) in entry.ports.iter().enumerate() {
                let fabric = &mut builder.fabric;
                fabric.set_honours_pause(base + local, port.honours_pause);
            }
        }
        let NetworkBuilder { fabric, testers, devices } = builder;
        let mut network = Network::new(fabric, testers, config.tester.name.clone(), devices);
        network.patience = Patience::new(config.skip_idle_loops);
        network.seed = seed;
        network.plan_changes();
        for link in &config.links {
            let end = |end: &EndConfig| {
                network.find(&end.node, end.port).expect("the configuration has been checked")
            };
            let (a, b) = (end(&link.from), end(&link.to));
            let rules = [network.arrival_rule(a), network.arrival_rule(b)];
            network.fabric.connect(a, b, link.latency_ns.ps(), rules);
            network.plan_outages(a, &link.outages);
            let bit_errors_per_1e15 = link.bit_errors_per_1e15.get();
            if bit_errors_per_1e15 > 0 {
                for (from, end) in [(a, &link.from), (b, &link.to)] {
                    let rng = Rng::for_part(seed, &cable_part(&end.node, end.port));
                    let errors = BitErrors::new(bit_errors_per_1e15, rng);
                    network.fabric.set_bit_errors(from, Some(errors));
                }
            }
        }
        for port in &config.tester.ports {
            if let Some(index) = network.find(&config.tester.name, port.number) {
                let fabric = &mut network.fabric;
                fabric.set_honours_pause(index, port.honours_pause);
            }
        }
        Ok(network)
    }
}
