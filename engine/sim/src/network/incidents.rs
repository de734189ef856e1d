//! Incidents of the network itself: links go down and come up, devices are reset and come back, or change.

use crate::config::OutageConfig;
use crate::device::When;
use crate::event::Source;
use crate::upsets::{LinkState, PortStatus, Upset};

use super::{Network, NetworkError};

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
            Some(LinkState { port, up: entry.link_up(), losses: entry.link_losses() })
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
            return Err(NetworkError::NoSuchDevice { name: name.to_string(), valid: valid.join(", ") });
        };
        let node = &mut self.devices[index];
        let ports = node.base..node.base + node.count;
        let (time_ps, links_down) = (node.restart.time_ps, node.restart.links_down);
        let reset = node.restart.begin();
        for port in ports.clone() {
            self.fabric.flush(port);
        }
        self.with_device(index, |device, ports| device.reset(ports));
        if links_down {
            for port in ports.filter(|&port| self.fabric.ports[port].link_up()).collect::<Vec<_>>() {
                self.devices[index].restart.dark.push(port);
                self.change_link(port, false);
            }
        }
        let back_ps = self.fabric.now_ps.saturating_add(off_ps).saturating_add(time_ps);
        if back_ps == self.fabric.now_ps {
            self.bring_back(index, reset);
        } else {
            self.plan(back_ps, Upset::Back { device: index, reset });
        }
        Ok(())
    }

    pub(super) fn plan_outages(&mut self, port: usize, outages: &[OutageConfig]) {
        for outage in outages {
            let at_ps = outage.at_s.ps();
            self.plan(at_ps, Upset::Link { port, up: false });
            if let Some(duration) = outage.duration_s {
                let end_ps = at_ps + duration.ps();
                self.plan(end_ps, Upset::Link { port, up: true });
            }
        }
    }

    /// Everything whose time has come.
    pub(super) fn carry_out_upsets(&mut self) {
        while let Some(upset) = self.upsets.take_due(self.fabric.now_ps) {
            match upset {
                Upset::Link { port, up } => self.change_link(port, up),
                Upset::Back { device, reset } => self.bring_back(device, reset),
                Upset::Change { device, index } => self.change_device(device, index),
            }
        }
    }

    pub(super) fn plan_changes(&mut self) {
        for device in 0..self.devices.len() {
            for (index, change) in self.devices[device].device.changes().into_iter().enumerate() {
                if let When::At(at_ps) = change.when {
                    self.plan(at_ps, Upset::Change { device, index });
                }
            }
        }
    }

    /// Lets failures 1 to `count` of all devices begin now, those that have not begun before. Returns the time from
    /// now to the last of their changes.
    pub fn cause_failures(&mut self, count: u64) -> Result<u64, NetworkError> {
        let (now_ps, begun) = (self.fabric.now_ps, self.failures_begun);
        let mut due = Vec::new();
        let mut highest = 0;
        for device in 0..self.devices.len() {
            for (index, change) in self.devices[device].device.changes().into_iter().enumerate() {
                let When::Failure { number, after_ps } = change.when else {
                    continue;
                };
                highest = highest.max(number);
                if begun < number && number <= count {
                    due.push((after_ps, Upset::Change { device, index }));
                }
            }
        }
        if count > highest {
            return Err(NetworkError::NoSuchFailure { number: count, highest });
        }
        self.failures_begun = begun.max(count);
        let longest_ps = due.iter().map(|it| it.0).max().unwrap_or(0);
        for (after_ps, upset) in due {
            self.plan(now_ps.saturating_add(after_ps), upset);
        }
        self.carry_out_upsets();
        Ok(longest_ps)
    }

    fn change_device(&mut self, device: usize, index: usize) {
        let node = &mut self.devices[device];
        let base = node.base;
        node.device.change(index);
        for (local, up) in node.device.changes().swap_remove(index).links {
            self.change_link(base + local, up);
        }
    }

    fn plan(&mut self, at_ps: u64, upset: Upset) {
        self.upsets.plan(at_ps, upset);
        self.fabric.events.schedule(at_ps, Source::UPSET);
    }

    fn bring_back(&mut self, device: usize, reset: u64) {
        for port in self.devices[device].restart.end(reset) {
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
                    self.with_device(device, |device, ports| device.link_changed(local, up, ports));
                }
                None => self.upsets.statuses.push_back(PortStatus { port, up }),
            }
        }
    }
}
