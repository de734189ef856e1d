//! Raw frames of a Linux interface (AF_PACKET), many per system call.

use std::cell::Cell;
use std::collections::VecDeque;
use std::ffi::CString;
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

use crate::clock::realtime_to_monotonic_ns;
use crate::driver_counters::{request_of, sum_of_counters};
use crate::IoError;

/// Frames per system call.
pub const BATCH: usize = 64;
/// Longest frame; jumbo frames of 9 KiB and some headroom fit.
pub const MAX_FRAME_BYTES: usize = 10_240;
const PACKET_QDISC_BYPASS: libc::c_int = 20;
const PACKET_TX_TIMESTAMP: libc::c_int = 16;
/// The kernel's stamps of all arrivals, and of those departures that ask for one, which then have a number.
const STAMPS: libc::c_uint = libc::SOF_TIMESTAMPING_RX_SOFTWARE
    | libc::SOF_TIMESTAMPING_SOFTWARE
    | libc::SOF_TIMESTAMPING_OPT_TSONLY
    | libc::SOF_TIMESTAMPING_OPT_ID;
/// Departures that may wait for their stamp. A driver that has given none by then gives none at all.
const MOST_ASKED: usize = 4_096;
/// Room for what the kernel says beside a frame: three times, of which the first is the kernel's, and the VLAN tag.
const CONTROL_BYTES: usize = 256;
/// Destination and source, in front of a VLAN tag.
const ADDRESS_BYTES: usize = 12;
const ETHERTYPE_VLAN: u16 = 0x8100;
/// Kernel buffers per direction.
const SOCKET_BUFFER_BYTES: libc::c_int = 8 << 20;

/// Departures of which the kernel is asked for a stamp.
#[derive(Default)]
struct Departures {
    wanted: bool,
    /// Numbers that the kernel gives them, with the program's times, in their order.
    asked: VecDeque<(u32, u64)>,
    next: u32,
    answered: bool,
    /// The driver gives no stamps.
    hopeless: bool,
}

impl Departures {
    /// Whether frames are to be stamped.
    fn are_asked(&self) -> bool {
        self.wanted && !self.hopeless
    }

    /// The kernel has taken a frame that asks for a stamp.
    fn sent(&mut self, time_ps: u64) {
        self.asked.push_back((self.next, time_ps));
        self.next = self.next.wrapping_add(1);
        if self.asked.len() > MOST_ASKED {
            self.asked.pop_front();
            self.hopeless = !self.answered;
            if self.hopeless {
                self.asked.clear();
            }
        }
    }

    /// The program's time of the frame with a number; earlier ones get no stamp any more.
    fn found(&mut self, number: u32) -> Option<u64> {
        self.answered = true;
        while let Some((first, time_ps)) = self.asked.pop_front() {
            if first == number {
                return Some(time_ps);
            }
        }
        None
    }
}

/// The part of a message that asks the kernel to stamp this departure.
#[repr(C)]
struct StampRequest {
    header: libc::cmsghdr,
    flags: libc::c_uint,
    padding: u32,
}

impl StampRequest {
    fn new() -> StampRequest {
        // SAFETY: all-zero is a valid value of this plain C struct.
        let mut request: StampRequest = unsafe { zeroed() };
        // SAFETY: it only computes a length.
        request.header.cmsg_len = unsafe { libc::CMSG_LEN(size_of::<libc::c_uint>() as _) } as _;
        request.header.cmsg_level = libc::SOL_SOCKET;
        request.header.cmsg_type = libc::SO_TIMESTAMPING;
        request.flags = libc::SOF_TIMESTAMPING_TX_SOFTWARE;
        request
    }
}

/// A socket on one interface, in promiscuous mode, non-blocking.
pub struct PacketSocket {
    interface: String,
    socket: OwnedFd,
    received: Vec<u8>,
    /// Metadata of the kernel for each frame.
    controls: Vec<[u64; CONTROL_BYTES / 8]>,
    /// Room for a frame whose VLAN tag is put back.
    tagged: Vec<u8>,
    /// Frames that wait to be sent, one after the other, with their ends.
    pending: Vec<u8>,
    pending_ends: Vec<usize>,
    /// For each of them the program's time, where the kernel is to stamp the departure.
    pending_times: Vec<Option<u64>>,
    departures: Departures,
    /// Frames that the driver or its cable did not take: a full queue, a link that is down, a far end with a shorter MTU.
    pub refused: u64,
    /// Frames that came and found its buffer full.
    receive_drops: Cell<u64>,
}

