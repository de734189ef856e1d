//! Errors of interfaces and files.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// An interface or a file that cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum IoError {
    #[error("interface '{interface}': {problem}")]
    Interface { interface: String, problem: String },
    #[error("interface '{interface}': cannot {action}: {source}")]
    Socket { interface: String, action: &'static str, source: io::Error },
    #[error("{}: cannot {action}: {source}", path.display())]
    File { path: PathBuf, action: &'static str, source: io::Error },
    #[error("{}: {problem}", path.display())]
    Pcap { path: PathBuf, problem: String },
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
}
