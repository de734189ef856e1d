//! The place of every field. All packet state of a program is one flat array of 64-bit slots (registers of the packet,
//! headers and metadata, stack and union state); a header occupies a block `[valid, field, field, ...]`, so that equal
//! headers of a stack lie at a constant stride.

use std::collections::HashMap;
use std::ops::Range;

use crate::numbers::words::{limbs_for, mask64};
use crate::vocabulary::info::{FieldInfo, HeaderInfo, HeaderTypeInfo};

/// Index of a 64-bit slot.
pub(crate) type Slot = u16;

/// The packet's slots; every `u16` is a valid index, so that no access needs a check.
pub(crate) type Regs = [u64; 65_536];

/// Slots of the packet registers that simple_switch keeps beside the headers.
pub(crate) mod packet_slot {
    use super::Slot;

    /// Clone session id with [`CLONE_VALID`] set when a clone was requested.
    pub const CLONE_SESSION: Slot = 0;
    pub const CLONE_LIST: Slot = 1;
    /// Learn list id plus 0, 0 = none.
    pub const LEARN: Slot = 2;
    pub const RESUBMIT: Slot = 3;
    pub const RECIRCULATE: Slot = 4;
    /// Length as add_header and remove_header keep it, bytes.
    pub const LENGTH: Slot = 5;
    /// Length at the start of ingress, which counters and meters use.
    pub const INGRESS_LENGTH: Slot = 6;
    /// Bytes to which the packet is cut, plus one; 0 = whole.
    pub const TRUNCATE: Slot = 7;
    pub const EXIT: Slot = 8;
    pub const PARSER_ERROR: Slot = 9;
    pub const CHECKSUM_ERROR: Slot = 10;
    /// An `assert` or `assume` failed.
    pub const ASSERT_FAILED: Slot = 11;
    /// Resubmits in a row.
    pub const PASSES: Slot = 12;
    /// `egress_spec` that means drop; set by the switch's configuration.
    pub const DROP_PORT: Slot = 13;
    /// 1: the flag of all metadata.
    pub const VALID: Slot = 14;
    pub const COUNT: Slot = 15;

    /// The requests that a control makes; 0 = none.
    pub const REQUESTS: [Slot; 6] = [CLONE_SESSION, CLONE_LIST, LEARN, RESUBMIT, RECIRCULATE, TRUNCATE];

    pub const CLONE_VALID: u64 = 0x8000;
}

/// A field within its header's block.
#[derive(Clone, Debug)]
pub(crate) struct FieldShape {
    pub name: String,
    /// Offset of the first limb from the start of the block.
    pub offset: u16,
    /// Width; for a variable field the greatest width.
    pub bits: u32,
    pub signed: bool,
    /// A variable field keeps its current width in the slot before its limbs.
    pub variable: bool,
}

/// Up to 64 bits of a field with their place on the wire.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    pub offset: u16,
    /// First byte in the header, and bits before the piece in it.
    pub start: u16,
    pub lead: u8,
    pub bits: u8,
    /// The piece holds the sign of a signed field.
    pub signed: bool,
}

impl Piece {
    /// Place in a frame of its first bit, in a header that begins at bit `header`.
    pub fn first_bit(&self, header: usize) -> u32 {
        header as u32 + u32::from(self.start) * 8 + u32::from(self.lead)
    }
}

/// Part of a deparsed word: `((slot >> right) & mask) << left`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub offset: u16,
    pub right: u8,
    pub left: u8,
    pub mask: u64,
}

/// At most 8 whole bytes of a deparsed header, `parts[from..to]` ORed together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunk {
    pub from: u16,
    pub to: u16,
    pub bytes: u8,
}

#[derive(Clone, Debug)]
pub(crate) struct HeaderShape {
    pub name: String,
    pub fields: Vec<FieldShape>,
    /// Slots of a block, the valid flag included.
    pub slots: u16,
    pub fixed_bits: u32,
    /// Index of the variable field.
    pub variable: Option<usize>,
    /// Largest size in bytes of a header with a variable field, 0 = not stated.
    pub max_bytes: u32,
    pub pieces: Vec<Piece>,
    pub chunks: Vec<Chunk>,
    pub parts: Vec<Part>,
}

impl HeaderShape {
    pub fn fixed_bytes(&self) -> usize {
        (self.fixed_bits / 8) as usize
    }

    /// True if nothing lies above the bits of a part, so that it needs no mask.
    pub fn is_clean(&self, part: &Part) -> bool {
        self.pieces.iter().any(|piece| {
            piece.offset == part.offset
                && !piece.signed
                && u32::from(part.right) + part.mask.count_ones() == u32::from(piece.bits)
        })
    }

