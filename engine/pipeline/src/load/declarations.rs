//! Declarations that are known before code is translated.

use std::collections::HashMap;

use crate::code::layout::{Layout, Slot};
use crate::load::asm::Param;
use crate::load::expr::Names;
use crate::numbers::words::limbs_for;
use crate::vocabulary::info::ActionInfo;

pub(crate) struct Declarations {
    pub layout: Layout,
    pub registers: HashMap<String, u16>,
    pub register_bits: Vec<u32>,
    pub counters: HashMap<String, u16>,
    pub meters: HashMap<String, u16>,
    pub calculations: HashMap<String, u16>,
    pub value_sets: HashMap<String, u16>,
    /// Action id to index.
    pub actions: HashMap<u32, usize>,
    pub action_infos: Vec<ActionInfo>,
}

impl Declarations {
    pub fn names(&self, locals: usize) -> Names<'_> {
        Names { layout: &self.layout, registers: &self.registers, locals }
    }

    /// Offset and limbs of each parameter of an action in the parameter area.
    pub fn params(&self, action: usize) -> Vec<Param> {
        let mut offset = 0;
        self.action_infos[action]
            .params
            .iter()
            .map(|param| {
                let slot = (self.layout.slots + offset) as Slot;
                offset += limbs_for(param.width_bits).max(1);
                Param { slot, bits: param.width_bits.max(1) }
            })
            .collect()
    }
}
