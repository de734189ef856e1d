//! The places of all fields, from the JSON document, and their look-up by the names that it uses.

use std::collections::HashMap;

use crate::code::layout::{
    packet_slot, Chunk, FieldRef, FieldShape, HeaderPlace, HeaderShape, Layout, Part, Piece, Slot,
    StackPlace, UnionPlace, UnionStackPlace, UnionType,
};
use crate::load::json::{Load, Node};
use crate::numbers::words::{limbs_for, mask64};

/// Greatest width of a field in bits.
pub(crate) const MAX_FIELD_BITS: u64 = 16_384;
/// Slots that headers and metadata may take.
const MAX_PHV_SLOTS: usize = 40_000;

impl Layout {
    pub fn load(root: &Node) -> Load<Layout> {
        let mut layout = Layout { slots: packet_slot::COUNT as usize, ..Layout::default() };
        let mut shape_names = HashMap::new();
        for node in root.list("header_types")? {
            let shape = load_shape(&node)?;
            if shape_names.insert(shape.name.clone(), layout.shapes.len()).is_some() {
                return node.malformed(format!("a second header type '{}'", shape.name));
            }
            layout.shapes.push(shape);
        }
        let ids = layout.load_headers(root, &shape_names)?;
        layout.load_stacks(root, &shape_names, &ids)?;
        layout.load_unions(root, &shape_names, &ids)?;
        for node in root.list("field_aliases")? {
            let name = node.index(0)?.str()?;
            let field = layout.field_at(&node.index(1)?)?;
            layout.aliases.insert(name.to_string(), field);
        }
        Ok(layout)
    }

    fn take_slots(&mut self, node: &Node, count: usize) -> Load<Slot> {
        let base = self.slots;
        self.slots += count;
        if self.slots > MAX_PHV_SLOTS {
            return node.too_large(
                "space for headers in 64-bit words",
                self.slots as u64,
                MAX_PHV_SLOTS as u64,
            );
        }
        Ok(base as Slot)
    }

    /// Headers of a stack lie one after the other in the order of the stack, whatever the order
    /// of the JSON list, so the placement follows stacks first.
    fn load_headers(&mut self, root: &Node, shapes: &HashMap<String, usize>) -> Load<HashMap<u64, u16>> {
        let mut ids = HashMap::new();
        for node in root.list("headers")? {
            let name = node.text("name")?;
            let type_name = node.text("header_type")?;
            let Some(&shape) = shapes.get(type_name) else {
                return node.unknown("header type", type_name);
            };
            let metadata = node.flag("metadata")?;
            if !metadata && self.shapes[shape].fixed_bits % 8 != 0 {
                return node.unsupported(format!("a header of {} bits", self.shapes[shape].fixed_bits));
            }
            let index = self.headers.len() as u16;
            if ids.insert(node.number("id")?, index).is_some() {
                return node.malformed("a second header with this id");
            }
            node.unique(&mut self.header_names, name, index)?;
            self.headers.push(HeaderPlace { name: name.to_string(), shape, base: 0, metadata, union: None });
            if self.headers.len() > 16_000 {
                return node.too_large("number of headers", self.headers.len() as u64, 16_000);
            }
        }
        let mut placed = vec![false; self.headers.len()];
        for node in root.list("header_stacks")? {
            for id in node.list("header_ids")? {
                let Some(&index) = ids.get(&id.u64()?) else {
                    return id.unknown("header with id", &id.u64()?.to_string());
                };
                if !placed[index as usize] {
                    placed[index as usize] = true;
                    self.place(&node, index)?;
                }
            }
        }
        for (index, _) in placed.iter().enumerate().filter(|(_, &placed)| !placed) {
            self.place(root, index as u16)?;
        }
        Ok(ids)
    }

    fn place(&mut self, node: &Node, index: u16) -> Load<()> {
        let slots = self.shapes[self.headers[index as usize].shape].slots as usize;
        self.headers[index as usize].base = self.take_slots(node, slots)?;
        Ok(())
    }

