//! The server's threads: a socket, a tokio runtime of its own, and an orderly end.

use std::fmt;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use thiserror::Error;
use tokio::sync::oneshot;
use tokio_stream::wrappers::UnixListenerStream;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Certificate, Identity, ServerTlsConfig};

use crate::connections::Connections;
use crate::memory::Memory;
use crate::service::{P4RuntimeService, Shared};
use crate::target::{Notifier, PacketIoCounters, SharedTarget};

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    Tcp(SocketAddr),
    /// A socket in the file system; one that is there already is replaced.
    Unix(PathBuf),
}

impl Address {
    /// 0 for a socket in the file system.
    pub fn port(&self) -> u16 {
        match self {
            Address::Tcp(address) => address.port(),
            Address::Unix(_) => 0,
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Address::Tcp(address) => address.fmt(out),
            Address::Unix(path) => write!(out, "unix:{}", path.display()),
        }
    }
}

/// A bound socket that does not serve yet.
enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Listener {
    /// Binds an address; returns it with the port that it got.
    fn bind(address: &Address) -> std::io::Result<(Listener, Address)> {
        match address {
            Address::Tcp(address) => {
                let listener = TcpListener::bind(address)?;
                listener.set_nonblocking(true)?;
                let local = listener.local_addr()?;
                Ok((Listener::Tcp(listener), Address::Tcp(local)))
            }
            Address::Unix(path) => {
                use std::os::unix::fs::FileTypeExt;
                let old = std::fs::symlink_metadata(path);
                if old.is_ok_and(|old| old.file_type().is_socket()) {
                    std::fs::remove_file(path)?;
                }
                let listener = UnixListener::bind(path)?;
                listener.set_nonblocking(true)?;
                Ok((Listener::Unix(listener), address.clone()))
            }
        }
    }
}

/// Credentials of a server, in PEM.
#[derive(Clone, Debug)]
pub struct Tls {
    /// The server's certificate chain up to its authority.
    pub certificate: Vec<u8>,
    pub key: Vec<u8>,
    /// Clients must show a certificate that one of these authorities has signed; none: any client may come.
    pub client_authorities: Option<Vec<u8>>,
}

impl Tls {
    fn config(&self) -> ServerTlsConfig {
        let identity = Identity::from_pem(&self.certificate, &self.key);
        let config = ServerTlsConfig::new().identity(identity);
        match &self.client_authorities {
            Some(authorities) => config.client_ca_root(Certificate::from_pem(authorities)),
            None => config,
        }
    }
}

/// Reason why a server did not start.
#[derive(Debug, Error)]
pub enum ServerError {
    #[error("cannot listen on {address}: {source}")]
    Listen { address: Address, source: std::io::Error },
    #[error("the TLS credentials cannot be used: {0}")]
    Tls(String),
    #[error("cannot start the server's threads: {0}")]
    Threads(std::io::Error),
}

/// A running P4Runtime server for one device. Ends when dropped.
pub struct Server {
    address: Address,
    counters: Arc<PacketIoCounters>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Memory of requests and answers unless a target says otherwise.
pub const DEFAULT_MEMORY_BYTES: usize = 512 << 20;

/// A connection is looked at after so much silence: streams of machines that are gone must not stay open.
const KEEPALIVE: Duration = Duration::from_secs(60);

/// HTTP/2 flow control windows; the default of 64 KiB would limit bulk reads and writes.
const WINDOW_BYTES: u32 = 4 << 20;

impl Server {
    /// Listens on `address` (port 0: any free one) and serves `target` as device `device_id`. Reports of the target
    /// come through `notifier`. With `tls`, every client must use it. Requests and answers of all clients together take
    /// at most `memory_bytes`.
    ///
    /// # Errors
    /// The credentials or the address cannot be used, or threads cannot be made.
    pub fn start(
        address: Address,
        device_id: u64,
        target: SharedTarget,
        notifier: Notifier,
        tls: Option<&Tls>,
        memory_bytes: usize,
    ) -> Result<Server, ServerError> {
        let mut transport = tonic::transport::Server::builder()
            .initial_stream_window_size(WINDOW_BYTES)
            .initial_connection_window_size(WINDOW_BYTES);
        if let Some(tls) = tls {
            transport =
                transport.tls_config(tls.config()).map_err(|error| ServerError::Tls(innermost(&error)))?;
        }
        let (listener, local) = match Listener::bind(&address) {
            Ok(bound) => bound,
            Err(source) => return Err(ServerError::Listen { address, source }),
        };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("p4runtime")
            .enable_all()
            .build()
            .map_err(ServerError::Threads)?;
        let counters = notifier.counters();
        let shared = Arc::new(Shared::new(device_id, target, notifier, Memory::new(memory_bytes)));
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::Builder::new()
            .name("p4runtime-server".to_string())
            .spawn(move || {
                runtime.block_on(async move {
                    let dispatcher = tokio::spawn(shared.clone().dispatch());
                    let router = transport.add_service(P4RuntimeService { shared });
                    let stopped = async {
                        let _ = stopped.await;
                    };
                    match listener {
                        Listener::Tcp(listener) => {
                            if let Ok(listener) = tokio::net::TcpListener::from_std(listener) {
                                // Without it each answer of a read waits for a delayed
                                // acknowledgement, 40 ms.
                                let incoming = TcpIncoming::from(listener)
                                    .with_nodelay(Some(true))
                                    .with_keepalive(Some(KEEPALIVE));
                                tokio::select! {
                                    _ = router.serve_with_incoming(Connections::new(incoming)) => {}
                                    _ = stopped => {}
                                }
                            }
                        }
                        Listener::Unix(listener) => {
                            if let Ok(listener) = tokio::net::UnixListener::from_std(listener) {
                                let incoming = UnixListenerStream::new(listener);
                                tokio::select! {
                                    _ = router.serve_with_incoming(Connections::new(incoming)) => {}
                                    _ = stopped => {}
                                }
                            }
                        }
                    }
                    dispatcher.abort();
                });
                runtime.shutdown_background();
            })
            .map_err(ServerError::Threads)?;
        Ok(Server { address: local, counters, stop: Some(stop), thread: Some(thread) })
    }

    /// Where the server listens, with the port that it got.
    pub fn address(&self) -> &Address {
        &self.address
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
            if let Address::Unix(path) = &self.address {
                let _ = std::fs::remove_file(path);
            }
        }
    }
}

/// Cause of an error; tonic's own text is only "transport error".
fn innermost(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => innermost(source),
        None => error.to_string(),
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}
