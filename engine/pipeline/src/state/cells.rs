//! The arrays of the state that outlives a packet.

use std::mem::ManuallyDrop;

use crate::numbers::rng::Rng;
use crate::state::meter::MeterCell;
use crate::state::profile::ProfileState;
use crate::state::registers::Registers;
use crate::state::table::TableState;
use crate::state::value_set::ValueSetState;
use crate::vocabulary::entries::CounterCell;
use crate::vocabulary::info::MeterUnit;

pub(crate) struct MeterState {
    pub cells: Vec<MeterCell>,
    pub unit: MeterUnit,
}

/// Everything that outlives a packet.
pub(crate) struct State {
    pub registers: Registers,
    pub counters: Vec<Vec<CounterCell>>,
    pub meters: Vec<MeterState>,
    pub tables: Vec<TableState>,
    pub profiles: Vec<ProfileState>,
    pub value_sets: Vec<ValueSetState>,
    pub rng: Rng,
    /// Reused for hash inputs and wide keys.
    pub scratch: Vec<u8>,
}

/// Counter cells of 0. The system clears memory when it is touched first, so an array of megabytes
/// of which a program uses a few cells costs neither time nor memory.
pub(crate) fn zeroed_counters(count: usize) -> Vec<CounterCell> {
    type Words = [u64; 2];
    const {
        assert!(size_of::<CounterCell>() == size_of::<Words>());
        assert!(align_of::<CounterCell>() == align_of::<Words>());
    }
    let mut words = ManuallyDrop::new(vec![Words::default(); count]);
    // SAFETY: the owner gives the allocation up; cells have the size and the alignment of what it
    // was made for, and their two numbers may have any bits.
    unsafe { Vec::from_raw_parts(words.as_mut_ptr().cast(), count, words.capacity()) }
}