impl PacketSocket {
    /// Opens an interface; needs CAP_NET_RAW.
    pub fn open(interface: &str) -> Result<PacketSocket, IoError> {
        let index = interface_index(interface)?;
        let failed = |action: &'static str| IoError::Socket {
            interface: interface.to_string(),
            action,
            source: io::Error::last_os_error(),
        };
        let protocol = (libc::ETH_P_ALL as u16).to_be();
        // SAFETY: no pointers are passed.
        let descriptor = unsafe {
            libc::socket(
                libc::AF_PACKET,
                libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC,
                libc::c_int::from(protocol),
            )
        };
        if descriptor < 0 {
            return Err(failed("open a packet socket (CAP_NET_RAW is needed)"));
        }
        // SAFETY: the descriptor is new and has no other owner.
        let socket = unsafe { OwnedFd::from_raw_fd(descriptor) };
        // SAFETY: all-zero is a valid value of this plain C struct.
        let mut address: libc::sockaddr_ll = unsafe { zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = protocol;
        address.sll_ifindex = index as i32;
        // SAFETY: the pointer and the length describe `address`.
        let bound = unsafe {
            libc::bind(
                descriptor,
                (&raw const address).cast(),
                size_of::<libc::sockaddr_ll>() as libc::socklen_t,
            )
        };
        if bound != 0 {
            return Err(failed("bind"));
        }
        // SAFETY: all-zero is a valid value of this plain C struct.
        let mut membership: libc::packet_mreq = unsafe { zeroed() };
        membership.mr_ifindex = index as i32;
        membership.mr_type = libc::PACKET_MR_PROMISC as u16;
        set_option(descriptor, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &membership)
            .map_err(|_| failed("set promiscuous mode"))?;
        set_option(descriptor, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &1 as &libc::c_int)
            .map_err(|_| failed("ignore outgoing frames"))?;
        // Frames go straight to the driver, as they do by AF_XDP; an older kernel lets them wait in a queue first.
        let _ = set_option(descriptor, libc::SOL_PACKET, PACKET_QDISC_BYPASS, &1 as &libc::c_int);
        set_option(descriptor, libc::SOL_PACKET, libc::PACKET_AUXDATA, &1 as &libc::c_int)
            .map_err(|_| failed("ask for VLAN tags"))?;
        set_option(descriptor, libc::SOL_SOCKET, libc::SO_TIMESTAMPING, &STAMPS)
            .map_err(|_| failed("ask for time stamps"))?;
        for option in [libc::SO_RCVBUFFORCE, libc::SO_SNDBUFFORCE] {
            // Only a matter of speed; it needs a capability that a container may lack.
            let _ = set_option(descriptor, libc::SOL_SOCKET, option, &SOCKET_BUFFER_BYTES);
        }
        Ok(PacketSocket {
            interface: interface.to_string(),
            socket,
            received: vec![0; BATCH * MAX_FRAME_BYTES],
            tagged: Vec::new(),
            controls: vec![[0; CONTROL_BYTES / 8]; BATCH],
            pending: Vec::with_capacity(BATCH * 2_048),
            pending_ends: Vec::with_capacity(BATCH),
            pending_times: Vec::with_capacity(BATCH),
            departures: Departures::default(),
            refused: 0,
            receive_drops: Cell::new(0),
        })
    }

    pub fn interface(&self) -> &str {
        &self.interface
    }

