//! Compiles all parts of a program.

use std::rc::Rc;

use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{types::I32, types::I64, AbiParam, Function, SigRef, Signature, Type};
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable};
use cranelift_codegen::Context;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

use super::flow::{Findings, Place, Seen, Set, CURSOR};
use super::graph::{graph, At, NOWHERE};
use super::part::{build, Ends, Host, Part, Source};
use super::slots;
use super::ways::Way;
use super::{cases, Functions};
use crate::code::ir::{Op, Pc};
use crate::code::layout::{packet_slot, Layout, Slot};
use crate::code::program::{Code, Live, Liveness, Program};
use crate::load::effects::effects;
use crate::numbers::words::mask64;

/// Bytes of code at whose multiples functions begin.
const ALIGNMENT: usize = 32;

pub(super) struct Compiler {
    isa: OwnedTargetIsa,
    context: Context,
    builder: FunctionBuilderContext,
    bytes: Vec<u8>,
}

impl Compiler {
    fn new() -> Option<Compiler> {
        let mut flags = settings::builder();
        flags.set("opt_level", "speed").ok()?;
        flags.set("enable_verifier", if cfg!(debug_assertions) { "true" } else { "false" }).ok()?;
        flags.set("unwind_info", "false").ok()?;
        let isa = cranelift_native::builder().ok()?.finish(settings::Flags::new(flags)).ok()?;
        Some(Compiler {
            isa,
            context: Context::new(),
            builder: FunctionBuilderContext::new(),
            bytes: Vec::new(),
        })
    }

    fn signature(&self, parameters: &[Type], result: Type) -> Signature {
        let mut signature = Signature::new(self.isa.default_call_conv());
        signature.params.extend(parameters.iter().map(|&parameter| AbiParam::new(parameter)));
        signature.returns.push(AbiParam::new(result));
        signature
    }

    /// Compiles what `build` builds; gives its offset.
    pub fn function(&mut self, build: impl FnOnce(FunctionBuilder)) -> Option<usize> {
        self.begin();
        build(FunctionBuilder::new(&mut self.context.func, &mut self.builder));
        self.end()
    }

    fn begin(&mut self) {
        self.context.clear();
        self.context.func = Function::new();
        self.context.func.signature = self.signature(&[I64, I64], I32);
    }

    fn end(&mut self) -> Option<usize> {
        let compiled = self.context.compile(&*self.isa, &mut ControlPlane::default()).ok()?;
        if !compiled.buffer.relocs().is_empty() {
            return None;
        }
        let offset = self.bytes.len().next_multiple_of(ALIGNMENT);
        self.bytes.resize(offset, 0);
        self.bytes.extend_from_slice(compiled.code_buffer());
        Some(offset)
    }

    fn part(&mut self, source: &Source, part: Part) -> Option<(usize, Findings)> {
        let code = source.code;
        let (entry, second) = match part {
            Part::Parser => (code.parser_entry, None),
            Part::Ingress => (code.parser_entry, Some(code.ingress_entry)),
            Part::Egress => (code.egress_entry, None),
            Part::EgressToHeaders => (code.egress_entry, Some(code.deparser_entry)),
            Part::Deparser => (code.deparser_entry, None),
            Part::Headers => (code.ops.len() as Pc, None),
        };
        let graph = graph(code, source.ways, At { pc: entry, next: NOWHERE, second: false }, second)?;
        let mut findings = Findings::default();
        // What loops change, then values that are handed over, then stores that are left out, then the code.
        let rounds = if graph.loops.is_empty() { 3 } else { 4 };
        for round in 1..=rounds {
            self.begin();
            let step = self.signature(&[I64, I32], I64);
            let with_key = self.signature(&[I64, I32, I64], I64);
            let mut ins = FunctionBuilder::new(&mut self.context.func, &mut self.builder);
            let signatures: (SigRef, SigRef) = (ins.import_signature(step), ins.import_signature(with_key));
            findings = build(source, part, &graph, ins, signatures, &findings, round <= rounds - 2);
        }
        Some((self.end()?, findings))
    }
}

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
    };
    let is_odd = |header: &u16| {
        let shape = layout.shape_of(*header);
        shape.variable.is_some() || shape.fixed_bits % 8 != 0
    };
    let writes_headers = !code.deparse_order.iter().any(is_odd);
    let (ingress, Findings { at_start, .. }) = compiler.part(&source, Part::Ingress)?;
    let mut functions = Functions {
        parser: compiler.part(&source, Part::Parser)?.0,
        ingress,
        deparser: compiler.part(&source, Part::Deparser)?.0,
        start: slots::start(code, layout, |slot| {
            let is_of_target = source.start.binary_search_by_key(&slot, |&(known, _)| known).is_err();
            is_of_target || at_start.contains(&Place::from(slot))
        }),
        restore: slots::restore(&mut compiler, code, layout, false),
        restore_again: slots::restore(&mut compiler, code, layout, true),
        ..Functions::default()
    };
    if writes_headers {
        functions.egress_to_headers = Some(compiler.part(&source, Part::EgressToHeaders)?.0);
        functions.headers = Some(compiler.part(&source, Part::Headers)?.0);
    } else {
        functions.egress = Some(compiler.part(&source, Part::Egress)?.0);
    }
    Some((compiler.bytes, functions))
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
    if code.liveness.is_none() {
        return Vec::new();
    }
    let mut set = vec![false; layout.slots];
    let lists = code.field_lists.values().flatten().copied();
    for field in lists.chain(code.intrinsics.fields()) {
        let first = field.slot as usize - usize::from(field.variable);
        (first..field.slot as usize + field.limbs()).for_each(|slot| set[slot] = true);
    }
    (0..packet_slot::COUNT).for_each(|slot| set[slot as usize] = true);
    let free = (0..layout.slots).filter(|&slot| !set[slot]);
    free.map(|slot| (slot as Slot, code.image[slot])).collect()
}

fn ends(code: &Code, layout: &Layout) -> Ends {
    let all = || (0..layout.slots as Place).chain([CURSOR]).collect::<Set>();
    let Some(Liveness { ends, .. }) = &code.liveness else {
        let [parser, ingress, egress, deparser, target] =
            std::array::from_fn(|_| Rc::new(Seen { places: all(), if_valid: Set::default() }));
        return Ends { parser, ingress, egress, deparser, target };
    };
    let seen = |Live { slots, contents }: &Live| Seen {
        places: slots.iter().copied().map(Place::from).chain([CURSOR]).collect(),
        if_valid: contents.iter().flat_map(|&header| layout.block(header)).map(Place::from).collect(),
    };
    let set = |live| Rc::new(seen(live));
    let mut ingress = seen(&ends.ingress);
    let touched = code.touches.iter().map(|touch| touch.index).filter(|&slot| code.constant(slot).is_none());
    ingress.places.extend(touched.map(Place::from));
    Ends {
        parser: set(&ends.parser),
        ingress: Rc::new(ingress),
        egress: set(&ends.egress),
        deparser: set(&ends.deparser),
        target: set(&ends.target),
    }
}
