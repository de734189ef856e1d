//! A look into the transmit ring of an AF_XDP socket, beside the program that fills it and the kernel that empties it.

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use memmap2::{MmapOptions, MmapRaw};

use p4mesh_pipeline::prefetch;

/// Bytes of a frame that are loaded ahead; the processor itself follows from there.
const LOADED_BYTES: u64 = 128;
const LINE_BYTES: u64 = 64;

/// The frames that wait in a ring. Another core has written them: whoever reads one after the other waits for each.
pub(crate) struct TransmitRing {
    ring: MmapRaw,
    /// Offsets in the mapping.
    producer: usize,
    consumer: usize,
    descriptors: usize,
    frames: u32,
    /// Address of the first buffer; an integer, so that a ring can go to another thread.
    memory: usize,
}

impl TransmitRing {
    /// The ring of `frames` frames of a socket that is not bound yet, and the address of its buffers.
    pub fn of(socket: RawFd, frames: u32, memory: usize) -> io::Result<TransmitRing> {
        // SAFETY: all-zero is a valid value, and pointers and size describe it.
        let offsets = unsafe {
            let mut offsets: libc::xdp_mmap_offsets = zeroed();
            let mut size = size_of::<libc::xdp_mmap_offsets>() as libc::socklen_t;
            let offsets_at = (&raw mut offsets).cast();
            if libc::getsockopt(socket, libc::SOL_XDP, libc::XDP_MMAP_OFFSETS, offsets_at, &mut size) != 0 {
                return Err(io::Error::last_os_error());
            }
            offsets
        };
        let tx = offsets.tx;
        let bytes = tx.desc as usize + frames as usize * size_of::<libc::xdp_desc>();
        let mut options = MmapOptions::new();
        let options = options.offset(libc::XDP_PGOFF_TX_RING as u64).len(bytes);
        Ok(TransmitRing {
            ring: options.map_raw_read_only(socket)?,
            producer: tx.producer as usize,
            consumer: tx.consumer as usize,
            descriptors: tx.desc as usize,
            frames,
            memory,
        })
    }

    /// Begins to load the next frames that the kernel will send, all at once.
    pub fn prefetch(&self, most: u32) {
        let begin = self.index(self.consumer);
        let waiting = self.index(self.producer).wrapping_sub(begin).min(most);
        for place in 0..waiting {
            let place = begin.wrapping_add(place) & (self.frames - 1);
            let descriptor = self.descriptors + place as usize * size_of::<libc::xdp_desc>();
            // SAFETY: the place is within the mapping and aligned; the address is the first member of a descriptor.
            let address =
                unsafe { (*self.ring.as_ptr().add(descriptor).cast::<AtomicU64>()).load(Ordering::Relaxed) };
            for line in (0..LOADED_BYTES).step_by(LINE_BYTES as usize) {
                prefetch((self.memory + (address + line) as usize) as *const u8);
            }
        }
    }

    fn index(&self, offset: usize) -> u32 {
        // SAFETY: the kernel gave this offset; it is within the mapping and aligned.
        unsafe { (*self.ring.as_ptr().add(offset).cast::<AtomicU32>()).load(Ordering::Acquire) }
    }
}
