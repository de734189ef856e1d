//! The system call `bpf`, and instructions as it takes them.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

pub(crate) const BPF_MAP_CREATE: libc::c_long = 0;
const BPF_PROG_LOAD: libc::c_long = 5;
const PROG_TYPE_XDP: u32 = 6;
const LOG_BYTES: usize = 65_536;

pub(crate) fn call<T>(command: libc::c_long, attributes: &T) -> io::Result<RawFd> {
    // SAFETY: pointer and size describe `attributes`, a plain C value; what it points to outlives the call.
    let result = unsafe {
        libc::syscall(libc::SYS_bpf, command, (attributes as *const T).cast::<libc::c_void>(), size_of::<T>())
    };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(result as RawFd)
}

pub(crate) fn owned(descriptor: RawFd) -> OwnedFd {
    // SAFETY: the kernel has just made the descriptor, it belongs to nobody else.
    unsafe { OwnedFd::from_raw_fd(descriptor) }
}

/// Loads an XDP program.
pub(crate) fn load(instructions: &[Instruction], flags: u32) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Load {
        kind: u32,
        instruction_count: u32,
        instructions: u64,
        license: u64,
        log_level: u32,
        log_bytes: u32,
        log: u64,
        kernel_version: u32,
        flags: u32,
    }
    let mut log = vec![0_u8; LOG_BYTES];
    let attributes = Load {
        kind: PROG_TYPE_XDP,
        instruction_count: instructions.len() as u32,
        instructions: instructions.as_ptr() as u64,
        license: c"Dual MIT/GPL".as_ptr() as u64,
        log_level: 1,
        log_bytes: LOG_BYTES as u32,
        log: log.as_mut_ptr() as u64,
        kernel_version: 0,
        flags,
    };
    call(BPF_PROG_LOAD, &attributes).map(owned).map_err(|error| {
        let text = String::from_utf8_lossy(&log);
        let reason = text.trim_end_matches('\0').lines().last().unwrap_or_default();
        io::Error::new(error.kind(), format!("{error} {reason}"))
    })
}

/// One instruction as the kernel reads it.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Instruction {
    code: u8,
    registers: u8,
    offset: i16,
    immediate: i32,
}

/// Source and destination register, as they are in an instruction.
pub(crate) fn op(code: u8, destination: u8, source: u8, offset: i16, immediate: i32) -> Instruction {
    Instruction { code, registers: source << 4 | destination, offset, immediate }
}

pub(crate) const MOVE: u8 = 0xbf;
pub(crate) const MOVE_NUMBER: u8 = 0xb7;
pub(crate) const ADD_NUMBER: u8 = 0x07;
pub(crate) const LOAD_WORD: u8 = 0x61;
pub(crate) const LOAD_NUMBER: u8 = 0x18;
pub(crate) const STORE: u8 = 0x7b;
pub(crate) const CALL: u8 = 0x85;
pub(crate) const EXIT: u8 = 0x95;
pub(crate) const JUMP_ABOVE: u8 = 0x2d;
pub(crate) const JUMP_ABOVE_NUMBER: u8 = 0x25;
pub(crate) const JUMP_NOT_EQUAL_NUMBER: u8 = 0x55;
pub(crate) const MAP_DESCRIPTOR: u8 = 1;
pub(crate) const AND_NUMBER: u8 = 0x57;
pub(crate) const LOAD_HALF: u8 = 0x69;
pub(crate) const LOAD_LONG: u8 = 0x79;
pub(crate) const STORE_WORD: u8 = 0x63;
pub(crate) const JUMP: u8 = 0x05;
pub(crate) const JUMP_EQUAL: u8 = 0x1d;
pub(crate) const JUMP_EQUAL_NUMBER: u8 = 0x15;
pub(crate) const JUMP_BELOW_NUMBER: u8 = 0xa5;
/// Source registers of [`LOAD_NUMBER`]: the number is the descriptor of a map, or means the only value of a map.
pub(crate) const MAP_VALUE: u8 = 2;
