//! A switch on real ports as a P4Runtime target, and the loop that drives it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use p4mesh_io::{monotonic_ns, pin, wait_readable, Delays, FineClock, IoError, Pauses, Ports, Runner};
use p4mesh_p4runtime::{Event, Notifier, Target};
use p4mesh_pipeline::{Executable, Frame, Switch};
use p4mesh_wire::payload::CountedPayload;

use crate::lock::lock;
use crate::packet_trace::PacketTrace;

/// Longest sleep of an idle loop, and thus the largest delay of a packet-out to the loop.
const IDLE_WAIT: Duration = Duration::from_millis(1);
/// Interval at which the server is told the time.
const CLOCK_PERIOD_NS: u64 = 100_000_000;
/// Interval at which a busy loop lets the server take the lock.
const BUSY_SLICE_NS: u64 = 4_000_000;
const BUSY_PAUSE: Duration = Duration::from_micros(20);

/// A frame that came in, with the time of its stamp where it has one.
struct Arrival {
    port: u16,
    arrival_ps: Option<u64>,
    frame: Frame,
}

/// A switch, its ports, and the queue for its packet-ins and digests.
pub struct LiveTarget {
    pub runner: Runner,
    pub ports: Box<dyn Ports>,
    pub notifier: Option<Notifier>,
    /// Frames that the program sent to ports that do not exist.
    pub unknown_port: u64,
    pub received: u64,
    pub sent: u64,
    /// Per port, how far the kernel's stamps of departures lie behind those of the program.
    pub departure_delays: BTreeMap<u16, Delays>,
    /// The payload that marked frames must have; others are counted and dropped. Without one, none is looked at.
    pub payload: Option<CountedPayload>,
    /// Frames with a damaged payload by port.
    pub damaged_payloads: BTreeMap<u16, u64>,
    /// How long the packets in the loop have waited for their next pass.
    pauses: Pauses,
    /// When the last round began, where there were packets in the loop; nanoseconds of CLOCK_MONOTONIC.
    round_ns: Option<u64>,
    clock: FineClock,
    /// Nanoseconds of CLOCK_MONOTONIC.
    started_ns: u64,
    /// Frames that came in this round; the room is kept.
    arrived: Vec<Arrival>,
    /// When the server was last told the time, nanoseconds of CLOCK_MONOTONIC.
    told_ns: u64,
    /// As they were last reported; a server takes ports to be up.
    links: BTreeMap<u16, bool>,
    trace: Option<PacketTrace>,
}

impl LiveTarget {
    /// `started_ns`: when its time began, in nanoseconds of CLOCK_MONOTONIC.
    pub fn new(runner: Runner, ports: Box<dyn Ports>, started_ns: u64) -> LiveTarget {
        LiveTarget {
            runner,
            ports,
            notifier: None,
            unknown_port: 0,
            received: 0,
            sent: 0,
            departure_delays: BTreeMap::new(),
            payload: None,
            damaged_payloads: BTreeMap::new(),
            pauses: Pauses::default(),
            round_ns: None,
            clock: FineClock::default(),
            started_ns,
            arrived: Vec::new(),
            told_ns: monotonic_ns(),
            links: BTreeMap::new(),
            trace: None,
        }
    }

    pub fn started_ns(&self) -> u64 {
        self.started_ns
    }