    fn load_stacks(
        &mut self,
        root: &Node,
        shapes: &HashMap<String, usize>,
        ids: &HashMap<u64, u16>,
    ) -> Load<()> {
        for node in root.list("header_stacks")? {
            let name = node.text("name")?;
            let type_name = node.text("header_type")?;
            let Some(&shape) = shapes.get(type_name) else {
                return node.unknown("header type", type_name);
            };
            let mut headers = Vec::new();
            for id in node.get("header_ids")?.items()? {
                let index = ids.get(&id.u64()?).copied().unwrap_or(0);
                let place = &self.headers[index as usize];
                let stride = self.shapes[shape].slots;
                let expected = headers
                    .first()
                    .map(|&first: &u16| self.headers[first as usize].base + stride * headers.len() as u16);
                if place.shape != shape || expected.is_some_and(|base| base != place.base) {
                    return id.malformed("header does not fit the stack");
                }
                headers.push(index);
            }
            if headers.is_empty() {
                return node.malformed("an empty header stack");
            }
            let next = self.take_slots(&node, 1)?;
            node.unique(&mut self.stack_names, name, self.stacks.len() as u16)?;
            self.stacks.push(StackPlace { shape, headers, next });
        }
        Ok(())
    }

    fn load_unions(
        &mut self,
        root: &Node,
        shapes: &HashMap<String, usize>,
        ids: &HashMap<u64, u16>,
    ) -> Load<()> {
        let mut types = HashMap::new();
        for node in root.list("header_union_types")? {
            let name = node.text("name")?;
            let mut members = Vec::new();
            for member in node.get("headers")?.items()? {
                let type_name = member.index(1)?.str()?;
                let Some(&shape) = shapes.get(type_name) else {
                    return member.unknown("header type", type_name);
                };
                members.push((member.index(0)?.str()?.to_string(), shape));
            }
            types.insert(name.to_string(), self.union_types.len());
            self.union_types.push(UnionType { members });
        }
        let union_type_of = |node: &Node| {
            let name = node.text("union_type")?;
            types.get(name).copied().map_or_else(|| node.unknown("header union type", name), Ok)
        };
        let mut union_ids = HashMap::new();
        for node in root.list("header_unions")? {
            let union_type = union_type_of(&node)?;
            let index = self.unions.len();
            let mut headers = Vec::new();
            for id in node.get("header_ids")?.items()? {
                let Some(&header) = ids.get(&id.u64()?) else {
                    return id.unknown("header with id", &id.u64()?.to_string());
                };
                let member = self.union_types[union_type].members.get(headers.len());
                if member.map(|member| member.1) != Some(self.headers[header as usize].shape) {
                    return id.malformed("header does not fit the union type");
                }
                self.headers[header as usize].union = Some(index);
                headers.push(header);
            }
            union_ids.insert(node.number("id")?, index as u16);
            node.unique(&mut self.union_names, node.text("name")?, index as u16)?;
            self.unions.push(UnionPlace { union_type, headers });
        }
        for node in root.list("header_union_stacks")? {
            let union_type = union_type_of(&node)?;
            let mut unions = Vec::new();
            for id in node.get("header_union_ids")?.items()? {
                match union_ids.get(&id.u64()?) {
                    Some(&index) if self.unions[index as usize].union_type == union_type => {
                        unions.push(index)
                    }
                    _ => return id.malformed("header union does not fit the stack"),
                }
            }
            if unions.is_empty() {
                return node.malformed("an empty header union stack");
            }
            let next = self.take_slots(&node, 1)?;
            node.unique(&mut self.union_stack_names, node.text("name")?, self.union_stacks.len() as u16)?;
            self.union_stacks.push(UnionStackPlace { union_type, unions, next });
        }
        Ok(())
    }

    /// `["header", "field"]`, hidden `$valid$` included.
    pub fn field_at(&self, node: &Node) -> Load<FieldRef> {
        let header_name = node.index(0)?.str()?;
        let field_name = node.index(1)?.str()?;
        let header = self.header_at(&node.index(0)?, header_name)?;
        match self.field_of(header, field_name) {
            Some(field) => Ok(field),
            None => node.unknown("field", &format!("{header_name}.{field_name}")),
        }
    }

    pub fn header_at(&self, node: &Node, name: &str) -> Load<u16> {
        self.header_names.get(name).copied().map_or_else(|| node.unknown("header", name), Ok)
    }

    pub fn stack_at(&self, node: &Node, name: &str) -> Load<u16> {
        self.stack_names.get(name).copied().map_or_else(|| node.unknown("header stack", name), Ok)
    }

    pub fn union_at(&self, node: &Node, name: &str) -> Load<u16> {
        self.union_names.get(name).copied().map_or_else(|| node.unknown("header union", name), Ok)
    }

    pub fn union_stack_at(&self, node: &Node, name: &str) -> Load<u16> {
        self.union_stack_names.get(name).copied().map_or_else(|| node.unknown("header union stack", name), Ok)
    }
}

