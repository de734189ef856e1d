//! Native execution on x86-64: the compiled program as machine code, made once at load. It does
//! what the interpreter does; a test compares both.
//!
//! The code is position independent, keeps to registers that it saves, and touches memory in four
//! places only: the packet's slots (every 16-bit index is inside them), the frame below, the bytes
//! of the packet after a length check, and array cells after an index check.

mod cases;
mod control_flow;
mod entries;
mod fused_stages;
mod headers;
mod passing;
mod registers;
mod rows;
mod slots;
mod tables;
mod translate;
mod views;
mod x86;

use memmap2::{Mmap, MmapMut};

use crate::code::ir::Pc;
use crate::code::layout::Regs;
use crate::code::program::Program;
use crate::exec::context::{Context, Egressed, Flow, Outcome, Wire};

pub(crate) use views::Views;
use views::{Indexed, View};

const STATUS_DONE: u32 = 0;
const STATUS_RUNAWAY: u32 = 1;
const STATUS_STOPPED: u32 = 2;

/// Data that the code shares with the host during one run.
#[repr(C)]
struct Frame<'c> {
    registers: *const View,
    counters: *const View,
    shortcuts: *const u64,
    indexed: *const Indexed,
    as_loaded: *const u64,
    /// Address where the action that runs returns to.
    return_to: usize,
    packet: *const u8,
    length: usize,
    cursor: usize,
    /// Where the next byte of a header goes.
    out: *mut u8,
    /// Address of the code after this part of the program, 0 = back to the host.
    then: usize,
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
            shortcuts: views.shortcuts.as_ptr(),
            indexed: views.indexed.as_ptr(),
            as_loaded: views.as_loaded.as_ptr(),
            return_to: 0,
            packet: packet.as_ptr(),
            length: packet.len(),
            cursor,
            out: std::ptr::null_mut(),
            then: 0,
            drop_port: 0,
            native,
            context,
        }
    }

    /// For code that needs nothing of the switch.
    fn without_state(native: &NativeCode) -> Self {
        Frame {
            registers: std::ptr::null(),
            counters: std::ptr::null(),
            shortcuts: std::ptr::null(),
            indexed: std::ptr::null(),
            as_loaded: std::ptr::null(),
            return_to: 0,
            packet: std::ptr::null(),
            length: 0,
            cursor: 0,
            out: std::ptr::null_mut(),
            then: 0,
            drop_port: 0,
            native,
            context: std::ptr::null_mut(),
        }
    }
}

/// Byte offsets of the members of [`Frame`] that the code uses.
struct Offsets;

impl Offsets {
    const REGISTERS: u8 = std::mem::offset_of!(Frame, registers) as u8;
    const COUNTERS: u8 = std::mem::offset_of!(Frame, counters) as u8;
    const SHORTCUTS: u8 = std::mem::offset_of!(Frame, shortcuts) as u8;
    const INDEXED: u8 = std::mem::offset_of!(Frame, indexed) as u8;
    const AS_LOADED: u8 = std::mem::offset_of!(Frame, as_loaded) as u8;
    const RETURN: u8 = std::mem::offset_of!(Frame, return_to) as u8;
    const PACKET: u8 = std::mem::offset_of!(Frame, packet) as u8;
    const LENGTH: u8 = std::mem::offset_of!(Frame, length) as u8;
    const CURSOR: u8 = std::mem::offset_of!(Frame, cursor) as u8;
    const OUT: u8 = std::mem::offset_of!(Frame, out) as u8;
    const THEN: u8 = std::mem::offset_of!(Frame, then) as u8;
    const DROP_PORT: u8 = std::mem::offset_of!(Frame, drop_port) as u8;
}

/// Machine code of a program.
pub(crate) struct NativeCode {
    memory: Mmap,
    /// Offset of every instruction.
    offsets: Vec<u32>,
    /// Offset of the code between parser and ingress.
    after_parser: u32,
    /// Offset of the code that writes headers.
    emit: Option<u32>,
    /// Offset of the code between egress and deparser; it is there where `emit` is.
    after_egress: Option<u32>,
    /// Room that it needs, 8 bytes more than all headers together.
    emit_bytes: usize,
    /// Offsets of the code that sets the slots for a new packet, and of those which bring them back for egress.
    start: Option<u32>,
    restore: Option<u32>,
    restore_again: Option<u32>,
    /// Slots that it brings back at most.
    slots: usize,
}

