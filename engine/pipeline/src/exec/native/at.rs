//! Places in the code of a part: an action has its instructions once for each place that it returns to.

use crate::code::ir::Pc;

/// Where an instruction outside of actions returns to.
pub(super) const NOWHERE: Pc = Pc::MAX;

/// A place in the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct At {
    pub pc: Pc,
    /// Where the action returns to.
    pub next: Pc,
    /// The second of two stages that are run as one.
    pub second: bool,
}

impl At {
    pub fn to(self, pc: Pc) -> At {
        At { pc, ..self }
    }

    /// Outside of actions.
    pub fn outside(self, pc: Pc) -> At {
        At { pc, next: NOWHERE, ..self }
    }
}
