//! Single passes of the loop that need not be executed, because they are known to be idle.
//!
//! Between two departures a seed goes round many times while other frames travel, so that no jump is possible
//! ([`crate::idle`]). The proof that its pass is idle outlasts the pass: it holds until a time that it tells, as long as
//! the registers that the pass reads stay as they are and the controller changes nothing. Such a pass is a time stamp in
//! the frame and a slot on the line, at its own time and in its own event, as if it had been executed.
//!
//! The seeds of a stream do the same, but for fields that their passes carry along. A departure of one of them changes a
//! register that all of them read; the first one that comes back then is proved anew, and the others share the proof.

use std::sync::Arc;

use p4mesh_pipeline::{IdlePass, IdleProbe, LoopPass, Switch};

use crate::idle::Prover;

/// Executed passes before the next proof, after proofs that were not worth it.
const MOST_PASSES: u32 = 1_024;
/// Kinds of packets that are told apart; when there are more, all are forgotten.
const MOST_KINDS: usize = 256;

/// Knowledge about the next pass of a packet.
#[derive(Default)]
pub(crate) struct Known {
    proof: Option<Arc<IdlePass>>,
    /// Number of changes by the controller before the proof.
    changes: u64,
    /// Number of its kind, where it is known.
    kind: Option<usize>,
    /// How worthwhile proofs of the packet were before its kind was known.
    worth: Worth,
}

impl Known {
    /// The proof that the next pass is idle, or was as long as nothing had changed.
    pub fn proof(&self) -> Option<&IdlePass> {
        self.proof.as_deref()
    }

    /// Keeps the part that outlasts an executed pass: the frame may have changed.
    pub fn after_execution(mut self) -> Known {
        self.proof = None;
        self
    }
}

/// Whether proofs save more than they cost.
#[derive(Default)]
struct Worth {
    /// Executed passes that cost as much as the last proof.
    effort: u32,
    /// Passes that were idle by it.
    used: u32,
    /// Executed passes since then, and those before the next proof.
    executed: u32,
    wait: u32,
}

impl Worth {
    /// Whether a proof is due; a pass that is not known to be idle comes next.
    fn is_due(&mut self) -> bool {
        if self.used >= self.effort {
            self.wait = 0;
        }
        self.executed = self.executed.saturating_add(1);
        self.executed > self.wait
    }

    /// A proof was tried: the next one waits the longer the less often proofs are used.
    fn tried(&mut self, effort: u32) {
        self.effort = effort;
        self.wait = (2 * self.wait).clamp(effort, MOST_PASSES);
        self.executed = 0;
        self.used = 0;
    }
}

/// Packets that do the same.
struct Kind {
    proof: Arc<IdlePass>,
    changes: u64,
    worth: Worth,
}

impl Kind {
    /// Whether the proof holds for a pass of one of these packets.
    #[inline]
    fn holds(&self, changes: u64, switch: &Switch, pass: &LoopPass) -> bool {
        self.changes == changes
            && self.proof.is_in_time(pass.last_stamp_ps, pass.stamp_ps)
            && switch.has_same_registers(&self.proof)
    }
}

/// Knowledge about the packets of one loop.
pub(crate) struct Knowledge {
    enabled: bool,
    probe: Option<Box<IdleProbe>>,
    kinds: Vec<Kind>,
    /// Times at which the controller may have changed something.
    changes: u64,
    passes: u64,
}

