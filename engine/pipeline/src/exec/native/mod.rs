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
use crate::code::layout::{Regs, Slot};
use crate::code::program::Program;
use crate::exec::context::{Context, Egressed, Ended, Flow, Outcome, Run, Wire};
use crate::state::cells::State;

pub(crate) use views::Views;
use views::{Indexed, View};
use ways::Way;

/// The end of a part, in the lowest bits of its result. What follows after ingress that has asked for something, and after
/// egress that has stopped, is left to the host.
const STATUS_DONE: u32 = 0;
const STATUS_RUNAWAY: u32 = 1;
const STATUS_STOPPED: u32 = 2;
const STATUS_DROPPED: u32 = 3;
const STATUS_REPLICATES: u32 = 4;
/// With the priority and the port above.
const STATUS_QUEUED: u32 = 5;
const STATUS_BITS: u32 = 8;
const PORT_SHIFT: u32 = 16;

/// Data that the code shares with the host, in one place: a pass writes what is new in it.
#[repr(C)]
pub(super) struct Frame {
    registers: *const View,
    counters: *const View,
    spare_row: usize,
    shortcuts: *const u64,
    indexed: *const Indexed,
    as_loaded: *const u64,
    drop_port: u64,
    max_port: u64,
    queues_per_port: u64,
    /// The port that a frame came to, and its time stamp.
    port: u64,
    stamp: u64,
    packet: *const u8,
    length: usize,
    cursor: usize,
    /// Where the next byte of a header goes.
    out: *mut u8,
    // Beyond this point only the host reads.
    now_ps: u64,
    variable_bits: u64,
    native: *const NativeCode,
    program: *const Program,
    regs: *mut Regs,
    state: *mut State,
}

// SAFETY: all that it points to belongs to the switch that it is part of, or is written before each pass.
unsafe impl Send for Frame {}

/// Byte offsets of the members of [`Frame`] that the code uses.
struct Offsets;

impl Offsets {
    const REGISTERS: u8 = std::mem::offset_of!(Frame, registers) as u8;
    const COUNTERS: u8 = std::mem::offset_of!(Frame, counters) as u8;
    const SPARE_ROW: u8 = std::mem::offset_of!(Frame, spare_row) as u8;
    const SHORTCUTS: u8 = std::mem::offset_of!(Frame, shortcuts) as u8;
    const INDEXED: u8 = std::mem::offset_of!(Frame, indexed) as u8;
    const AS_LOADED: u8 = std::mem::offset_of!(Frame, as_loaded) as u8;
    const PORT: u8 = std::mem::offset_of!(Frame, port) as u8;
    const STAMP: u8 = std::mem::offset_of!(Frame, stamp) as u8;
    const PACKET: u8 = std::mem::offset_of!(Frame, packet) as u8;
    const LENGTH: u8 = std::mem::offset_of!(Frame, length) as u8;
    const CURSOR: u8 = std::mem::offset_of!(Frame, cursor) as u8;
    const OUT: u8 = std::mem::offset_of!(Frame, out) as u8;
    const DROP_PORT: u8 = std::mem::offset_of!(Frame, drop_port) as u8;
    const MAX_PORT: u8 = std::mem::offset_of!(Frame, max_port) as u8;
    const QUEUES_PER_PORT: u8 = std::mem::offset_of!(Frame, queues_per_port) as u8;
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
    /// The slots that the host may set before ingress, with their values of a new packet. None where code sets no others.
    of_target: Option<Vec<(Slot, u64)>>,
}

