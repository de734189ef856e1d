//! Actions and the primitives in them.

use crate::code::ir::{ActionCode, Op, Pc};
use crate::code::layout::{packet_slot, FieldRef, Slot};
use crate::load::asm::{Asm, Param};
use crate::load::declarations::Declarations;
use crate::load::expr::{BinOp, Const, Expr, HeaderExpr, Names};
use crate::load::json::{Load, Node};
use crate::numbers::words::{limbs_for, mask64};

/// Translates every action as a subroutine.
pub(crate) fn compile_all(root: &Node, declarations: &Declarations, asm: &mut Asm) -> Load<Vec<ActionCode>> {
    let mut codes = Vec::new();
    for (index, node) in root.list("actions")?.iter().enumerate() {
        let entry = asm.label();
        asm.bind(entry);
        let params = declarations.params(index);
        body(node, declarations, asm, params.clone())?;
        asm.emit(Op::Return);
        let base = declarations.layout.slots;
        let params: Vec<(u16, u16, u32)> = params
            .iter()
            .map(|p| ((p.slot as usize - base) as u16, limbs_for(p.bits).max(1) as u16, p.bits))
            .collect();
        let words = params.iter().map(|&(_, limbs, _)| limbs).sum();
        codes.push(ActionCode { entry, params, words });
    }
    Ok(codes)
}

/// Translates the primitives of an action with its parameters in the given slots. Returns true
/// if the action can mark the packet for exit.
pub(crate) fn body(
    node: &Node,
    declarations: &Declarations,
    asm: &mut Asm,
    params: Vec<Param>,
) -> Load<bool> {
    let names = declarations.names(params.len());
    let before = std::mem::replace(&mut asm.params, params);
    let primitives = node.list("primitives")?;
    let labels: Vec<Pc> = (0..=primitives.len()).map(|_| asm.label()).collect();
    let mut exits = false;
    for (index, primitive_node) in primitives.iter().enumerate() {
        asm.bind(labels[index]);
        asm.statement();
        exits |= primitive_node.text("op")? == "exit";
        primitive(primitive_node, &names, declarations, asm, Some((index, &labels)))?;
    }
    asm.bind(labels[primitives.len()]);
    asm.params = before;
    Ok(exits)
}

/// A left-hand side.
enum Place {
    Field(FieldRef),
    Dynamic(HeaderExpr, FieldRef),
    Register(u16, Expr),
}

struct Call<'c, 'n> {
    node: &'c Node<'n>,
    names: &'c Names<'c>,
    parameters: Vec<Node<'n>>,
}

impl<'n> Call<'_, 'n> {
    fn at(&self, index: usize) -> Load<&Node<'n>> {
        match self.parameters.get(index) {
            Some(node) => Ok(node),
            None => self.node.malformed(format!("parameter {index} is missing")),
        }
    }

    fn data(&self, index: usize) -> Load<Expr> {
        self.names.data_or_bool(self.at(index)?)
    }

    fn low(&self, index: usize, mask: u64, asm: &mut Asm) -> Load<Slot> {
        Ok(asm.low(&self.data(index)?, mask, None))
    }

    fn place(&self, index: usize) -> Load<Place> {
        let node = self.at(index)?;
        match self.names.expr(node)? {
            Expr::Field(field) => Ok(Place::Field(field)),
            Expr::HeaderField(header, field) => Ok(Place::Dynamic(header, field)),
            Expr::Register(register, at) => Ok(Place::Register(register, *at)),
            _ => node.malformed("expected something that can be assigned to"),
        }
    }

    fn header(&self, index: usize) -> Load<HeaderExpr> {
        let node = self.at(index)?;
        match self.names.expr(node)? {
            Expr::Header(header) => Ok(header),
            _ => node.malformed("expected a header"),
        }
    }

    fn object(
        &self,
        index: usize,
        kind: &'static str,
        names: &std::collections::HashMap<String, u16>,
    ) -> Load<u16> {
        let node = self.at(index)?;
        let name = node.text("value")?;
        names.get(name).copied().map_or_else(|| node.unknown(kind, name), Ok)
    }
}

