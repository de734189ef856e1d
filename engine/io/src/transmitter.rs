//! The thread that tells the kernel to send what is in the rings of AF_XDP sockets.
//!
//! In copy mode the kernel sends during that system call, which takes longer than everything else about a frame: on a
//! core of its own it leaves the other one to the program.

use std::os::fd::RawFd;
use std::os::unix::thread::JoinHandleExt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Once};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::affinity::{pin, Cores};
use crate::transmit_ring::TransmitRing;
use crate::xdp_ring::XdpRing;
use crate::{monotonic_ns, IoError, Pauses};

/// How long the thread looks for work before it sleeps.
const SPIN: Duration = Duration::from_micros(200);

/// Frames that one system call sends, where the kernel lets one choose (Linux 6.17 and later).
pub(crate) static CALL_FRAMES: u32 = 64;

/// Where the frames of a port leave.
pub(crate) struct Outlet {
    pub socket: RawFd,
    pub ring: Option<TransmitRing>,
}

/// Sockets whose rings may have frames to send.
struct Shared {
    /// Since when, in nanoseconds of CLOCK_MONOTONIC; 0 where the ring is empty.
    pending: Vec<AtomicU64>,
    /// How long frames have waited.
    longest_ns: AtomicU64,
    late_ns: AtomicU64,
    sleeps: AtomicBool,
    /// For a while the thread does nothing but to let the kernel send what is in this ring.
    xdp_ring: Option<Arc<XdpRing>>,
    lends: AtomicBool,
    in_call: AtomicBool,
    ends: AtomicBool,
}

/// Sends what is in the rings, in a thread of its own, or at once on a machine with a single core.
pub(crate) struct Transmitter {
    /// For a machine with a single core.
    sockets: Vec<RawFd>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Transmitter {
    /// The sockets must outlive this.
    pub fn start(
        outlets: Vec<Outlet>,
        xdp_ring: Option<Arc<XdpRing>>,
        cores: &Cores,
    ) -> Result<Transmitter, IoError> {
        let shared = Arc::new(Shared {
            pending: outlets.iter().map(|_| AtomicU64::new(0)).collect(),
            longest_ns: AtomicU64::new(0),
            late_ns: AtomicU64::new(0),
            sleeps: AtomicBool::new(false),
            xdp_ring,
            lends: AtomicBool::new(false),
            in_call: AtomicBool::new(false),
            ends: AtomicBool::new(false),
        });
        let sockets = outlets.iter().map(|outlet| outlet.socket).collect();
        let mut thread = None;
        if let Some(core) = cores.transmitter {
            let shared = shared.clone();
            let work = move || {
                pin(core);
                run(&outlets, &shared);
            };
            let builder = std::thread::Builder::new().name("p4mesh-transmit".to_string());
            thread = Some(builder.spawn(work).map_err(IoError::Thread)?);
        }
        Ok(Transmitter { sockets, shared, thread })
    }

    /// The ring of a socket has frames to send.
    pub fn notify(&self, index: usize) {
        match &self.thread {
            None => while !send(self.sockets[index]) {},
            Some(thread) => {
                let pending = &self.shared.pending[index];
                if pending.load(Ordering::SeqCst) == 0 {
                    let _ = pending.compare_exchange(0, monotonic_ns(), Ordering::SeqCst, Ordering::SeqCst);
                }
                if self.shared.sleeps.load(Ordering::SeqCst) {
                    thread.thread().unpark();
                }
            }
        }
    }
}

impl Transmitter {
    /// Lets the thread send from the ring of [`XdpRing`] alone, from now on.
    #[inline]
    pub fn lend(&self) {
        if !self.shared.lends.load(Ordering::Relaxed) {
            self.begin_to_lend();
        }
    }

    #[cold]
    fn begin_to_lend(&self) {
        self.shared.lends.store(true, Ordering::SeqCst);
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }

    /// Ends that; another call finds the thread free, a moment later.
    #[cold]
    pub fn take_back(&self) {
        self.shared.lends.store(false, Ordering::SeqCst);
        if let Some(thread) = self.thread.as_ref().filter(|_| self.shared.in_call.load(Ordering::SeqCst)) {
            interrupt(thread);
        }
    }

