//! Configuration that a target chooses for its switch.

use crate::numbers::tick::Tick;

/// Properties of the target that a program can see.
#[derive(Clone, Debug)]
pub struct SwitchConfig {
    /// Unit of the P4 time stamps; a microsecond in simple_switch.
    pub tick: Tick,
    /// Greatest port number that unicast may address; larger ones are dropped as `UnknownPort`.
    pub max_port: u16,
    /// `egress_spec` value that means "drop".
    pub drop_port: u16,
    pub cpu_port: Option<u16>,
    /// Seed of `random()` and of everything else that is random by specification.
    pub seed: u64,
    /// Resubmits that one frame may make in a row, for they take no time; 0 = unlimited.
    /// Recirculation is bounded by the port that it passes.
    pub pass_limit: u32,
    /// Larger frames are dropped as `Oversize`.
    pub max_frame_bytes: usize,
    /// Queues per port; a larger `priority` drops the packet as simple_switch does.
    pub queues_per_port: u8,
}

impl Default for SwitchConfig {
    fn default() -> SwitchConfig {
        SwitchConfig {
            tick: Tick::new(1_000_000),
            max_port: 511,
            drop_port: 511,
            cpu_port: None,
            seed: 1,
            pass_limit: 1_000,
            max_frame_bytes: 65_535,
            queues_per_port: 8,
        }
    }
}

/// How a switch executes its program. Both ways give the same packets and the same state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Execution {
    /// Machine code, on Unix systems on x86-64 and 64-bit Arm that give executable memory.
    Native,
    Interpreted,
}
