//! The XDP program of a port: hands frames to the AF_XDP socket of their queue, with the time of arrival in front.
//!
//! It is a dozen instructions, loaded by the system call itself: neither a compiler for BPF nor libbpf is needed.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Bytes in front of a frame: [`STAMP_MARK`], then nanoseconds of CLOCK_MONOTONIC, both in the machine's order.
pub const STAMP_BYTES: usize = 16;
/// Says that a time stamp follows; a frame without room for it has none.
pub const STAMP_MARK: u64 = 0x7034_6d65_7368_7473;

const BPF_MAP_CREATE: libc::c_long = 0;
const BPF_MAP_UPDATE_ELEM: libc::c_long = 2;
const BPF_PROG_LOAD: libc::c_long = 5;
const BPF_LINK_CREATE: libc::c_long = 28;
const MAP_TYPE_XSKMAP: u32 = 17;
const PROG_TYPE_XDP: u32 = 6;
const ATTACH_TYPE_XDP: u32 = 37;
const PROG_FLAG_FRAGMENTS: u32 = 1 << 5;
const XDP_PASS: i32 = 2;
const KTIME_GET_NS: i32 = 5;
const REDIRECT_MAP: i32 = 51;
const XDP_ADJUST_META: i32 = 54;
const XDP_GET_BUFF_LEN: i32 = 188;
const LOG_BYTES: usize = 16_384;

/// How the program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XdpMode {
    /// In the driver, before the kernel makes a buffer of its own.
    Driver,
    /// In the kernel's receive path, with any driver.
    Generic,
}

impl XdpMode {
    fn flags(self) -> u32 {
        match self {
            XdpMode::Generic => 1 << 1,
            XdpMode::Driver => 1 << 2,
        }
    }
}

/// A program on an interface. It is taken off when this goes, also with a process that is killed.
pub struct XdpProgram {
    sockets: OwnedFd,
    _program: OwnedFd,
    _link: OwnedFd,
}

impl XdpProgram {
    /// Loads and attaches; frames longer than `longest_bytes`, and those of queues without a socket, go the usual way.
    pub fn attach(interface: u32, queues: u32, longest_bytes: u32, mode: XdpMode) -> io::Result<XdpProgram> {
        let sockets = create_map(queues)?;
        let program = load(&instructions(sockets.as_raw_fd(), longest_bytes as i32))?;
        let attributes = [program.as_raw_fd() as u32, interface, ATTACH_TYPE_XDP, mode.flags()];
        let link = owned(call(BPF_LINK_CREATE, &attributes)?);
        Ok(XdpProgram { sockets, _program: program, _link: link })
    }

    /// From now on the frames of a queue go to this socket.
    pub fn set_socket(&self, queue: u32, socket: RawFd) -> io::Result<()> {
        let value = socket as u32;
        #[repr(C)]
        struct Update {
            map: u32,
            padding: u32,
            key: u64,
            value: u64,
            flags: u64,
        }
        let attributes = Update {
            map: self.sockets.as_raw_fd() as u32,
            padding: 0,
            key: (&raw const queue) as u64,
            value: (&raw const value) as u64,
            flags: 0,
        };
        call(BPF_MAP_UPDATE_ELEM, &attributes).map(|_| ())
    }
}

fn create_map(entries: u32) -> io::Result<OwnedFd> {
    // Type, size of a key, size of a value, number of entries.
    call(BPF_MAP_CREATE, &[MAP_TYPE_XSKMAP, 4, 4, entries]).map(owned)
}

fn load(instructions: &[Instruction]) -> io::Result<OwnedFd> {
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
        flags: PROG_FLAG_FRAGMENTS,
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
struct Instruction {
    code: u8,
    registers: u8,
    offset: i16,
    immediate: i32,
}

/// Source and destination register, as they are in an instruction.
fn op(code: u8, destination: u8, source: u8, offset: i16, immediate: i32) -> Instruction {
    Instruction { code, registers: source << 4 | destination, offset, immediate }
}

const MOVE: u8 = 0xbf;
const MOVE_NUMBER: u8 = 0xb7;
const ADD_NUMBER: u8 = 0x07;
const LOAD_WORD: u8 = 0x61;
const LOAD_NUMBER: u8 = 0x18;
const STORE: u8 = 0x7b;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;
const JUMP_ABOVE: u8 = 0x2d;
const JUMP_ABOVE_NUMBER: u8 = 0x25;
const JUMP_NOT_EQUAL_NUMBER: u8 = 0x55;
const MAP_DESCRIPTOR: u8 = 1;
/// Offsets of `struct xdp_md`.
const DATA: i16 = 0;
const DATA_META: i16 = 8;
const QUEUE: i16 = 16;

/// The program. Register 6 holds the context, register 7 the time.
fn instructions(sockets: RawFd, longest_bytes: i32) -> Vec<Instruction> {
    vec![
        op(MOVE, 6, 1, 0, 0),
        op(CALL, 0, 0, 0, XDP_GET_BUFF_LEN),
        // Too long for a buffer of the socket: to "Pass", 21 further on.
        op(JUMP_ABOVE_NUMBER, 0, 0, 21, longest_bytes),
        op(CALL, 0, 0, 0, KTIME_GET_NS),
        op(MOVE, 7, 0, 0, 0),
        op(MOVE, 1, 6, 0, 0),
        op(MOVE_NUMBER, 2, 0, 0, -(STAMP_BYTES as i32)),
        op(CALL, 0, 0, 0, XDP_ADJUST_META),
        // No room in front of the frame: to "Redirect", 9 further on, without a stamp.
        op(JUMP_NOT_EQUAL_NUMBER, 0, 0, 9, 0),
        op(LOAD_WORD, 1, 6, DATA_META, 0),
        op(LOAD_WORD, 2, 6, DATA, 0),
        op(MOVE, 3, 1, 0, 0),
        op(ADD_NUMBER, 3, 0, 0, STAMP_BYTES as i32),
        op(JUMP_ABOVE, 3, 2, 4, 0),
        op(LOAD_NUMBER, 4, 0, 0, STAMP_MARK as u32 as i32),
        op(0, 0, 0, 0, (STAMP_MARK >> 32) as i32),
        op(STORE, 1, 4, 0, 0),
        op(STORE, 1, 7, 8, 0),
        // Redirect.
        op(LOAD_WORD, 2, 6, QUEUE, 0),
        op(LOAD_NUMBER, 1, MAP_DESCRIPTOR, 0, sockets),
        op(0, 0, 0, 0, 0),
        op(MOVE_NUMBER, 3, 0, 0, XDP_PASS),
        op(CALL, 0, 0, 0, REDIRECT_MAP),
        op(EXIT, 0, 0, 0, 0),
        // Pass.
        op(MOVE_NUMBER, 0, 0, 0, XDP_PASS),
        op(EXIT, 0, 0, 0, 0),
    ]
}

fn call<T>(command: libc::c_long, attributes: &T) -> io::Result<RawFd> {
    // SAFETY: pointer and size describe `attributes`, a plain C value; what it points to outlives the call.
    let result = unsafe {
        libc::syscall(libc::SYS_bpf, command, (attributes as *const T).cast::<libc::c_void>(), size_of::<T>())
    };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(result as RawFd)
}

fn owned(descriptor: RawFd) -> OwnedFd {
    // SAFETY: the kernel has just made the descriptor, it belongs to nobody else.
    unsafe { OwnedFd::from_raw_fd(descriptor) }
}
