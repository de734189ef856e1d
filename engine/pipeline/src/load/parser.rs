//! Parser states: operations, select keys and transitions.

use std::collections::HashMap;

use crate::code::ir::{Op, Pc, Select, SelectCase, SelectPart};
use crate::code::layout::{FieldRef, Slot};
use crate::code::marks::Mark;
use crate::load::asm::Asm;
use crate::load::declarations::Declarations;
use crate::load::expr::{Expr, Names};
use crate::load::json::{Load, Node};
use crate::load::{actions, checksums};

pub(crate) struct Parser {
    /// Labels.
    pub entry: Pc,
    pub end: Pc,
    pub selects: Vec<Select>,
    /// Field widths of each value set as its first use has them.
    pub value_set_widths: Vec<Vec<u32>>,
}

pub(crate) fn compile(root: &Node, declarations: &Declarations, asm: &mut Asm) -> Load<Parser> {
    let parsers = root.list("parsers")?;
    let end = asm.label();
    let mut parser = Parser {
        entry: end,
        end,
        selects: Vec::new(),
        value_set_widths: vec![Vec::new(); declarations.value_sets.len()],
    };
    let mut chosen = None;
    for node in &parsers {
        if node.text("name")? == "parser" {
            chosen = Some(node);
        }
    }
    let Some(node) = chosen else {
        return root.unknown("parser", "parser");
    };
    let states = node.list("parse_states")?;
    let mut names = HashMap::new();
    for (index, state) in states.iter().enumerate() {
        names.insert(state.text("name")?, index);
    }
    let labels: Vec<Pc> = states.iter().map(|_| asm.label()).collect();
    let mut context = Context { declarations, states: &states, names, labels, end };
    let guards = context.loop_heads()?;
    if let Some(init) = node.opt("init_state") {
        parser.entry = match context.names.get(init.str()?) {
            Some(&index) => context.labels[index],
            None => return init.unknown("parser state", init.str()?),
        };
    }
    for (index, state) in states.iter().enumerate() {
        asm.bind(context.labels[index]);
        if guards[index] {
            asm.emit(Op::Guard);
        }
        asm.mark(Mark::State(state.text("name")?.to_string()));
        context.state(state, asm, &mut parser)?;
    }
    asm.bind(end);
    checksums::compile_verify(root, declarations, asm)?;
    asm.emit(Op::Halt);
    Ok(parser)
}

struct Context<'a, 'n> {
    declarations: &'a Declarations,
    states: &'a [Node<'n>],
    names: HashMap<&'n str, usize>,
    labels: Vec<Pc>,
    end: Pc,
}

impl Context<'_, '_> {
    fn next_states(&self, index: usize) -> Load<Vec<usize>> {
        let mut next = Vec::new();
        for transition in self.states[index].list("transitions")? {
            if let Some(state) = transition.opt("next_state") {
                if let Some(&index) = self.names.get(state.str()?) {
                    next.push(index);
                }
            }
        }
        Ok(next)
    }

    /// States that a path can reach twice: each of them counts towards the loop limit.
    fn loop_heads(&self) -> Load<Vec<bool>> {
        let count = self.states.len();
        let mut heads = vec![false; count];
        // 0 = new, 1 = on the path, 2 = done
        let mut colour = vec![0u8; count];
        for start in 0..count {
            if colour[start] != 0 {
                continue;
            }
            let mut path = vec![(start, self.next_states(start)?)];
            colour[start] = 1;
            while let Some((state, pending)) = path.last_mut() {
                match pending.pop() {
                    Some(next) if colour[next] == 1 => heads[next] = true,
                    Some(next) if colour[next] == 0 => {
                        colour[next] = 1;
                        let after = self.next_states(next)?;
                        path.push((next, after));
                    }
                    Some(_) => {}
                    None => {
                        colour[*state] = 2;
                        path.pop();
                    }
                }
            }
        }
        Ok(heads)
    }

    fn target(&self, transition: &Node) -> Load<Pc> {
        match transition.opt("next_state") {
            None => Ok(self.end),
            Some(state) => match self.names.get(state.str()?) {
                Some(&index) => Ok(self.labels[index]),
                None => state.unknown("parser state", state.str()?),
            },
        }
    }

