//! Native execution: the compiled program as machine code, made once at load by Cranelift. It does what the interpreter
//! does; a test compares both.
//!
//! The code touches memory in four places only: the packet's slots (every 16-bit index is inside them), the frame below,
//! the bytes of the packet after a length check, and array cells after an index check.

mod at;
mod cases;
mod compile;
mod compiler;
mod flow;
mod graph;
mod headers;
mod part;
mod slots;
mod tables;
mod views;
mod ways;

use std::io;

use memmap2::{Mmap, MmapMut};
use wasmtime_jit_icache_coherence::{clear_cache, pipeline_flush_mt};

use crate::code::ir::Pc;
use crate::code::layout::Regs;
use crate::code::program::Program;
use crate::exec::context::{Context, Egressed, Flow, Outcome, Wire};

use slots::Start;
pub(crate) use views::Views;
use views::{Indexed, View};
use ways::Way;

const STATUS_DONE: u32 = 0;
const STATUS_RUNAWAY: u32 = 1;
const STATUS_STOPPED: u32 = 2;

/// Data that the code shares with the host during one run.
#[repr(C)]
struct Frame<'c> {
    registers: *const View,
    counters: *const View,
    spare_row: usize,
    shortcuts: *const u64,
    indexed: *const Indexed,
    as_loaded: *const u64,
    packet: *const u8,
    length: usize,
    cursor: usize,
    /// Where the next byte of a header goes.
    out: *mut u8,
    drop_port: u64,
    // Beyond this point only the host reads.
    native: *const NativeCode,
    context: *mut Context<'c>,
}

impl<'c> Frame<'c> {
    /// `packet` and `cursor` are those of the context: read from there so soon after they were written, the processor
    /// would wait for them.
    #[inline]
    fn new(
        native: &NativeCode,
        context: &mut Context<'c>,
        packet: &[u8],
        cursor: usize,
        views: &Views,
    ) -> Self {
        Frame {
            registers: views.registers.as_ptr(),
            counters: views.counters.as_ptr(),
            spare_row: views.spare_address,
            shortcuts: views.shortcuts.as_ptr(),
            indexed: views.indexed.as_ptr(),
            as_loaded: views.as_loaded.as_ptr(),
            packet: packet.as_ptr(),
            length: packet.len(),
            cursor,
            out: std::ptr::null_mut(),
            drop_port: 0,
            native,
            context,
        }
    }
}

/// Byte offsets of the members of [`Frame`] that the code uses.
struct Offsets;

impl Offsets {
    const REGISTERS: u8 = std::mem::offset_of!(Frame, registers) as u8;
    const COUNTERS: u8 = std::mem::offset_of!(Frame, counters) as u8;
    const SPARE_ROW: u8 = std::mem::offset_of!(Frame, spare_row) as u8;
    const SHORTCUTS: u8 = std::mem::offset_of!(Frame, shortcuts) as u8;
    const INDEXED: u8 = std::mem::offset_of!(Frame, indexed) as u8;
    const AS_LOADED: u8 = std::mem::offset_of!(Frame, as_loaded) as u8;
    const PACKET: u8 = std::mem::offset_of!(Frame, packet) as u8;
    const LENGTH: u8 = std::mem::offset_of!(Frame, length) as u8;
    const CURSOR: u8 = std::mem::offset_of!(Frame, cursor) as u8;
    const OUT: u8 = std::mem::offset_of!(Frame, out) as u8;
    const DROP_PORT: u8 = std::mem::offset_of!(Frame, drop_port) as u8;
}

/// Machine code of a program.
pub(crate) struct NativeCode {
    memory: Mmap,
    functions: Functions,
    /// Where packets go from each table.
    ways: Vec<Vec<Way>>,
    /// Room that headers need, 8 bytes more than all of them together.
    emit_bytes: usize,
    /// Slots of a packet.
    slots: usize,
}

/// Offsets of the code of each part.
struct Functions {
    ingress: usize,
    egress: Egress,
    start: Option<Start>,
    /// Brings the slots back for egress.
    restore: Option<usize>,
    restore_again: Option<usize>,
}

