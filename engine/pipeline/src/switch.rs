//! A program together with everything that changes: the two passes and the control plane.

use std::sync::Arc;

use crate::*;

/// Properties of the target that a program can see.
#[derive(Clone, Debug)]
pub struct SwitchConfig {
    /// Picoseconds per unit of the P4 time stamps; 1_000_000 is simple_switch's microsecond.
    pub ps_per_tick: u64,
    /// Greatest port number that unicast may address; larger ones are dropped as `UnknownPort`.
    pub max_port: u16,
    /// `egress_spec` value that means "drop".
    pub drop_port: u16,
    pub cpu_port: Option<u16>,
    /// Seed of `random()` and of everything else that is random by specification.
    pub seed: u64,
    /// Passes (resubmits, recirculations) that one frame may make in a row; 0 = unlimited.
    pub pass_limit: u32,
    /// Larger frames are dropped as `Oversize`.
    pub max_frame_bytes: usize,
    /// Queues per port; a larger `priority` drops the packet as simple_switch does.
    pub queues_per_port: u8,
}

impl Default for SwitchConfig {
    fn default() -> SwitchConfig {
        SwitchConfig {
            ps_per_tick: 1_000_000,
            max_port: 511,
            drop_port: 511,
            cpu_port: None,
            seed: 1,
            pass_limit: 0,
            max_frame_bytes: 65_535,
            queues_per_port: 8,
        }
    }
}

/// A program and its state.
pub struct Switch {
    program: Arc<Program>,
    config: SwitchConfig,
}

impl Switch {
    pub fn new(program: Arc<Program>, config: SwitchConfig) -> Switch {
        Switch { program, config }
    }

    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    pub fn config(&self) -> &SwitchConfig {
        &self.config
    }

    /// Parser, ingress control and the decision where the packet goes. `ingress_timestamp_ps` is
    /// what P4 sees as `ingress_global_timestamp` (0 after resubmit and recirculate), `now_ps`
    /// drives meters and idle timeouts.
    pub fn ingress(&mut self, packet: IngressPacket, ingress_timestamp_ps: u64, now_ps: u64, out: &mut Outputs) {
        let _ = (ingress_timestamp_ps, now_ps);
        out.pool.give(packet.frame);
        out.items.push(Output::Drop(DropReason::Ingress));
    }

    /// Egress control and deparser, clone, recirculate.
    pub fn egress(
        &mut self,
        packet: EgressPacket,
        times: QueueTimes,
        egress_timestamp_ps: u64,
        now_ps: u64,
        out: &mut Outputs,
    ) {
        let _ = (packet, times, egress_timestamp_ps, now_ps);
        out.items.push(Output::Drop(DropReason::Egress));
    }

    /// Returns the buffers of a packet that the target drops before egress.
    pub fn discard(&mut self, packet: EgressPacket, out: &mut Outputs) {
        let _ = (packet, out);
    }
}
