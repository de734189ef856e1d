//! Compiles all parts of a program.

use std::rc::Rc;

use cranelift_codegen::ir::{types::I32, types::I64};

use super::at::{At, NOWHERE};
use super::compiler::Compiler;
use super::flow::{Findings, Place, Round, Seen, Set, CURSOR};
use super::graph::graph;
use super::part::{build, Ends, Host, Part, Source};
use super::slots;
use super::ways::Way;
use super::{cases, Egress, Functions};
use crate::code::ir::Op;
use crate::code::layout::{packet_slot, Layout, Slot};
use crate::code::program::{Code, Live, Liveness, Program};
use crate::load::effects::effects;
use crate::numbers::words::mask64;

/// The code of a program, and where its parts begin; `None` where this is left to the interpreter.
pub(super) fn compile(program: &Program, ways: &[Vec<Way>], host: Host) -> Option<(Vec<u8>, Functions)> {
    let Program { code, layout, .. } = program;
    let mut compiler = Compiler::new()?;
    let entries = cases::cases(program, ways);
    let source = Source {
        code,
        layout,
        ways,
        entries: &entries,
        host,
        ends: &ends(code, layout),
        exits: exits(code, layout),
        counters: program.counters.iter().map(|info| info.size).collect(),
        bounds: &bounds(layout),
        start: &start(code, layout),
        of_target: &of_target(code, layout),
    };
    let is_odd = |header: &u16| {
        let shape = layout.shape_of(*header);
        shape.variable.is_some() || shape.fixed_bits % 8 != 0
    };
    let writes_headers = !code.deparse_order.iter().any(is_odd);
    let functions = Functions {
        ingress: compile_part(&mut compiler, &source, Part::Ingress)?,
        frame: compile_part(&mut compiler, &source, Part::Frame)?,
        egress: if writes_headers {
            Egress::ToHeaders(compile_part(&mut compiler, &source, Part::EgressToHeaders)?)
        } else {
            let egress = compile_part(&mut compiler, &source, Part::Egress)?;
            Egress::Alone { egress, deparser: compile_part(&mut compiler, &source, Part::Deparser)? }
        },
        restore: slots::restore(&mut compiler, code, layout, false),
        restore_again: slots::restore(&mut compiler, code, layout, true),
    };
    Some((compiler.code(), functions))
}

fn compile_part(compiler: &mut Compiler, source: &Source, part: Part) -> Option<usize> {
    let code = source.code;
    let (entry, second) = match part {
        Part::Ingress | Part::Frame => (code.parser_entry, Some(code.ingress_entry)),
        Part::Egress => (code.egress_entry, None),
        Part::EgressToHeaders => (code.egress_entry, Some(code.deparser_entry)),
        Part::Deparser => (code.deparser_entry, None),
    };
    let graph = graph(code, source.ways, At { pc: entry, next: NOWHERE, second: false }, second)?;
    let step = compiler.signature(&[I64, I32], I64);
    let with_key = compiler.signature(&[I64, I32, I64], I64);
    let mut findings = Findings::default();
    // Where there are loops, the first round shows what they change, and only the second one which values they need.
    let rounds = [Round::Values, Round::Values, Round::Stores, Round::Code];
    for &round in &rounds[usize::from(graph.loops.is_empty())..] {
        findings = compiler.build(|mut ins| {
            let signatures = (ins.import_signature(step.clone()), ins.import_signature(with_key.clone()));
            build(source, part, &graph, ins, signatures, &findings, round)
        });
    }
    compiler.compile()
}

/// True where an action may end the pipeline.
fn exits(code: &Code, layout: &Layout) -> bool {
    code.ops.iter().any(|op| match effects(code, layout, op) {
        Some(effects) => effects.writes.iter().chain(&effects.may_write).any(|&(first, count)| {
            (usize::from(first)..usize::from(first) + count).contains(&usize::from(packet_slot::EXIT))
        }),
        None => matches!(op, Op::StoreField { .. }),
    })
}

/// The greatest number in each slot: fields have nothing above their bits.
fn bounds(layout: &Layout) -> Vec<u64> {
    let mut bounds = vec![u64::MAX; layout.slots];
    for place in &layout.headers {
        bounds[place.base as usize] = 1;
        for piece in layout.shapes[place.shape].pieces.iter().filter(|piece| !piece.signed) {
            bounds[(place.base + piece.offset) as usize] = mask64(piece.bits.into());
        }
    }
    bounds
}

/// Slots with their values at the start of a pass, those that the target sets excepted.
fn start(code: &Code, layout: &Layout) -> Vec<(Slot, u64)> {
    slots_at_start(code, layout, false)
}

/// Those that the target may set, as they are before.
pub(super) fn of_target(code: &Code, layout: &Layout) -> Vec<(Slot, u64)> {
    slots_at_start(code, layout, true)
}

fn slots_at_start(code: &Code, layout: &Layout, of_target: bool) -> Vec<(Slot, u64)> {
    if code.liveness.is_none() {
        return Vec::new();
    }
    let mut set = vec![false; layout.slots];
    let lists = code.field_lists.values().flatten().copied();
    for field in lists.chain(code.intrinsics.fields()) {
        let first = field.slot as usize - usize::from(field.variable);
        (first..field.slot as usize + field.limbs()).for_each(|slot| set[slot] = true);
    }
    // Registers of the packet that always are 0 at the start of a pass.
    let cleared = |slot: &Slot| {
        packet_slot::REQUESTS.contains(slot) || [packet_slot::EXIT, packet_slot::ASSERT_FAILED].contains(slot)
    };
    let registers = (0..packet_slot::COUNT).filter(|slot| !cleared(slot));
    registers.for_each(|slot| set[slot as usize] = true);
    let chosen = (0..layout.slots).filter(|&slot| set[slot] == of_target);
    chosen.map(|slot| (slot as Slot, code.image[slot])).collect()
}

fn ends(code: &Code, layout: &Layout) -> Ends {
    let all = || (0..layout.slots as Place).chain([CURSOR]).collect::<Set>();
    let Some(Liveness { ends, .. }) = &code.liveness else {
        let [ingress, dropped, egress, deparser, target] =
            std::array::from_fn(|_| Rc::new(Seen { places: all(), if_valid: Set::default() }));
        return Ends { ingress, dropped, egress, deparser, target };
    };
    let seen = |Live { slots, contents }: &Live| Seen {
        places: slots.iter().copied().map(Place::from).chain([CURSOR]).collect(),
        if_valid: contents.iter().flat_map(|&header| layout.block(header)).map(Place::from).collect(),
    };
    let set = |live| Rc::new(seen(live));
    let mut ingress = seen(&ends.ingress);
    let touched = code.touches.iter().map(|touch| touch.index).filter(|&slot| code.constant(slot).is_none());
    let touched = touched.map(Place::from).collect::<Set>();
    ingress.places.extend(touched.iter());
    Ends {
        ingress: Rc::new(ingress),
        dropped: Rc::new(Seen { places: touched, if_valid: Set::default() }),
        egress: set(&ends.egress),
        deparser: set(&ends.deparser),
        target: set(&ends.target),
    }
}