    /// Receives up to [`BATCH`] frames that wait and hands them to `handle`, each with nanoseconds of CLOCK_MONOTONIC
    /// where the kernel gave it a stamp. Returns how many.
    pub fn receive(&mut self, mut handle: impl FnMut(Option<u64>, &[u8])) -> Result<usize, IoError> {
        // SAFETY: all-zero is a valid value of these plain C structs.
        let (mut vectors, mut headers): ([libc::iovec; BATCH], [libc::mmsghdr; BATCH]) =
            unsafe { (zeroed(), zeroed()) };
        for (index, chunk) in self.received.chunks_exact_mut(MAX_FRAME_BYTES).enumerate() {
            vectors[index] = libc::iovec { iov_base: chunk.as_mut_ptr().cast(), iov_len: chunk.len() };
            headers[index].msg_hdr.msg_iov = &raw mut vectors[index];
            headers[index].msg_hdr.msg_iovlen = 1;
            headers[index].msg_hdr.msg_control = self.controls[index].as_mut_ptr().cast();
            headers[index].msg_hdr.msg_controllen = CONTROL_BYTES as _;
        }
        // SAFETY: the headers point to vectors and controls, the vectors to parts of `received`; all outlive the call.
        let count = unsafe {
            libc::recvmmsg(
                self.socket.as_raw_fd(),
                headers.as_mut_ptr(),
                BATCH as _,
                libc::MSG_DONTWAIT as _,
                std::ptr::null_mut(),
            )
        };
        if count < 0 {
            let error = io::Error::last_os_error();
            return match error.raw_os_error() {
                Some(libc::EAGAIN | libc::EINTR | libc::ENETDOWN) => Ok(0),
                _ => Err(IoError::Socket {
                    interface: self.interface.clone(),
                    action: "receive",
                    source: error,
                }),
            };
        }
        if count == 0 {
            return Ok(0);
        }
        let to_monotonic_ns = realtime_to_monotonic_ns();
        let frames = self.received.chunks_exact(MAX_FRAME_BYTES).zip(&headers).take(count as usize);
        for (chunk, header) in frames {
            let beside = Beside::of(&header.msg_hdr);
            let stamp = beside.stamp_ns.map(|ns| ns.saturating_add_signed(to_monotonic_ns));
            let frame = &chunk[..(header.msg_len as usize).min(MAX_FRAME_BYTES)];
            match beside.vlan_tag {
                Some(tag) if frame.len() >= ADDRESS_BYTES => {
                    self.tagged.clear();
                    self.tagged.extend_from_slice(&frame[..ADDRESS_BYTES]);
                    self.tagged.extend_from_slice(&tag);
                    self.tagged.extend_from_slice(&frame[ADDRESS_BYTES..]);
                    handle(stamp, &self.tagged);
                }
                _ => handle(stamp, frame),
            }
        }
        Ok(count as usize)
    }

    /// Whether the kernel stamps all departures, which costs a system call and a message for each, or none.
    pub fn stamp_departures(&mut self, wanted: bool) {
        self.departures.wanted = wanted;
    }

    /// Queues a frame that left the program at `time_ps`; [`PacketSocket::flush`] sends it. A full batch is sent at
    /// once, and so is a frame that is to be stamped: what leaves before it is no part of its way through the kernel.
    pub fn send(&mut self, time_ps: u64, frame: &[u8]) -> Result<(), IoError> {
        let stamped = self.departures.are_asked();
        self.pending.extend_from_slice(frame);
        self.pending_ends.push(self.pending.len());
        self.pending_times.push(stamped.then_some(time_ps));
        if stamped || self.pending_ends.len() == BATCH {
            self.flush()?;
        }
        Ok(())
    }

    /// Sends the queued frames. Frames that the kernel does not take are dropped and counted, as a full queue of a
    /// switch would.
    pub fn flush(&mut self) -> Result<(), IoError> {
        if self.pending_ends.is_empty() {
            return Ok(());
        }
        // SAFETY: all-zero is a valid value of these plain C structs.
        let (mut vectors, mut headers): ([libc::iovec; BATCH], [libc::mmsghdr; BATCH]) =
            unsafe { (zeroed(), zeroed()) };
        let count = self.pending_ends.len();
        let mut request = StampRequest::new();
        let mut begin = 0;
        for (index, &end) in self.pending_ends.iter().enumerate() {
            let frame = &mut self.pending[begin..end];
            vectors[index] = libc::iovec { iov_base: frame.as_mut_ptr().cast(), iov_len: frame.len() };
            headers[index].msg_hdr.msg_iov = &raw mut vectors[index];
            headers[index].msg_hdr.msg_iovlen = 1;
            if self.pending_times[index].is_some() {
                headers[index].msg_hdr.msg_control = (&raw mut request).cast();
                headers[index].msg_hdr.msg_controllen = size_of::<StampRequest>() as _;
            }
            begin = end;
        }
        let mut first = 0;
        let mut outcome = Ok(());
        while first < count {
            // SAFETY: as in `receive`; `first` is within the array.
            let sent = unsafe {
                libc::sendmmsg(
                    self.socket.as_raw_fd(),
                    headers.as_mut_ptr().add(first),
                    (count - first) as _,
                    libc::MSG_DONTWAIT as _,
                )
            };
            if sent > 0 {
                let next = first + sent as usize;
                self.pending_times[first..next].iter().flatten().for_each(|time| self.departures.sent(*time));
                first = next;
                continue;
            }
            let error = io::Error::last_os_error();
            match error.raw_os_error() {
                Some(libc::EINTR) => {}
                // The first frame is refused (too long, too short, no room, link down): count it.
                Some(
                    libc::EAGAIN
                    | libc::ENOBUFS
                    | libc::EMSGSIZE
                    | libc::EINVAL
                    | libc::ENETDOWN
                    | libc::ENXIO,
                ) => {
                    self.refused += 1;
                    if self.pending_times[first].is_some() {
                        self.number_anew();
                    }
                    first += 1;
                }
                _ => {
                    outcome = Err(IoError::Socket {
                        interface: self.interface.clone(),
                        action: "send",
                        source: error,
                    });
                    break;
                }
            }
        }
        self.pending.clear();
        self.pending_ends.clear();
        self.pending_times.clear();
        outcome
    }

