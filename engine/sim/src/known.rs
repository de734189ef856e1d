//! Knowledge about the next passes of packets in the loop.
//!
//! The proof that a pass is idle outlasts the jump or sleep for which it was made: it holds until a time that it tells, as
//! long as the registers that the pass reads stay as they are and the controller changes nothing.

use std::sync::Arc;

use p4mesh_pipeline::{IdlePass, IdleProbe, Switch};

use crate::idle::Prover;

/// Knowledge about the next pass of a packet.
#[derive(Default)]
pub(crate) struct Known {
    proof: Option<Arc<IdlePass>>,
    /// Number of changes by the controller before the proof.
    changes: u64,
}

impl Known {
    /// The proof that the next pass is idle, or was as long as nothing had changed.
    pub fn proof(&self) -> Option<&IdlePass> {
        self.proof.as_deref()
    }
}

/// Knowledge about the packets of one loop.
#[derive(Default)]
pub(crate) struct Knowledge {
    probe: Option<Box<IdleProbe>>,
    /// Times at which the controller may have changed something.
    changes: u64,
}

impl Knowledge {
    /// The controller may change anything now.
    pub fn invalidate(&mut self) {
        self.changes += 1;
        if let Some(probe) = &mut self.probe {
            probe.forget();
        }
    }

    /// Makes proofs of passes through a switch.
    pub fn prover<'a>(&'a mut self, switch: &'a Switch) -> Prover<'a> {
        Prover { switch, probe: self.probe.get_or_insert_default() }
    }

    /// The proof for a packet, if nothing has changed on which it depends. It may have run out of time.
    pub fn holding<'a>(&self, known: &'a Known, switch: &Switch) -> Option<&'a IdlePass> {
        known.proof().filter(|proof| known.changes == self.changes && switch.has_same_registers(proof))
    }

    /// Takes the proof for a packet out, if it still holds.
    pub fn take(&self, known: &mut Known, switch: &Switch) -> Option<Arc<IdlePass>> {
        self.holding(known, switch)?;
        known.proof.take()
    }

    /// Keeps a proof with a packet.
    pub fn put(&self, known: &mut Known, proof: Arc<IdlePass>) {
        *known = Known { proof: Some(proof), changes: self.changes };
    }
}