    /// Receives the waiting frames, gives every packet in the loop a pass, sends. Returns whether there was anything to do,
    /// and when it began, in nanoseconds of CLOCK_MONOTONIC.
    pub fn round(&mut self) -> Result<(bool, u64), IoError> {
        let now_ns = self.clock.set();
        if let Some(before_ns) = self.round_ns {
            self.pauses.add(now_ns - before_ns);
        }
        self.round_ns = (self.runner.circulating() > 0).then_some(now_ns);
        let mut arrived = std::mem::take(&mut self.arrived);
        let (runner, started_ns) = (&mut self.runner, self.started_ns);
        let (payload, damaged) = (&self.payload, &mut self.damaged_payloads);
        let count = self.ports.receive(&mut |port, stamp_ns, bytes| {
            if payload.as_ref().is_some_and(|it| it.is_damaged(bytes)) {
                *damaged.entry(port).or_default() += 1;
                return;
            }
            let mut frame = runner.buffer();
            frame.extend_from_slice(bytes);
            let arrival_ps = stamp_ns.map(|ns| 1 + ns.saturating_sub(started_ns) * 1_000);
            arrived.push(Arrival { port, arrival_ps, frame });
        })?;
        self.received += count as u64;
        let now_ps = picoseconds(started_ns, now_ns);
        // Departures of this turn leave before the arrivals are worked on.
        let traced = self.trace.clone();
        let turns = match &traced {
            None => self.with_ports(|runner, clock, send| runner.turn(now_ps, clock, send))?,
            Some(trace) => self.told(trace, |runner, clock, send| runner.turn(now_ps, clock, send))?,
        };
        let done = match &traced {
            None => self.with_ports(|runner, clock, send| {
                for Arrival { port, arrival_ps, frame } in arrived.drain(..) {
                    runner.frame(port, frame, arrival_ps, clock, send);
                }
            }),
            Some(trace) => arrived.drain(..).try_for_each(|arrival| self.told_frame(trace, arrival)),
        };
        self.arrived = arrived;
        done?;
        let LiveTarget { ports, departure_delays, started_ns, .. } = self;
        ports.departures(&mut |port, time_ps, stamp_ns| {
            let left_ns = *started_ns + (time_ps - 1) / 1_000;
            departure_delays.entry(port).or_default().add(stamp_ns as i64 - left_ns as i64);
        });
        self.report(now_ns);
        Ok((count + turns > 0, now_ns))
    }

    /// How long packets in the loop, or frames on their way out, have waited since the last call.
    pub fn take_pauses(&mut self) -> Pauses {
        std::mem::take(&mut self.pauses).with(self.ports.take_pauses())
    }

    /// Runs the switch with a clock and with ports to send to.
    fn with_ports<T>(
        &mut self,
        work: impl FnOnce(&mut Runner, &mut dyn FnMut() -> u64, &mut dyn FnMut(u16, u64, &[u8])) -> T,
    ) -> Result<T, IoError> {
        let LiveTarget { runner, ports, unknown_port, sent, clock, started_ns, .. } = self;
        let mut failure = None;
        let mut clock = || picoseconds(*started_ns, clock.now_ns());
        let mut send = |port: u16, time_ps: u64, frame: &[u8]| match ports.send(port, time_ps, frame) {
            Ok(true) => *sent += 1,
            Ok(false) => *unknown_port += 1,
            Err(error) => {
                failure.get_or_insert(error);
            }
        };
        let result = work(runner, &mut clock, &mut send);
        ports.flush()?;
        failure.map_or(Ok(result), Err)
    }

    /// Tells what happens to packets from now on.
    pub fn set_trace(&mut self, trace: PacketTrace) {
        if let Some(switch) = self.runner.switch() {
            trace.listen_to(switch);
        }
        self.trace = Some(trace);
    }

    /// As [`Runner::frame`], and tells it.
    fn told_frame(&mut self, trace: &PacketTrace, arrival: Arrival) -> Result<(), IoError> {
        let Arrival { port, arrival_ps, frame } = arrival;
        let now_ps = arrival_ps.unwrap_or_else(|| self.now_ps());
        trace.frame(now_ps, &format!("from port {port}"), &frame);
        self.told(trace, |runner, clock, send| runner.frame(port, frame, arrival_ps, clock, send))
    }

