//! Assembles instructions: labels, temporaries and constants. `lower` translates expressions to instructions,
//! `conditions` does so with conditions.

use std::collections::HashMap;

use crate::code::ir::{Op, Pc};
use crate::code::layout::{Layout, Slot};
use crate::code::marks::Mark;
use crate::load::json::{Load, Node};

/// Slots for intermediate values of one statement.
pub(crate) const TEMP_SLOTS: usize = 2_048;

/// A parameter of the action that is being compiled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Param {
    pub slot: Slot,
    pub bits: u32,
}

pub(crate) struct Asm<'a> {
    pub layout: &'a Layout,
    pub code: Vec<Op>,
    /// Names of instructions, in their order; places in them are labels.
    marks: Vec<(Pc, Mark)>,
    /// Widths of the register arrays in bits.
    pub register_bits: &'a [u32],
    pub params: Vec<Param>,
    labels: Vec<Pc>,
    temp_base: usize,
    temp_next: usize,
    overflow: bool,
    constant_base: usize,
    constants: Vec<u64>,
    constant_slots: HashMap<Vec<u64>, Slot>,
}

/// The result of assembly.
pub(crate) struct Linked {
    pub ops: Vec<Op>,
    pub marks: Vec<(Pc, Mark)>,
    /// First slot of the intermediate values.
    pub temp_base: usize,
    /// Label to instruction, for all other holders of labels.
    pub labels: Vec<Pc>,
    /// First slot of the constants.
    pub constant_base: usize,
    pub constants: Vec<u64>,
}

const UNBOUND: Pc = Pc::MAX;

impl<'a> Asm<'a> {
    /// `param_words` is the size of the parameter area, which follows the packet's slots.
    pub fn new(layout: &'a Layout, register_bits: &'a [u32], param_words: usize) -> Asm<'a> {
        let temp_base = layout.slots + param_words;
        Asm {
            layout,
            code: Vec::new(),
            marks: Vec::new(),
            register_bits,
            params: Vec::new(),
            labels: Vec::new(),
            temp_base,
            temp_next: 0,
            overflow: temp_base + TEMP_SLOTS > Slot::MAX as usize,
            constant_base: temp_base + TEMP_SLOTS,
            constants: Vec::new(),
            constant_slots: HashMap::new(),
        }
    }

    /// Code with its branch targets resolved.
    pub fn finish(self, node: &Node) -> Load<Linked> {
        if self.overflow {
            return node.too_large("number of slots", 65_537, 65_536);
        }
        let Asm { mut code, mut marks, temp_base, labels, constant_base, constants, .. } = self;
        for (_, mark) in &mut marks {
            if let Mark::Condition { then, otherwise, .. } = mark {
                *then = labels[*then as usize];
                *otherwise = labels[*otherwise as usize];
            }
        }
        for op in &mut code {
            op.map_target(|label| labels[label as usize]);
        }
        Ok(Linked { ops: code, marks, temp_base, labels, constant_base, constants })
    }

    pub fn label(&mut self) -> Pc {
        self.labels.push(UNBOUND);
        (self.labels.len() - 1) as Pc
    }

    pub fn bind(&mut self, label: Pc) {
        self.labels[label as usize] = self.here();
    }

    pub fn here(&self) -> Pc {
        self.code.len() as Pc
    }

    /// True if a label points at `pc`.
    pub fn is_target(&self, pc: Pc) -> bool {
        self.labels.contains(&pc)
    }

    pub fn emit(&mut self, op: Op) {
        self.code.push(op);
    }

    /// Gives the next instruction a name.
    pub fn mark(&mut self, mark: Mark) {
        self.marks.push((self.here(), mark));
    }

    /// Begins a statement; the temporaries of the one before are forgotten.
    pub fn statement(&mut self) {
        self.temp_next = 0;
    }

    pub fn temp(&mut self, limbs: usize) -> Slot {
        let slot = self.temp_base + self.temp_next;
        self.temp_next += limbs;
        if self.temp_next > TEMP_SLOTS {
            self.overflow = true;
            self.temp_next = 0;
        }
        slot as Slot
    }

    pub fn constant(&mut self, value: u64) -> Slot {
        self.wide_constant(vec![value])
    }

    pub fn wide_constant(&mut self, limbs: Vec<u64>) -> Slot {
        if let Some(&slot) = self.constant_slots.get(&limbs) {
            return slot;
        }
        let slot = self.constant_base + self.constants.len();
        if slot + limbs.len() > Slot::MAX as usize {
            self.overflow = true;
            return self.constant_base as Slot;
        }
        self.constants.extend_from_slice(&limbs);
        self.constant_slots.insert(limbs, slot as Slot);
        slot as Slot
    }
}