/// Offsets of the code of each part.
struct Functions {
    ingress: usize,
    /// The same for a frame from a port.
    frame: usize,
    egress: Egress,
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
        type HostFunction = extern "C" fn(*mut Frame, u32) -> usize;
        let address = |function: HostFunction| function as usize as u64;
        let find_word = find_word as extern "C" fn(*mut Frame, u32, u64) -> usize;
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
            of_target: code.liveness.is_some().then(|| compile::of_target(code, layout)),
        })
    }

    /// Runs from `entry` to the end of that part of the program; gives the place in the frame where it stopped, too. `None`
    /// where this is left to the interpreter.
    pub fn run(&self, run: Run<Views>, wire: Wire, entry: Pc) -> Option<(Outcome, usize)> {
        let Egress::Alone { egress, deparser } = self.functions.egress else { return None };
        let code = &run.program.code;
        let target = match entry {
            entry if entry == code.egress_entry => egress,
            entry if entry == code.deparser_entry => deparser,
            _ => return None,
        };
        let (status, frame) = self.run_part(run, wire.frame, wire.cursor, target);
        Some((outcome(status), frame.cursor))
    }

    /// Runs the parser and the ingress control, and says where the packet goes; gives the offset of its payload, too.
    #[inline(always)]
    pub fn run_ingress(&self, run: Run<Views>, packet: &[u8]) -> (Ended, usize) {
        self.run_to_fate(run, packet, self.functions.ingress)
    }

    /// As `run_ingress`, of a frame from a port, whose slots the code sets.
    #[inline(always)]
    pub fn run_frame(&self, run: Run<Views>, packet: &[u8], port: u16, stamp: u64) -> (Ended, usize) {
        (run.views.frame.port, run.views.frame.stamp) = (port.into(), stamp);
        self.run_to_fate(run, packet, self.functions.frame)
    }

    #[inline(always)]
    fn run_to_fate(&self, run: Run<Views>, packet: &[u8], target: usize) -> (Ended, usize) {
        let (status, frame) = self.run_part(run, packet, 0, target);
        let ended = match status & ((1 << STATUS_BITS) - 1) {
            STATUS_QUEUED => {
                Ended::Queued { port: (status >> PORT_SHIFT) as u16, priority: (status >> STATUS_BITS) as u8 }
            }
            STATUS_REPLICATES => Ended::Replicates,
            STATUS_DROPPED => Ended::Dropped,
            STATUS_RUNAWAY => Ended::Runaway,
            _ => Ended::Undecided,
        };
        (ended, frame.cursor)
    }

    /// Runs the egress control, and, unless it asks for something or drops the packet, the deparser, and writes the valid
    /// headers to the start of `out`, which grows as needed. `None` where all this is left to the host.
    #[inline(always)]
    pub fn run_egress(
        &self,
        run: Run<Views>,
        packet: &[u8],
        payload: usize,
        out: &mut Vec<u8>,
    ) -> Option<Egressed> {
        let Egress::ToHeaders(target) = self.functions.egress else { return None };
        let start = self.room(out);
        run.views.frame.out = start;
        let (status, frame) = self.run_part(run, packet, payload, target);
        Some(match status {
            STATUS_DONE => Egressed::Headers(frame.out as usize - start as usize),
            STATUS_STOPPED => Egressed::Stopped,
            _ => Egressed::Runaway,
        })
    }

    #[inline(always)]
    fn run_part<'r>(
        &self,
        run: Run<'r, Views>,
        packet: &[u8],
        cursor: usize,
        target: usize,
    ) -> (u32, &'r Frame) {
        let Run { program, regs, state, views, now_ps } = run;
        let frame = &mut views.frame;
        frame.packet = packet.as_ptr();
        frame.length = packet.len();
        frame.cursor = cursor;
        (frame.now_ps, frame.variable_bits) = (now_ps, 0);
        (frame.native, frame.program, frame.regs, frame.state) = (self, program, regs, state);
        let status = self.enter(frame.regs, frame, target);
        (status, frame)
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
    /// Whether ingress sets the slots of a new packet by itself.
    pub fn sets_slots(&self) -> bool {
        self.of_target.is_some()
    }

    /// Sets the slots of a new packet that the host may set before ingress; false where all are left to it.
    pub fn start(&self, regs: &mut Regs) -> bool {
        let Some(of_target) = &self.of_target else { return false };
        of_target.iter().for_each(|&(slot, value)| regs[slot as usize] = value);
        true
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
extern "C" fn step(frame: *mut Frame, pc: u32) -> usize {
    // SAFETY: only the code calls this, with the frame that `NativeCode::run_part` gave it.
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
extern "C" fn find(frame: *mut Frame, index: u32) -> usize {
    // SAFETY: as in `step`; there is an element of `indexed` for each table.
    let (state, regs, indexed) =
        unsafe { (&*(*frame).state, &*(*frame).regs, &*(*frame).indexed.add(index as usize)) };
    indexed.lead(state.tables[index as usize].lookup(regs))
}

/// As `find`, of a table whose key is one word, with that word.
extern "C" fn find_word(frame: *mut Frame, index: u32, key: u64) -> usize {
    // SAFETY: as in `find`.
    let (state, indexed) = unsafe { (&*(*frame).state, &*(*frame).indexed.add(index as usize)) };
    indexed.lead(state.tables[index as usize].lookup_word(key))
}

/// Looks up table `index` for the code, as `step` does for the instruction; the result is the number of the way.
extern "C" fn table(frame: *mut Frame, index: u32) -> usize {
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
/// The pointers of the frame are those of `NativeCode::run_part`, which does not use them while the code runs.
#[inline]
unsafe fn with_context(frame: *mut Frame, execute: impl FnOnce(&mut Context, &NativeCode) -> usize) -> usize {
    // SAFETY: see above.
    unsafe {
        let frame = &mut *frame;
        let bytes = std::slice::from_raw_parts(frame.packet, frame.length);
        let mut context = Context {
            program: &*frame.program,
            regs: &mut *frame.regs,
            state: &mut *frame.state,
            wire: Wire { frame: bytes, cursor: frame.cursor },
            now_ps: frame.now_ps,
            variable_bits: frame.variable_bits,
        };
        let result = execute(&mut context, &*frame.native);
        (frame.cursor, frame.variable_bits) = (context.wire.cursor, context.variable_bits);
        result
    }
}
