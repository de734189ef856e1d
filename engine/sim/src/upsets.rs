//! What happens to the network itself: links go down and come up, devices are reset and come back.

use std::collections::{BTreeMap, VecDeque};

use crate::config::{OutageConfig, ResetConfig};
use crate::event::Source;
use crate::network::{Network, NetworkError};

/// The link of a port of the tester has gone down or come up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortStatus {
    pub port: u16,
    pub up: bool,
}

/// The link of a port of the tester.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkState {
    pub port: u16,
    pub up: bool,
    /// How often it has gone down since the beginning.
    pub losses: u64,
}

/// A change that waits for its time.
enum Upset {
    /// Index of a port in the fabric.
    Link { port: usize, up: bool },
    /// A device comes back from its reset of this number.
    Back { device: usize, reset: u64 },
}

/// Changes to come, in the order (time, insertion), and what the tester has not been told.
#[derive(Default)]
pub(crate) struct Upsets {
    planned: BTreeMap<(u64, u64), Upset>,
    planned_total: u64,
    statuses: VecDeque<PortStatus>,
}

/// The resets of one device.
#[derive(Default)]
pub(crate) struct Restart {
    config: ResetConfig,
    resets: u64,
    off: bool,
    /// Ports whose links went down with the device.
    dark: Vec<usize>,
}

impl Restart {
    pub fn new(config: ResetConfig) -> Restart {
        Restart {
            config,
            ..Restart::default()
        }
    }

    /// The device is in a reset: what comes to it is lost.
    #[inline]
    pub fn is_off(&self) -> bool {
        self.off
    }
}

impl Network {
    /// Sets the link of a node's port up or down, in both directions.
    pub fn set_link(&mut self, node: &str, port: u16, up: bool) -> Result<(), NetworkError> {
        let index = self.port_index(node, port)?;
        self.change_link(index, up);
        Ok(())
    }

    /// The links of the tester's ports, in ascending order of the port numbers.
    pub fn tester_links(&self) -> Vec<LinkState> {
        let state = |port: u16| {
            let index = self.tester_port_index(port)?;
            let entry = &self.fabric.ports[index];
            Some(LinkState {
                port,
                up: entry.link_up(),
                losses: entry.link_losses(),
            })
        };
        let ports = self.tester_ports();
        ports.iter().filter_map(|&(port, _)| state(port)).collect()
    }

    /// The oldest change of a link of the tester that nobody has taken.
    pub fn take_port_status(&mut self) -> Option<PortStatus> {
        self.upsets.statuses.pop_front()
    }

    /// Resets a device: its queues and tables are empty, and it forwards nothing before `off_ps`
    /// (without power) and the time of its reset are over. What it has begun to send goes on its
    /// way. A reset during a reset begins anew.
    pub fn reset_device(&mut self, name: &str, off_ps: u64) -> Result<(), NetworkError> {
        let Some(index) = self.devices.iter().position(|it| it.name == name) else {
            let valid: Vec<&str> = self.devices.iter().map(|it| it.name.as_str()).collect();
            return Err(NetworkError::NoSuchDevice {
                name: name.to_string(),
                valid: valid.join(", "),
            });
        };
        let node = &mut self.devices[index];
        let ports = node.base..node.base + node.count;
        node.restart.resets += 1;
        node.restart.off = true;
        let (config, reset) = (node.restart.config, node.restart.resets);
        for port in ports.clone() {
            self.fabric.flush(port);
        }
        self.with_device(index, |device, ports| device.reset(ports));
        if config.links_down {
            for port in ports
                .filter(|&port| self.fabric.ports[port].link_up())
                .collect::<Vec<_>>()
            {
                self.devices[index].restart.dark.push(port);
                self.change_link(port, false);
            }
        }
        let back_ps = self
            .fabric
            .now_ps
            .saturating_add(off_ps)
            .saturating_add(config.time_ps);
        if back_ps == self.fabric.now_ps {
            self.bring_back(index, reset);
        } else {
            self.plan(
                back_ps,
                Upset::Back {
                    device: index,
                    reset,
                },
            );
        }
        Ok(())
    }

    pub(crate) fn plan_outages(&mut self, port: usize, outages: &[OutageConfig]) {
        for outage in outages {
            self.plan(outage.at_ps, Upset::Link { port, up: false });
            if let Some(duration_ps) = outage.duration_ps {
                let end_ps = outage.at_ps + duration_ps;
                self.plan(end_ps, Upset::Link { port, up: true });
            }
        }
    }

    /// Everything whose time has come.
    pub(crate) fn carry_out_upsets(&mut self) {
        while let Some(first) = self.upsets.planned.first_entry() {
            if first.key().0 > self.fabric.now_ps {
                return;
            }
            match first.remove() {
                Upset::Link { port, up } => self.change_link(port, up),
                Upset::Back { device, reset } => self.bring_back(device, reset),
            }
        }
    }

    fn plan(&mut self, at_ps: u64, upset: Upset) {
        let number = self.upsets.planned_total;
        self.upsets.planned_total += 1;
        self.upsets.planned.insert((at_ps, number), upset);
        self.fabric.events.schedule(at_ps, Source::UPSET);
    }

    fn bring_back(&mut self, device: usize, reset: u64) {
        let restart = &mut self.devices[device].restart;
        if restart.resets != reset {
            return;
        }
        restart.off = false;
        for port in std::mem::take(&mut restart.dark) {
            self.change_link(port, true);
        }
    }

    fn change_link(&mut self, port: usize, up: bool) {
        let Some(peer) = self.fabric.ports[port].peer() else {
            return;
        };
        if self.fabric.ports[port].link_up() == up {
            return;
        }
        self.fabric.set_link(port, up);
        for end in [port, peer] {
            let entry = &self.fabric.ports[end];
            let (node, local, port) = (entry.node as usize, entry.local as usize, entry.id);
            match self.device_of(node) {
                Some(device) => {
                    self.with_device(device, |device, ports| {
                        device.link_changed(local, up, ports)
                    });
                }
                None => self.upsets.statuses.push_back(PortStatus { port, up }),
            }
        }
    }
}
