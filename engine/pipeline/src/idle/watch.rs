//! Registers that several proofs depend on, to be looked at after each pass of another packet.

use crate::control::switch::Switch;
use crate::idle::probe::IdlePass;
use crate::idle::shadow::Guard;

/// Words of registers that are looked at: 256 streams of a tester have fewer, and far more would cost what they save.
const MOST_WORDS: usize = 1_024;

/// Words of registers, and what they were.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    guards: Vec<Guard>,
}

impl Switch {
    /// Watches the registers on which some proofs depend, which hold now. False if these are too many.
    pub fn watch_idle<'p>(&self, watch: &mut Watch, proofs: impl Iterator<Item = &'p IdlePass>) -> bool {
        let guards = &mut watch.guards;
        guards.clear();
        let mut last: Option<&IdlePass> = None;
        for proof in proofs {
            // Seeds of a stream share their proof.
            if last.is_some_and(|last| std::ptr::eq(last, proof)) {
                continue;
            }
            last = Some(proof);
            guards.extend_from_slice(proof.guards());
            if guards.len() > MOST_WORDS {
                guards.sort_unstable();
                guards.dedup();
                if guards.len() > MOST_WORDS {
                    return false;
                }
            }
        }
        true
    }

    /// Whether all registers that are watched are what they were.
    #[inline]
    pub fn is_as_watched(&self, watch: &Watch) -> bool {
        watch.guards.iter().all(|guard| guard.holds(&self.engine.state))
    }
}
