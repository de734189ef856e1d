//! A ring of frames that leave without a buffer of the kernel for each: an XDP program takes them out of it and directs them
//! to their interface.
//!
//! The program is on no interface. The kernel runs it again and again in one system call (`BPF_PROG_TEST_RUN` with live
//! frames), on a core of its own, and hands what it directs to the driver in batches. An interface takes part if its
//! driver takes frames of XDP (`ndo_xdp_xmit`) and counts them: that count says what has not left.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU64, Ordering};

use memmap2::{MmapOptions, MmapRaw};

use crate::bpf::{
    call, load, op, owned, Instruction, ADD_NUMBER, AND_NUMBER, BPF_MAP_CREATE, CALL, EXIT, JUMP,
    JUMP_ABOVE_NUMBER, JUMP_BELOW_NUMBER, JUMP_EQUAL, JUMP_EQUAL_NUMBER, JUMP_NOT_EQUAL_NUMBER, LOAD_HALF,
    LOAD_LONG, LOAD_NUMBER, MAP_DESCRIPTOR, MAP_VALUE, MOVE, MOVE_NUMBER, STORE, STORE_WORD,
};

/// Frames in the ring, a power of two: few enough for a cache of 1 MiB.
pub(crate) const PLACES: u64 = 512;
const PLACE_BYTES: usize = 2_048;
/// In front of a frame: interface and length, two bytes each. So the shortest frame fills a line of the cache.
const HEAD_BYTES: usize = 4;
/// Where the program counts the frames that it has taken: in a line of its own.
const TAKEN_OFFSET: usize = 64;
/// How far ahead of the frame in work a place is fetched to be written.
const PLACES_AHEAD: u64 = 8;
/// Runs of the program before the kernel hands on what they directed.
const BATCH: u32 = 32;

const BPF_PROG_TEST_RUN: libc::c_long = 10;
const LIVE_FRAMES: u32 = 1 << 1;
const MAP_TYPE_ARRAY: u32 = 2;
const MAP_FLAG_MMAPABLE: u32 = 1 << 10;
const XDP_DROP: i32 = 1;
const MAP_LOOKUP: i32 = 1;
const REDIRECT: i32 = 23;
const XDP_ADJUST_TAIL: i32 = 65;
const XDP_STORE_BYTES: i32 = 190;

/// The ring, for the thread that fills it and the one that lends its core to the kernel.
pub(crate) struct XdpRing {
    control: MmapRaw,
    places: MmapRaw,
    longest_bytes: usize,
    program: OwnedFd,
    _maps: [OwnedFd; 2],
}

