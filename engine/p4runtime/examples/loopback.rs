//! A P4Runtime server over a switch that forwards nothing, for measuring the control plane.
//!
//! `cargo run --release --example loopback -- 127.0.0.1:50001`: a packet-out whose frame begins
//! with a 32-bit number n comes back as n packet-ins.

use std::sync::{Arc, Mutex};

use p4mesh_p4runtime::{Address, Event, Notifier, Server, Target, DEFAULT_MEMORY_BYTES};
use p4mesh_pipeline::{Executable, Switch, SwitchConfig};

struct Loopback {
    switch: Option<Switch>,
    notifier: Notifier,
}

impl Target for Loopback {
    fn switch(&mut self) -> Option<&mut Switch> {
        self.switch.as_mut()
    }

    fn install(&mut self, executable: Arc<Executable>) -> Result<(), String> {
        self.switch = Some(Switch::new(executable, SwitchConfig::default()));
        Ok(())
    }

    fn packet_out(&mut self, frame: Vec<u8>) {
        let count = frame.first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes));
        self.notifier.notify((0..count).map(|_| Event::PacketIn { frame: frame.clone() }));
    }

    fn now_ps(&self) -> u64 {
        0
    }
}

fn main() {
    let address = std::env::args().nth(1).unwrap_or("127.0.0.1:0".to_string());
    let Ok(address) = address.parse().map(Address::Tcp) else {
        eprintln!("usage: loopback HOST:PORT");
        std::process::exit(2);
    };
    let notifier = Notifier::new();
    let target = Arc::new(Mutex::new(Loopback { switch: None, notifier: notifier.clone() }));
    match Server::start(address, 1, target, notifier, None, DEFAULT_MEMORY_BYTES) {
        Ok(server) => {
            println!("{}", server.address());
            loop {
                std::thread::park();
            }
        }
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(3);
        }
    }
}
