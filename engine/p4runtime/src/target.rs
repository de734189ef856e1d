//! The interface between the server and the switch that runs the program: the simulator or the live switch.
//!
//! The server calls the target ([`Target`], behind a mutex); the target reports the output of the program to the server
//! through a [`Notifier`], which never blocks and never takes the target's lock, so it may be used while that lock is
//! held.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use p4mesh_pipeline::{Executable, Switch};

/// A device that runs one program at a time. The server holds it as `Arc<Mutex<dyn Target>>` and
/// keeps the lock for one batch of updates, one read or one packet-out.
pub trait Target: Send {
    /// Chooses the device that the next calls mean, of a target that is several devices under one lock.
    fn choose(&mut self, device_id: u64) {
        let _ = device_id;
    }

    /// The switch that runs the committed program, `None` before the first one.
    fn switch(&mut self) -> Option<&mut Switch>;

    /// Replaces the program; all forwarding state is new. Frames that are still inside the device
    /// are lost. An error is a reason in words, it reaches the controller as INTERNAL.
    fn install(&mut self, executable: Arc<Executable>) -> Result<(), String>;

    /// A frame for the CPU port: the controller header in wire format followed by the payload.
    fn packet_out(&mut self, frame: Vec<u8>);

    /// Pipeline time in picoseconds, the clock of meters and idle timeouts.
    fn now_ps(&self) -> u64;

    /// False for a port that this device does not have; replicas to it are refused.
    fn has_port(&self, port: u16) -> bool {
        let _ = port;
        true
    }
}

/// The shared handle of a target.
pub type SharedTarget = Arc<Mutex<dyn Target>>;

/// Events of a target in the order in which they happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A frame that left through the CPU port, controller header included.
    PacketIn { frame: Vec<u8> },
    /// One digest message: the JSON id of the digest (`Output::Digest`) and its fields.
    Digest { digest: u32, fields: Vec<Vec<u8>>, now_ps: u64 },
    /// The link of a port went up or down: members of groups that watch the port come and go.
    /// Ports are up until a target says otherwise.
    PortStatus { port: u16, up: bool },
    /// Pipeline time has reached `now_ps`. Flushes digests whose time is up and looks for idle
    /// entries. A target sends one after each advance; the live switch about 10 per second.
    Clock { now_ps: u64 },
}

/// Bytes of packet-ins that may wait for the server before further ones are counted as dropped.
const MAX_QUEUED_BYTES: usize = 256 << 20;

/// Counts of packet I/O since the server was made. All of them only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketIoCounts {
    /// Packet-outs taken from the stream, among them those answered by a stream error.
    pub packet_outs_handled: u64,
    /// Packet-outs answered by a stream error; part of `packet_outs_handled`.
    pub packet_outs_refused: u64,
    /// Packet-ins that the target reported.
    pub packet_ins_reported: u64,
    /// Packet-ins given to a primary controller's stream.
    pub packet_ins_sent: u64,
    /// Packet-ins without a primary controller, shorter than the controller header, or beyond the
    /// memory bound.
    pub packet_ins_dropped: u64,
}

/// [`PacketIoCounts`] that can be waited for.
#[derive(Default)]
pub struct PacketIoCounters {
    counts: Mutex<PacketIoCounts>,
    changed: Condvar,
}

impl PacketIoCounters {
    /// The counts now.
    pub fn get(&self) -> PacketIoCounts {
        *lock(&self.counts)
    }

    /// Waits until `done` holds for the counts; false when `timeout` (wall clock) passes first.
    /// The target's lock must not be held.
    pub fn wait(&self, timeout: Duration, done: impl Fn(&PacketIoCounts) -> bool) -> bool {
        let end = Instant::now() + timeout;
        let mut counts = lock(&self.counts);
        while !done(&counts) {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            counts =
                self.changed.wait_timeout(counts, left).unwrap_or_else(|poisoned| poisoned.into_inner()).0;
        }
        true
    }

    /// Waits for the `n`-th packet-out since the start; see [`Self::wait`].
    pub fn wait_packet_outs(&self, n: u64, timeout: Duration) -> bool {
        self.wait(timeout, |counts| counts.packet_outs_handled >= n)
    }

    pub(crate) fn update(&self, change: impl FnOnce(&mut PacketIoCounts)) {
        change(&mut lock(&self.counts));
        self.changed.notify_all();
    }
}

#[derive(Default)]
struct Queue {
    events: VecDeque<Event>,
    packet_in_bytes: usize,
}

/// Queue to which a target reports events. Clones share it.
#[derive(Clone, Default)]
pub struct Notifier {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    ready: tokio::sync::Notify,
    counters: Arc<PacketIoCounters>,
}

impl Notifier {
    pub fn new() -> Notifier {
        Notifier::default()
    }

    /// A queue for one more server, whose packet I/O is counted with that of others.
    pub fn counted_with(counters: Arc<PacketIoCounters>) -> Notifier {
        Notifier { shared: Arc::new(Shared { counters, ..Shared::default() }) }
    }

    /// Packet I/O counts of the server that reads this queue.
    pub fn counters(&self) -> Arc<PacketIoCounters> {
        self.shared.counters.clone()
    }

    /// Reports events in order. Never blocks on I/O; packet-ins beyond 256 MiB of waiting frames
    /// are dropped and counted.
    pub fn notify(&self, events: impl IntoIterator<Item = Event>) {
        let (mut reported, mut dropped) = (0, 0);
        {
            let mut queue = lock(&self.shared.queue);
            for event in events {
                if let Event::PacketIn { frame } = &event {
                    reported += 1;
                    if queue.packet_in_bytes + frame.len() > MAX_QUEUED_BYTES {
                        dropped += 1;
                        continue;
                    }
                    queue.packet_in_bytes += frame.len();
                }
                queue.events.push_back(event);
            }
        }
        if reported > 0 {
            self.shared.counters.update(|counts| {
                counts.packet_ins_reported += reported;
                counts.packet_ins_dropped += dropped;
            });
        }
        self.shared.ready.notify_one();
    }

    /// All events that wait, once there is at least one.
    pub(crate) async fn next(&self) -> VecDeque<Event> {
        loop {
            {
                let mut queue = lock(&self.shared.queue);
                if !queue.events.is_empty() {
                    queue.packet_in_bytes = 0;
                    return std::mem::take(&mut queue.events);
                }
            }
            self.shared.ready.notified().await;
        }
    }
}

/// Locks a mutex whose data stays consistent even when another holder panicked.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
