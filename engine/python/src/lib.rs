//! The extension module `p4mesh._engine`: the engine for Python.
//!
//! Owns: conversions, the release of the GIL while the engine works, and the exception classes. Refuses: logic of its
//! own; the crates below do the work.

mod error;
mod live_switch;
mod live_target;
mod lock;
mod packet_trace;
mod routing_peer;
mod server_slot;
mod sim_network;
mod sim_target;
mod stations;

use pyo3::prelude::*;

#[pymodule]
mod _engine {
    #[pymodule_export]
    use super::error::ConfigError;
    #[pymodule_export]
    use super::error::EngineError;
    #[pymodule_export]
    use super::live_switch::cable_delays;
    #[pymodule_export]
    use super::live_switch::LiveSwitch;
    #[pymodule_export]
    use super::routing_peer::RoutingPeer;
    #[pymodule_export]
    use super::sim_network::describe_config;
    #[pymodule_export]
    use super::sim_network::SimNetwork;
    #[pymodule_export]
    use super::stations::GroupHosts;
    #[pymodule_export]
    use super::stations::Querier;
    #[pymodule_export]
    use super::stations::Stations;
}
