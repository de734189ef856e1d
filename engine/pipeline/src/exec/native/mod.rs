//! Native execution on x86-64: the compiled program as machine code, made once at load. It does
//! what the interpreter does; a test compares both.
//!
//! The code is position independent, keeps to registers that it saves, and touches memory in four
//! places only: the packet's slots (every 16-bit index is inside them), the frame below, the bytes
//! of the packet after a length check, and array cells after an index check.

mod headers;
mod translate;
mod x86;

use memmap2::{Mmap, MmapMut};

use crate::code::ir::Pc;
use crate::code::layout::Layout;
use crate::code::layout::Regs;
use crate::code::program::{Code, Program};
use crate::exec::context::{Context, Flow};
use crate::exec::context::{Outcome, Wire};
use crate::state::cells::State;

const STATUS_DONE: u32 = 0;
const STATUS_RUNAWAY: u32 = 1;

/// First cell and number of cells of a register or counter array.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct View {
    /// Address; an integer, so that a switch can move between threads with its arrays.
    cells: usize,
    count: usize,
}

impl View {
    fn of<T>(first: *mut T, count: usize) -> View {
        View { cells: first.expose_provenance(), count }
    }
}

/// Words of parameters that a shortcut holds.
const SHORTCUT_WORDS: usize = 2;

/// Where a table leads that has no entries: its action is known, and takes few parameters.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct Shortcut {
    /// Address of the action; 0: the table must be looked up.
    action: usize,
    /// Address where the action returns to.
    next: usize,
    params: [u64; SHORTCUT_WORDS],
}

/// Data that the code shares with the host during one run.
#[repr(C)]
struct Frame {
    registers: *const View,
    counters: *const View,
    shortcuts: *const Shortcut,
    /// Address where the action that runs returns to.
    return_to: usize,
    packet: *const u8,
    length: usize,
    cursor: usize,
    /// Where the next byte of a header goes.
    out: *mut u8,
    // Beyond this point only the host reads.
    program: *const Program,
    base: usize,
    offsets: *const [u32],
    regs: *mut Regs,
    state: *mut State,
    now_ps: u64,
    variable_bits: u64,
}

/// Byte offsets of the members of [`Frame`] that the code uses.
struct Offsets;

impl Offsets {
    const REGISTERS: u8 = std::mem::offset_of!(Frame, registers) as u8;
    const COUNTERS: u8 = std::mem::offset_of!(Frame, counters) as u8;
    const SHORTCUTS: u8 = std::mem::offset_of!(Frame, shortcuts) as u8;
    const RETURN: u8 = std::mem::offset_of!(Frame, return_to) as u8;
    const PACKET: u8 = std::mem::offset_of!(Frame, packet) as u8;
    const LENGTH: u8 = std::mem::offset_of!(Frame, length) as u8;
    const CURSOR: u8 = std::mem::offset_of!(Frame, cursor) as u8;
    const OUT: u8 = std::mem::offset_of!(Frame, out) as u8;
}

/// Arrays and tables of a switch as the code sees them.
pub(crate) struct Views {
    registers: Vec<View>,
    counters: Vec<View>,
    shortcuts: Vec<Shortcut>,
}

impl Views {
    /// The arrays must stay where they are as long as the views are used.
    pub fn of(state: &mut State) -> Views {
        Views {
            registers: state
                .registers
                .arrays_mut()
                .map(|(place, first)| View::of(first, place.size))
                .collect(),
            counters: state
                .counters
                .iter_mut()
                .map(|cells| View::of(cells.as_mut_ptr(), cells.len()))
                .collect(),
            shortcuts: vec![Shortcut::default(); state.tables.len()],
        }
    }

    /// Says where a table leads: action, next node and parameters, or that it must be looked up.
    pub fn set_shortcut(&mut self, native: &NativeCode, table: usize, leads_to: Option<(Pc, Pc, &[u64])>) {
        self.shortcuts[table] = match leads_to {
            Some((action, next, words)) if words.len() <= SHORTCUT_WORDS => {
                let mut params = [0; SHORTCUT_WORDS];
                params[..words.len()].copy_from_slice(words);
                Shortcut { action: native.address(action), next: native.address(next), params }
            }
            _ => Shortcut::default(),
        };
    }
}

/// Machine code of a program.
pub(crate) struct NativeCode {
    memory: Mmap,
    /// Offset of every instruction.
    offsets: Vec<u32>,
    /// Offset of the code that writes headers.
    emit: Option<u32>,
    /// Room that it needs, 8 bytes more than all headers together.
    emit_bytes: usize,
}

impl NativeCode {
    /// `None` where the system gives no executable memory, or the program does not fit.
    pub fn compile(code: &Code, layout: &Layout) -> Option<NativeCode> {
        type HostFunction = extern "sysv64" fn(*mut Frame, u32) -> usize;
        let address = |function: HostFunction| function as usize as u64;
        let host = translate::Host { step: address(step), table: address(table) };
        let translation = translate::translate(code, layout, host)?;
        let mut memory = MmapMut::map_anon(translation.bytes.len()).ok()?;
        memory.copy_from_slice(&translation.bytes);
        let header_bytes = code.deparse_order.iter().map(|&header| layout.shape_of(header).fixed_bytes());
        Some(NativeCode {
            memory: memory.make_exec().ok()?,
            offsets: translation.offsets,
            emit: translation.emit,
            emit_bytes: header_bytes.sum::<usize>() + 8,
        })
    }