enum Egress {
    /// With deparser and headers. What follows egress that asks for something is left to the interpreter.
    ToHeaders(usize),
    /// Where headers cannot be written.
    Alone { egress: usize, deparser: usize },
}

/// Memory that holds `code`, which every processor of the machine sees from here on.
fn executable(code: &[u8]) -> io::Result<Mmap> {
    let mut memory = MmapMut::map_anon(code.len())?;
    memory.copy_from_slice(code);
    let memory = memory.make_exec()?;
    // SAFETY: the range is that of the memory, and the pipelines are flushed next.
    unsafe { clear_cache(memory.as_ptr().cast(), memory.len())? };
    pipeline_flush_mt()?;
    Ok(memory)
}

impl NativeCode {
    /// `None` where the system gives no executable memory, or the program does not fit.
    pub fn compile(program: &Program) -> Option<NativeCode> {
        let Program { code, layout, .. } = program;
        type HostFunction = for<'c> extern "C" fn(*mut Frame<'c>, u32) -> usize;
        let address = |function: HostFunction| function as usize as u64;
        let find_word = find_word as extern "C" fn(*mut Frame<'static>, u32, u64) -> usize;
        let host = part::Host {
            step: address(step),
            find: address(find),
            find_word: find_word as usize as u64,
            table: address(table),
        };
        let ways = ways::ways(program);
        let (bytes, functions) = compile::compile(program, &ways, host)?;
        let header_bytes = code.deparse_order.iter().map(|&header| layout.shape_of(header).fixed_bytes());
        Some(NativeCode {
            memory: executable(&bytes).ok()?,
            functions,
            ways,
            emit_bytes: header_bytes.sum::<usize>() + 8,
            slots: layout.slots,
        })
    }

    /// Runs from `entry` to the end of that part of the program; `None` where this is left to the interpreter.
    pub fn run(&self, context: &mut Context, views: &Views, entry: Pc) -> Option<Outcome> {
        let Egress::Alone { egress, deparser } = self.functions.egress else { return None };
        let code = &context.program.code;
        let target = match entry {
            entry if entry == code.egress_entry => egress,
            entry if entry == code.deparser_entry => deparser,
            _ => return None,
        };
        let Wire { frame: packet, cursor } = context.wire;
        let mut frame = Frame::new(self, context, packet, cursor, views);
        Some(outcome(self.run_part(context, &mut frame, target)))
    }

    /// Runs the parser and the ingress control; `packet` is that of the context.
    #[inline]
    pub fn run_ingress(&self, context: &mut Context, packet: &[u8], views: &Views) -> Outcome {
        let mut frame = Frame::new(self, context, packet, 0, views);
        outcome(self.run_part(context, &mut frame, self.functions.ingress))
    }

    /// Runs the egress control, and, unless it asks for something or drops the packet, the deparser, and writes the valid
    /// headers to the start of `out`, which grows as needed. `None` where all this is left to the host. `packet` and `payload` are those of
    /// the context.
    #[inline(always)]
    pub fn run_egress(
        &self,
        context: &mut Context,
        packet: &[u8],
        payload: usize,
        views: &Views,
        drop_port: u64,
        out: &mut Vec<u8>,
    ) -> Option<Egressed> {
        let Egress::ToHeaders(target) = self.functions.egress else { return None };
        let start = self.room(out);
        let of_packet = Frame::new(self, context, packet, payload, views);
        let mut frame = Frame { drop_port, out: start, ..of_packet };
        let status = self.run_part(context, &mut frame, target);
        Some(match status {
            STATUS_STOPPED => Egressed::Stopped,
            _ => match outcome(status) {
                Outcome::Runaway => Egressed::Runaway,
                Outcome::Done => Egressed::Headers(frame.out as usize - start as usize),
            },
        })
    }

    #[inline]
    fn run_part(&self, context: &mut Context, frame: &mut Frame, target: usize) -> u32 {
        let status = self.enter(context.regs, frame, target);
        context.wire.cursor = frame.cursor;
        status
    }

    /// Start of `out`, with room for all headers.
    #[inline(always)]
    fn room(&self, out: &mut Vec<u8>) -> *mut u8 {
        if out.len() < self.emit_bytes {
            out.resize(self.emit_bytes, 0);
        }
        out.as_mut_ptr()
    }
}