    pub fn field(&self, name: &str) -> Option<&FieldShape> {
        self.fields.iter().find(|field| field.name == name)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct HeaderPlace {
    pub name: String,
    pub shape: usize,
    /// First slot of the block, which is the valid flag.
    pub base: Slot,
    pub metadata: bool,
    /// The union that the header belongs to.
    pub union: Option<usize>,
}

#[derive(Clone, Debug)]
pub(crate) struct StackPlace {
    pub shape: usize,
    /// Header ids, front first.
    pub headers: Vec<u16>,
    /// Slot of the next free index.
    pub next: Slot,
}

#[derive(Clone, Debug)]
pub(crate) struct UnionPlace {
    pub union_type: usize,
    pub headers: Vec<u16>,
}

#[derive(Clone, Debug)]
pub(crate) struct UnionStackPlace {
    pub union_type: usize,
    /// Union indices, front first.
    pub unions: Vec<u16>,
    pub next: Slot,
}

#[derive(Clone, Debug)]
pub(crate) struct UnionType {
    /// (member name, header shape).
    pub members: Vec<(String, usize)>,
}

/// A resolved field reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FieldRef {
    pub slot: Slot,
    pub bits: u32,
    /// The bits of its first limb.
    pub mask: u64,
    pub signed: bool,
    pub variable: bool,
    /// Header that the field is in, `u16::MAX` for fields that are reached dynamically.
    pub header: u16,
}

impl FieldRef {
    /// Unsigned bits in no header.
    pub fn plain(slot: Slot, bits: u32) -> FieldRef {
        FieldRef { slot, bits, mask: mask64(bits), signed: false, variable: false, header: u16::MAX }
    }

    pub fn limbs(&self) -> usize {
        limbs_for(self.bits).max(1)
    }
}

#[derive(Default)]
pub(crate) struct Layout {
    pub shapes: Vec<HeaderShape>,
    pub headers: Vec<HeaderPlace>,
    pub stacks: Vec<StackPlace>,
    pub unions: Vec<UnionPlace>,
    pub union_stacks: Vec<UnionStackPlace>,
    pub union_types: Vec<UnionType>,
    /// Slots of all packet state.
    pub slots: usize,
    pub header_names: HashMap<String, u16>,
    pub stack_names: HashMap<String, u16>,
    pub union_names: HashMap<String, u16>,
    pub union_stack_names: HashMap<String, u16>,
    pub aliases: HashMap<String, FieldRef>,
}

impl Layout {
    pub fn field_of(&self, header: u16, name: &str) -> Option<FieldRef> {
        let place = &self.headers[header as usize];
        if name == "$valid$" {
            return Some(FieldRef { header, ..FieldRef::plain(place.base, 1) });
        }
        self.shapes[place.shape].field(name).map(|field| self.field_ref(header, field))
    }

    pub fn field_ref(&self, header: u16, field: &FieldShape) -> FieldRef {
        let place = &self.headers[header as usize];
        FieldRef {
            signed: field.signed,
            variable: field.variable,
            header,
            ..FieldRef::plain(place.base + field.offset, field.bits)
        }
    }

    /// A field that the target knows as `header.field`, through aliases first.
    pub fn intrinsic(&self, header: &str, field: &str) -> Option<FieldRef> {
        if let Some(field) = self.aliases.get(&format!("{header}.{field}")) {
            return Some(*field);
        }
        let header = *self.header_names.get(header)?;
        self.field_of(header, field)
    }

    pub fn shape_of(&self, header: u16) -> &HeaderShape {
        &self.shapes[self.headers[header as usize].shape]
    }

    /// The slots of a header.
    /// The slot that tells whether a header is valid.
    pub fn flag(&self, header: u16) -> Slot {
        let place = &self.headers[header as usize];
        if place.metadata {
            packet_slot::VALID
        } else {
            place.base
        }
    }

    pub fn block(&self, header: u16) -> Range<Slot> {
        let base = self.headers[header as usize].base;
        base..base + self.shape_of(header).slots
    }

    pub fn header_type_infos(&self) -> Vec<HeaderTypeInfo> {
        let field = |field: &FieldShape| FieldInfo {
            name: field.name.clone(),
            width_bits: field.bits,
            signed: field.signed,
            variable: field.variable,
        };
        self.shapes
            .iter()
            .map(|shape| HeaderTypeInfo {
                name: shape.name.clone(),
                fields: shape.fields.iter().map(field).collect(),
            })
            .collect()
    }

    pub fn header_infos(&self) -> Vec<HeaderInfo> {
        self.headers
            .iter()
            .map(|place| HeaderInfo {
                name: place.name.clone(),
                header_type: self.shapes[place.shape].name.clone(),
                metadata: place.metadata,
            })
            .collect()
    }
}
