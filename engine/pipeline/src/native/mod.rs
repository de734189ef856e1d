//! Native execution on x86-64: the compiled program as machine code, made once at load. There is
//! nothing in it that the interpreter does not do; a test holds both side by side.
//!
//! The code is position independent, keeps to registers that it saves, and touches memory in four
//! places only: the packet's slots (every 16-bit index is inside them), the frame below, the bytes
//! of the packet after a length check, and array cells after an index check.

mod translate;
mod x86;

use memmap2::{Mmap, MmapMut};

use crate::ir::Pc;
use crate::layout::Layout;
use crate::machine::{Outcome, State, Wire};
use crate::program::{Code, Program};
use crate::steps::{Context, Flow};
use crate::wire::Regs;
use crate::words::limbs_for;

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
    pub fn of<T>(cells: &mut [T]) -> View {
        View { cells: cells.as_mut_ptr().expose_provenance(), count: cells.len() }
    }
}

/// What the code shares with the host during one run.
#[repr(C)]
struct Frame {
    registers: *const View,
    counters: *const View,
    /// Address where the action that runs returns to.
    return_to: usize,
    packet: *const u8,
    length: usize,
    cursor: usize,
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
    const RETURN: u8 = std::mem::offset_of!(Frame, return_to) as u8;
    const PACKET: u8 = std::mem::offset_of!(Frame, packet) as u8;
    const LENGTH: u8 = std::mem::offset_of!(Frame, length) as u8;
    const CURSOR: u8 = std::mem::offset_of!(Frame, cursor) as u8;
}

/// Arrays of a switch as the code sees them.
pub(crate) struct Views {
    registers: Vec<View>,
    counters: Vec<View>,
}

impl Views {
    /// The arrays must stay where they are as long as the views are used.
    pub fn of(state: &mut State) -> Views {
        Views {
            registers: state.registers.iter_mut().map(|array| View::of(&mut array.cells)).collect(),
            counters: state.counters.iter_mut().map(|cells| View::of(cells)).collect(),
        }
    }
}

/// Machine code of a program.
pub(crate) struct NativeCode {
    memory: Mmap,
    /// Offset of every instruction.
    offsets: Vec<u32>,
}

impl NativeCode {
    /// `None` where the system gives no executable memory, or the program does not fit.
    pub fn compile(
        code: &Code,
        layout: &Layout,
        register_bits: impl Iterator<Item = u32>,
    ) -> Option<NativeCode> {
        let limbs: Vec<usize> = register_bits.map(limbs_for).collect();
        let step = step as extern "sysv64" fn(*mut Frame, u32) -> usize;
        let translation = translate::translate(code, layout, &limbs, step as usize as u64)?;
        let mut memory = MmapMut::map_anon(translation.bytes.len()).ok()?;
        memory.copy_from_slice(&translation.bytes);
        Some(NativeCode { memory: memory.make_exec().ok()?, offsets: translation.offsets })
    }

    /// Runs from `entry` to the end of that part of the program.
    pub fn run(&self, context: &mut Context, views: &Views, entry: Pc) -> Outcome {
        let base = self.memory.as_ptr() as usize;
        let Wire { frame: packet, cursor } = context.wire;
        let mut frame = Frame {
            registers: views.registers.as_ptr(),
            counters: views.counters.as_ptr(),
            return_to: 0,
            packet: packet.as_ptr(),
            length: packet.len(),
            cursor,
            program: context.program,
            base,
            offsets: &self.offsets[..],
            regs: context.regs,
            state: context.state,
            now_ps: context.now_ps,
            variable_bits: context.variable_bits,
        };
        let target = base + self.offsets.get(entry as usize).copied().unwrap_or(0) as usize;
        // SAFETY: the memory holds code that `translate` made for this signature; it was made
        // executable and lives as long as `self`.
        let code: extern "sysv64" fn(*mut Regs, *mut Frame, usize) -> u32 =
            unsafe { std::mem::transmute(self.memory.as_ptr()) };
        let status = code(frame.regs, &mut frame, target);
        context.wire.cursor = frame.cursor;
        context.variable_bits = frame.variable_bits;
        if status == STATUS_RUNAWAY {
            Outcome::Runaway
        } else {
            Outcome::Done
        }
    }
}

/// Executes instruction `pc` for the code. The result is the address where to go on, 0 for the
/// next instruction; the return address of a call is left in the frame.
extern "sysv64" fn step(frame: *mut Frame, pc: u32) -> usize {
    // SAFETY: `NativeCode::run` passes a frame whose pointers it derived from exclusive references
    // that it does not use while the code runs; the code calls this function only from there.
    let frame = unsafe { &mut *frame };
    // SAFETY: as above.
    let (program, regs, state, packet, offsets) = unsafe {
        (
            &*frame.program,
            &mut *frame.regs,
            &mut *frame.state,
            std::slice::from_raw_parts(frame.packet, frame.length),
            &*frame.offsets,
        )
    };
    let mut context = Context {
        program,
        regs,
        state,
        wire: Wire { frame: packet, cursor: frame.cursor },
        now_ps: frame.now_ps,
        variable_bits: frame.variable_bits,
    };
    let Some(op) = program.code.ops.get(pc as usize) else { return 0 };
    let flow = context.step(op);
    frame.cursor = context.wire.cursor;
    frame.variable_bits = context.variable_bits;
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
