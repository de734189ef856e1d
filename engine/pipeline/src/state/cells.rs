//! The arrays of the state that outlives a packet.

use crate::numbers::rng::Rng;
use crate::state::meter::MeterCell;
use crate::state::profile::ProfileState;
use crate::state::registers::Registers;
use crate::state::table::TableState;
use crate::state::value_set::ValueSetState;
use crate::state::zeroed::Zeroed;
use crate::vocabulary::entries::CounterCell;
use crate::vocabulary::info::MeterUnit;

pub(crate) struct MeterState {
    pub cells: Vec<MeterCell>,
    pub unit: MeterUnit,
}

/// Everything that outlives a packet.
pub(crate) struct State {
    pub registers: Registers,
    pub counters: Vec<Zeroed<CounterCell>>,
    pub meters: Vec<MeterState>,
    pub tables: Vec<TableState>,
    pub profiles: Vec<ProfileState>,
    pub value_sets: Vec<ValueSetState>,
    pub rng: Rng,
    /// Reused for hash inputs and wide keys.
    pub scratch: Vec<u8>,
}
