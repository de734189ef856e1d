//! Frames of a Linux interface by AF_XDP: rings that the kernel shares, without a system call per frame.
//!
//! Frames that are too long for a buffer take the way of [`PacketSocket`], in both directions.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::time::{Duration, Instant};

use xdp::nic::{NicIndex, XdpAct};
use xdp::slab::{HeapSlab, Slab};
use xdp::socket::{XdpSocket, XdpSocketBuilder};
use xdp::umem::{FrameSize, UmemCfgBuilder};
use xdp::{Packet, Umem};
use xdp::{RingConfigBuilder, Rings};

use crate::packet_socket::{interface_index, PacketSocket};
use crate::transmit_ring::TransmitRing;
use crate::transmitter::{Outlet, CALL_FRAMES};
use crate::xdp_program::{XdpMode, XdpProgram, STAMP_BYTES, STAMP_MARK};
use crate::IoError;
use p4mesh_pipeline::prefetch;

/// Frames of the kernel and of the program that a queue holds, per direction: where there are few ports, and at least.
const MOST_RING_FRAMES: u32 = 4_096;
const LEAST_RING_FRAMES: u32 = 512;
/// Of all ports together. Buffers take 8 KiB of memory for each, which go round, so that all of it is in use soon.
const ALL_RING_FRAMES: u32 = 32 * MOST_RING_FRAMES;
/// Buffers of a queue for each frame of a ring: both rings full, and the frames in between.
const BUFFERS_PER_RING_FRAME: u32 = 4;
/// Room in front of a frame, for its time stamp.
const HEADROOM_BYTES: u32 = 64;
const BUFFER_BYTES: usize = 2_048;
/// Room in front of that, for the kernel.
const KERNEL_HEADROOM_BYTES: usize = 256;
/// Longest frame in a buffer.
pub const MAX_XDP_FRAME_BYTES: usize = BUFFER_BYTES - KERNEL_HEADROOM_BYTES - HEADROOM_BYTES as usize;
/// Frames that are handed to the kernel or taken from it at once.
const BATCH: usize = 64;
/// Long frames are looked for in each of so many rounds; a loop that rests between rounds waits for them too.
const LONG_FRAME_ROUNDS: u32 = 64;
/// How long a full ring may keep a frame waiting before the frame is dropped.
const LONGEST_WAIT: Duration = Duration::from_millis(200);
const SOL_XDP: libc::c_int = 283;
const XDP_MAX_TX_SKB_BUDGET: libc::c_int = 9;

/// One queue of the interface.
struct Queue {
    // The order matters: the socket goes before the memory that it shares with the kernel.
    socket: XdpSocket,
    rings: Rings,
    umem: Umem,
    /// For whoever lets the kernel send.
    transmit_ring: Option<TransmitRing>,
    /// Of each of its rings.
    ring_frames: u32,
    arrived: Arrived,
    leaving: HeapSlab,
}

/// An interface whose frames the XDP program hands to this process.
pub struct XdpPort {
    // The order matters: frames stop coming before their memory goes.
    _program: XdpProgram,
    queues: Vec<Queue>,
    /// For frames that are too long, and for departures that the kernel is to stamp: it stamps none of a ring.
    packets: PacketSocket,
    stamps_departures: bool,
    mode: XdpMode,
    index: u32,
    rounds: u32,
    pub send_drops: u64,
}

// SAFETY: the packets point into the memory of their queue, which moves along.
unsafe impl Send for XdpPort {}

