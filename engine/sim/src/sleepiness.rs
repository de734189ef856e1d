//! When a sleep of the loop is worth trying.

/// Executed passes of each packet that cost as much as a sleep, beside its proofs.
const PASSES_OF_A_PACKET: u64 = 2;
/// Events of the loop until the next attempt after one that was not worth it: at first, and at most with few packets.
const LEAST_PAUSE: u32 = 8;
const MOST_PAUSE: u32 = 4_096;

/// Makes attempts rare where they save little: where the passes of a loop are seldom idle, or other packets wake it.
#[derive(Clone, Debug)]
pub(crate) struct Sleepiness {
    enabled: bool,
    /// Events of the loop before the next attempt.
    left: u32,
    /// Those after the next attempt that is not worth it.
    pause: u32,
}

impl Sleepiness {
    pub fn new(enabled: bool) -> Sleepiness {
        Sleepiness { enabled, left: 0, pause: LEAST_PAUSE }
    }

    /// Whether an attempt is due at this event of the loop.
    #[inline]
    pub fn is_due(&mut self) -> bool {
        let due = self.left == 0;
        self.left = self.left.saturating_sub(1);
        due && self.enabled
    }

    /// A sleep of `packets` packets saved `passes` passes, and took proofs that cost as much as `effort`.
    pub fn tried(&mut self, passes: u64, packets: usize, effort: u64) {
        if passes >= PASSES_OF_A_PACKET * packets as u64 + effort {
            self.pause = LEAST_PAUSE;
        } else {
            self.left = self.pause;
            // An attempt looks at every packet, so it must be rare in proportion.
            let most = u32::try_from(32 * packets).unwrap_or(u32::MAX).max(MOST_PAUSE);
            self.pause = self.pause.saturating_mul(2).min(most);
        }
    }
}