    fn state(&mut self, state: &Node, asm: &mut Asm, parser: &mut Parser) -> Load<()> {
        for op in state.list("parser_ops")? {
            asm.statement();
            self.operation(&op, asm)?;
        }
        asm.statement();
        let mut parts = Vec::new();
        for key in state.list("transition_key")? {
            parts.push(self.key_part(&key, asm)?);
        }
        let bytes: usize = parts.iter().map(|part| part.bits.div_ceil(8) as usize).sum();
        let mut default = self.end;
        let mut cases = Vec::new();
        for transition in state.list("transitions")? {
            let to = self.target(&transition)?;
            let value = transition.opt("value");
            let is_default = value.as_ref().and_then(|v| v.value.as_str()) == Some("default");
            let kind = match transition.opt("type") {
                _ if is_default => "default",
                Some(kind) => kind.str()?,
                None => "hexstr",
            };
            let sized = |node: Node| -> Load<Vec<u8>> {
                let found = node.hex_bytes()?;
                if found.len() != bytes {
                    return node.malformed(format!("expected {bytes} bytes, found {}", found.len()));
                }
                Ok(found)
            };
            match kind {
                "default" => default = to,
                "hexstr" => {
                    let value = sized(transition.get("value")?)?;
                    let mask = transition.opt("mask").map(sized).transpose()?;
                    cases.push(SelectCase::Value { value, mask, to });
                }
                "parse_vset" => {
                    let name = transition.text("value")?;
                    let Some(&set) = self.declarations.value_sets.get(name) else {
                        return transition.unknown("value set", name);
                    };
                    let mask = transition.opt("mask").map(sized).transpose()?;
                    let widths = &mut parser.value_set_widths[set as usize];
                    let found: Vec<u32> = parts.iter().map(|part| part.bits).collect();
                    if widths.is_empty() {
                        *widths = found;
                    } else if *widths != found {
                        return transition
                            .unsupported(format!("value set '{name}' with keys of different widths"));
                    }
                    cases.push(SelectCase::ValueSet { set, mask, to });
                }
                other => return transition.unsupported(format!("transition type '{other}'")),
            }
        }
        if parts.is_empty() || cases.is_empty() {
            asm.emit(Op::Jump { to: default });
            return Ok(());
        }
        let narrow = (bytes <= 8).then(|| narrow_cases(&cases)).flatten();
        if parser.selects.len() >= usize::from(u16::MAX) {
            return state.too_large("number of parser states", parser.selects.len() as u64, 65_535);
        }
        asm.emit(Op::Select { select: parser.selects.len() as u16 });
        parser.selects.push(Select { parts, cases, narrow, default });
        Ok(())
    }

    fn key_part(&self, key: &Node, asm: &mut Asm) -> Load<SelectPart> {
        let value = key.get("value")?;
        match key.text("type")? {
            "lookahead" => {
                let (slot, bits) = lookahead(&value, asm, false, None)?;
                Ok(SelectPart { slot, bits })
            }
            "field" => {
                let field = self.declarations.layout.field_at(&value)?;
                Ok(SelectPart { slot: field.slot, bits: field.bits })
            }
            "stack_field" | "union_stack_field" => match self.names().data(key)? {
                Expr::HeaderField(header, field) => {
                    let header = asm.header(&header);
                    let slot = asm.temp(field.limbs());
                    let limbs = field.limbs() as u16;
                    asm.emit(Op::LoadField { dst: slot, header, offset: field.slot, limbs });
                    Ok(SelectPart { slot, bits: field.bits })
                }
                _ => key.malformed("expected a field of a stack"),
            },
            other => key.unsupported(format!("transition key '{other}'")),
        }
    }