impl XdpPort {
    /// Opens one of `ports` interfaces; needs CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF. The kernel's bridge and stack see
    /// none of its frames.
    pub fn open(interface: &str, ports: usize) -> Result<XdpPort, IoError> {
        let packets = PacketSocket::open(interface)?;
        let index = interface_index(interface)?;
        let failed = |action: &'static str, source: io::Error| IoError::Socket {
            interface: interface.to_string(),
            action,
            source,
        };
        let count = NicIndex(index).queue_counts().map_or(1, |queues| queues.rx_count().max(1));
        let longest = MAX_XDP_FRAME_BYTES as u32;
        let (program, mode) = match XdpProgram::attach(index, count, longest, XdpMode::Driver) {
            Ok(program) => (program, XdpMode::Driver),
            Err(_) => {
                let program = XdpProgram::attach(index, count, longest, XdpMode::Generic)
                    .map_err(|error| failed("attach an XDP program", error))?;
                (program, XdpMode::Generic)
            }
        };
        let mut queues = Vec::new();
        for number in 0..count {
            let queue = Queue::open(index, number, ring_frames(ports))
                .map_err(|error| failed("open an AF_XDP socket", error))?;
            program
                .set_socket(number, queue.socket.as_raw_fd())
                .map_err(|error| failed("direct frames to an AF_XDP socket", error))?;
            queues.push(queue);
        }
        Ok(XdpPort {
            _program: program,
            queues,
            packets,
            stamps_departures: false,
            mode,
            index,
            rounds: 0,
            send_drops: 0,
        })
    }

    pub fn mode(&self) -> XdpMode {
        self.mode
    }

    /// Number of the interface.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// Whether the driver takes frames of XDP from elsewhere. The one of veth does where the other end has an XDP program.
    pub fn takes_xdp_frames(&self) -> bool {
        let found = NicIndex(self.index).query_capabilities();
        found.is_ok_and(|it| it.xdp_features.0 & XdpAct::NdoXmit as u64 != 0)
    }

    /// How many frames of XDP from elsewhere have left, where the driver counts them.
    pub fn xdp_frames_left(&self) -> Option<u64> {
        self.packets.sum_of_counters(|name| name.starts_with("tx_queue_") && name.ends_with("_xdp_xmit"))
    }

    /// Number of queues that frames come from.
    pub fn queue_count(&self) -> usize {
        self.queues.len()
    }

    /// The socket whose ring frames leave by, and a look into that ring.
    pub fn outlet(&mut self) -> Outlet {
        let queue = &mut self.queues[0];
        Outlet { socket: queue.socket.as_raw_fd(), ring: queue.transmit_ring.take() }
    }

    /// All descriptors that tell of arrivals.
    pub fn descriptors(&self) -> impl Iterator<Item = RawFd> + '_ {
        let packets = self.packets.as_raw_fd();
        self.queues.iter().map(|queue| queue.socket.as_raw_fd()).chain([packets])
    }

    /// Hands over frames that wait, each with nanoseconds of CLOCK_MONOTONIC where the kernel gave them a stamp.
    pub fn receive(&mut self, handle: &mut dyn FnMut(Option<u64>, &[u8])) -> Result<usize, IoError> {
        let mut count = 0;
        for queue in &mut self.queues {
            count += queue.receive(handle);
        }
        // Long frames cost a system call to look for, so that looking is rare while there is other work.
        self.rounds = self.rounds.wrapping_add(1);
        if self.rounds % LONG_FRAME_ROUNDS == 0 {
            count += self.packets.receive(|stamp, frame| {
                if frame.len() > MAX_XDP_FRAME_BYTES {
                    handle(stamp, frame);
                }
            })?;
        }
        Ok(count)
    }

    /// Queues a frame; [`XdpPort::flush`] hands it to the kernel. `push` is called while the ring is full.
    pub fn send(&mut self, time_ps: u64, frame: &[u8], push: &mut dyn FnMut()) -> Result<(), IoError> {
        if self.stamps_departures || frame.len() > MAX_XDP_FRAME_BYTES {
            return self.packets.send(time_ps, frame);
        }
        let queue = &mut self.queues[0];
        if queue.leaving.available() == 0 && !queue.submit(push) || !queue.stage(frame, push) {
            self.send_drops += 1;
        }
        Ok(())
    }

    /// Hands all queued frames to the kernel; returns whether there were any for the ring.
    pub fn flush(&mut self, push: &mut dyn FnMut()) -> Result<bool, IoError> {
        self.packets.flush()?;
        let queue = &mut self.queues[0];
        if queue.leaving.is_empty() {
            return Ok(false);
        }
        if !queue.submit(push) {
            self.send_drops += queue.leaving.len() as u64;
            queue.discard();
        }
        Ok(true)
    }

    /// Whether frames leave by the socket that the kernel stamps, which takes longer, or by the ring.
    pub fn stamp_departures(&mut self, wanted: bool) {
        self.stamps_departures = wanted;
        self.packets.stamp_departures(wanted);
    }

    /// Hands over the kernel's stamps of departures, as [`PacketSocket::departures`].
    pub fn departures(&mut self, handle: &mut dyn FnMut(u64, u64)) {
        self.packets.departures(handle);
    }

    pub fn refused(&self) -> u64 {
        self.packets.refused
    }

    /// Frames that found no room, of both directions.
    pub fn drops(&self) -> u64 {
        let in_rings = |queue: &Queue| {
            queue
                .socket
                .statistics()
                .map_or(0, |found| found.rx_dropped + found.rx_ring_full + found.rx_invalid_descs)
        };
        self.send_drops + self.packets.receive_drops() + self.queues.iter().map(in_rings).sum::<u64>()
    }

    pub fn is_up(&self) -> bool {
        self.packets.is_up()
    }
}

