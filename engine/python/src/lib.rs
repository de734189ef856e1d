//! The extension module `p4mesh._engine`: the engine for Python.
//!
//! Owns: conversions, the release of the GIL while the engine works, and the exception classes.
//! Refuses: logic of its own; what Python sees is what the crates below do.

mod error;
mod live_switch;
mod live_target;
mod server_slot;
mod sim_network;
mod sim_target;

use std::sync::{Mutex, MutexGuard};

use pyo3::prelude::*;

#[pymodule]
mod _engine {
    #[pymodule_export]
    use super::error::ConfigError;
    #[pymodule_export]
    use super::error::EngineError;
    #[pymodule_export]
    use super::live_switch::LiveSwitch;
    #[pymodule_export]
    use super::sim_network::describe_config;
    #[pymodule_export]
    use super::sim_network::SimNetwork;
}

/// Locks a mutex whose data another thread may have left half changed by a panic; that panic has
/// been reported as a bug already.
fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}