fn store(place: &Place, expr: &Expr, asm: &mut Asm) {
    match place {
        Place::Field(field) => asm.store(*field, expr),
        Place::Dynamic(header, field) => asm.store_dynamic(header, *field, expr),
        Place::Register(register, at) => {
            let index = asm.low(at, u64::MAX, None);
            write_register(*register, index, expr, asm);
        }
    }
}

fn write_register(register: u16, index: Slot, expr: &Expr, asm: &mut Asm) {
    let bits = asm.register_bits[register as usize];
    let field = FieldRef::plain(asm.temp(limbs_for(bits)), bits);
    let src = if bits <= 64 {
        asm.low(expr, mask64(bits), None)
    } else {
        asm.store(field, expr);
        field.slot
    };
    asm.emit(Op::RegisterWrite { register, index, src });
}

/// Runs `compute` with a slot for a word and assigns it to `place`; `keep` preloads the old value
/// for instructions that may leave their destination alone.
fn store_word(place: &Place, bits: u32, keep: bool, asm: &mut Asm, compute: impl FnOnce(&mut Asm, Slot)) {
    match place {
        Place::Field(field) if !field.signed && field.bits >= bits && field.bits <= 64 => {
            compute(asm, field.slot)
        }
        _ => {
            let limbs = limbs_for(bits);
            let temp = asm.temp(limbs);
            let old = match place {
                Place::Field(field) => Expr::Field(*field),
                Place::Dynamic(header, field) => Expr::HeaderField(header.clone(), *field),
                Place::Register(register, at) => Expr::Register(*register, Box::new(at.clone())),
            };
            let field = FieldRef::plain(temp, bits);
            if keep {
                asm.store(field, &old);
            }
            compute(asm, temp);
            store(place, &Expr::Field(field), asm);
        }
    }
}

/// Copies a variable-length field together with its current width.
pub(crate) fn assign_variable(node: &Node, dst: FieldRef, src: FieldRef, asm: &mut Asm) -> Load<()> {
    if !dst.variable || !src.variable {
        return node.malformed("expected two variable-length fields");
    }
    asm.emit(Op::AssignVariable {
        dst: dst.slot - 1,
        src: src.slot - 1,
        dst_limbs: dst.limbs() as u16,
        src_limbs: src.limbs() as u16,
    });
    Ok(())
}