impl Queue {
    fn open(interface: u32, number: u32, ring_frames: u32) -> io::Result<Queue> {
        let other = |error: &dyn std::fmt::Display| io::Error::other(error.to_string());
        let memory = UmemCfgBuilder {
            frame_size: FrameSize::TwoK,
            head_room: HEADROOM_BYTES,
            frame_count: BUFFERS_PER_RING_FRAME * ring_frames,
            ..UmemCfgBuilder::default()
        };
        let mut umem = Umem::map(memory.build().map_err(|error| other(&error))?)?;
        let memory = begin_of(&mut umem);
        take_huge_pages(memory, BUFFERS_PER_RING_FRAME as usize * ring_frames as usize * BUFFER_BYTES);
        let rings = RingConfigBuilder {
            rx_count: ring_frames,
            tx_count: ring_frames,
            fill_count: ring_frames,
            completion_count: ring_frames,
        };
        let rings = rings.build().map_err(|error| other(&error))?;
        let mut builder = XdpSocketBuilder::new().map_err(|error| other(&error))?;
        let (mut rings, flags) = builder.build_rings(&umem, rings).map_err(|error| other(&error))?;
        // Only a matter of speed.
        let transmit_ring = TransmitRing::of(builder.as_raw_fd(), ring_frames, memory).ok();
        let socket = builder.bind(NicIndex(interface), number, flags).map_err(|error| other(&error))?;
        // Only a matter of speed, of Linux 6.17 and later: frames that one system call sends.
        // SAFETY: pointer and size describe the value.
        unsafe {
            libc::setsockopt(
                socket.as_raw_fd(),
                SOL_XDP,
                XDP_MAX_TX_SKB_BUDGET,
                (&raw const CALL_FRAMES).cast(),
                size_of::<u32>() as libc::socklen_t,
            );
        }
        // SAFETY: the memory is part of the same queue as the socket, and goes after it.
        unsafe { rings.fill_ring.enqueue(&mut umem, ring_frames as usize) };
        Ok(Queue {
            socket,
            rings,
            umem,
            transmit_ring,
            ring_frames,
            arrived: Arrived(VecDeque::with_capacity(BATCH)),
            leaving: HeapSlab::with_capacity(BATCH),
        })
    }

    fn receive(&mut self, handle: &mut dyn FnMut(Option<u64>, &[u8])) -> usize {
        let Some(ring) = &mut self.rings.rx_ring else {
            return 0;
        };
        // SAFETY: the packets go back to the memory before this returns.
        let count = unsafe { ring.recv(&self.umem, &mut self.arrived) };
        while let Some(mut packet) = self.arrived.pop_back() {
            let stamp = take_stamp(&mut packet);
            handle(stamp, &packet);
            self.umem.free_packet(packet);
        }
        if count > 0 {
            // SAFETY: as in `open`.
            unsafe { self.rings.fill_ring.enqueue(&mut self.umem, count) };
        }
        count
    }

    /// Puts a frame into a buffer; false when there is none for too long.
    fn stage(&mut self, frame: &[u8], push: &mut dyn FnMut()) -> bool {
        let mut end = None;
        loop {
            // SAFETY: the packet goes into the ring of the same queue.
            if let Some(mut packet) = unsafe { self.umem.alloc() } {
                let fits = packet.append(frame).is_ok();
                debug_assert!(fits, "the caller has looked at the length");
                self.leaving.push_front(packet);
                return true;
            }
            self.reclaim();
            if self.umem.allocatable() == 0 && !wait(&mut end, push) {
                return false;
            }
        }
    }

