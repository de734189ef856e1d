//! The simulated tester as a P4Runtime target.

use std::sync::Arc;

use p4mesh_p4runtime::{Event, Notifier, Target};
use p4mesh_pipeline::{Executable, Switch};
use p4mesh_sim::{Network, PortStatus};

/// A network, and the queues for links, packet-ins and digests of its tester.
pub struct SimTarget {
    pub network: Network,
    /// One for each switch of the tester; `None` until its server runs: packet-ins wait in the network then.
    pub notifiers: Vec<Option<Notifier>>,
}

impl SimTarget {
    pub fn new(network: Network) -> SimTarget {
        SimTarget { notifiers: vec![None; network.switches()], network }
    }

    /// The queue for one more server: packet I/O of all is counted together.
    pub fn next_notifier(&self) -> Notifier {
        match self.notifiers.iter().flatten().next() {
            Some(other) => Notifier::counted_with(other.counters()),
            None => Notifier::new(),
        }
    }

    /// Reports to the server of a switch from now on.
    pub fn serve(&mut self, switch: usize, notifier: Notifier) {
        // A server takes ports to be up; it has missed changes from before its start.
        while self.network.take_port_status().is_some() {}
        let down = self.network.tester_links().into_iter().filter(|link| !link.up);
        let places = down.filter_map(|link| self.network.place_in_program(link.port));
        let own = places.filter(|place| place.0 == switch);
        notifier.notify(own.map(|(_, port)| Event::PortStatus { port, up: false }));
        self.notifiers[switch] = Some(notifier);
    }

    /// Tells the servers the changes of links, the frames for the controller, and the time.
    pub fn report(&mut self) {
        if self.notifiers.iter().any(Option::is_some) {
            while let Some(PortStatus { port, up }) = self.network.take_port_status() {
                if let Some((switch, port)) = self.network.place_in_program(port) {
                    self.notify(switch, [Event::PortStatus { port, up }]);
                }
            }
        }
        for switch in 0..self.notifiers.len() {
            self.report_of(switch);
        }
    }

    fn notify(&self, switch: usize, events: impl IntoIterator<Item = Event>) {
        if let Some(notifier) = &self.notifiers[switch] {
            notifier.notify(events);
        }
    }

    fn report_of(&mut self, switch: usize) {
        if self.notifiers[switch].is_none() {
            return;
        }
        let network = &mut self.network;
        network.choose_switch(switch);
        let now_ps = network.now_ps();
        let mut events = Vec::new();
        while let Some(frame) = network.take_packet_in() {
            events.push(Event::PacketIn { frame });
        }
        while let Some(digest) = network.take_digest() {
            events.push(Event::Digest { digest: digest.digest, fields: digest.fields, now_ps });
        }
        events.push(Event::Clock { now_ps });
        self.notify(switch, events);
    }
}

impl Target for SimTarget {
    fn choose(&mut self, device_id: u64) {
        if self.notifiers.len() > 1 {
            self.network.choose_switch(device_id as usize - 1);
        }
    }

    fn switch(&mut self) -> Option<&mut Switch> {
        self.network.switch()
    }

    fn install(&mut self, executable: Arc<Executable>) -> Result<(), String> {
        self.network.set_program(executable);
        Ok(())
    }

    fn packet_out(&mut self, frame: Vec<u8>) {
        self.network.packet_out(frame);
        self.report();
    }

    fn now_ps(&self) -> u64 {
        self.network.now_ps()
    }

    fn has_port(&self, port: u16) -> bool {
        self.network.has_port(port)
    }
}