/// Translates one primitive call. `jumps` gives the index of the call in its action and the label
/// of every call; calls outside of actions have no parameters.
pub(crate) fn primitive(
    node: &Node,
    names: &Names,
    declarations: &Declarations,
    asm: &mut Asm,
    jumps: Option<(usize, &[Pc])>,
) -> Load<()> {
    let call = Call { node, names, parameters: node.list("parameters")? };
    let op = node.text("op")?;
    let binary = |op: BinOp, left: Expr, right: Expr| Expr::Binary(op, Box::new(left), Box::new(right));
    match op {
        "assign" | "modify_field" => store(&call.place(0)?, &call.data(1)?, asm),
        "assign_VL" => match (names.expr(call.at(0)?)?, names.expr(call.at(1)?)?) {
            (Expr::Field(dst), Expr::Field(src)) => assign_variable(node, dst, src, asm)?,
            _ => return node.unsupported("'assign_VL' of a field of a dynamic header"),
        },
        "add_to_field" | "subtract_from_field" => {
            let op = if op == "add_to_field" { BinOp::Add } else { BinOp::Sub };
            store(&call.place(0)?, &binary(op, call.data(0)?, call.data(1)?), asm);
        }
        "add" | "subtract" | "bit_xor" | "bit_or" | "bit_and" | "shift_left" | "shift_right" => {
            let op = match op {
                "add" => BinOp::Add,
                "subtract" => BinOp::Sub,
                "bit_xor" => BinOp::Xor,
                "bit_or" => BinOp::Or,
                "bit_and" => BinOp::And,
                "shift_left" => BinOp::ShiftLeft,
                _ => BinOp::ShiftRight,
            };
            store(&call.place(0)?, &binary(op, call.data(1)?, call.data(2)?), asm);
        }
        "assign_header" | "copy_header" => {
            let (dst, src) = (call.header(0)?, call.header(1)?);
            if asm.layout.headers[names.some_header(&dst) as usize].shape
                != asm.layout.headers[names.some_header(&src) as usize].shape
            {
                return node.malformed("headers of different types");
            }
            let (dst, src) = (asm.header(&dst), asm.header(&src));
            asm.emit(Op::AssignHeader { dst, src });
        }
        "assign_union" => match (names.expr(call.at(0)?)?, names.expr(call.at(1)?)?) {
            (Expr::Union(dst), Expr::Union(src)) => {
                let (dst, src) = (asm.union(&dst), asm.union(&src));
                asm.emit(Op::AssignUnion { dst, src });
            }
            _ => return node.malformed("expected two header unions"),
        },
        "assign_header_stack" => match (names.expr(call.at(0)?)?, names.expr(call.at(1)?)?) {
            (Expr::Stack(dst), Expr::Stack(src)) => asm.emit(Op::AssignStack { dst, src }),
            _ => return node.malformed("expected two header stacks"),
        },
        "assign_union_stack" => match (names.expr(call.at(0)?)?, names.expr(call.at(1)?)?) {
            (Expr::UnionStack(dst), Expr::UnionStack(src)) => asm.emit(Op::AssignUnionStack { dst, src }),
            _ => return node.malformed("expected two header union stacks"),
        },
        "push" | "pop" => {
            let count = call.low(1, u64::MAX, asm)?;
            asm.emit(match (names.expr(call.at(0)?)?, op) {
                (Expr::Stack(stack), "push") => Op::Push { stack, count },
                (Expr::Stack(stack), _) => Op::Pop { stack, count },
                (Expr::UnionStack(stack), "push") => Op::PushUnion { stack, count },
                (Expr::UnionStack(stack), _) => Op::PopUnion { stack, count },
                _ => return node.malformed("expected a stack"),
            });
        }
        "add_header" | "add_header_fast" => {
            let header = asm.header(&call.header(0)?);
            asm.emit(Op::AddHeader { header });
        }
        "remove_header" => {
            let header = asm.header(&call.header(0)?);
            asm.emit(Op::RemoveHeader { header });
        }
        "_jump" | "_jump_if_zero" => {
            let Some((index, labels)) = jumps else {
                return node.unsupported("a jump outside of an action");
            };
            let offset = call.at(usize::from(op != "_jump"))?;
            let to = match names.data(offset)? {
                Expr::Const(c) => c.small().map_or(usize::MAX, |c| c as usize),
                _ => return offset.unsupported("a jump to a place that is not constant"),
            };
            let Some(&label) = labels.get(to) else {
                return offset.malformed(format!("no primitive {to} to jump to"));
            };
            if to <= index {
                asm.emit(Op::Guard);
            }
            if op == "_jump" {
                asm.emit(Op::Jump { to: label });
            } else {
                let condition = names.bool(call.at(0)?)?;
                asm.branch(&condition, false, label);
            }
        }
        "exit" => set_word(packet_slot::EXIT, 1, asm),
        "assert" | "assume" => {
            let holds = asm.label();
            let condition = names.bool(call.at(0)?)?;
            asm.branch(&condition, true, holds);
            set_word(packet_slot::ASSERT_FAILED, 1, asm);
            asm.emit(Op::Halt);
            asm.bind(holds);
        }
        // Messages have no effect on packets or state.
        "log_msg" | "no_op" | "_nop" => {}
        "drop" => {
            for (header, field, drop) in
                [("standard_metadata", "egress_spec", true), ("intrinsic_metadata", "mcast_grp", false)]
            {
                if let Some(field) = asm.layout.intrinsic(header, field) {
                    set_drop(field, drop, asm);
                }
            }
        }
        "mark_to_drop" => {
            let HeaderExpr::Header(header) = call.header(0)? else {
                return node.unsupported("'mark_to_drop' of a dynamic header");
            };
            let Some(spec) = asm.layout.field_of(header, "egress_spec") else {
                return node.malformed("'mark_to_drop' of a header without 'egress_spec'");
            };
            set_drop(spec, true, asm);
            if let Some(group) = asm.layout.field_of(header, "mcast_grp") {
                set_drop(group, false, asm);
            }
        }
        "generate_digest" => {
            let list = call.data(1)?;
            asm.low(&list, 0xffff, Some(packet_slot::LEARN));
        }
        "clone_ingress_pkt_to_egress" | "clone_egress_pkt_to_egress" => {
            let session = call.low(0, 0xffff, asm)?;
            let valid = asm.constant(packet_slot::CLONE_VALID);
            asm.emit(Op::Or { dst: packet_slot::CLONE_SESSION, a: session, b: valid, mask: u64::MAX });
            let list = call.data(1)?;
            asm.low(&list, 0xffff, Some(packet_slot::CLONE_LIST));
        }
        "resubmit" => {
            let list = call.data(0)?;
            asm.low(&list, 0xffff, Some(packet_slot::RESUBMIT));
        }
        "recirculate" => {
            let list = call.data(0)?;
            asm.low(&list, 0xffff, Some(packet_slot::RECIRCULATE));
        }
        "truncate" => {
            let a = call.low(0, u64::MAX, asm)?;
            asm.emit(Op::Truncate { a });
        }
        "modify_field_rng_uniform" => {
            let (a, b) = (call.low(1, u64::MAX, asm)?, call.low(2, u64::MAX, asm)?);
            store_word(&call.place(0)?, 64, true, asm, |asm, dst| asm.emit(Op::Random { dst, a, b }));
        }
        "modify_field_with_hash_based_offset" => {
            let base = call.low(1, u64::MAX, asm)?;
            let calculation = call.object(2, "calculation", &declarations.calculations)?;
            let size = call.data(3)?;
            let hash = asm.temp(1);
            asm.emit(Op::Hash { dst: hash, calculation });
            match size {
                Expr::Const(size) if size.low() == 1 << 32 || size.low() == 1 << 16 => {
                    asm.emit(Op::AndMask { dst: hash, a: hash, mask: size.low() - 1 });
                }
                size => {
                    let (size, one) = (asm.low(&size, u64::MAX, None), asm.constant(1));
                    let divisor = asm.temp(1);
                    let nonzero = asm.label();
                    asm.emit(Op::Move { dst: divisor, a: size });
                    asm.emit(Op::BranchNotZero { a: size, to: nonzero });
                    asm.emit(Op::Move { dst: divisor, a: one });
                    asm.bind(nonzero);
                    asm.emit(Op::ModU { dst: hash, a: hash, b: divisor });
                }
            }
            asm.emit(Op::Add { dst: hash, a: hash, b: base, mask: u64::MAX });
            let value = FieldRef::plain(hash, 64);
            store(&call.place(0)?, &Expr::Field(value), asm);
        }
        "execute_meter" => {
            let meter = call.object(0, "meter", &declarations.meters)?;
            let index = call.low(1, u64::MAX, asm)?;
            store_word(&call.place(2)?, 2, true, asm, |asm, dst| asm.emit(Op::Meter { dst, meter, index }));
        }
        "count" => {
            let counter = call.object(0, "counter", &declarations.counters)?;
            let index = call.low(1, u64::MAX, asm)?;
            asm.emit(Op::Count { counter, index });
        }
        "register_read" => {
            let register = call.object(1, "register", &declarations.registers)?;
            let index = call.low(2, u64::MAX, asm)?;
            let bits = asm.register_bits[register as usize];
            store_word(&call.place(0)?, bits, true, asm, |asm, dst| {
                asm.emit(Op::RegisterRead { dst, register, index });
            });
        }
        "register_write" => {
            let register = call.object(0, "register", &declarations.registers)?;
            let index = call.low(1, u64::MAX, asm)?;
            write_register(register, index, &call.data(2)?, asm);
        }
        other => return node.unsupported(format!("primitive '{other}'")),
    }
    Ok(())
}

fn set_word(slot: Slot, value: u64, asm: &mut Asm) {
    let a = asm.constant(value);
    asm.emit(Op::Move { dst: slot, a });
}

/// Sets `egress_spec` to the drop port, or the multicast group to 0.
fn set_drop(field: FieldRef, drop: bool, asm: &mut Asm) {
    if drop {
        let port = FieldRef::plain(packet_slot::DROP_PORT, 16);
        asm.store(field, &Expr::Field(port));
    } else {
        asm.store(field, &Expr::Const(Const::from_u64(0)));
    }
}