impl XdpRing {
    /// For frames of at most `longest_bytes`. Needs CAP_NET_ADMIN and CAP_BPF, and Linux 5.18. The two sides of the ring
    /// have no barriers, so that the processor has to keep the order of stores, as x86 does.
    pub fn open(longest_bytes: usize) -> io::Result<XdpRing> {
        assert!(longest_bytes <= PLACE_BYTES - HEAD_BYTES, "a frame fits its place");
        if !cfg!(target_arch = "x86_64") {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let control = create_array(4_096, 1)?;
        let places = create_array(PLACE_BYTES as u32, PLACES as u32)?;
        let program = load(&instructions(control.as_raw_fd(), places.as_raw_fd(), longest_bytes as i32), 0)?;
        let map = |map: &OwnedFd, bytes: usize| MmapOptions::new().len(bytes).map_raw(map.as_raw_fd());
        let ring = XdpRing {
            control: map(&control, 4_096)?,
            places: map(&places, PLACES as usize * PLACE_BYTES)?,
            longest_bytes,
            program,
            _maps: [control, places],
        };
        // Older kernels do not run it with live frames.
        ring.run(1)?;
        Ok(ring)
    }

    /// Frames that the program has taken since the beginning.
    #[inline]
    pub fn taken(&self) -> u64 {
        self.counter(TAKEN_OFFSET).load(Ordering::Acquire)
    }

    /// Writes frame number `number` for an interface; there must be room.
    #[inline]
    pub fn put(&self, number: u64, interface: u16, frame: &[u8]) {
        assert!(frame.len() <= self.longest_bytes, "the caller has looked at the length");
        prefetch_to_write(self.place(number + PLACES_AHEAD));
        let place = self.place(number);
        let head = u32::from(interface) | (frame.len() as u32) << 16;
        // SAFETY: the place is within the mapping and has room for the longest frame. The program reads it after
        // `publish` alone.
        unsafe {
            place.cast::<u32>().write(head.to_le());
            std::ptr::copy_nonoverlapping(frame.as_ptr(), place.add(HEAD_BYTES), frame.len());
        }
    }

    #[inline]
    fn place(&self, number: u64) -> *mut u8 {
        // SAFETY: the place is within the mapping.
        unsafe { self.places.as_mut_ptr().add((number % PLACES) as usize * PLACE_BYTES) }
    }

    /// Hands all frames below `number` to the program.
    #[inline]
    pub fn publish(&self, number: u64) {
        self.counter(0).store(number, Ordering::Release);
    }

    /// Lets the kernel run the program so many times, or until a signal comes, which is an error.
    pub fn run(&self, repeat: u32) -> io::Result<()> {
        #[repr(C)]
        struct TestRun {
            program: u32,
            result: u32,
            data_bytes: u32,
            data_bytes_out: u32,
            data: u64,
            data_out: u64,
            repeat: u32,
            duration: u32,
            context_bytes: u32,
            context_bytes_out: u32,
            context: u64,
            context_out: u64,
            flags: u32,
            processor: u32,
            batch_frames: u32,
            padding: u32,
        }
        let data = vec![0_u8; self.longest_bytes];
        let attributes = TestRun {
            program: self.program.as_raw_fd() as u32,
            result: 0,
            data_bytes: data.len() as u32,
            data_bytes_out: 0,
            data: data.as_ptr() as u64,
            data_out: 0,
            repeat,
            duration: 0,
            context_bytes: 0,
            context_bytes_out: 0,
            context: 0,
            context_out: 0,
            flags: LIVE_FRAMES,
            processor: 0,
            batch_frames: BATCH,
            padding: 0,
        };
        call(BPF_PROG_TEST_RUN, &attributes).map(|_| ())
    }

    fn counter(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: within the mapping and aligned.
        unsafe { &*self.control.as_ptr().add(offset).cast::<AtomicU64>() }
    }
}

/// Takes a line of the cache from the core that has read it before it is written.
#[inline]
fn prefetch_to_write(address: *const u8) {
    // SAFETY: it is a hint, whatever the address.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_ET0};
        _mm_prefetch::<_MM_HINT_ET0>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

fn create_array(value_bytes: u32, entries: u32) -> io::Result<OwnedFd> {
    // Type, size of a key, size of a value, number of entries, flags.
    call(BPF_MAP_CREATE, &[MAP_TYPE_ARRAY, 4, value_bytes, entries, MAP_FLAG_MMAPABLE]).map(owned)
}

/// The program. Register 6 holds the context, 7 the counters, 8 the frames taken, 9 the place of the next one.
fn instructions(control: RawFd, places: RawFd, longest_bytes: i32) -> Vec<Instruction> {
    vec![
        op(MOVE, 6, 1, 0, 0),
        op(LOAD_NUMBER, 7, MAP_VALUE, 0, control),
        op(0, 0, 0, 0, 0),
        op(LOAD_LONG, 8, 7, TAKEN_OFFSET as i16, 0),
        op(LOAD_LONG, 1, 7, 0, 0),
        // Nothing waits: to "Drop", 27 further on.
        op(JUMP_EQUAL, 8, 1, 27, 0),
        op(MOVE, 1, 8, 0, 0),
        op(AND_NUMBER, 1, 0, 0, PLACES as i32 - 1),
        op(STORE_WORD, 10, 1, -4, 0),
        op(MOVE, 2, 10, 0, 0),
        op(ADD_NUMBER, 2, 0, 0, -4),
        op(LOAD_NUMBER, 1, MAP_DESCRIPTOR, 0, places),
        op(0, 0, 0, 0, 0),
        op(CALL, 0, 0, 0, MAP_LOOKUP),
        // Cannot be: to "Drop", 18 further on.
        op(JUMP_EQUAL_NUMBER, 0, 0, 18, 0),
        op(MOVE, 9, 0, 0, 0),
        op(ADD_NUMBER, 8, 0, 0, 1),
        op(LOAD_HALF, 2, 9, 2, 0),
        op(ADD_NUMBER, 2, 0, 0, -longest_bytes),
        op(MOVE, 1, 6, 0, 0),
        op(CALL, 0, 0, 0, XDP_ADJUST_TAIL),
        // Shorter than a header: to "Taken", 10 further on. The frame is then missing among those that have left.
        op(JUMP_NOT_EQUAL_NUMBER, 0, 0, 10, 0),
        op(LOAD_HALF, 4, 9, 2, 0),
        op(JUMP_ABOVE_NUMBER, 4, 0, 8, longest_bytes),
        op(JUMP_BELOW_NUMBER, 4, 0, 7, 1),
        op(MOVE, 1, 6, 0, 0),
        op(MOVE_NUMBER, 2, 0, 0, 0),
        op(MOVE, 3, 9, 0, 0),
        op(ADD_NUMBER, 3, 0, 0, HEAD_BYTES as i32),
        op(CALL, 0, 0, 0, XDP_STORE_BYTES),
        op(LOAD_HALF, 1, 9, 0, 0),
        op(JUMP, 0, 0, 3, 0),
        // Taken.
        op(STORE, 7, 8, TAKEN_OFFSET as i16, 0),
        // Drop.
        op(MOVE_NUMBER, 0, 0, 0, XDP_DROP),
        op(EXIT, 0, 0, 0, 0),
        // Redirect.
        op(STORE, 7, 8, TAKEN_OFFSET as i16, 0),
        op(MOVE_NUMBER, 2, 0, 0, 0),
        op(CALL, 0, 0, 0, REDIRECT),
        op(EXIT, 0, 0, 0, 0),
    ]
}
