//! The P4Runtime server that a simulated network or a live switch may have.

use std::net::ToSocketAddrs;
use std::sync::{Arc, Mutex};

use p4mesh_p4runtime::{Address, Notifier, PacketIoCounters, Server, SharedTarget, Tls};
use pyo3::prelude::*;

use crate::error::refused;
use crate::lock::lock;

/// Room for one server.
#[derive(Default)]
pub struct ServerSlot(Mutex<Option<Server>>);

impl ServerSlot {
    /// Starts a server on HOST:PORT or unix:PATH, whose requests and answers take at most `memory_bytes`; reports of the
    /// target come through `notifier`. Returns its port (0: none).
    pub fn start(
        &self,
        address: &str,
        device_id: u64,
        target: SharedTarget,
        notifier: Notifier,
        tls: Option<&Tls>,
        memory_bytes: usize,
    ) -> PyResult<u16> {
        let mut server = lock(&self.0);
        if let Some(running) = &*server {
            return Err(refused(format!(
                "a server runs on {} already; call stop() first",
                running.address()
            )));
        }
        let address = resolve(address)?;
        let started = Server::start(address, device_id, target, notifier, tls, memory_bytes);
        let started = started.map_err(refused)?;
        let port = started.address().port();
        *server = Some(started);
        Ok(port)
    }

    /// Ends the server if there is one.
    pub fn stop(&self) {
        if let Some(mut server) = lock(&self.0).take() {
            server.stop();
        }
    }

    /// The packet I/O counts of the server that runs.
    pub fn counters(&self) -> Option<Arc<PacketIoCounters>> {
        lock(&self.0).as_ref().map(Server::counters)
    }
}

/// The socket of unix:PATH, or the first address of HOST:PORT.
fn resolve(address: &str) -> PyResult<Address> {
    if let Some(path) = address.strip_prefix("unix:") {
        // unix:///PATH is an absolute path in the form of a URL.
        return Ok(Address::Unix(path.strip_prefix("//").unwrap_or(path).into()));
    }
    let invalid = |problem: String| {
        let valid = "valid: HOST:PORT or unix:PATH";
        refused(format!("address '{address}': {problem}; {valid}"))
    };
    let mut found = address.to_socket_addrs().map_err(|error| invalid(error.to_string()))?;
    found.next().map(Address::Tcp).ok_or_else(|| invalid("the host has no address".to_string()))
}