    /// Address of an instruction.
    fn address(&self, pc: Pc) -> usize {
        let end = self.offsets.last().copied().unwrap_or(0);
        self.memory.as_ptr() as usize + self.offsets.get(pc as usize).copied().unwrap_or(end) as usize
    }

    /// Runs from `entry` to the end of that part of the program.
    pub fn run(&self, context: &mut Context, views: &Views, entry: Pc) -> Outcome {
        let base = self.memory.as_ptr() as usize;
        let Wire { frame: packet, cursor } = context.wire;
        let mut frame = Frame {
            registers: views.registers.as_ptr(),
            counters: views.counters.as_ptr(),
            shortcuts: views.shortcuts.as_ptr(),
            return_to: 0,
            packet: packet.as_ptr(),
            length: packet.len(),
            cursor,
            out: std::ptr::null_mut(),
            program: context.program,
            base,
            offsets: &self.offsets[..],
            regs: context.regs,
            state: context.state,
            now_ps: context.now_ps,
            variable_bits: context.variable_bits,
        };
        let target = self.offsets.get(entry as usize).copied().unwrap_or(0);
        let status = self.enter(&mut frame, target);
        context.wire.cursor = frame.cursor;
        context.variable_bits = frame.variable_bits;
        if status == STATUS_RUNAWAY {
            Outcome::Runaway
        } else {
            Outcome::Done
        }
    }
}

impl NativeCode {
    /// Writes the valid headers to the start of `out`, which grows as needed, and gives their
    /// length; `None` where this is left to the host.
    pub fn emit(&self, program: &Program, regs: &mut Regs, out: &mut Vec<u8>) -> Option<usize> {
        let target = self.emit?;
        if out.len() < self.emit_bytes {
            out.resize(self.emit_bytes, 0);
        }
        let start = out.as_mut_ptr();
        let mut frame = Frame {
            registers: std::ptr::null(),
            counters: std::ptr::null(),
            shortcuts: std::ptr::null(),
            return_to: 0,
            packet: std::ptr::null(),
            length: 0,
            cursor: 0,
            out: start,
            program,
            base: 0,
            offsets: &[],
            regs,
            state: std::ptr::null_mut(),
            now_ps: 0,
            variable_bits: 0,
        };
        self.enter(&mut frame, target);
        Some(frame.out as usize - start as usize)
    }

    /// Runs the code at `target` until it ends.
    fn enter(&self, frame: &mut Frame, target: u32) -> u32 {
        // SAFETY: the memory holds code that `translate` made for this signature; it was made
        // executable and lives as long as `self`.
        let code: extern "sysv64" fn(*mut Regs, *mut Frame, usize) -> u32 =
            unsafe { std::mem::transmute(self.memory.as_ptr()) };
        code(frame.regs, frame, self.memory.as_ptr() as usize + target as usize)
    }
}

/// Executes instruction `pc` for the code. The result is the address where to go on, 0 for the
/// next instruction; the return address of a call is left in the frame.
extern "sysv64" fn step(frame: *mut Frame, pc: u32) -> usize {
    // SAFETY: only the code calls this, with the frame that `NativeCode::run` gave it.
    unsafe {
        with_context(frame, |context| context.program.code.ops.get(pc as usize).map(|op| context.step(op)))
    }
}

/// Looks up table `index` for the code, as `step` does for the instruction.
extern "sysv64" fn table(frame: *mut Frame, index: u32) -> usize {
    // SAFETY: as in `step`.
    unsafe { with_context(frame, |context| Some(context.apply(index as u16))) }
}

/// Makes a context of the frame, and addresses of what `execute` answers.
///
/// # Safety
///
/// The pointers of the frame come from exclusive references that `NativeCode::run` holds and does
/// not use while the code runs.
unsafe fn with_context(frame: *mut Frame, execute: impl FnOnce(&mut Context) -> Option<Flow>) -> usize {
    // SAFETY: see above.
    let (frame, mut context) = unsafe {
        let frame = &mut *frame;
        let context = Context {
            program: &*frame.program,
            regs: &mut *frame.regs,
            state: &mut *frame.state,
            wire: Wire {
                frame: std::slice::from_raw_parts(frame.packet, frame.length),
                cursor: frame.cursor,
            },
            now_ps: frame.now_ps,
            variable_bits: frame.variable_bits,
        };
        (frame, context)
    };
    let flow = execute(&mut context).unwrap_or(Flow::Next);
    frame.cursor = context.wire.cursor;
    frame.variable_bits = context.variable_bits;
    // SAFETY: see above.
    let offsets = unsafe { &*frame.offsets };
    let address = |pc: Pc| {
        let end = offsets.last().copied().unwrap_or(0);
        frame.base + offsets.get(pc as usize).copied().unwrap_or(end) as usize
    };
    match flow {
        Flow::Next => 0,
        Flow::To(pc) => address(pc),
        Flow::Call { entry, next } => {
            let (entry, next) = (address(entry), address(next));
            frame.return_to = next;
            entry
        }
    }
}
