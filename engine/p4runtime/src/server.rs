//! The server's threads: a socket, a tokio runtime of its own, and an orderly end.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;

use thiserror::Error;
use tokio::sync::oneshot;
use tonic::transport::server::TcpIncoming;

use crate::service::{P4RuntimeService, Shared};
use crate::target::{Notifier, PacketIoCounters, SharedTarget};

/// Why a server did not start.
#[derive(Debug, Error)]
pub enum ServerError {
    #[error("cannot listen on {address}: {source}")]
    Listen {
        address: SocketAddr,
        source: std::io::Error,
    },
    #[error("cannot start the server's threads: {0}")]
    Threads(std::io::Error),
}

/// A running P4Runtime server for one device. Ends when dropped.
pub struct Server {
    address: SocketAddr,
    counters: Arc<PacketIoCounters>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// HTTP/2 flow control windows; the default of 64 KiB would limit bulk reads and writes.
const WINDOW_BYTES: u32 = 4 << 20;

impl Server {
    /// Listens on `address` (port 0: any free one) and serves `target` as device `device_id`.
    /// What the target reports comes through `notifier`.
    ///
    /// # Errors
    /// The address cannot be used, or threads cannot be made.
    pub fn start(
        address: SocketAddr,
        device_id: u64,
        target: SharedTarget,
        notifier: Notifier,
    ) -> Result<Server, ServerError> {
        let listen = |source| ServerError::Listen { address, source };
        let listener = TcpListener::bind(address).map_err(listen)?;
        listener.set_nonblocking(true).map_err(listen)?;
        let local = listener.local_addr().map_err(listen)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("p4runtime")
            .enable_all()
            .build()
            .map_err(ServerError::Threads)?;
        let counters = notifier.counters();
        let shared = Arc::new(Shared::new(device_id, target, notifier));
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::Builder::new()
            .name("p4runtime-server".to_string())
            .spawn(move || {
                runtime.block_on(async move {
                    let dispatcher = tokio::spawn(shared.clone().dispatch());
                    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
                        return;
                    };
                    // Without it each answer of a read waits for a delayed acknowledgement, 40 ms.
                    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
                    let serve = tonic::transport::Server::builder()
                        .initial_stream_window_size(WINDOW_BYTES)
                        .initial_connection_window_size(WINDOW_BYTES)
                        .add_service(P4RuntimeService { shared })
                        .serve_with_incoming(incoming);
                    tokio::select! {
                        _ = serve => {}
                        _ = stopped => {}
                    }
                    dispatcher.abort();
                });
                runtime.shutdown_background();
            })
            .map_err(ServerError::Threads)?;
        Ok(Server {
            address: local,
            counters,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Where the server listens, with the port that it got.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Packet I/O counts, for waiting until packet-outs have reached the target.
    pub fn counters(&self) -> Arc<PacketIoCounters> {
        self.counters.clone()
    }

    /// Ends the server: open streams break.
    pub fn stop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}