    /// Hands the staged frames to the kernel; false when its ring stays full for too long.
    fn submit(&mut self, push: &mut dyn FnMut()) -> bool {
        let mut end = None;
        loop {
            if let Some(ring) = &mut self.rings.tx_ring {
                // SAFETY: the memory is part of the same queue as the socket, and goes after it.
                unsafe { ring.send(&mut self.leaving) };
            }
            self.reclaim();
            if self.leaving.is_empty() {
                return true;
            }
            if !wait(&mut end, push) {
                return false;
            }
        }
    }

    /// Takes buffers back whose frames have left.
    fn reclaim(&mut self) {
        self.rings.completion_ring.dequeue(&mut self.umem, self.ring_frames as usize);
    }

    fn discard(&mut self) {
        while let Some(packet) = self.leaving.pop_back() {
            self.umem.free_packet(packet);
        }
    }
}

/// Frames of each ring of a port among so many: a power of two, as rings need.
fn ring_frames(ports: usize) -> u32 {
    let share = ALL_RING_FRAMES / u32::try_from(ports.max(1)).unwrap_or(u32::MAX);
    let power = 1 << share.max(1).ilog2();
    power.clamp(LEAST_RING_FRAMES, MOST_RING_FRAMES)
}

/// Frames that came in, the first one at the back.
struct Arrived(VecDeque<Packet>);

impl Slab for Arrived {
    fn available(&self) -> usize {
        BATCH - self.0.len()
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn push_front(&mut self, packet: Packet) -> Option<Packet> {
        if self.available() == 0 {
            return Some(packet);
        }
        // Until the frame is looked at, it is here, with the stamp in front of it.
        prefetch(packet.as_ptr().wrapping_sub(STAMP_BYTES));
        prefetch(packet.as_ptr());
        self.0.push_front(packet);
        None
    }

    fn pop_back(&mut self) -> Option<Packet> {
        self.0.pop_back()
    }
}

/// Address of the first buffer.
fn begin_of(umem: &mut Umem) -> usize {
    // SAFETY: the packet goes back at once.
    let Some(first) = (unsafe { umem.alloc() }) else { return 0 };
    let begin = first.as_ptr() as usize - KERNEL_HEADROOM_BYTES - HEADROOM_BYTES as usize;
    umem.free_packet(first);
    begin
}

/// Asks for large pages: frames go round all buffers, and looking up a small page for every other frame takes longer than
/// reading the frame.
fn take_huge_pages(begin: usize, bytes: usize) {
    // SAFETY: the first buffer begins where the memory does, whose length is that of all buffers. It is advice: the
    // content stays, and a kernel that does not take it is slower.
    unsafe {
        libc::madvise(begin as *mut libc::c_void, bytes, libc::MADV_HUGEPAGE);
    }
}

/// Lets the kernel go on; false when that has taken too long.
pub(crate) fn wait(end: &mut Option<Instant>, push: &mut dyn FnMut()) -> bool {
    push();
    std::thread::yield_now();
    Instant::now() < *end.get_or_insert_with(|| Instant::now() + LONGEST_WAIT)
}

/// Reads the stamp in front of a frame and wipes it, since the next frame in this buffer may have none.
fn take_stamp(packet: &mut Packet) -> Option<u64> {
    packet.adjust_head(-(STAMP_BYTES as i32)).ok()?;
    let mark = u64::from_ne_bytes(packet[..8].try_into().ok()?);
    let stamp = u64::from_ne_bytes(packet[8..STAMP_BYTES].try_into().ok()?);
    packet[..8].fill(0);
    // It has just been moved the other way.
    packet.adjust_head(STAMP_BYTES as i32).ok()?;
    (mark == STAMP_MARK).then_some(stamp)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_ports_share_the_memory_of_32() {
        assert_eq!([1, 4, 32].map(ring_frames), [4_096; 3]);
        assert_eq!(
            [33, 64, 65, 128, 200, 256, 512].map(ring_frames),
            [2_048, 2_048, 1_024, 1_024, 512, 512, 512]
        );
        for ports in 1..=256 {
            assert!(ports as u32 * ring_frames(ports) <= ALL_RING_FRAMES);
        }
    }
}
