//! Single passes of the loop that need not be executed, because they are known to be idle.
//!
//! Between two departures a seed goes round many times while other frames travel, so that no jump is possible
//! ([`crate::idle`]). The proof that its pass is idle outlasts the pass: it holds until a time that it tells, as long as
//! the registers that the pass reads stay as they are and the controller changes nothing. Such a pass is a time stamp in
//! the frame and a slot on the line, at its own time and in its own event, as if it had been executed.

use p4mesh_pipeline::{IdlePass, IdleProbe, LoopPass, Switch};

/// Executed passes that cost about as much as a proof.
const WORTH_PASSES: u32 = 10;
/// Executed passes before the next proof, after proofs that were not worth it.
const MOST_PASSES: u32 = 1_024;

/// Knowledge about the next pass of a packet, and whether proofs were worth it so far.
pub(crate) struct Known {
    proof: Option<Box<IdlePass>>,
    /// Number of changes by the controller before the proof.
    changes: u64,
    /// Passes that were idle by the proof.
    used: u32,
    /// Executed passes since the last proof, and those before the next one.
    executed: u32,
    wait: u32,
}

impl Default for Known {
    fn default() -> Known {
        Known { proof: None, changes: 0, used: 0, executed: 0, wait: WORTH_PASSES }
    }
}

impl Known {
    /// The proof that the next pass is idle.
    pub fn proof(&self) -> Option<&IdlePass> {
        self.proof.as_deref()
    }

    /// Ends a proof; the next one waits the longer the less often proofs were used.
    fn forget(&mut self) {
        if self.proof.take().is_some() {
            let worth = self.used >= WORTH_PASSES;
            self.wait = if worth { 0 } else { (2 * self.wait).clamp(WORTH_PASSES, MOST_PASSES) };
            self.used = 0;
        }
    }

    /// Keeps the part that outlasts an executed pass: the frame may have changed.
    pub fn after_execution(mut self) -> Known {
        self.forget();
        self.executed = self.executed.saturating_add(1);
        self
    }
}

/// Knowledge about the packets of one loop.
pub(crate) struct Knowledge {
    enabled: bool,
    probe: Option<Box<IdleProbe>>,
    /// Times at which the controller may have changed something.
    changes: u64,
    passes: u64,
}

impl Knowledge {
    pub fn new(enabled: bool) -> Knowledge {
        Knowledge { enabled, probe: None, changes: 0, passes: 0 }
    }

    /// The controller may change anything now.
    pub fn invalidate(&mut self) {
        self.changes += 1;
    }

    /// Passes that were not executed.
    pub fn passes(&self) -> u64 {
        self.passes
    }

    /// Whether a pass need not be executed, by what is known of its packet; its egress follows at once.
    #[inline]
    pub fn is_idle(&mut self, switch: &Switch, known: &mut Known, pass: &LoopPass) -> bool {
        if !self.enabled {
            return false;
        }
        let proof = known.proof();
        let in_time = proof.is_none_or(|proof| proof.is_in_time(pass.last_stamp_ps, pass.stamp_ps));
        let same =
            known.changes == self.changes && proof.is_some_and(|proof| switch.has_same_registers(proof));
        if !(in_time && same) {
            known.forget();
            // Where a proof has run out of time, this pass is the one that it told.
            if !in_time || known.executed < known.wait || !self.prove(switch, known, pass) {
                return false;
            }
        }
        known.used += 1;
        self.passes += 1;
        true
    }

    /// Takes the proof for a packet out, if it still holds.
    pub fn take(&self, known: &mut Known, switch: &Switch) -> Option<Box<IdlePass>> {
        let same = known.changes == self.changes;
        known.proof.take_if(|proof| same && switch.has_same_registers(proof))
    }

    /// Keeps a proof with a packet, by which `passes` passes were idle.
    pub fn put(&self, known: &mut Known, proof: Box<IdlePass>, passes: u64) {
        let used = u32::try_from(passes).unwrap_or(u32::MAX);
        known.used = known.used.saturating_add(used);
        known.proof = Some(proof);
        known.changes = self.changes;
    }

    #[cold]
    fn prove(&mut self, switch: &Switch, known: &mut Known, pass: &LoopPass) -> bool {
        let probe = self.probe.get_or_insert_default();
        known.executed = 0;
        match switch.probe_idle(probe, pass) {
            Ok(proof) => {
                known.proof = Some(Box::new(proof));
                known.changes = self.changes;
                true
            }
            Err(_) => {
                known.wait = (2 * known.wait).clamp(WORTH_PASSES, MOST_PASSES);
                false
            }
        }
    }
}