    /// Hands over the stamps of departures that have come meanwhile: the program's time of the frame, and nanoseconds
    /// of CLOCK_MONOTONIC.
    pub fn departures(&mut self, handle: &mut dyn FnMut(u64, u64)) {
        if self.departures.asked.is_empty() {
            return;
        }
        // SAFETY: all-zero is a valid value of this plain C struct.
        let mut headers: [libc::mmsghdr; BATCH] = unsafe { zeroed() };
        let count = self.receive_errors(&mut headers);
        if count == 0 {
            return;
        }
        let to_monotonic_ns = realtime_to_monotonic_ns();
        for header in &headers[..count] {
            let beside = Beside::of(&header.msg_hdr);
            let (Some(number), Some(stamp_ns)) = (beside.departure, beside.stamp_ns) else {
                continue;
            };
            if let Some(time_ps) = self.departures.found(number) {
                handle(time_ps, stamp_ns.saturating_add_signed(to_monotonic_ns));
            }
        }
    }

    /// Receives messages of the error queue, where the kernel puts stamps of departures; returns how many.
    fn receive_errors(&mut self, headers: &mut [libc::mmsghdr; BATCH]) -> usize {
        for (header, control) in headers.iter_mut().zip(&mut self.controls) {
            header.msg_hdr.msg_control = control.as_mut_ptr().cast();
            header.msg_hdr.msg_controllen = CONTROL_BYTES as _;
        }
        // SAFETY: the headers point to `controls`, which outlive the call; stamps alone have no data.
        let count = unsafe {
            libc::recvmmsg(
                self.socket.as_raw_fd(),
                headers.as_mut_ptr(),
                BATCH as _,
                (libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT) as _,
                std::ptr::null_mut(),
            )
        };
        usize::try_from(count).unwrap_or(0)
    }

    /// Lets the kernel number departures from 0 again: whether it has numbered a frame that it refused is not known.
    fn number_anew(&mut self) {
        // SAFETY: all-zero is a valid value of this plain C struct.
        let mut headers: [libc::mmsghdr; BATCH] = unsafe { zeroed() };
        while self.receive_errors(&mut headers) > 0 {}
        self.departures.asked.clear();
        self.departures.next = 0;
        for flags in [STAMPS & !libc::SOF_TIMESTAMPING_OPT_ID, STAMPS] {
            // It has taken the same options before.
            let _ = set_option(self.as_raw_fd(), libc::SOL_SOCKET, libc::SO_TIMESTAMPING, &flags);
        }
    }
}

impl PacketSocket {
    /// Sum of the driver's counters whose names `is_wanted`; `None` where it has none.
    pub(crate) fn sum_of_counters(&self, is_wanted: impl Fn(&str) -> bool) -> Option<u64> {
        sum_of_counters(self.as_raw_fd(), &self.interface, is_wanted).ok().flatten()
    }

    /// Frames that came and found no room.
    pub fn receive_drops(&self) -> u64 {
        // SAFETY: all-zero is a valid value of this plain C struct.
        let mut since_last: libc::tpacket_stats = unsafe { zeroed() };
        let mut length = size_of::<libc::tpacket_stats>() as libc::socklen_t;
        let pointer = (&raw mut since_last).cast();
        // SAFETY: the pointer and the length describe `since_last`; where the call fails it stays 0.
        unsafe {
            libc::getsockopt(
                self.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                pointer,
                &mut length,
            )
        };
        self.receive_drops.set(self.receive_drops.get() + u64::from(since_last.tp_drops));
        self.receive_drops.get()
    }