fn outcome(status: u32) -> Outcome {
    if status == STATUS_RUNAWAY {
        Outcome::Runaway
    } else {
        Outcome::Done
    }
}

impl NativeCode {
    /// Sets the slots that the program reads to those of a new packet; false where this is left to the host.
    pub fn start(&self, regs: &mut Regs) -> bool {
        self.functions.start.as_ref().is_some_and(|start| {
            start.set(regs);
            true
        })
    }

    /// Brings back the slots that the program reads from egress on; false where this is left to the host. `again`: the
    /// slots are those that the egress of another copy of the packet has left.
    pub fn restore(&self, regs: &mut Regs, slots: &[u64], again: bool) -> bool {
        let Some(target) = (if again { self.functions.restore_again } else { self.functions.restore }) else {
            return false;
        };
        assert!(slots.len() >= self.slots, "a packet has all slots of its program");
        self.enter(regs, slots.as_ptr().cast_mut().cast(), target);
        true
    }

    /// Runs the code at `target` until it ends; `frame` is what that code takes it for.
    #[inline]
    fn enter(&self, regs: *mut Regs, frame: *mut Frame, target: usize) -> u32 {
        // SAFETY: the memory holds code that `compile` made for this signature, at this offset among others; it was made
        // executable and lives as long as `self`.
        let code: extern "C" fn(*mut Regs, *mut Frame) -> u32 =
            unsafe { std::mem::transmute(self.memory.as_ptr().add(target)) };
        code(regs, frame)
    }
}

/// Executes instruction `pc` for the code. The result is 0 where the next instruction follows, else the number of the one
/// that does, from 1 on.
extern "C" fn step(frame: *mut Frame<'_>, pc: u32) -> usize {
    // SAFETY: only the code calls this, with the frame that `NativeCode::run` gave it.
    unsafe {
        with_context(frame, |context, _| {
            match context.program.code.ops.get(pc as usize).map(|op| context.step(op)) {
                Some(Flow::To(to)) => to as usize + 1,
                _ => 0,
            }
        })
    }
}

/// Looks up table `index`, which has leads; the result is the address of one.
extern "C" fn find(frame: *mut Frame<'_>, index: u32) -> usize {
    // SAFETY: as in `step`; there is an element of `indexed` for each table.
    let (context, indexed) = unsafe { (&*(*frame).context, &*(*frame).indexed.add(index as usize)) };
    indexed.lead(context.state.tables[index as usize].lookup(context.regs))
}

/// As `find`, of a table whose key is one word, with that word.
extern "C" fn find_word(frame: *mut Frame<'_>, index: u32, key: u64) -> usize {
    // SAFETY: as in `find`.
    let (context, indexed) = unsafe { (&*(*frame).context, &*(*frame).indexed.add(index as usize)) };
    indexed.lead(context.state.tables[index as usize].lookup_word(key))
}

/// Looks up table `index` for the code, as `step` does for the instruction; the result is the number of the way.
extern "C" fn table(frame: *mut Frame<'_>, index: u32) -> usize {
    // SAFETY: as in `step`.
    unsafe {
        with_context(frame, |context, native| {
            let (action, next) = match context.apply(index as u16) {
                Flow::Call { entry, next } => (entry, next),
                Flow::To(next) => (next, next),
                Flow::Next => unreachable!("a table leads to a node"),
            };
            let ways = &native.ways[index as usize];
            let way = Way::find(ways, &context.program.code, action, next);
            way.expect("the ways from a table are those of its actions") as usize
        })
    }
}

/// Gives `execute` the context of the run.
///
/// # Safety
///
/// The pointers of the frame are those of `NativeCode::run`, which does not use them while the code runs.
#[inline]
unsafe fn with_context<'c>(
    frame: *mut Frame<'c>,
    execute: impl FnOnce(&mut Context<'c>, &NativeCode) -> usize,
) -> usize {
    // SAFETY: see above.
    let (context, native, frame) = unsafe { (&mut *(*frame).context, &*(*frame).native, &mut *frame) };
    context.wire.cursor = frame.cursor;
    let result = execute(context, native);
    frame.cursor = context.wire.cursor;
    result
}