    /// As [`Transmitter::take_back`], and waits until the thread is free.
    pub fn have_back(&self) {
        self.take_back();
        while self.shared.in_call.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
            self.take_back();
        }
    }

    /// How long frames have waited in rings since the last call.
    pub fn take_pauses(&self) -> Pauses {
        let take = |value: &AtomicU64| value.swap(0, Ordering::Relaxed);
        Pauses { longest_ns: take(&self.shared.longest_ns), late_ns: take(&self.shared.late_ns) }
    }
}

impl Drop for Transmitter {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::SeqCst);
        self.have_back();
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // It has no panic to report: all that it does is a system call.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn waited(&self, since_ns: u64) {
        let mut pauses = Pauses::default();
        pauses.add(monotonic_ns().saturating_sub(since_ns));
        self.longest_ns.fetch_max(pauses.longest_ns, Ordering::Relaxed);
        self.late_ns.fetch_add(pauses.late_ns, Ordering::Relaxed);
    }
}

fn run(outlets: &[Outlet], shared: &Shared) {
    let mut idle_since = Instant::now();
    while !shared.ends.load(Ordering::SeqCst) {
        if let Some(ring) = shared.xdp_ring.as_ref().filter(|_| shared.lends.load(Ordering::SeqCst)) {
            // Said before the second look, so that whoever takes the thread back in between interrupts what follows.
            shared.in_call.store(true, Ordering::SeqCst);
            if shared.lends.load(Ordering::SeqCst) {
                let _ = ring.run(u32::MAX);
            }
            shared.in_call.store(false, Ordering::SeqCst);
            continue;
        }
        let mut worked = false;
        for (outlet, pending) in outlets.iter().zip(&shared.pending) {
            // A look leaves the value with the core of the program, which a swap would take it from each time.
            let since_ns = match pending.load(Ordering::SeqCst) {
                0 => 0,
                _ => pending.swap(0, Ordering::SeqCst),
            };
            if since_ns > 0 {
                worked = true;
                if let Some(ring) = &outlet.ring {
                    ring.prefetch(CALL_FRAMES);
                }
                if send(outlet.socket) {
                    shared.waited(since_ns);
                } else {
                    // Those that came meanwhile have not waited for as long.
                    pending.store(since_ns, Ordering::SeqCst);
                }
            }
        }
        if worked {
            idle_since = Instant::now();
        } else if idle_since.elapsed() < SPIN {
            std::hint::spin_loop();
        } else {
            shared.sleeps.store(true, Ordering::SeqCst);
            let waits = |pending: &AtomicU64| pending.load(Ordering::SeqCst) > 0;
            if !shared.lends.load(Ordering::SeqCst) && !shared.pending.iter().any(waits) {
                std::thread::park_timeout(Duration::from_millis(100));
            }
            shared.sleeps.store(false, Ordering::SeqCst);
        }
    }
}

/// Ends a system call of the thread, if it is in one, by a signal that does nothing else.
fn interrupt(thread: &JoinHandle<()>) {
    extern "C" fn nothing(_: libc::c_int) {}
    static HANDLED: Once = Once::new();
    let signal = libc::SIGRTMAX() - 1;
    // SAFETY: all zero is a valid sigaction; the handler does nothing; the thread has not been joined.
    unsafe {
        HANDLED.call_once(|| {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = nothing as extern "C" fn(libc::c_int) as usize;
            libc::sigaction(signal, &action, std::ptr::null_mut());
        });
        libc::pthread_kill(thread.as_pthread_t(), signal);
    }
}

/// Lets the kernel send frames of a ring; false when there may be more.
fn send(socket: RawFd) -> bool {
    // SAFETY: no data is passed; a descriptor that is closed is an error of the call.
    let result =
        unsafe { libc::sendto(socket, std::ptr::null(), 0, libc::MSG_DONTWAIT, std::ptr::null(), 0) };
    // With EAGAIN the kernel has sent a batch and there are more; with ENOBUFS and EBUSY its queue is full for now.
    result >= 0
        || !matches!(
            std::io::Error::last_os_error().raw_os_error(),
            Some(libc::EAGAIN | libc::EBUSY | libc::ENOBUFS | libc::EINTR)
        )
}