    /// As [`Self::with_ports`], and tells what goes out and what ends.
    fn told<T>(
        &mut self,
        trace: &PacketTrace,
        work: impl FnOnce(&mut Runner, &mut dyn FnMut() -> u64, &mut dyn FnMut(u16, u64, &[u8])) -> T,
    ) -> Result<T, IoError> {
        let drops = self.runner.drops().clone();
        let waiting = self.runner.packet_ins().len();
        let result = self.with_ports(|runner, clock, send| {
            let mut send = |port: u16, time_ps: u64, frame: &[u8]| {
                trace.frame(time_ps, &format!("out of port {port}"), frame);
                send(port, time_ps, frame);
            };
            work(runner, clock, &mut send)
        })?;
        let now_ps = self.now_ps();
        for frame in self.runner.packet_ins().skip(waiting) {
            trace.frame(now_ps, "to the controller", frame);
        }
        trace.drops(now_ps, &drops, self.runner.drops());
        Ok(result)
    }

    fn report(&mut self, now_ns: u64) {
        let now_ps = picoseconds(self.started_ns, now_ns);
        let mut events = Vec::new();
        if self.notifier.is_some() {
            while let Some(frame) = self.runner.take_packet_in() {
                events.push(Event::PacketIn { frame });
            }
            while let Some((digest, fields)) = self.runner.take_digest() {
                events.push(Event::Digest { digest, fields, now_ps });
            }
        }
        if now_ns - self.told_ns >= CLOCK_PERIOD_NS {
            self.told_ns = now_ns;
            for (port, up) in self.ports.links() {
                if self.notifier.is_some() && self.links.insert(port, up).unwrap_or(true) != up {
                    events.push(Event::PortStatus { port, up });
                }
            }
            events.push(Event::Clock { now_ps });
        }
        if let Some(notifier) = self.notifier.as_ref().filter(|_| !events.is_empty()) {
            notifier.notify(events);
        }
    }
}

impl Target for LiveTarget {
    fn switch(&mut self) -> Option<&mut Switch> {
        self.runner.switch()
    }

    fn install(&mut self, executable: Arc<Executable>) -> Result<(), String> {
        let mut switch = Switch::new(executable, self.runner.config().clone());
        if let Some(trace) = &self.trace {
            trace.listen_to(&mut switch);
        }
        self.runner.install(switch);
        Ok(())
    }

    fn packet_out(&mut self, frame: Vec<u8>) {
        let Some(cpu_port) = self.runner.config().cpu_port else {
            return;
        };
        // This thread has a counter of its own.
        let now_ns = self.clock.set();
        // A port that fails shows in the next round, which can report it.
        let _ = match self.trace.clone() {
            None => self.with_ports(|runner, clock, send| runner.frame(cpu_port, frame, None, clock, send)),
            Some(trace) => self.told_frame(&trace, Arrival { port: cpu_port, arrival_ps: None, frame }),
        };
        self.report(now_ns);
    }

    fn now_ps(&self) -> u64 {
        picoseconds(self.started_ns, monotonic_ns())
    }

    /// As simple_switch: any number may be used, for example for a loop that never transmits.
    fn has_port(&self, port: u16) -> bool {
        port <= self.runner.config().max_port
    }
}

/// Rounds until `stop` is set or a port fails.
pub fn drive(target: &Mutex<LiveTarget>, stop: &AtomicBool, core: Option<usize>) -> Result<(), IoError> {
    if let Some(core) = core {
        pin(core);
    }
    let descriptors = lock(target).ports.descriptors();
    let mut slice_ns = monotonic_ns();
    while !stop.load(Ordering::Relaxed) {
        let (busy, began_ns) = lock(target).round()?;
        if !busy {
            wait_readable(&descriptors, IDLE_WAIT);
        } else if began_ns - slice_ns >= BUSY_SLICE_NS {
            std::thread::sleep(BUSY_PAUSE);
            slice_ns = monotonic_ns();
        }
    }
    Ok(())
}

/// Time since the start, never 0, which programs take for "not set".
fn picoseconds(started_ns: u64, now_ns: u64) -> u64 {
    1 + (now_ns - started_ns) * 1_000
}