    fn names(&self) -> Names<'_> {
        self.declarations.names(0)
    }

    fn operation(&self, node: &Node, asm: &mut Asm) -> Load<()> {
        let parameters = node.list("parameters")?;
        let parameter = |index: usize| match parameters.get(index) {
            Some(parameter) => Ok(parameter),
            None => node.malformed(format!("parameter {index} is missing")),
        };
        match node.text("op")? {
            "extract" => self.extract(parameter(0)?, false, asm),
            "extract_VL" => {
                let bits = self.names().data(parameter(1)?)?;
                let a = asm.low(&bits, u64::MAX, None);
                asm.emit(Op::VariableBits { a });
                self.extract(parameter(0)?, true, asm)
            }
            "set" => self.set(parameter(0)?, parameter(1)?, asm),
            "verify" => {
                let condition = self.names().bool(parameter(0)?)?;
                let pass = asm.label();
                asm.branch(&condition, true, pass);
                let error = match parameter(1)?.value.as_u64() {
                    Some(code) => asm.constant(code),
                    None => {
                        let error = self.names().data(parameter(1)?)?;
                        asm.low(&error, u64::MAX, None)
                    }
                };
                asm.emit(Op::ParserError { a: error });
                asm.bind(pass);
                Ok(())
            }
            "shift" => {
                let bytes = parameter(0)?.bounded("shift in bytes", 1 << 20)?;
                let bits = asm.constant(bytes * 8);
                asm.emit(Op::Advance { bits });
                Ok(())
            }
            "advance" => {
                let bits = self.names().data(parameter(0)?)?;
                let bits = asm.low(&bits, u64::MAX, None);
                asm.emit(Op::Advance { bits });
                Ok(())
            }
            "primitive" => actions::primitive(parameter(0)?, &self.names(), self.declarations, asm, None),
            other => node.unsupported(format!("parser operation '{other}'")),
        }
    }

    fn extract(&self, what: &Node, variable: bool, asm: &mut Asm) -> Load<()> {
        let layout = &self.declarations.layout;
        let value = what.get("value")?;
        let (op, header) = match what.text("type")? {
            "regular" => {
                let header = layout.header_at(&value, value.str()?)?;
                (Op::Extract { header }, header)
            }
            "stack" => {
                let stack = layout.stack_at(&value, value.str()?)?;
                (Op::ExtractNext { stack }, layout.stacks[stack as usize].headers[0])
            }
            "union_stack" => {
                let stack = layout.union_stack_at(&value, value.index(0)?.str()?)?;
                let place = &layout.union_stacks[stack as usize];
                let name = value.index(1)?.str()?;
                let members = &layout.union_types[place.union_type].members;
                let Some(member) = members.iter().position(|(member, _)| member == name) else {
                    return value.unknown("header union member", name);
                };
                let header = layout.unions[place.unions[0] as usize].headers[member];
                (Op::ExtractUnionNext { stack, member: member as u16 }, header)
            }
            other => return what.unsupported(format!("extract of '{other}'")),
        };
        if !variable && layout.shape_of(header).variable.is_some() {
            return what.unsupported("'extract' of a header with a variable-length field");
        }
        asm.emit(op);
        Ok(())
    }

    fn set(&self, target: &Node, source: &Node, asm: &mut Asm) -> Load<()> {
        let layout = &self.declarations.layout;
        let dst = match self.names().data(target)? {
            Expr::Field(field) => field,
            Expr::HeaderField(header, field) => {
                let expr = self.names().data_or_bool(source)?;
                asm.store_dynamic(&header, field, &expr);
                return Ok(());
            }
            _ => return target.malformed("expected a field"),
        };
        match source.text("type")? {
            "lookahead" => {
                let (slot, bits) = lookahead(&source.get("value")?, asm, true, Some(dst))?;
                if slot != dst.slot {
                    let read = FieldRef::plain(slot, bits);
                    asm.store(dst, &Expr::Field(read));
                }
            }
            "field" if dst.variable => {
                let src = layout.field_at(&source.get("value")?)?;
                actions::assign_variable(source, dst, src, asm)?;
            }
            _ => {
                let expr = self.names().data_or_bool(source)?;
                asm.store(dst, &expr);
            }
        }
        Ok(())
    }
}

/// Reads ahead into a temporary, or straight into `dst` where the widths agree.
fn lookahead(value: &Node, asm: &mut Asm, check: bool, dst: Option<FieldRef>) -> Load<(Slot, u32)> {
    let offset = value.index(0)?.bounded("lookahead offset in bits", 1 << 20)? as u32;
    let bits = value.index(1)?.bounded("lookahead width in bits", 16_384)? as u32;
    let limbs = crate::numbers::words::limbs_for(bits).max(1);
    let (slot, signed) = match dst {
        Some(field) if field.bits == bits && !field.variable => (field.slot, field.signed),
        _ => (asm.temp(limbs), false),
    };
    asm.emit(Op::Lookahead { dst: slot, offset, bits: bits as u16, check, signed });
    Ok((slot, bits))
}

fn narrow_cases(cases: &[SelectCase]) -> Option<Vec<(u64, u64, Pc)>> {
    let word = |bytes: &[u8]| bytes.iter().fold(0u64, |word, &byte| word << 8 | u64::from(byte));
    cases
        .iter()
        .map(|case| match case {
            SelectCase::Value { value, mask, to } => {
                let mask = mask.as_ref().map_or(u64::MAX, |mask| word(mask));
                Some((mask, word(value) & mask, *to))
            }
            SelectCase::ValueSet { .. } => None,
        })
        .collect()
}