impl NativeCode {
    /// `None` where the system gives no executable memory, or the program does not fit.
    pub fn compile(program: &Program) -> Option<NativeCode> {
        let Program { code, layout, .. } = program;
        type HostFunction = for<'c> extern "sysv64" fn(*mut Frame<'c>, u32) -> usize;
        let address = |function: HostFunction| function as usize as u64;
        let find_word = find_word as extern "sysv64" fn(*mut Frame<'static>, u32, u64) -> usize;
        let host = translate::Host {
            step: address(step),
            find: address(find),
            find_word: find_word as usize as u64,
            table: address(table),
        };
        let translation = translate::translate(code, layout, &cases::cases(program), host)?;
        let mut memory = MmapMut::map_anon(translation.bytes.len()).ok()?;
        memory.copy_from_slice(&translation.bytes);
        let header_bytes = code.deparse_order.iter().map(|&header| layout.shape_of(header).fixed_bytes());
        Some(NativeCode {
            memory: memory.make_exec().ok()?,
            offsets: translation.offsets,
            after_parser: translation.after_parser,
            emit: translation.emit,
            after_egress: translation.after_egress,
            emit_bytes: header_bytes.sum::<usize>() + 8,
            start: translation.start,
            restore: translation.restore,
            restore_again: translation.restore_again,
            slots: layout.slots,
        })
    }

    /// Address of an instruction.
    fn address(&self, pc: Pc) -> usize {
        let end = self.offsets.last().copied().unwrap_or(0);
        self.memory.as_ptr() as usize + self.offsets.get(pc as usize).copied().unwrap_or(end) as usize
    }

    /// Runs from `entry` to the end of that part of the program.
    pub fn run(&self, context: &mut Context, views: &Views, entry: Pc) -> Outcome {
        let Wire { frame: packet, cursor } = context.wire;
        let mut frame = Frame::new(self, context, packet, cursor, views);
        outcome(self.run_part(context, &mut frame, entry))
    }

    /// Runs the parser and the ingress control; `packet` is that of the context.
    #[inline]
    pub fn run_ingress(&self, context: &mut Context, packet: &[u8], views: &Views) -> Outcome {
        let then = self.at(self.after_parser);
        let mut frame = Frame { then, ..Frame::new(self, context, packet, 0, views) };
        outcome(self.run_part(context, &mut frame, context.program.code.parser_entry))
    }