    /// True while the interface is up and has a carrier; also where the system does not say.
    pub fn is_up(&self) -> bool {
        let mut request = request_of(&self.interface);
        // SAFETY: the request is an ifreq with a name that ends with 0.
        let failed = unsafe { libc::ioctl(self.as_raw_fd(), libc::SIOCGIFFLAGS, &mut request) } < 0;
        // SAFETY: SIOCGIFFLAGS has filled in the flags.
        let flags = libc::c_int::from(unsafe { request.ifr_ifru.ifru_flags });
        failed || flags & (libc::IFF_UP | libc::IFF_RUNNING) == libc::IFF_UP | libc::IFF_RUNNING
    }
}

impl AsRawFd for PacketSocket {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

/// The system's number of an interface.
pub(crate) fn interface_index(interface: &str) -> Result<u32, IoError> {
    let name = CString::new(interface).map_err(|_| IoError::Interface {
        interface: interface.to_string(),
        problem: "the name contains a zero byte".to_string(),
    })?;
    // SAFETY: `name` is a valid C string.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => {
            let problem = "no such interface".to_string();
            Err(IoError::Interface { interface: interface.to_string(), problem })
        }
        index => Ok(index),
    }
}

/// Metadata of the kernel for a received frame, or for a departure.
#[derive(Default)]
struct Beside {
    /// Its stamp, in nanoseconds of CLOCK_REALTIME.
    stamp_ns: Option<u64>,
    /// The VLAN tag, which the kernel takes out of every frame.
    vlan_tag: Option<[u8; 4]>,
    /// The number of the departure that the stamp is of.
    departure: Option<u32>,
}

impl Beside {
    fn of(header: &libc::msghdr) -> Beside {
        let mut found = Beside::default();
        // SAFETY: the kernel has filled the control buffer that the header points to, and has set its length; what it
        // says is as long as its kind has it.
        unsafe {
            let mut message = libc::CMSG_FIRSTHDR(header);
            while !message.is_null() {
                let data = libc::CMSG_DATA(message);
                match ((*message).cmsg_level, (*message).cmsg_type) {
                    (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING) => {
                        let time = std::ptr::read_unaligned(data.cast::<libc::timespec>());
                        let ns = time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64;
                        found.stamp_ns = (ns != 0).then_some(ns);
                    }
                    (libc::SOL_PACKET, PACKET_TX_TIMESTAMP) => {
                        let about = std::ptr::read_unaligned(data.cast::<libc::sock_extended_err>());
                        found.departure = Some(about.ee_data);
                    }
                    (libc::SOL_PACKET, libc::PACKET_AUXDATA) => {
                        let frame = std::ptr::read_unaligned(data.cast::<libc::tpacket_auxdata>());
                        if frame.tp_status & libc::TP_STATUS_VLAN_VALID != 0 {
                            let known = frame.tp_status & libc::TP_STATUS_VLAN_TPID_VALID != 0;
                            let kind = if known { frame.tp_vlan_tpid } else { ETHERTYPE_VLAN };
                            let [a, b] = kind.to_be_bytes();
                            let [c, d] = frame.tp_vlan_tci.to_be_bytes();
                            found.vlan_tag = Some([a, b, c, d]);
                        }
                    }
                    _ => {}
                }
                message = libc::CMSG_NXTHDR(header, message);
            }
        }
        found
    }
}

/// Waits until one of the sockets has frames, or for at most `timeout`.
pub fn wait_readable(descriptors: &[RawFd], timeout: Duration) {
    let entry = |&fd: &RawFd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    let mut entries: Vec<libc::pollfd> = descriptors.iter().map(entry).collect();
    let milliseconds = libc::c_int::try_from(timeout.as_millis()).unwrap_or(libc::c_int::MAX);
    // SAFETY: pointer and length describe `entries`. The result does not matter: the caller looks
    // at every socket afterwards.
    unsafe { libc::poll(entries.as_mut_ptr(), entries.len() as libc::nfds_t, milliseconds) };
}

fn set_option<T>(descriptor: RawFd, level: libc::c_int, name: libc::c_int, value: &T) -> Result<(), ()> {
    // SAFETY: pointer and length describe `value`, a plain C value.
    let result = unsafe {
        libc::setsockopt(
            descriptor,
            level,
            name,
            (value as *const T).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(())
    }
}
