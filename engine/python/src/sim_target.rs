//! The simulated tester as a P4Runtime target.

use std::sync::Arc;

use p4mesh_p4runtime::{Event, Notifier, Target};
use p4mesh_pipeline::{Executable, Switch};
use p4mesh_sim::{Network, PortStatus};

/// A network, and the queue for links, packet-ins and digests of its tester.
pub struct SimTarget {
    pub network: Network,
    /// `None` until a server runs: packet-ins wait in the network then.
    pub notifier: Option<Notifier>,
}

impl SimTarget {
    /// Tells the server the changes of links, the frames for the controller, and the time.
    pub fn report(&mut self) {
        let Some(notifier) = &self.notifier else {
            return;
        };
        let network = &mut self.network;
        let now_ps = network.now_ps();
        let mut events = Vec::new();
        while let Some(PortStatus { port, up }) = network.take_port_status() {
            events.push(Event::PortStatus { port, up });
        }
        while let Some(frame) = network.take_packet_in() {
            events.push(Event::PacketIn { frame });
        }
        while let Some(digest) = network.take_digest() {
            events.push(Event::Digest { digest: digest.digest, fields: digest.fields, now_ps });
        }
        events.push(Event::Clock { now_ps });
        notifier.notify(events);
    }
}

impl Target for SimTarget {
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