fn load_shape(node: &Node) -> Load<HeaderShape> {
    let name = node.text("name")?.to_string();
    let max_bytes = match node.opt("max_length") {
        Some(limit) => limit.bounded("max_length", MAX_FIELD_BITS / 8)? as u32,
        None => 0,
    };
    let mut shape = HeaderShape {
        name,
        fields: Vec::new(),
        slots: 1,
        fixed_bits: 0,
        variable: None,
        max_bytes,
        pieces: Vec::new(),
        chunks: Vec::new(),
        parts: Vec::new(),
    };
    if node.opt("length_exp").is_some() {
        return node.unsupported("'length_exp' (P4_14 variable-length header)");
    }
    let mut widths = Vec::new();
    for (index, field) in node.list("fields")?.iter().enumerate() {
        let width = field.index(1)?;
        let variable = width.value.as_str() == Some("*");
        let bits = if variable {
            if shape.variable.replace(index).is_some() {
                return field.unsupported("a second variable-length field");
            }
            0
        } else {
            width.bounded("field width in bits", MAX_FIELD_BITS)? as u32
        };
        shape.fixed_bits += bits;
        widths.push(bits);
        if shape.fixed_bits as u64 > MAX_FIELD_BITS * 8 {
            return field.too_large("header width in bits", u64::from(shape.fixed_bits), MAX_FIELD_BITS * 8);
        }
    }
    for (index, field) in node.list("fields")?.iter().enumerate() {
        let signed = field.value.get(2).and_then(|v| v.as_bool()).unwrap_or(false);
        if field.value.get(3).and_then(|v| v.as_bool()).unwrap_or(false) {
            return field.unsupported("a saturating field");
        }
        let variable = shape.variable == Some(index);
        let bits = if variable {
            let fixed = shape.fixed_bits.div_ceil(8);
            if max_bytes == 0 {
                256 * 8
            } else {
                max_bytes.saturating_sub(fixed) * 8
            }
        } else {
            widths[index]
        };
        if variable {
            shape.slots += 1;
        }
        shape.fields.push(FieldShape {
            name: field.index(0)?.str()?.to_string(),
            offset: shape.slots,
            bits,
            signed,
            variable,
        });
        shape.slots += limbs_for(bits).max(1) as u16;
        if shape.slots as usize > MAX_PHV_SLOTS / 2 {
            return field.too_large("header size in words", u64::from(shape.slots), MAX_PHV_SLOTS as u64 / 2);
        }
    }
    if shape.variable.is_none() {
        plan_wire(&mut shape);
    }
    Ok(shape)
}

/// Plans how a header of fixed size is read and written, in words instead of bits.
fn plan_wire(shape: &mut HeaderShape) {
    let mut bit = 0;
    for field in &shape.fields {
        let mut left = field.bits;
        while left > 0 {
            let limb = (left - 1) / 64;
            let bits = left - limb * 64;
            shape.pieces.push(Piece {
                offset: field.offset + limb as u16,
                start: (bit / 8) as u16,
                lead: (bit % 8) as u8,
                bits: bits as u8,
                signed: field.signed && left == field.bits,
            });
            bit += bits;
            left -= bits;
        }
    }
    // Greedy: a chunk ends at the last piece boundary on a whole byte within 64 bits, or, where
    // there is none, within a piece at 64 bits.
    let pieces: Vec<(u16, u32)> = shape.pieces.iter().map(|p| (p.offset, u32::from(p.bits))).collect();
    let (mut index, mut used) = (0, 0);
    while index < pieces.len() {
        let (mut total, mut best, mut at) = (0, 0, index);
        let mut skip = used;
        while at < pieces.len() && total + pieces[at].1 - skip <= 64 {
            total += pieces[at].1 - skip;
            skip = 0;
            at += 1;
            if total % 8 == 0 {
                best = total;
            }
        }
        let remaining: u32 = pieces[index..].iter().map(|p| p.1).sum::<u32>() - used;
        let size = if best > 0 { best } else { remaining.min(64) };
        let from = shape.parts.len() as u16;
        let mut left = size;
        while left > 0 && index < pieces.len() {
            let (offset, bits) = pieces[index];
            let take = (bits - used).min(left);
            shape.parts.push(Part {
                offset,
                right: (bits - used - take) as u8,
                left: (left - take) as u8,
                mask: mask64(take),
            });
            left -= take;
            used += take;
            if used == bits {
                used = 0;
                index += 1;
            }
        }
        shape.chunks.push(Chunk { from, to: shape.parts.len() as u16, bytes: size.div_ceil(8) as u8 });
    }
}