    /// Runs the egress control, and, unless it asks for something or drops the packet, the deparser, and writes the valid
    /// headers as [`NativeCode::emit`] does. `None` where all this is left to the host. `packet` and `payload` are those of
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
        let then = self.at(self.after_egress?);
        let start = self.room(out);
        let of_packet = Frame::new(self, context, packet, payload, views);
        let mut frame = Frame { then, drop_port, out: start, ..of_packet };
        let status = self.run_part(context, &mut frame, context.program.code.egress_entry);
        Some(match status {
            STATUS_STOPPED => Egressed::Stopped,
            _ => match outcome(status) {
                Outcome::Runaway => Egressed::Runaway,
                Outcome::Done => Egressed::Headers(frame.out as usize - start as usize),
            },
        })
    }

    #[inline]
    fn run_part(&self, context: &mut Context, frame: &mut Frame, entry: Pc) -> u32 {
        let target = self.offsets.get(entry as usize).copied().unwrap_or(0);
        let status = self.enter(context.regs, frame, target);
        context.wire.cursor = frame.cursor;
        status
    }

    /// Address of an offset.
    fn at(&self, offset: u32) -> usize {
        self.memory.as_ptr() as usize + offset as usize
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
    /// Writes the valid headers to the start of `out`, which grows as needed, and gives their
    /// length; `None` where this is left to the host.
    pub fn emit(&self, regs: &mut Regs, out: &mut Vec<u8>) -> Option<usize> {
        let target = self.emit?;
        let start = self.room(out);
        let mut frame = Frame { out: start, ..Frame::without_state(self) };
        self.enter(regs, &mut frame, target);
        Some(frame.out as usize - start as usize)
    }

    /// Sets the slots that the program reads to those of a new packet; false where this is left to the host.
    pub fn start(&self, regs: &mut Regs) -> bool {
        let Some(target) = self.start else { return false };
        self.enter(regs, std::ptr::null_mut(), target);
        true
    }

    /// Brings back the slots that the program reads from egress on; false where this is left to the host. `again`: the
    /// slots are those that the egress of another copy of the packet has left.
    pub fn restore(&self, regs: &mut Regs, slots: &[u64], again: bool) -> bool {
        let Some(target) = (if again { self.restore_again } else { self.restore }) else { return false };
        assert!(slots.len() >= self.slots, "a packet has all slots of its program");
        self.enter(regs, slots.as_ptr().cast_mut().cast(), target);
        true
    }

    /// Runs the code at `target` until it ends; `frame` is what that code takes it for.
    fn enter(&self, regs: *mut Regs, frame: *mut Frame, target: u32) -> u32 {
        // SAFETY: the memory holds code that `translate` made for this signature; it was made
        // executable and lives as long as `self`.
        let code: extern "sysv64" fn(*mut Regs, *mut Frame, usize) -> u32 =
            unsafe { std::mem::transmute(self.memory.as_ptr()) };
        code(regs, frame, self.at(target))
    }
}

/// Executes instruction `pc` for the code. The result is the address where to go on, 0 for the
/// next instruction; the return address of a call is left in the frame.
extern "sysv64" fn step(frame: *mut Frame<'_>, pc: u32) -> usize {
    // SAFETY: only the code calls this, with the frame that `NativeCode::run` gave it.
    unsafe {
        with_context(frame, |context| context.program.code.ops.get(pc as usize).map(|op| context.step(op)))
    }
}

/// Looks up table `index`, which has leads; the result is the address of one.
extern "sysv64" fn find(frame: *mut Frame<'_>, index: u32) -> usize {
    // SAFETY: as in `step`; there is an element of `indexed` for each table.
    let (context, indexed) = unsafe { (&*(*frame).context, &*(*frame).indexed.add(index as usize)) };
    indexed.lead(context.state.tables[index as usize].lookup(context.regs))
}

/// As `find`, of a table whose key is one word, with that word.
extern "sysv64" fn find_word(frame: *mut Frame<'_>, index: u32, key: u64) -> usize {
    // SAFETY: as in `find`.
    let (context, indexed) = unsafe { (&*(*frame).context, &*(*frame).indexed.add(index as usize)) };
    indexed.lead(context.state.tables[index as usize].lookup_word(key))
}

/// Looks up table `index` for the code, as `step` does for the instruction.
extern "sysv64" fn table(frame: *mut Frame<'_>, index: u32) -> usize {
    // SAFETY: as in `step`.
    unsafe { with_context(frame, |context| Some(context.apply(index as u16))) }
}

/// Gives `execute` the context of the run, and makes addresses of what it answers.
///
/// # Safety
///
/// The pointers of the frame are those of `NativeCode::run`, which does not use them while the code runs.
#[inline]
unsafe fn with_context<'c>(
    frame: *mut Frame<'c>,
    execute: impl FnOnce(&mut Context<'c>) -> Option<Flow>,
) -> usize {
    // SAFETY: see above.
    let (context, native, frame) = unsafe { (&mut *(*frame).context, &*(*frame).native, &mut *frame) };
    context.wire.cursor = frame.cursor;
    let flow = execute(context).unwrap_or(Flow::Next);
    frame.cursor = context.wire.cursor;
    match flow {
        Flow::Next => 0,
        Flow::To(pc) => native.address(pc),
        Flow::Call { entry, next } => {
            frame.return_to = native.address(next);
            native.address(entry)
        }
    }
}