impl Knowledge {
    pub fn new(enabled: bool) -> Knowledge {
        Knowledge { enabled, probe: None, kinds: Vec::new(), changes: 0, passes: 0 }
    }

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
        let is_proved = match self.holding(known, switch) {
            // Where a proof has run out of time, this pass is the one that it told.
            Some(proof) if !proof.is_in_time(pass.last_stamp_ps, pass.stamp_ps) => return false,
            proof => proof.is_some(),
        };
        if !is_proved {
            let former = known.proof.take();
            let pass = LoopPass { former: former.as_deref(), ..*pass };
            if !self.prove(switch, known, &pass) {
                return false;
            }
        }
        self.used(known, 1);
        self.passes += 1;
        true
    }

    #[inline]
    fn used(&mut self, known: &Known, passes: u32) {
        if let Some(kind) = known.kind.and_then(|number| self.kinds.get_mut(number)) {
            kind.worth.used = kind.worth.used.saturating_add(passes);
        }
    }

    /// The proof for a packet, if nothing has changed on which it depends. It may have run out of time.
    #[inline]
    pub fn holding<'a>(&self, known: &'a Known, switch: &Switch) -> Option<&'a IdlePass> {
        known.proof().filter(|proof| known.changes == self.changes && switch.has_same_registers(proof))
    }

    /// Takes the proof for a packet out, if it still holds.
    pub fn take(&self, known: &mut Known, switch: &Switch) -> Option<Arc<IdlePass>> {
        self.holding(known, switch)?;
        known.proof.take()
    }

    /// Keeps a proof with a packet, by which `passes` passes were idle.
    pub fn put(&mut self, known: &mut Known, proof: Arc<IdlePass>, passes: u64) {
        self.used(known, u32::try_from(passes).unwrap_or(u32::MAX));
        known.proof = Some(proof);
        known.changes = self.changes;
    }

    /// Finds a proof among those of other packets, or makes one where that is worth it.
    fn prove(&mut self, switch: &Switch, known: &mut Known, pass: &LoopPass) -> bool {
        known.changes = self.changes;
        let is_of = |kind: &Kind| switch.is_like(&kind.proof, pass);
        if let Some(kind) = known.kind.and_then(|number| self.kinds.get_mut(number)) {
            let holds = kind.holds(self.changes, switch, pass);
            // A proof of no use is not looked for.
            if !holds && !kind.worth.is_due() {
                return false;
            }
            if is_of(kind) {
                return self.prove_as(switch, known, pass, holds);
            }
        }
        known.kind = None;
        if !known.worth.is_due() {
            return false;
        }
        known.kind = self.kinds.iter().position(is_of);
        match known.kind.and_then(|number| self.kinds.get_mut(number)) {
            None => self.prove_first(switch, known, pass),
            Some(kind) => {
                let holds = kind.holds(self.changes, switch, pass);
                (holds || kind.worth.is_due()) && self.prove_as(switch, known, pass, holds)
            }
        }
    }

    /// Takes the proof of the packet's kind if it holds, or makes another one.
    fn prove_as(&mut self, switch: &Switch, known: &mut Known, pass: &LoopPass, holds: bool) -> bool {
        let Some(number) = known.kind else {
            return false;
        };
        known.worth = Worth::default();
        if !holds {
            let probe = self.probe.get_or_insert_default();
            let proof = switch.probe_idle(probe, pass);
            let kind = &mut self.kinds[number];
            kind.worth.tried(probe.effort());
            let Ok(proof) = proof else {
                return false;
            };
            kind.proof = Arc::new(proof);
            kind.changes = self.changes;
        }
        known.proof = Some(Arc::clone(&self.kinds[number].proof));
        true
    }

    /// Proves the pass of the first packet of a kind.
    #[cold]
    fn prove_first(&mut self, switch: &Switch, known: &mut Known, pass: &LoopPass) -> bool {
        let probe = self.probe.get_or_insert_default();
        let proof = switch.probe_idle(probe, pass);
        known.worth.tried(probe.effort());
        let Ok(proof) = proof else {
            return false;
        };
        if self.kinds.len() == MOST_KINDS {
            self.kinds.clear();
        }
        let proof = Arc::new(proof);
        known.kind = Some(self.kinds.len());
        known.proof = Some(Arc::clone(&proof));
        self.kinds.push(Kind { proof, changes: self.changes, worth: Worth::default() });
        true
    }
}
