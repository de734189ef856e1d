//! The XDP program of a port: hands frames to the AF_XDP socket of their queue, with the time of arrival in front.
//!
//! It is a dozen instructions, loaded by the system call itself: neither a compiler for BPF nor libbpf is needed.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use crate::bpf::{
    call, load, op, owned, Instruction, ADD_NUMBER, BPF_MAP_CREATE, CALL, EXIT, JUMP_ABOVE,
    JUMP_ABOVE_NUMBER, JUMP_NOT_EQUAL_NUMBER, LOAD_NUMBER, LOAD_WORD, MAP_DESCRIPTOR, MOVE, MOVE_NUMBER,
    STORE,
};

/// Bytes in front of a frame: [`STAMP_MARK`], then nanoseconds of CLOCK_MONOTONIC, both in the machine's order.
pub const STAMP_BYTES: usize = 16;
/// Says that a time stamp follows; a frame without room for it has none.
pub const STAMP_MARK: u64 = 0x7034_6d65_7368_7473;

const BPF_MAP_UPDATE_ELEM: libc::c_long = 2;
const BPF_LINK_CREATE: libc::c_long = 28;
const MAP_TYPE_XSKMAP: u32 = 17;
const ATTACH_TYPE_XDP: u32 = 37;
const PROG_FLAG_FRAGMENTS: u32 = 1 << 5;
const XDP_PASS: i32 = 2;
const KTIME_GET_NS: i32 = 5;
const REDIRECT_MAP: i32 = 51;
const XDP_ADJUST_META: i32 = 54;
const XDP_GET_BUFF_LEN: i32 = 188;

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
        let program = load(&instructions(sockets.as_raw_fd(), longest_bytes as i32), PROG_FLAG_FRAGMENTS)?;
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
